#!/bin/sh
# detach-run: nothing of the caller's is left but what is kept; the user is another for good.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build inherit "$here/inherit.c"
build keyring "$here/keyring.c"
inherit=$test_dir/bin/inherit keyring=$test_dir/bin/keyring
dr=$links/detach-run

fatal() {
    fatal_name=$1 fatal_text=$2
    shift 2
    run "$@"
    is "$fatal_name" "$status|$out|$err" "125||detach-run: fatal: $fatal_text"
}

fatal 'no --' 'usage: missing `--` and a command' "$dr"
fatal 'unknown option' '--keeps: usage: unknown option (and `--` must stand before the command)' "$dr" --keeps 3 -- true
fatal '--keep of no number' '--keep: usage: not a number' "$dr" --keep 3x -- true
fatal '--keep of an open list' '--keep: usage: not a number' "$dr" --keep 3, -- true
fatal '--keep of an empty item' '--keep: usage: not a number' "$dr" --keep 3,,4 -- true
fatal '--keep of a standard descriptor in a list' '--keep: usage: 0, 1 and 2 are always kept' "$dr" --keep 7,2 -- true
fatal '--keep of a standard descriptor' '--keep: usage: 0, 1 and 2 are always kept' "$dr" --keep 2 -- true
fatal '--keep of a closed descriptor' '--keep: this descriptor is not open' "$dr" --keep 77 -- true
fatal '--session and --group' '--group: usage: --session makes a process group already' "$dr" --session --group -- true
for text in '' 1 1: :1 1:1: 1:1x -1:1 4294967295:1 99999999999:1; do
    fatal "--user '$text'" '--user: usage: UID:GID, both in decimal' "$dr" --user "$text" -- true
done
fatal '--cpu-time of none' '--cpu-time: usage: not a number of seconds from 1' "$dr" --cpu-time 0 -- true
fatal '--file-size of no number' '--file-size: usage: not a number of bytes' "$dr" --file-size 1k -- true

for user in $users; do
    # inherit opens 3 to 40, ignores and blocks signals, starts timers, and runs the rest; without arguments it
    # prints what it finds. The first line of each is the control: all of it is inherited without the link.
    run as "$user" "$inherit" "$inherit"
    is "$user: control: everything is inherited" "$out" 'open 0-40
ignored 13 17
blocked 10 15
timer 1'
    run as "$user" "$inherit" "$dr" --keep 9 --keep 7 --keep 40 --keep 9 -- "$inherit"
    is "$user: only the kept are left" "$out" 'open 0-2 7 9 40
ignored
blocked
timer 0'
    run as "$user" "$inherit" "$dr" --keep 9,7 --keep 40,9 -- "$inherit"
    is "$user: only the kept are left, of lists" "$(printf '%s\n' "$out" | head -1)" 'open 0-2 7 9 40'
    run as "$user" "$inherit" "$dr" -- "$inherit"
    is "$user: none is kept" "$(printf '%s\n' "$out" | head -1)" 'open 0-2'
    mkdir -m 1777 -p "$test_dir/open"
    rm -f "$test_dir/open/std"
    run as "$user" sh -c 'exec "$1" -- sh -c "(ls -l /proc/\$\$/fd/0 /proc/\$\$/fd/1 /proc/\$\$/fd/2) >$2; :" <&- >&- 2>&-' sh "$dr" "$test_dir/open/std"
    is "$user: they are the null device, each for its direction" \
        "$(sed 's/^\(...\).* -> /\1 /' "$test_dir/open/std" | tr '\n' ' ')" 'lr- /dev/null l-w /dev/null l-w /dev/null '
    run as "$user" "$dr" --session -- sh -c 'read -r _ _ _ _ group session _ </proc/self/stat; [ "$group" = $$ ] && [ "$session" = $$ ] && exit 7'
    is "$user: a session of its own" "$status" 7
    run as "$user" setsid -w "$dr" --session -- sh -c 'read -r _ _ _ parent group session _ </proc/self/stat; [ "$session" = $$ ] && [ "$parent" = "$PPID" ] && exit 8'
    is "$user: from a group leader: the status comes through the fork" "$status" 8
    run as "$user" setsid -w "$dr" --session -- sh -c 'kill -KILL $$'
    is "$user: and a signal's too" "$status" 137
    run as "$user" setsid -w sh -c 'timeout -s TERM 1 "$1" --session -- sh -c "trap \"exit 5\" TERM; while :; do sleep 0.1; done" "$2/looped"
        i=0; while pgrep -f "$2/loope[d]" >/dev/null && [ $((i += 1)) -lt 600 ]; do sleep 0.1; done; pgrep -f "$2/loope[d]" || echo gone' sh "$dr" "$test_dir"
    is "$user: signals are passed on" "$out" gone
    run as "$user" setsid -w "$dr" --session -- sh -c 'ls /proc/$PPID/fd 2>/dev/null | wc -l'
    is "$user: the process in front holds no descriptor" "$out" 0
    run as "$user" "$dr" --group -- sh -c 'read -r _ _ _ _ group _ </proc/self/stat; [ "$group" = $$ ] && echo own'
    is "$user: a group of its own" "$out" own
    for pair in 0:0002 022:0022 077:0077 0777:0077 0300:0002 002:0002; do
        run as "$user" sh -c 'umask "$2"; exec "$1" -- sh -c umask' sh "$dr" "${pair%:*}"
        is "$user: umask ${pair%:*}" "$out" "${pair#*:}"
    done
    run as "$user" sh -c 'exec "$1" -- grep "^Max core" /proc/self/limits' sh "$dr"
    is "$user: core limit" "$(echo $out)" 'Max core file size 1 1 bytes'
    run as "$user" sh -c 'ulimit -Hc 0; exec "$1" -- grep "^Max core" /proc/self/limits' sh "$dr"
    is "$user: a core limit of 0 stays" "$(echo $out)" 'Max core file size 0 0 bytes'
    run as "$user" "$dr" --file-size 5000000000 -- grep '^Max file size' /proc/self/limits
    is "$user: file size" "$(echo $out)" 'Max file size 5000000000 5000000000 bytes'
    run as "$user" "$dr" --cpu-time 7 -- grep '^Max cpu time' /proc/self/limits
    is "$user: processor time" "$(echo $out)" 'Max cpu time 7 8 seconds'
    run as "$user" sh -c 'ulimit -t 5; exec "$1" --cpu-time 7 -- grep "^Max cpu time" /proc/self/limits' sh "$dr"
    is "$user: less processor time stays" "$(echo $out)" 'Max cpu time 5 5 seconds'
    run as "$user" "$inherit" keyring "$dr" -- "$inherit" keyring
    is "$user: another session keyring" "$out" 'other'
    run as "$user" "$inherit" keyring "$inherit" keyring
    is "$user: control: the same session keyring" "$out" 'same'
    run as "$user" "$dr" -- "$keyring"
    is "$user: it is empty, and nothing is put in it" "$out" 'confine.empty b0b0000 0 refused'
    run as "$user" "$dr" -- "$dr" -- "$keyring"
    is "$user: the same once more" "$out" 'confine.empty b0b0000 0 refused'
    run as "$user" "$dr" --keyring -- "$keyring"
    is "$user: --keyring: one of its own" "$out" '_ses 3f030000 0 taken'
done

# Of users whom nobody else has, each with as many keys as an ordinary one; and each for one case, as a keyring outlives
# its last process by a moment. The one that lets in everybody comes last: another run of this test would find it.
if [ "$(id -u)" = 0 ]; then
    exec 9</proc/key-users
    flock -w 120 9 || echo '# the keyrings of another run of this test may be in the way'
    user() { as_user="setpriv --reuid $1 --regid $1 --clear-groups"; }
    user 64901
    run $as_user "$keyring" make confine.empty b0b0000 "$dr" -- "$keyring"
    is 'one of that name with a key in it is not joined' "$out" '_ses 3f030000 0 taken'
    user 64902
    run $as_user "$keyring" make confine.empty 3f3f0000 "$keyring"
    is 'control: it has the key, and takes another' "$out" 'confine.empty 3f3f0000 1 taken'
    user 64903
    run $as_user "$keyring" make confine.empty 3f3f0000 "$dr" -- "$keyring"
    is 'nor one that could be written to' "$out" '_ses 3f030000 0 taken'
    user 64906
    run $as_user "$keyring" make confine.other 3f3f0000 "$keyring" fill "$dr" -- true
    is 'no key left' "$status|$err" "125|detach-run: fatal: session keyring: this user's keys are used up (/proc/key-users; sysctl kernel.keys.maxkeys)"
    user 64907
    run $as_user "$dr" -- sh -c '"$@" & wait $!' sh "$keyring" make confine.other 3f3f0000 "$keyring" fill "$dr" -- "$keyring"
    is 'no key left, and one is there already' "$status|$out" '0|confine.empty b0b0000 0 refused'
    mkfifo "$test_dir/held" "$test_dir/done"
    chmod 666 "$test_dir/held" "$test_dir/done"
    user 64904
    $as_user "$keyring" make confine.empty b0b000b sh -c ': >"$1"; read -r _ <"$2"' sh "$test_dir/held" "$test_dir/done" &
    holder=$!
    read -r _ <"$test_dir/held" || :
    user 64905
    run $as_user "$keyring" make confine.empty b0b000b true
    is 'control: another user is let into one of that name, and puts nothing there' "$status" 98
    run $as_user "$dr" -- "$keyring"
    is 'nor does one stay there' "$out" '_ses 3f030000 0 taken'
    : >"$test_dir/done"
    wait "$holder"
    # Once the kernel has let go of that one.
    user 64908
    for _ in $(seq 100); do
        $as_user "$keyring" bare confine.empty 3f3f003f "$keyring" revoke && break
        sleep 0.1
    done
    $as_user timeout 60 "$keyring" bare confine.empty 3f3f003f sh -c 'echo >"$1"; read -r _ <"$2"; "$3" revoke' sh "$test_dir/held" "$test_dir/done" "$keyring" &
    holder=$!
    timeout 60 head -n 1 "$test_dir/held" >"$test_dir/seen"
    user 64909
    run $as_user --inh-caps +sys_admin --ambient-caps +sys_admin "$dr" -- "$keyring"
    is 'nor one who could set its rights, as root can' "$out" '_ses 3f030000 0 taken'
    timeout 60 sh -c ': >"$1"' sh "$test_dir/done"
    wait "$holder"
    exec 9<&-
fi

if [ "$(id -u)" = 0 ]; then
    run setpriv --groups 4,5,6 "$dr" --user 4242:4343 -- sh -c 'grep -h "^Uid\|^Gid\|^Groups\|^CapEff\|^CapPrm" /proc/self/status | tr "\t\n" "  "'
    is '--user' "$out" 'Uid: 4242 4242 4242 4242 Gid: 4343 4343 4343 4343 Groups:   CapPrm: 0000000000000000 CapEff: 0000000000000000 '
    run "$dr" --user 0:0 -- id -u
    is '--user 0:0' "$status|$out" '0|0'
    fatal 'capabilities that survive a change of user' '--user: root could be regained (are capabilities kept over a change of user?)' \
        setpriv --securebits +no_setuid_fixup "$dr" --user 4242:4242 -- true
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$dr" --user 1:1 -- true
    is '--user by another than root' "$status|$err" '125|detach-run: fatal: --user: only root can become another user'
    if unshare -m true 2>/dev/null; then
        touch "$test_dir/plain"
        run unshare -m sh -c 'mount --bind "$2" /dev/null && exec "$1" -- true <&-' sh "$dr" "$test_dir/plain"
        is 'a null device that is none' "$status|$err" '125|detach-run: fatal: /dev/null: is not the null device'
    else
        skip 'a null device that is none' 'no mount namespace'
    fi
else
    skip '--user' 'needs root'
fi
if command -v python3 >/dev/null; then
    # On a terminal of our own: the foreground follows the new group, but only from the foreground.
    run python3 "$here/terminal.py" "$dr"
    is '--group takes the foreground along' "$out" 'foreground: command is in it True
background: command is in it False'
else
    skip '--group takes the foreground along' 'no python3'
fi
# The signal that its parent's end sends is set, for the command and after a change of user.
cat >"$test_dir/signal.c" <<'C'
#include <stdio.h>
#include <sys/prctl.h>
int main(void)
{
    int signum = 0;

    return prctl(PR_GET_PDEATHSIG, &signum, 0, 0, 0) != 0 || printf("%d\n", signum) < 0;
}
C
build signal "$test_dir/signal.c"
run "$dr" --with-parent -- "$test_dir/bin/signal"
is '--with-parent: SIGKILL when the parent ends' "$status|$out" '0|9'
run "$dr" -- "$test_dir/bin/signal"
is 'control: nothing without it' "$status|$out" '0|0'
if [ "$(id -u)" = 0 ]; then
    run "$dr" --with-parent --user 4242:4242 -- "$test_dir/bin/signal"
    is '--with-parent and --user' "$status|$out" '0|9'
fi
finish
