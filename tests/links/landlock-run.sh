#!/bin/sh
# landlock-run: grammar, exit statuses, what it denies and what it leaves alone.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build act "$here/act.c"
act=$test_dir/bin/act
lr=$links/landlock-run
ws=$test_dir/ws
far=$test_dir/far
printf '\177ELF broken' >"$test_dir/bin/badelf"
printf 'echo a shell ran this\n' >"$test_dir/bin/noshebang"
chmod 755 "$test_dir/bin/badelf" "$test_dir/bin/noshebang"

# fatal NAME TEXT WORDS...: ends with 125 and exactly this one line; nothing on stdout
fatal() {
    fatal_name=$1 fatal_text=$2
    shift 2
    run "$@"
    is "$fatal_name" "$status|$out|$err" "125||landlock-run: fatal: $fatal_text"
}

unknown='usage: unknown option (and `--` must stand before the command)'
fatal 'no argument' 'usage: missing `--` and a command' "$lr"
fatal 'no --' 'usage: missing `--` and a command' "$lr" --ro /
fatal 'no command' 'usage: no command after `--`' "$lr" --ro / --
fatal '--ro without a value' '--ro: usage: this option needs a value' "$lr" --ro
fatal '--rw without a value' '--rw: usage: this option needs a value' "$lr" --ro / --rw
fatal 'abbreviation' "--r: $unknown" "$lr" --r / -- true
fatal 'value with =' "--ro=/: $unknown" "$lr" --ro=/ -- true
fatal 'longer word' "--rox: $unknown" "$lr" --rox / -- true
fatal 'single dash' "-ro: $unknown" "$lr" -ro / -- true
fatal 'command before --' "true: $unknown" "$lr" --ro / true --
fatal 'no log option' "--log: $unknown" "$lr" --log -- true
fatal '--probe and more' '--probe: usage: takes no other argument' "$lr" --probe --ro /
fatal '--probe --' '--probe: usage: takes no other argument' "$lr" --probe --
fatal '--probe twice' '--probe: usage: takes no other argument' "$lr" --probe --probe
fatal '--probe later' '--probe: usage: must be the only argument' "$lr" --ro / --probe
fatal 'missing path' "$test_dir/none: No such file or directory" "$lr" --ro "$test_dir/none" -- true
fatal 'empty path' ': No such file or directory' "$lr" --ro '' -- true
fatal 'usage before paths' 'usage: missing `--` and a command' "$lr" --ro "$test_dir/none"
fatal 'name with an escape sequence' '/\x1b[31m\x0a_: No such file or directory' "$lr" --ro "$(printf '/\033[31m\n_')" -- true
fatal 'no such command' 'nonesuch: No such file or directory' env PATH=/usr/bin:/bin "$lr" --ro / -- nonesuch
mkdir -p "$test_dir/directories/nonesuch"
fatal 'a directory of its name is no command' 'nonesuch: No such file or directory' env PATH="$test_dir/directories" "$lr" --ro / -- nonesuch
rm -r "$test_dir/directories"
fatal 'no such path' '/nonesuch: No such file or directory' "$lr" --ro / -- /nonesuch
fatal 'empty command' ': No such file or directory' "$lr" --ro / -- ''
fatal 'not executable' '/etc/passwd: Permission denied' "$lr" --ro / -- /etc/passwd
fatal 'a directory' '/etc: Permission denied' "$lr" --ro / -- /etc
fatal 'bad ELF' "$test_dir/bin/badelf: Exec format error" "$lr" --ro / -- "$test_dir/bin/badelf"
fatal 'script without #! is given to no shell' "$test_dir/bin/noshebang: Exec format error" "$lr" --ro / -- "$test_dir/bin/noshebang"
fatal 'nothing granted' "$act: Permission denied" "$lr" -- "$act" read /
fatal 'a pipe cannot be granted' '/proc/self/fd/0: Landlock takes no rule on this kind of object (a pipe, a namespace, a memory file)' \
    sh -c 'true | "$1" --ro /proc/self/fd/0 -- true' sh "$lr"
fatal 'no PATH: not the current directory' 'act: No such file or directory' env -i PATH=/nonesuch "$lr" --ro / -- act read /

run "$lr" --probe
is 'probe' "$status|$out|$err" '0|landlock: fully enforced|'
run sh -c 'trap "" CHLD; exec "$1" --probe' sh "$lr"
is 'probe with SIGCHLD ignored' "$status|$out|$err" '0|landlock: fully enforced|'
run sh -c '"$1" --probe >/dev/full' sh "$lr"
is 'probe to a full disk' "$status|$err" '125|landlock-run: fatal: standard output: No space left on device'
run sh -c '"$1" --probe >&-' sh "$lr"
is 'probe without standard output' "$status|$err" '125|landlock-run: fatal: standard output: Bad file descriptor'

for user in $users; do
    rm -rf "$ws" "$far"
    mkdir -p "$ws/a" "$ws/b" "$far/sub"
    mkfifo "$far/fifo"
    echo data >"$far/f"
    echo data >"$ws/a/f"
    [ "$user" != nobody ] || chown -R 65534:65534 "$ws" "$far"

    for code in 0 1 124 125 126 127 255; do
        run as "$user" "$lr" --ro / -- sh -c "exit $code"
        is "$user: status $code" "$status" "$code"
    done
    run as "$user" "$lr" --ro / -- sh -c 'kill -TERM $$'
    is "$user: ended by a signal" "$status" 143
    run as "$user" "$lr" --ro / -- sh -c 'echo "landlock-run: fatal: x" >&2; exit 125'
    is "$user: a child that prints our line" "$status|$err" '125|landlock-run: fatal: x'
    run as "$user" env PATH="$test_dir/bin:/usr/bin:/bin" "$lr" --ro / -- act read /etc/passwd
    is "$user: found by PATH" "$status|$out" '0|0'
    run as "$user" env -i A=1 LD_PRELOAD=/nonesuch "$lr" --ro / -- /usr/bin/env
    is "$user: environment as given" "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" 'A=1 LD_PRELOAD=/nonesuch '
    run as "$user" sh -c 'exec 7</etc/passwd; exec /bin/ls -l /proc/self/fd'
    bare=$(printf '%s\n' "$out" | sed -n 's/.* \([0-9]* -> [^:]*\).*/\1/p' | grep -v /fd$)
    run as "$user" sh -c 'exec 7</etc/passwd; exec "$1" --ro / -- /bin/ls -l /proc/self/fd' sh "$lr"
    is "$user: descriptors as inherited, none of ours" "$(printf '%s\n' "$out" | sed -n 's/.* \([0-9]* -> [^:]*\).*/\1/p' | grep -v /fd$)" "$bare"
    run as "$user" "$lr" --ro / -- sh -c 'grep -h "^NoNewPrivs\|^SigPnd\|^SigIgn" /proc/self/status | tr -d "\t\n"'
    # make's posix_spawn leaves signals 32 and 33 ignored: what is ignored is what was before
    ignored=$(as "$user" sh -c 'grep -h "^SigIgn" /proc/self/status | tr -d "\t\n"')
    is "$user: no_new_privs, nothing pending" "$out" "SigPnd:0000000000000000${ignored}NoNewPrivs:1"

    # What is denied outside; each act is done first without the link (the control), on a copy where it destroys.
    while read -r name where expected; do
        eval "where=\"$where\""
        run as "$user" "$lr" --ro / --rw "$ws" -- "$act" "$name" $where
        is "$user: $name outside" "$out" "$expected"
    done <<-ROWS
	read $far/f 0
	write $far/f 13
	rdwr $far/f 13
	create $far/new 13
	truncate $far/f 13
	otrunc $far/f 13
	unlink $far/f 13
	mkdir $far/newdir 13
	rmdir $far/sub 13
	symlink $far/newlink 13
	fifo $far/newfifo 13
	device $far/newdev 13
	rdwr $far/fifo 13
	rdwr /dev/null 13
	create $ws/new 0
	truncate $ws/a/f 0
	fifo $ws/newfifo 0
	loopback - 0
	ROWS
    is "$user: the file outside is whole" "$(cat "$far/f")" data
    for pair in "rename $far/f $ws/x 13" "rename $ws/a/f $far/x 13" "link $far/f $ws/x 18" "rename $ws/a/f $ws/b/f 0" "link $ws/b/f $ws/a/g 0"; do
        set -- $pair
        run as "$user" "$lr" --ro / --rw "$ws" -- "$act" "$1" "$2" "$3"
        is "$user: $1 ${2#"$test_dir/"} to ${3#"$test_dir/"}" "$out" "$4"
    done
    for name in write truncate otrunc "rename $far/g" unlink; do # the controls: all of it succeeds without the link
        set -- $name
        [ -e "$far/f" ] || mv "$far/g" "$far/f"
        if [ "$1" = rename ]; then run as "$user" "$act" rename "$far/f" "$far/g"; else run as "$user" "$act" "$1" "$far/f"; fi
        is "$user: control: $1" "$out" 0
    done
    run as "$user" "$lr" --ro "$act" --rw "$ws" -- "$act" read /etc/passwd
    is "$user: what is not granted cannot be read" "$out" 13
    run as "$user" "$lr" --ro "$act" --rw /dev/null -- "$act" write /dev/null
    is "$user: a device as a grant" "$out" 0
    # A descriptor by its number, however it was opened.
    run as "$user" sh -c 'exec 7<"$3"; exec "$1" --ro "$2" --rw /proc/self/fd/7 -- "$2" create "$3/by-number"' sh "$lr" "$act" "$ws"
    is "$user: an open descriptor as a grant" "$out" 0
    run as "$user" sh -c 'exec 7<"$3/a"; exec "$1" --ro "$2" --rw /proc/self/fd/7 -- "$2" create "$3/beside"' sh "$lr" "$act" "$ws"
    is "$user: grants what it is open on alone" "$out" 13
    run as "$user" "$lr" --ro / --rw /proc/self/fd/77 -- "$act" read /
    is "$user: a descriptor that is not open" "$status|$err" '125|landlock-run: fatal: /proc/self/fd/77: Bad file descriptor'
    run as "$user" "$lr" --rw / -- sh -c "cd $ws && echo x >all && cat all"
    is "$user: --rw /" "$status|$out" '0|x'
    run as "$user" sh -c 'set -- "$1" "$2" 15; chain="$2 read /etc/passwd"; i=0; while [ $i -lt 16 ]; do chain="$1 --ro / -- $chain"; i=$((i + 1)); done; exec $chain' sh "$lr" "$act"
    is "$user: 16 layers" "$status|$out" '0|0'
    run as "$user" sh -c 'chain="$2 read /"; i=0; while [ $i -lt 17 ]; do chain="$1 --ro / -- $chain"; i=$((i + 1)); done; exec $chain' sh "$lr" "$act"
    is "$user: the 17th layer" "$status|$out|$err" '125||landlock-run: fatal: landlock_restrict_self: 16 Landlock layers are in force already, the most that there can be: too deeply nested'
    run as "$user" sh -c 'exec "$1" --ro / -- "$2" read / <&- >&- 2>&-' sh "$lr" "$act"
    is "$user: with 0, 1 and 2 closed" "$status" 0
done

# Without /proc: nothing that the link does needs it.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    for user in $users; do
        run unshare -m sh -c 'umount -l /proc && [ ! -e /proc/self ] && if [ "$3" = nobody ]; then
            exec setpriv --reuid 65534 --regid 65534 --clear-groups "$1" --ro / -- "$2" write /etc/passwd
            else exec "$1" --ro / -- "$2" write /etc/passwd; fi' sh "$lr" "$act" "$user"
        is "$user: without /proc" "$status|$out" '0|13'
    done
else
    skip 'without /proc' 'needs root and mount namespaces'
fi

# Killed in the middle, nothing is left: the control child goes with its parent.
if strace -V >/dev/null 2>&1; then
    for call in clone prctl get_robust_list landlock_restrict_self wait4; do
        run timeout -s KILL 120 strace -o /dev/null -e "inject=$call:signal=KILL" "$lr" --ro "$ws" --ro / -- "$act" read /
        tries=0
        while
            left=$(for p in /proc/[0-9]*/cmdline; do tr '\0' ' ' <"$p"; echo; done 2>/dev/null | grep -c "^$lr " || true)
            [ "$left" != 0 ] && [ $((tries += 1)) -lt 600 ]
        do sleep 0.1; done
        is "killed in $call: nothing left" "$out|$left" '|0'
    done
else
    skip 'killed in the middle' 'no strace'
fi
finish
