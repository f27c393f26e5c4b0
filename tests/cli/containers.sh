#!/bin/bash
# containers.sh - what a container takes away: numbers, capabilities, calls, a home. It works without, or says so in a line.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/tap.sh"
ran=(touch "$dir/ran")

is() {
    [ "$2" = "$3" ] || why "$1: seen \"$2\", expected \"$3\""
}

# ends_well NAME OUTPUT: the command has ended well, its last run said what runs later, and nothing of that is left.
ends_well() {
    is status "$status" 0 && is output "$(cat "$dir/out")" "$2" && is stderr "$(grep -v 'new, and runs later' "$dir/err")" '' &&
        is found "$(grep -c 'new, and runs later outside: .*tasks.json' "$dir/err")" 1 &&
        is left "$(find "$dir/tmp" -mindepth 1 -name 'confine-*' -exec find {} -mindepth 1 \;)" ''
    result $? "$1"
}
mkdir "$dir/tmp"
work='id -u; mkdir .vscode && echo "{}" >.vscode/tasks.json'
inside() {
    rm -rf .vscode
    call "${@:2}" env TMPDIR="$dir/tmp" "$confine" run -b "$1" -w . -- sh -c "$work"
}

usable=(landlock)
! backend_works namespace || usable+=(namespace)

# As podman without root makes it: root is somebody's number outside, has a home, and not all numbers are there.
apart=(unshare -Urm sh -c 'mount -t tmpfs none /root && exec "$@"' sh)
bare=(setpriv --bounding-set -all --inh-caps -all)
call "${apart[@]}" true
if [ "$status" -ne 0 ]; then
    skip 'root of a container' "no user namespaces: $(head -n 1 "$dir/err")"
elif [ "$(id -u)" -ne 0 ]; then
    skip 'root of a container' 'what is here does not belong to the root that a user can make'
else
    for backend in "${usable[@]}"; do
        inside "$backend" "${apart[@]}"
        ends_well "$backend: root with a number of its own alone" 0
    done
    inside landlock "${apart[@]}" "${bare[@]}"
    ends_well 'landlock: root without a capability' 0
    call "${apart[@]}" "${bare[@]}" "$confine" check -b landlock --only FS-01 --json
    is status "$status" 0 && grep -q '"verdict": "blocked"' "$dir/out"
    result $? 'and the battery, which is nobody else then either'
    if [ -n "${usable[1]:-}" ]; then
        unshare -U sleep 600 &
        holder=$!
        elsewhere() { [ "$(readlink /proc/self/ns/user)" != "$(readlink "/proc/$holder/ns/user")" ]; }
        await elsewhere
        printf '0 0 1\n1 100001 1000\n' >"$dir/map" # by one call, as the kernel wants it
        cat "$dir/map" >"/proc/$holder/uid_map" && cat "$dir/map" >"/proc/$holder/gid_map"
        work="cat /proc/self/uid_map; $work"
        inside namespace nsenter -U -t "$holder" -S 0 -G 0
        out=$(tr -s ' ' <"$dir/out")
        printf '%s\n' "$out" >"$dir/out"
        ends_well 'namespace: root with two ranges of numbers' ' 0 0 1
 1 1 1000
0'
        kill "$holder"
    fi
    wrapper=("${apart[@]}" "${bare[@]}")
    [ -z "${usable[1]:-}" ] ||
        refused 'namespace: root without a capability' 125 userns-denied 'CAP_SETFCAP' -b namespace -w . -- "${ran[@]}"
    refused 'another user, without the capability' 125 user-not-possible 'docker run --user 4242:4242' -b landlock --user 4242 -w . -- "${ran[@]}"
    wrapper=("${apart[@]}")
    refused 'another user, of whom nobody knows' 125 user-not-possible 'docker run --user 4242:4242' -b landlock --user 4242 -w . -- "${ran[@]}"
    wrapper=()
fi

# A filter that was written before the call was.
close_range=436
if cc -o "$dir/deny" "$here/deny.c" 2>"$dir/why"; then
    for errno in 1 38; do
        wrapper=("$dir/deny" $close_range $errno)
        refused "a filter that answers errno $errno to what it does not know" 125 link-failed 'a newer container engine' -b landlock -w . -- "${ran[@]}"
    done
    wrapper=()
else
    skip 'an old filter' 'no C compiler'
fi

# A /dev of few nodes: the next backend does, and bubblewrap says why it cannot.
if [ "$(id -u)" -eq 0 ] && [ -n "${usable[1]:-}" ]; then
    for lacks in 'rm /dev/full' 'rm /dev/null && touch /dev/null'; do
        poor=(unshare -m sh -c 'mount -t tmpfs -o mode=755 none "$0" && cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$0" &&
            mount --rbind "$0" /dev && '"$lacks"' && exec "$@"' "$dir/tmp")
        wrapper=("${poor[@]}")
        refused "$lacks: namespace" 125 no-device '/dev/null, zero, full' -b namespace -w . -- "${ran[@]}"
        wrapper=()
        for backend in bubblewrap namespace landlock; do
            call "${poor[@]}" "$confine" probe -b $backend --json
            python3 -c 'import json, sys
b = json.load(open(sys.argv[1]))["backends"][0]
sys.exit(b["usable"] != (sys.argv[2] == "landlock") or not b["usable"] and b["reason"] not in ("no-device", "no-bubblewrap"))' "$dir/out" $backend 2>>"$dir/why"
            result $? "$lacks: $backend"
        done
    done
fi

# A number that nobody has a name for, and no HOME.
nobody=(unshare -U --map-user=4321)
[ "$(id -u)" -ne 0 ] || nobody=(setpriv --reuid 4321 --regid 4321 --clear-groups)
if "${nobody[@]}" true 2>"$dir/err"; then
    chmod 755 "$dir" "$dir/w"
    for home in -u\ HOME HOME=relative; do
        call "${nobody[@]}" env $home "$confine" run -b landlock -- true
        is status "$status" 0 && is lines "$(grep -c '^confine: warning: no-home: .*--hide PATH' "$dir/err")" 1
        result $? "no home is known ($home), and that is said"
        call "${nobody[@]}" env $home "$confine" run -b landlock --hide '!@credentials' -- true
        is status "$status" 0 && ! grep no-home "$dir/err"
        result $? "unless nothing is to be hidden there ($home)"
    done
    call "${nobody[@]}" env HOME=/ "$confine" run -b landlock -- true
    is status "$status" 0 && ! grep no-home "$dir/err"
    result $? 'HOME is enough'
else
    skip 'no home' "$(head -n 1 "$dir/err")"
fi

# Services of another network namespace, of which the kernel's list says nothing here: a socket that is a mount, and one in a
# directory that is, which a variable names.
if [ -n "${usable[1]:-}" ]; then
    world=(unshare -mn) back=()
    [ "$(id -u)" -eq 0 ] || world=(unshare -Urmn) back=(unshare -U --map-user="$(id -u)" --map-group="$(id -g)")
    mkdir -p "$dir/host/d" "$dir/far/d"
    : >"$dir/far/agent"
    chmod 755 "$dir/host" "$dir/host/d" "$dir/far" "$dir/far/d"
    python3 - "$dir/host/agent" "$dir/host/d/agent" <<'PY' &
import os, socket, sys, time
listeners = []
for name in sys.argv[1:]:
    listeners.append(socket.socket(socket.AF_UNIX))
    listeners[-1].bind(name)
    listeners[-1].listen(8)
    os.chmod(name, 0o777)
open(os.path.dirname(sys.argv[1]) + "/ready", "w")
time.sleep(1200) # it is ended before
PY
    listener=$!
    cat >"$dir/w/connect.py" <<'PY'
import os, socket, sys
for name in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("reached")
    except OSError as error:
        print("refused")
PY
    await test -e "$dir/host/ready"
    far() { # WORD...: in that world
        call "${world[@]}" sh -c 'mount --bind "$1/host/agent" "$1/far/agent" && mount --bind "$1/host/d" "$1/far/d" && cd "$1/w" && shift && exec "$@"' sh \
            "$dir" "${back[@]}" env SSH_AUTH_SOCK="$dir/far/d/agent" "$@"
    }
    connect=(python3 connect.py "$dir/far/agent" "$dir/far/d/agent")
    far "${connect[@]}"
    is outside "$(tr '\n' ' ' <"$dir/out")" 'reached reached '
    result $? 'sockets of another network namespace are reached unconfined'
    for backend in namespace bubblewrap; do
        far "$confine" probe -b $backend --json
        grep -q '"usable": true' "$dir/out" || { skip "$backend: sockets of others" 'not there'; continue; }
        far "$confine" run -q -b $backend -w . -- "${connect[@]}"
        is inside "$(tr '\n' ' ' <"$dir/out")" 'refused refused '
        result $? "$backend: and masked"
        far "$confine" run -q -b $backend -w . --socket "$dir/far/agent" -- "${connect[@]}"
        is inside "$(tr '\n' ' ' <"$dir/out")" 'reached refused '
        result $? "$backend: unless one is granted"
    done
    kill "$listener"
fi

# A home that cannot be written, and a session or a list of hosts that cannot be had.
if [ -n "${usable[1]:-}" ]; then
    mkdir -m 755 "$dir/ro" && mkdir -m 500 "$dir/ro/confine"
    still=()
    [ "$(id -u)" -ne 0 ] || still=(unshare -m sh -c 'mount -t tmpfs -o mode=700 none "$XDG_RUNTIME_DIR/confine" &&
        mount -o remount,ro "$XDG_RUNTIME_DIR/confine" && exec "$@"' sh)
    call env XDG_RUNTIME_DIR="$dir/ro" "${still[@]}" "$confine" session start dev
    is status "$status" 125 && has_line 'set XDG_RUNTIME_DIR to'
    result $? 'a session that can have no file'
fi
call "$confine" learn -b landlock -w . -- true
is status "$status" 0 && ! grep -q 'list of hosts' "$dir/err"
result $? 'landlock by name has no list to be learnt'
if [ -x "$dir/deny" ]; then
    call setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/deny" 272 1 "$confine" learn -- true
    [ "$(id -u)" -ne 0 ] && call "$dir/deny" 272 1 "$confine" learn -- true
    is status "$status" 0 && grep -q '^confine: without a list of hosts, then' "$dir/err" && grep -q 'has the way to what was passed over)$' "$dir/err"
    result $? 'where none can be had, that is said, and learnt without'
fi

finish
