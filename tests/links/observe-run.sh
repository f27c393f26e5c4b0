#!/bin/sh
# observe-run: calls that change something by its name are announced to the channel's other end, and to nobody else.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
link=$links/observe-run
build lie "$here/lie.c"
lie=$test_dir/bin/lie
cp "$here/observed.py" "$test_dir/observed.py"
lying=
observed() { (cd "$test_dir/$1" && as "$1" /usr/bin/python3 "$test_dir/observed.py" "$link" "$2" $lying); }

run "$link" true
is 'no --' "$status|$err" '125|observe-run: fatal: true: usage: unknown option (and `--` must stand before the command)'
run "$link" -- true
is 'no channel' "$status|$err" '125|observe-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$link" --channel 1 -- true
is 'a channel that is an output' "$status|$err" '125|observe-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$link" --channel 77 -- true
is 'a channel that is not open' "$status|$err" '125|observe-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$link" --channel 7 -- true 7</dev/null
is 'a channel that is no socket' "$status|$err" '125|observe-run: fatal: channel: Not a socket'

for user in $users; do
    mkdir "$test_dir/$user"
    [ "$user" != nobody ] || chown 65534:65534 "$test_dir/$user"
    run observed "$user" works
    case $out in
    '1 descriptor; openat mkdir fchmodat rmdir; status 7' | '1 descriptor; openat mkdirat fchmodat unlinkat; status 7') good=yes ;;
    *) good=$out$err ;;
    esac
    is "$user: what changes something is announced, in order, and what reads is not" "$good" yes
    run observed "$user" nested
    is "$user: no room for a second one, and the command runs" "$status|$out" '0|0 descriptors; errno 16; status 3'
    for what in sendmsg=0 close=0 sendmsg=32; do
        lying="$lie $what"
        run observed "$user" lies
        is "$user: $what" "$status|$out" '0|125, one line, nothing has run'
    done
    lying="$lie seccomp=0"
    run observed "$user" lies
    is "$user: a filter that is not there" "$status|$out" '0|125, one line, nothing has run'
    lying=
done
finish
