#!/bin/bash
# probe.sh - what confine probe says of machines that refuse, lie or hang.
. "$(dirname "$0")/tap.sh"
cc -D_GNU_SOURCE -o "$dir/lie" "$here/../links/lie.c" 2>>"$dir/why" || exit 1
chmod 755 "$dir" "$dir/lie"

row() { # BACKEND EXPRESSION on `b`: of the probe in $dir/out
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
b = [b for b in d["backends"] if b["name"] == sys.argv[2]][0]
sys.exit(0 if eval(sys.argv[3]) else "not true: %s: %s" % (sys.argv[3], json.dumps(b)[:300]))' "$dir/out" "$1" "$2" 2>>"$dir/why"
}
schema_holds() {
    "$here/validate" "$here/../../docs/probe.schema.json" "$dir/out" >>"$dir/why"
}

call "$confine" probe --json
[ "$status" -eq 0 ] && [ ! -s "$dir/err" ] && schema_holds
result $? "a row per backend, as the schema says"
python3 -c 'import json, sys
sys.exit([b["name"] for b in json.load(open(sys.argv[1]))["backends"]] != ["namespace", "bubblewrap", "landlock"])' "$dir/out"
result $? "in the order in which auto tries them"
cp "$dir/out" "$dir/plain"
usable() { python3 -c 'import json, sys
sys.exit(not [b for b in json.load(open(sys.argv[1]))["backends"] if b["name"] == sys.argv[2]][0]["usable"])' "$dir/plain" "$1"; }

for backend in namespace bubblewrap landlock; do
    call "$confine" probe -b $backend --json
    [ "$status" -eq 0 ] && row $backend 'len(d["backends"]) == 1 and (b["usable"] or (b["reason"] and b["message"]))'
    result $? "$backend alone"
done
call "$confine" probe
grep -q '^namespace: ' "$dir/out" && grep -q '^landlock: ' "$dir/out" && grep -q '^  file ' "$dir/out"
result $? "for people: a line per backend and one per group"
grep -q '^  list of hosts (--allow): no: .*no network .*\[no-network-namespace\] (use --backend namespace' "$dir/out" &&
    { ! usable namespace || grep -q '^  list of hosts (--allow): held by net-namespace, gateway$' "$dir/out"; } || why "$(cat "$dir/out")"
result $? "and whether a list of hosts can be held: by what, or why not and the way out"
cp "$dir/plain" "$dir/out"
row landlock 'not b["usable"] or not b["host_list"]["held"] and b["host_list"]["reason"] == b["reasons"]["net.listed"] == "no-network-namespace" and b["host_list"]["hint"] and b["surfaces"]["net.listed"] == "open"'
result $? "landlock holds none, and says what does"
for backend in namespace bubblewrap; do
    row $backend 'b["host_list"]["held"] == b["usable"] and (not b["usable"] or b["host_list"]["by"] == ["net-namespace", "gateway"] and b["surfaces"]["net.listed"] == "enforced" and "net.listed" not in b["reasons"])'
    result $? "$backend holds one where it can be used, and it was shown"
done

if usable namespace; then
    for answer in 1 13 38; do
        call "$dir/lie" unshare=$answer "$confine" probe --json
        [ "$status" -eq 0 ] && schema_holds && row namespace 'not b["usable"] and b["reason"] == "userns-denied" and b["hint"]'
        result $? "unshare answers errno $answer"
    done
    call "$dir/lie" unshare=1 "$confine" probe --json
    row namespace '"seccomp=unconfined" in b["hint"]'
    result $? "under a filter, the container's option is named"
    row landlock 'b["usable"]'
    result $? "and landlock is not touched by it"
    # Everything but the gateway's own chain: a program that is not there.
    mkdir "$dir/stage" && cp -a "$CONFINE_STAGE/." "$dir/stage/" && rm "$dir/stage/libexec/confine/confine-gateway"
    call "$dir/stage/bin/confine" probe -b namespace --json
    schema_holds && row namespace 'b["usable"] and not b["host_list"]["held"] and not b["host_list"]["by"] and b["host_list"]["message"] and b["surfaces"]["net.listed"] == "open"'
    result $? "without a gateway the backend can be used, and a list cannot"
    rm -r "$dir/stage"
    call "$dir/lie" unshare=12 "$confine" probe --json
    row namespace 'not b["usable"] and b["reason"] == "limit-reached"'
    result $? "no memory is no property of the machine"
    call "$dir/lie" mount=1 "$confine" probe --json
    row namespace 'not b["usable"] and b["reason"] == "mount-denied" and "apparmor" in b["hint"]'
    result $? "mounts refused"
    call "$dir/lie" mount_setattr=38 "$confine" probe --json
    row namespace 'not b["usable"] and b["reason"] == "mount-denied" and "5.12" in b["hint"]'
    result $? "an old kernel"
    call "$dir/lie" mount_setattr=0 "$confine" probe --json
    row namespace 'not b["usable"]'
    result $? "a kernel that lies is not usable"
    if [ "$(id -u)" -eq 0 ]; then # in a user namespace without root, nothing here would belong to root
        call unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$0" probe --json' "$confine"
        row namespace 'b["reason"] == "userns-denied" and "max_user_namespaces is 0" in b["message"] and "sysctl -w user.max_user_namespaces" in b["hint"]'
        result $? "max_user_namespaces is 0: the switch is named"
    fi
else
    skip "refused namespaces" "there are none here"
fi
call "$dir/lie" landlock_create_ruleset=95 "$confine" probe --json
row landlock 'not b["usable"] and b["reason"] == "landlock-not-enabled" and "lsm=" in b["hint"]'
result $? "Landlock not enabled at boot"
row bubblewrap 'not b["usable"]'
result $? "bubblewrap is not used without Landlock"

# What only root can imitate, in a mount namespace of its own.
if [ "$(id -u)" -eq 0 ] && usable namespace; then
    call unshare -m sh -c 'mount -t tmpfs none /proc/sys && exec "$0" probe --json' "$confine"
    row namespace 'b["reason"] == "proc-masked" and "systempaths=unconfined" in b["hint"]'
    result $? "a masked /proc: the container's option is named"
    # Ubuntu's switch. What an administrator is told to load is what the package has.
    call unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns &&
        exec "$@"' sh "$dir/lie" unshare=13 "$confine" probe --json
    row namespace 'b["reason"] == "userns-denied" and "AppArmor" in b["message"] and b["hint"].startswith("as root: printf ")'
    result $? "AppArmor takes the capabilities: the profile is printed"
    python3 -c 'import json, sys
b = [b for b in json.load(open(sys.argv[1]))["backends"] if b["name"] == "namespace"][0]
words, rest = b["hint"].removeprefix("as root: ").split(" >", 1)
print(words)
sys.exit(rest != "/etc/apparmor.d/confine && apparmor_parser -r /etc/apparmor.d/confine")' "$dir/out" >"$dir/words" 2>>"$dir/why" &&
        sh "$dir/words" >"$dir/profile" 2>>"$dir/why" &&
        grep -v '^#' "$here/../../packaging/apparmor" | sed "s,PREFIX,${CONFINE_STAGE%/}," | cmp - "$dir/profile" >>"$dir/why"
    result $? "and is that of the package, for where confine lies here"
    if usable bubblewrap; then
        cp /usr/bin/bwrap "$dir/bwrap"
        chown 65534 "$dir/bwrap"
        call unshare -m sh -c 'mount --bind "$1" /usr/bin/bwrap && exec "$0" probe --json' "$confine" "$dir/bwrap"
        row bubblewrap 'b["reason"] == "bubblewrap-untrusted"'
        result $? "a bubblewrap of somebody else's"
        chown 0 "$dir/bwrap"
        chmod 4755 "$dir/bwrap"
        call unshare -m sh -c 'mount --bind "$1" /usr/bin/bwrap && exec "$0" probe --json' "$confine" "$dir/bwrap"
        row bubblewrap 'any("set-uid" in w for w in b["warnings"])'
        result $? "a set-uid bubblewrap is said"
        printf '#!/bin/sh\nexit 1\n' >"$dir/bwrap"
        chmod 755 "$dir/bwrap"
        call unshare -m sh -c 'mount --bind "$1" /usr/bin/bwrap && exec "$0" probe --json' "$confine" "$dir/bwrap"
        row bubblewrap 'not b["usable"] and b["reason"] == "bubblewrap-failed" and any("?" in w for w in b["warnings"])'
        result $? "a bubblewrap that starts nothing"
    fi
    # A root without /tmp, of a small container.
    mkdir "$dir/root"
    call unshare -m sh -ec 'mount -t tmpfs -o mode=755 none "$1" && cd "$1"
        for d in bin sbin lib lib64 usr etc dev proc sys; do
            if [ -L /$d ]; then cp -P /$d $d; elif [ -d /$d ]; then mkdir $d; mount --rbind /$d $d; fi
        done
        mkdir -p old w stage && mount --bind "$2" stage && pivot_root . old && cd / && umount -l old && rmdir old && cd w
        for backend in auto namespace bubblewrap landlock; do
            status=0; env -u TMPDIR /stage/bin/confine run -b $backend -w . -- true || status=$?; echo $backend $status
        done
        status=0; XDG_RUNTIME_DIR= /stage/bin/confine session start x || status=$?; echo session $status
        mkdir t; TMPDIR=/w/t exec /stage/bin/confine run -b landlock -w . -- true' \
        sh "$dir/root" "$CONFINE_STAGE"
    { [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = $'auto 125\nnamespace 125\nbubblewrap 125\nlandlock 125\nsession 125' ] || why "status $status, $(cat "$dir/out")"; } &&
        [ "$(grep -c 'no directory /tmp here.*mkdir -m 1777 /tmp' "$dir/err")" -eq 3 ] && grep -q 'temp directory in /tmp: No such file.*mkdir -m 1777 /tmp' "$dir/err" && grep -q 'passed over before: namespace (no-tmp)' "$dir/err"
    result $? "a machine without /tmp: the way out is named, and landlock works with a TMPDIR"
    # A FUSE mount that nobody serves: whoever looks at it waits.
    if [ -c /dev/fuse ] && home=$(getent passwd 0 | cut -d: -f6) && [ -d "$home" ]; then
        cat >"$dir/hang.py" <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
os.set_inheritable(fd, True)
if libc.mount(b"hang", sys.argv[1].encode(), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd) != 0:
    sys.exit(99)
os.execv(sys.argv[2], sys.argv[2:])
P
        call timeout 120 unshare -m /usr/bin/python3 "$dir/hang.py" "$home" "$confine" probe --json
        if [ "$status" -eq 99 ]; then
            skip "a mount that hangs" "no FUSE mount can be made"
        else
            [ "$status" -eq 0 ] && schema_holds && row landlock 'b["reason"] == "probe-timeout" and "does not answer" in b["hint"]'
            result $? "a mount that hangs does not hang the probe, and is named"
        fi
    fi
fi
finish
