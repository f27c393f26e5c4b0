#!/bin/bash
# What a killed supervisor leaves in the place for temporary files, and who removes it.
. "$(dirname "$0")/tap.sh"

mkdir "$dir/tmp"
export TMPDIR=$dir/tmp
place=$TMPDIR/confine-$(id -u)

# A run that has made a file in its temp directory, and waits; $run is the supervisor, $made its directory.
start() {
    rm -f up
    "$confine" run -q --backend=landlock -w . -- \
        sh -c 'mkdir -m 0 "$TMPDIR/closed"; echo x >"$TMPDIR/x"; ln -s / "$TMPDIR/root"; echo "$TMPDIR" >up.new; mv up.new up; exec sleep 300' &
    run=$!
    await test -e up
    made=$(cat up)
}
kill_run() {
    kill -KILL "$run"
    wait "$run" 2>/dev/null
}
another() { call "$confine" run -q --backend=landlock --report "$dir/report" -- "$@"; }

start
stale=$made
[ -f "$stale/x" ] && [ "$(dirname "$stale")" = "$place" ]
result $? 'a run has its directory in the place of its caller'
kill_run
# The command is gone a moment later than its supervisor, and may still write.
for _ in $(seq 200); do
    another true
    [ -e "$stale" ] || break
    sleep 0.05
done
[ "$status" -eq 0 ] && [ ! -e "$stale" ] || why "status $status; $(ls -la "$stale" 2>&1)"
result $? 'what a killed supervisor has left is removed by the next run'
[ -z "$(ls -A "$TMPDIR")" ] || why "left: $(ls -A "$TMPDIR")"
result $? 'and the place is gone with the last of them'

start
another true
[ "$status" -eq 0 ] && [ -f "$made/x" ]
result $? 'a directory in use stays'
[[ $(field .warnings "$dir/report") != *temp-left* ]] || why "$(field .warnings "$dir/report")"
result $? 'and nobody is told of it'
kill_run
for _ in $(seq 200); do
    another true
    [ -e "$made" ] || break
    sleep 0.05
done

# What is no directory of a run: not followed, not removed.
mkdir -m 0711 "$place"
mkdir "$dir/precious"
: >"$dir/precious/file"
ln -s "$dir/precious" "$place/0123456789abcdef"
: >"$place/file"
mkdir "$place/named"
: >"$place/named/file"
another true
[ "$status" -eq 0 ] && [ -f "$dir/precious/file" ] && [ -L "$place/0123456789abcdef" ] && [ -f "$place/file" ]
result $? 'a link and a file in the place are let alone'
[ -f "$place/named/file" ]
result $? 'and a directory with a name that no run gives'
rm -rf "$place"

# What is swept before a run is none of its time.
mkdir -m 0711 "$place" "$place/fedcba9876543210"
(cd "$place/fedcba9876543210" && seq 20000 | xargs touch)
call "$confine" run -q --backend=landlock --limit cpu=50ms --report "$dir/report" -- sh -c 'kill -KILL $$'
[ ! -e "$place/fedcba9876543210" ] && [ "$(field .outcome.kind "$dir/report")" = signaled ] && [ "$(field .outcome.cpu_ms "$dir/report")" -lt 50 ] ||
    why "$(field .outcome "$dir/report"); $(cat "$dir/err")"
result $? 'what is swept is not counted as time of the command'
rm -rf "$place"

# A place that others could write, or that is none, is not used, and what is in it stays.
foreign() { mkdir -m 0711 "$1" && chown 65534 "$1"; }
for what in 'mkdir -m 0777' 'ln -s ../precious' touch $([ "$(id -u)" != 0 ] || echo foreign); do
    # shellcheck disable=SC2086 # words
    $what "$place"
    [ ! -d "$place" ] || mkdir -p "$place/fedcba9876543210"
    another sh -c 'echo "$TMPDIR" && : >"$TMPDIR/x"'
    case $(cat "$dir/out") in
    "$TMPDIR"/confine-????????????????) [ "$status" -eq 0 ] && [ -e "$place" ] ;;
    *) why "TMPDIR is $(cat "$dir/out"), status $status" ;;
    esac
    result $? "another place is taken where one cannot be trusted ($what)"
    [ ! -d "$place" ] || [ -L "$place" ] || [ -d "$place/fedcba9876543210" ]
    result $? "and nothing is removed there ($what)"
    rm -rf "$place" "$dir/precious/fedcba9876543210"
done
# Whoever can rename what lies beside the place can give its name to another directory of the caller's.
open_to_others() { chmod 0777 "$TMPDIR"; }
of_another() { chown 65534 "$TMPDIR"; }
for how in open_to_others $([ "$(id -u)" != 0 ] || echo of_another); do
    $how
    mkdir -p -m 0711 "$place" "$place/fedcba9876543210"
    another sh -c 'echo "$TMPDIR" && : >"$TMPDIR/x"'
    case $(cat "$dir/out") in
    "$TMPDIR"/confine-????????????????) [ "$status" -eq 0 ] && [ -d "$place/fedcba9876543210" ] ;;
    *) why "TMPDIR is $(cat "$dir/out"), status $status" ;;
    esac
    result $? "nothing is removed where others can rename ($how)"
    rm -rf "$place"
    chmod 0755 "$TMPDIR"
    chown "$(id -u)" "$TMPDIR"
done
[ -z "$(ls -A "$TMPDIR")" ] || why "left: $(ls -A "$TMPDIR")"
result $? 'nothing is left'

# Many at once take, leave and sweep the place together.
for _ in 1 2 3 4; do
    start
    kill_run
done
: >"$dir/failed"
for i in $(seq 40); do
    "$confine" run -q --backend=landlock --report "$dir/report.$i" -- sh -c ': >"$TMPDIR/x" && [ -f "$TMPDIR/x" ]' >>"$dir/failed" 2>&1 || echo "$i: $?" >>"$dir/failed" &
done
wait
[ ! -s "$dir/failed" ] || why "$(head -3 "$dir/failed")"
result $? 'forty runs at once have each its own'
another true
[ -z "$(ls -A "$TMPDIR")" ] || why "left: $(ls -A "$TMPDIR" "$place")"
result $? 'and leave nothing'

# The names of the attestation, which live for microseconds, and which a killed supervisor leaves all the same.
inside=(unshare -m)
[ "$(id -u)" -eq 0 ] || inside=(unshare -Um --map-current-user --keep-caps)
if "${inside[@]}" mount -t tmpfs none /mnt 2>/dev/null; then
    for grant in '' /dev/shm '/dev/shm /tmp'; do
        call "${inside[@]}" bash -c 'confine=$1 grant=$2 options=()
            mount --bind "$confine" /mnt && confine=/mnt/bin/confine
            for place in /dev/shm /tmp /var/tmp; do
                mount -t tmpfs -o mode=1777 none $place
                mkfifo $place/.confine-fifo-0123456789ab $place/.confine-fifo-young && mkfifo $place/fifo && : >$place/.confine-fifo-file
                touch -d "2 minutes ago" $place/.confine-fifo-0123456789ab $place/fifo $place/.confine-fifo-file
            done
            for place in $grant; do options+=(--write "$place"); done
            mkdir /var/tmp/w /var/tmp/home && export TMPDIR=/var/tmp HOME=/var/tmp/home
            "$confine" run -q -b landlock -w /var/tmp/w "${options[@]}" -- true || exit
            cd / && ls -d /dev/shm/.* /tmp/.* /var/tmp/.* | grep fifo-0 | tr "\n" " "
            ls -d /dev/shm/* /tmp/* /var/tmp/* /dev/shm/.* /tmp/.* /var/tmp/.* | grep -c "fifo-young$\|/fifo$\|fifo-file$"' sh "$CONFINE_STAGE" "$grant"
        case $grant in
        '') left='/tmp/.confine-fifo-0123456789ab /var/tmp/.confine-fifo-0123456789ab 9' ;;
        /dev/shm) left='/dev/shm/.confine-fifo-0123456789ab /var/tmp/.confine-fifo-0123456789ab 9' ;;
        *) left='/dev/shm/.confine-fifo-0123456789ab /tmp/.confine-fifo-0123456789ab 9' ;;
        esac
        [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = "$left" ] || why "status $status: $(cat "$dir/out")"
        result $? "a FIFO that a killed supervisor has left is removed, where the next one is made (--write '$grant')"
    done
else
    skip 'a FIFO that a killed supervisor has left' 'no mounts'
fi
finish
