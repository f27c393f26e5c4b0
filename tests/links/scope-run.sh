#!/bin/sh
# scope-run: which processes outside can be reached, and the guard that ends a run.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build act "$here/act.c"
BUILD_FLAGS='-static -DSECONDS=90' build storm "$here/storm.c"
build supervise "$here/supervise.c"
build unscoped "$here/unscoped.c"
act=$test_dir/bin/act
storm=$test_dir/bin/storm
supervise=$test_dir/bin/supervise
sr=$links/scope-run

fatal() {
    fatal_name=$1 fatal_text=$2
    shift 2
    run "$@"
    is "$fatal_name" "$status|$out|$err" "125||scope-run: fatal: $fatal_text"
}

fatal 'nothing asked' 'usage: nothing to limit' "$sr" -- true
fatal 'no --' 'usage: missing `--` and a command' "$sr" --signal
fatal 'unknown option' '--signals: usage: unknown option (and `--` must stand before the command)' "$sr" --signals -- true
fatal 'guard without channel' '--guard: usage: needs --channel, and the other way round' "$sr" --signal --guard 0 -- true
fatal 'channel without guard' '--guard: usage: needs --channel, and the other way round' "$sr" --signal --channel 1 -- true
fatal 'guard without the signal scope' '--guard: usage: needs --signal, or it would reach every process of the user' "$sr" --abstract --guard 0 --channel 1 -- true
fatal 'guard on a closed descriptor' '--guard: a descriptor is not open' "$sr" --signal --guard 77 --channel 1 -- true
fatal 'guard and channel the same' '--guard: usage: the channel is another descriptor' "$sr" --signal --guard 1 --channel 1 -- true
abi=$("$act" abi)
for class in udp:10 unix:9; do
    if [ "$abi" -lt "${class#*:}" ]; then
        fatal "--${class%:*} on an older kernel" "--${class%:*}: this kernel's Landlock ABI has no such right" "$sr" "--${class%:*}" -- true
    else
        run "$sr" "--${class%:*}" -- "$act" read /
        is "--${class%:*}" "$status|$out" '0|0'
    fi
done

# A uid that nobody else has: what the guard might hit by a fault is ours alone.
other='setpriv --reuid 61234 --regid 61234 --clear-groups'
as() {
    test_user=$1
    shift
    if [ "$test_user" = nobody ]; then $other "$@"; else "$@"; fi
}
# Root's guard, too, runs where a fault could hurt nothing: in a pid namespace.
alone() {
    alone_user=$1
    shift
    if [ "$alone_user" = root ]; then unshare -pf --kill-child --mount-proc "$@"; else as "$alone_user" "$@"; fi
}

for user in $users; do
    if [ "$user" = nobody ]; then prefix=$other; else prefix=; fi
    $prefix sleep 1000 >/dev/null 2>&1 &
    bystander=$!
    $prefix timeout 1000 "$act" listen "confine-test-$$-$user" >"$test_dir/listening-$user" 2>/dev/null &
    listener=$!
    tries=0
    until [ -s "$test_dir/listening-$user" ] || [ $tries -ge 600 ]; do sleep 0.1; tries=$((tries + 1)); done

    run as "$user" "$act" signal "$bystander"
    is "$user: control: signal" "$out" 0
    run as "$user" "$sr" --signal -- "$act" signal "$bystander"
    is "$user: --signal" "$status|$out" '0|1'
    run as "$user" "$sr" --abstract --tcp -- "$act" signal "$bystander"
    is "$user: without --signal it passes" "$status|$out" '0|0'
    run as "$user" "$act" abstract "confine-test-$$-$user"
    is "$user: control: abstract" "$out" 0
    run as "$user" "$sr" --abstract -- "$act" abstract "confine-test-$$-$user"
    is "$user: --abstract" "$status|$out" '0|1'
    run as "$user" "$sr" --signal --tcp -- "$act" abstract "confine-test-$$-$user"
    is "$user: without --abstract it passes" "$status|$out" '0|0'
    run as "$user" "$sr" --tcp -- "$act" loopback
    is "$user: --tcp" "$status|$out" '0|13'
    run as "$user" "$sr" --tcp -- "$act" connect 1
    is "$user: --tcp: connect" "$status|$out" '0|13'
    run as "$user" "$sr" --signal --abstract -- "$act" loopback
    is "$user: without --tcp it passes" "$status|$out" '0|0'
    run as "$user" "$sr" --signal --abstract --tcp -- "$sr" --signal --abstract --tcp -- "$act" loopback
    is "$user: nested" "$status|$out|$err" '0|13|'
    run as "$user" "$sr" --signal -- sh -c 'sleep 500 & kill -TERM $!; wait $!; echo $?'
    is "$user: own children can be signalled" "$out" 143
    run as "$user" "$sr" --signal --abstract --tcp -- sh -c "cd $test_dir && mv --version >/dev/null && exit 6"
    is "$user: status" "$status" 6

    # Every layer can take renames across directories away, one without a file right too.
    rm -rf "$test_dir/ws"
    mkdir -p "$test_dir/ws/a" "$test_dir/ws/b"
    touch "$test_dir/ws/a/f"
    [ "$user" != nobody ] || chown -R 61234:61234 "$test_dir/ws"
    run as "$user" "$links/landlock-run" --ro / --rw "$test_dir/ws" -- "$sr" --signal --abstract --tcp -- \
        "$act" rename "$test_dir/ws/a/f" "$test_dir/ws/b/f"
    is "$user: rename across directories behind landlock-run" "$status|$out" '0|0'

    # The guard.
    run alone "$user" "$supervise" end "$sr" --signal --guard 21 --channel 20 -- "$storm" 300 3
    is "$user: 300 daemons and three fork storms" "$out" 'guard is our child
command 0
left something
then nothing
guard 0'
    ok "$user: a bystander of the same uid lives" kill -0 "$bystander"
    run alone "$user" "$supervise" end "$sr" --signal --guard 21 --channel 20 -- "$links/drop-run" -- "$storm" guard
    is "$user: the command reaches nothing of the guard" "$(printf '%s\n' "$out" | sort)" 'command 0
guard 0
guard is our child
left nothing
stop 1 kill 1 trace 1 environ 13 mem 13 fd 13
then nothing'
    run alone "$user" "$supervise" end "$sr" --signal --guard 21 --channel 20 -- sh -c 'read x <&21 2>/dev/null || exit 3'
    is "$user: the command does not have the liveness pipe" "$(printf '%s\n' "$out" | sed -n 2p)" 'command 2'
    run alone "$user" "$supervise" deaf "$sr" --signal --guard 21 --channel 20 -- "$storm" 3 0
    is "$user: nobody on the channel: the guard kills nothing and says so" "$out" 'command 0
left something
then something
guard 125'
    # The supervisor is killed: everything that holds this pipe is gone long before its own 90 seconds.
    run alone "$user" timeout -s KILL 60 sh -c '{ "$@"; } | cat' sh "$supervise" die "$sr" --signal --guard 21 --channel 20 -- "$storm" 50 1
    is "$user: the supervisor is killed" "$status|$(printf '%s\n' "$out" | tail -1)" '0|left something'
    ok "$user: the bystander still lives" kill -0 "$bystander"
    kill "$bystander" "$listener"
done

if unshare -rpf true 2>/dev/null; then
    run unshare -rpf "$test_dir/bin/unscoped"
    is 'a guard outside any scope kills nothing' "$status|$out" '0|guard 125, bystander 15'
    # The check taken away: the same test must see it.
    sed 's/getppid(), 0, 0, 0, 0, 0) != -EPERM/getppid(), 0, 0, 0, 0, 0) == -EINVAL/' "$here/../../links/guard.h" >"$test_dir/guard.h"
    sed "s|../../links/guard.h|$test_dir/guard.h|" "$here/unscoped.c" >"$test_dir/mutated.c"
    BUILD_FLAGS="-static -I$here/../../links" build mutated "$test_dir/mutated.c"
    run unshare -rpf "$test_dir/bin/mutated"
    is 'mutation: without the check it would' "$status|$out" '0|guard 0, bystander 9'
else
    skip 'a guard outside any scope kills nothing' 'no user and pid namespace'
fi
finish
