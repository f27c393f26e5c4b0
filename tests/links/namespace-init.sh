#!/bin/sh
# namespace-init: pid 1 has nothing to gain, the command waits until that is so, and pid 1 is gone before the end is told.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
BUILD_FLAGS='-static -pthread' build ns "$here/namespace.c"
cd / || exit 99 # a directory below /tmp is not there in the view
ns=$test_dir/bin/ns
nr=$links/namespace-run

run "$nr" -- true
if [ "$status" != 0 ]; then
    case $err in
    *'user namespace: '* | *proc-masked*)
        skip 'pid 1' "$err"
        finish
        ;;
    esac
fi

small='CapInh 0000000000000000
CapPrm 0000000000000000
CapEff 0000000000000000
CapAmb 0000000000000000
NoNewPrivs 1
Seccomp 2'
see='tr -d ":\t" </proc/1/status | sed -n "s/^\(Cap[IPEA][a-z]*\|NoNewPrivs\|Seccomp\)\([0-9a-f]*\)$/\1 \2/p"'

for user in $users; do
    run as "$user" "$nr" -- sh -c "$see"
    is "$user: no capability and none to regain, a filter" "$out" "$small"
    run as "$user" "$nr" --net -- sh -c "$see"
    is "$user: with a network of its own" "$out" "$small"
    # A listing of a process's descriptors is as large as they are many, since Linux 6.2.
    if [ "$(stat -c %s /proc/self/fd)" = 0 ]; then
        skip "$user: descriptors of pid 1" 'this kernel does not count them'
    else
        exec 7</ 8</dev/null 9>/dev/null
        run as "$user" "$nr" -- stat -c %s /proc/1/fd
        is "$user: no descriptor but what tells of the end" "$out" 1
        run as "$user" "$ns" supervise count "$nr" --liveness 30 -- sh -c '[ "$(stat -c %s /proc/1/fd)" = 2 ]'
        is "$user: and with a supervisor" "$out" 'exit 0, 0 left, all gone'
        exec 7<&- 8<&- 9>&-
    fi
    # Many take long to end: whoever did not wait for pid 1 would be gone before.
    run as "$user" "$ns" supervise count "$nr" --liveness 30 -- sh -c 'for i in $(seq 200); do sleep 1000 & done'
    is "$user: all are gone, pid 1 among them, when it ends" "$out" 'exit 0, 200 left, all gone'
    if command -v strace >/dev/null; then
        for call in seccomp close_range; do
            run as "$user" strace -f -o /dev/null -e trace=$call -e "inject=$call:delay_enter=300000" "$nr" -- sh -c "$see"
            is "$user: a command waits for it: $call takes long" "$status|$out" "0|$small"
        done
        run as "$user" strace -f -o /dev/null -e trace=seccomp -e inject=seccomp:error=EPERM "$nr" -- sh -c 'echo ran'
        is "$user: without its filter nothing starts" "$([ "$status" = 0 ] && echo started)|$out" '|'
        run as "$user" strace -f -o /dev/null -e trace=seccomp,mount_setattr -e inject=seccomp:error=EPERM \
            -e inject=mount_setattr:delay_enter=100000 "$nr" -- true
        is "$user: and where it has ended long before, that is said" "$status|$err" '125|namespace-run: fatal: pid 1: has ended before the command'
    else
        skip "$user: a command waits for pid 1" 'strace is not installed'
    fi
done
finish
