#!/bin/sh
# terminal-run: a terminal of one's own, whose other side goes to the channel and nowhere else.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
tr=$links/terminal-run
build lie "$here/lie.c"
lie=$test_dir/bin/lie
cp "$here/channel.py" "$test_dir/channel.py"
lying=
channel() { as "$1" /usr/bin/python3 "$test_dir/channel.py" "$2" "$tr" $lying; }

run "$tr" true
is 'no --' "$status|$err" '125|terminal-run: fatal: true: usage: unknown option (and `--` must stand before the command)'
run "$tr" --on 0 -- true
is 'no channel' "$status|$err" '125|terminal-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$tr" --channel 1 --on 0 -- true
is 'a channel that is an output' "$status|$err" '125|terminal-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$tr" --channel 77 --on 0 -- true
is 'a channel that is not open' "$status|$err" '125|terminal-run: fatal: --channel: usage: needs a descriptor that is open, and none of 0, 1 and 2'
run "$tr" --on 0,x -- true
is 'no number' "$status|$err" '125|terminal-run: fatal: --on: usage: not a number'
run "$tr" --on 0,77 -- true
is 'not open' "$status|$err" '125|terminal-run: fatal: --on: this descriptor is not open'
run "$tr" --on 0,0,0,0,0,0,0,0,0 -- true
is 'too many' "$status|$err" '125|terminal-run: fatal: --on: usage: at most 8 descriptors'
run "$tr" --channel 7 -- true 7</dev/null
is 'no descriptor' "$status|$err" '125|terminal-run: fatal: --on: usage: needs a descriptor'
run "$tr" --channel 7 --on 0 -- true 7</dev/null
is 'a channel that is no socket' "$status|$err" '125|terminal-run: fatal: channel: Not a socket'

for user in $users; do
    run channel "$user" works
    is "$user: a terminal on 0 and 1, of this session, by name too; what is typed arrives" "$status|$out" \
        '0|terminal message; a master; tty; tty; none; leads its session; same name; /dev/tty; typed; status 7'
    run channel "$user" held
    is "$user: the other side is not kept" "$status|$out" '0|hung up'
    # Each call that answers without effect, or is refused, ends it: the command must not run.
    for what in setsid=0 ioctl=0 dup2=0 sendmsg=0 close=0 fstat=0 ioctl=25 open=13 sendmsg=32; do
        lying="$lie $what"
        run channel "$user" lies
        is "$user: $what" "$status|$out" '0|125, one line, nothing has run'
    done
    lying=
done
finish
