#!/bin/bash
# audit.sh - refusals that the kernel's audit has as well, where that is on and may be read; and nothing of it where not.
. "$(dirname "$0")/../cli/tap.sh"

chmod 755 "$dir"
mkdir "$dir/o" && : >"$dir/o/file"
chmod 777 "$dir/w" "$dir/o" && chmod 666 "$dir/o/file"
user=()

# holds REPORT EXPRESSION on `a` (what the audit had) and `seen` (evidence, operation, path, count), without noise
holds() {
    "$validate" "$schema" "$1" >>"$dir/why" && python3 - "$1" "$2" "$dir" 2>>"$dir/why" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["denials"]
a, dir = d["audit"], sys.argv[3]
seen = sorted((i["evidence"], i["operation"], i["path"].replace(dir, ""), i["count"]) for i in d["items"] if not i["noise"])
sys.exit(0 if eval("(" + sys.argv[2] + ")") else "not true: %s: %s %s" % (sys.argv[2], a, seen))
END
}
# watched NAME WORD...: a run with the report NAME
watched() {
    local report=$dir/$1
    shift
    "${user[@]}" "$confine" run -q -b landlock -w "$dir/w" --report fd:7 -- "$@" 7>"$report" >"$dir/said" 2>"$dir/err" </dev/null
}

call "$confine" probe -b landlock --json
lack=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["audit"]["reason"])' "$dir/out")
"$confine" probe -b landlock >"$dir/said"
case $lack in
None) grep -q "^kernel's audit: read" "$dir/said" ;;
*) grep -q "^kernel's audit: not read: .*\[$lack\]$" "$dir/said" ;;
esac
result $? "probe says whether it can be read"

# Whoever may not read it has what an observer sees, and nothing more.
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
watched plain sh -c "echo x >$dir/o/new"
holds "$dir/plain" "a is None and seen == [('predicted', 'create', '/o/new', 1)]" &&
    ! grep -q audit-run "$dir/plain"
result $? "an ordinary user: nothing is read, and no layer is laid for it"
user=()

if [ "$lack" != None ]; then
    watched plain sh -c "echo x >$dir/o/new"
    holds "$dir/plain" "a is None and seen == [('predicted', 'create', '/o/new', 1)]" && ! grep -q audit-run "$dir/plain"
    result $? "where it cannot be read ($lack) it is not asked for"
    skip "refusals are joined" "the kernel's audit cannot be read: $lack"
    finish
fi

# The shell opens both names from the same place in its memory; each of the loop is another process.
watched joined sh -c "echo x >$dir/o/new; echo x >$dir/o/file; rm -f $dir/o/file; mkdir $dir/o/a\ b; ln $dir/o/file link; touch t; mv t $dir/o/
    for i in 1 2 3; do (echo x >$dir/o/loop); done; :"
holds "$dir/joined" "a['refused'] == a['joined'] == 9 and a['complete'] and seen == sorted(('kernel+observed',) + i for i in [
    ('create', '/o/new', 1), ('write', '/o/file', 1), ('remove', '/o/file', 1), ('create', '/o/a b', 1), ('link', '/o/file', 1),
    ('rename', '/o/t', 1), ('create', '/o/loop', 3)])"
result $? "each refusal is the observer's and the kernel's, and the kernel's sum says so"

watched blind python3 -c "
import ctypes, threading
def refused(name):
    try:
        open('$dir/o/' + name, 'w')
    except PermissionError:
        pass
thread = threading.Thread(target=refused, args=['thread'])
thread.start()
thread.join()
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
refused('unread')"
holds "$dir/blind" "a['refused'] == 2 and a['joined'] == 1 and a['complete'] and
    seen == [('kernel', 'create', '/o', 1), ('kernel+observed', 'create', '/o/thread', 1)]"
result $? "a thread's is its process's; what cannot be read is the kernel's alone, with the directory"

watched one sh -c "echo x >$dir/o/one; sleep 0.2; echo x >$dir/o/one" &
watched two sh -c "echo x >$dir/o/two; sleep 0.2; echo x >$dir/o/two"
wait $!
holds "$dir/one" "a['joined'] == 2 and seen == [('kernel+observed', 'create', '/o/one', 2)]" &&
    holds "$dir/two" "a['joined'] == 2 and seen == [('kernel+observed', 'create', '/o/two', 2)]"
result $? "two runs at once: each has its own"

watched nothing true
holds "$dir/nothing" "a == {'complete': None, 'refused': 0, 'joined': 0, 'lost': a['lost']} and seen == []"
result $? "nothing refused: the kernel says nothing, and nothing is concluded from it"

# Who reads everybody's records has nothing else; and a run does not need it.
mkfifo "$dir/go"
watched lives sh -c "read x <$dir/go; echo x >$dir/o/new" &
reader=$(python3 -c "
import os, time
until = time.monotonic() + 60
while time.monotonic() < until:
    sockets = {'socket:[%s]' % line.split()[9] for line in open('/proc/net/netlink') if line.split()[1] == '9'}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink('/proc/%s/fd/0' % pid) in sockets and 'Seccomp:\t2' in open('/proc/%s/status' % pid).read():
                print(pid)
                raise SystemExit
        except OSError:
            pass
    time.sleep(0.05)")
[ -n "$reader" ] && [ "$(ls "/proc/$reader/fd" | tr '\n' ' ')" = '0 1 ' ] && grep -q '^NoNewPrivs:.1' "/proc/$reader/status" &&
    [ "$(grep -c '^Cap\(Prm\|Eff\|Inh\):.0*$' "/proc/$reader/status")" -eq 3 ] || why "${reader:-none}: $(ls -l "/proc/$reader/fd" 2>&1)"
result $? "the reader holds the socket and the wire, no capability, and a list of calls"
[ -z "$reader" ] || kill -KILL "$reader"
echo >"$dir/go"
wait $!
holds "$dir/lives" "not a['complete'] and seen == [('predicted', 'create', '/o/new', 1)]"
result $? "without it the run goes on, and the report says what it lacks"

if [ "$(id -u)" -eq 0 ]; then
    unshare -pf --kill-child --mount-proc "$confine" run -q -b landlock -w "$dir/w" --report "$dir/inner" -- sh -c "echo x >$dir/o/new" 2>"$dir/err"
    holds "$dir/inner" "a is None and seen == [('predicted', 'create', '/o/new', 1)]"
    result $? "in another process namespace, whose numbers the kernel does not use, it is not read"
fi
finish
