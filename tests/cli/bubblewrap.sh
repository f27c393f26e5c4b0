#!/bin/bash
# bubblewrap.sh - what a run behind bubblewrap does as every other one, and what bubblewrap must not do.
# /tmp is private inside: the test's directory lies elsewhere.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/tap.sh"
backend='--backend=bubblewrap'
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/w" "$HOME"
chmod 755 "$dir"

if ! backend_works bubblewrap; then
    skip "bubblewrap" "it cannot be used here"
    finish
fi

# Statuses are the command's own.
run 0 "exit 0" 'r["outcome"]["kind"] == "exited" and r["backend"] == "bubblewrap" and "bwrap" in r["chain"]' -- true
for code in 1 7 125 127 255; do
    run $code "exit $code" 'r["outcome"]["status"] == '$code' and r["error"] is None' -- sh -c "exit $code"
done
kept=$(python3 -c 'import os; a, b = os.uname().release.split(".")[:2]; print(int((int(a), int("".join(c for c in b if c.isdigit()))) >= (6, 15)))')
for signal in 9 11 15; do
    if [ "$kept" -eq 1 ]; then
        run $((128 + signal)) "signal $signal" 'r["outcome"]["kind"] == "signaled" and r["outcome"]["signal"] == '$signal \
            -- sh -c "kill -$signal \$\$"
    else
        run $((128 + signal)) "signal $signal" 'r["outcome"]["kind"] in ("signaled", "exited")' -- sh -c "kill -$signal \$\$"
    fi
done
run 127 "no such command" 'r["error"]["code"] == "COMMAND_NOT_FOUND" and r["outcome"]["kind"] == "not-started"' \
    --env PATH=/usr/bin:/bin -- nosuchcommand

# What is left behind.
run 5 "survivors are killed and counted" 'r["outcome"]["survivors_killed"] == 3' \
    -- sh -c 'sleep 1000 & (setsid sleep 1000 &) ; sleep 1000 & exit 5'
run 3 "--wait-all waits for them" 'r["outcome"]["survivors_killed"] == 0' --wait-all -- sh -c '(sleep 0.3; echo x >late) & exit 3'
[ -s late ]
result $? "which have done their work"
run 124 "the time limit" 'r["outcome"]["kind"] == "timed-out"' --timeout 300ms --grace 200ms -- sh -c 'trap "" TERM; sleep 1000'
run 124 "the time limit, by SIGTERM to all of them" 'r["outcome"]["wall_ms"] < 10000' --timeout 300ms --grace 60s -- sh -c 'sleep 1000; :'
report 's["proc.survivor"]["state"] == "enforced"'
result $? "that nothing is left was seen"

# The walls, by what happens.
echo outside >"$dir/outside"
[ "$(id -u)" -ne 0 ] || chown 65534 "$dir/outside"
call "$confine" run $backend -w . -- sh -c 'echo x >made; echo x >"$0"; chmod 777 "$0"; touch "$0.new"' "$dir/outside"
[ -s made ] && [ "$(cat "$dir/outside")" = outside ] && [ ! -e "$dir/outside.new" ] && [ "$(stat -c %a "$dir/outside")" != 777 ]
result $? "the workspace is writable, and nothing else"
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa" && echo known >"$HOME/.ssh/known_hosts" && chmod 600 "$HOME/.ssh/id_rsa"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$HOME"
call "$confine" run $backend -w . -- sh -c 'cat "$0/id_rsa"; cat "$0/known_hosts"' "$HOME/.ssh"
! grep -q key "$dir/out" && grep -q known "$dir/out"
result $? "credentials are hidden"
call "$confine" run $backend --hide "$(realpath /etc/resolv.conf)" -- cat /etc/resolv.conf
[ "$status" -eq 1 ] && [ ! -s "$dir/out" ] && grep -q 'denied' "$dir/err"
result $? "the file of the resolver stays hidden"
call "$confine" run $backend -w . --hide "$HOME/.ssh" -- sh -c 'cat "$0/id_rsa" "$0/known_hosts"; ls "$0"' "$HOME/.ssh"
! grep -q 'key\|known' "$dir/out" && grep -q 'denied' "$dir/err"
result $? "a hidden directory that holds a hidden file"
mkdir -p sub && echo s >sub/secret
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 sub
refused "what is hidden inside the workspace is refused, no mount lies there" 125 inside-writable "cannot hide" \
    $backend -w . --hide sub/secret -- touch "$dir/ran"
mkdir -p "$dir/w/held"
refused "what is protected there as well" 125 no-mounts-in-writable "fs.protected" $backend -w . --protect held -- touch "$dir/ran"

refused "a size of /tmp and /dev/shm together is what it cannot give" 125 sizes-apart "use --backend namespace" \
    $backend -w . --limit tmp_size=1M -- touch "$dir/ran"
refused "without Landlock behind it there is none: nothing may mount inside" 125 not-openable "cannot open priv.userns" \
    $backend -w . --open priv.userns -- touch "$dir/ran"

# Entries that a planted link would lead to: none, whatever is asked.
mkdir -p "$dir/far"
[ "$(id -u)" -ne 0 ] || chown 65534 "$dir/far"
ln -sfn "$dir/far" "$dir/w/.claude"
ln -sfn "/oldroot$dir/far" "$dir/w/.codex"
for asked in "--hide $dir/w/.claude/settings.json?" "--protect $dir/w/.codex/config?" "--write $dir/w/.codex/new?" "--read $dir/w/.claude/x?"; do
    call "$confine" run $backend -w . $asked -- true
    [ -z "$(ls -A "$dir/far")" ]
    result $? "a planted link and ${asked%% *}: nothing is created outside"
done

# The command's environment is its own, and bubblewrap's loader never sees it.
cat >"$dir/preload.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{
    char exe[256];
    ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    int fd = open("loaded", O_WRONLY | O_CREAT | O_APPEND, 0644);

    if (fd < 0 || size < 0 || write(fd, exe, (size_t)size) < 0 || write(fd, "\n", 1) < 0)
        _exit(3);
}
C
if cc -shared -fPIC -o "$dir/preload.so" "$dir/preload.c" 2>>"$dir/why"; then
    rm -f loaded
    call "$confine" run $backend -w . --env LD_PRELOAD="$dir/preload.so" -- /usr/bin/env
    [ "$status" -eq 0 ] && grep -qxF "LD_PRELOAD=$dir/preload.so" "$dir/out" && grep -q /env loaded && ! grep -q bwrap loaded
    result $? "LD_PRELOAD reaches the command, and not bubblewrap"
else
    skip "LD_PRELOAD" "no shared object can be made"
fi
call env -i PATH=/usr/bin:/bin HOME="$HOME" "A=1 2" "c:odd=x" "B=c:=" "$confine" run $backend -w . -- /usr/bin/env
grep -qx "A=1 2" "$dir/out" && grep -qx "c:odd=x" "$dir/out" && grep -qx "B=c:=" "$dir/out" && ! grep -q '^c:[^o]' "$dir/out" && ! grep -q '^PWD=' "$dir/out"
result $? "every variable is as it was given, and none is bubblewrap's"

# Names are bubblewrap's, objects are ours: a root that is swapped while runs start opens nothing outside.
mkdir -p "$dir/swap/root" "$dir/target" "$dir/swap/other"
ln -sfn "$dir/target" "$dir/swap/link"
[ "$(id -u)" -ne 0 ] || chown -h 65534:65534 "$dir/swap" "$dir/swap/root" "$dir/swap/link" "$dir/target" "$dir/swap/other"
cat >"$dir/swap.py" <<'P'
import ctypes, os, sys
libc, base, until = ctypes.CDLL(None), sys.argv[1].encode(), sys.argv[2]
pairs = [(base + b"/root", base + b"/link")]
while not os.path.exists(until):
    for a, b in pairs:
        libc.renameat2(-100, a, -100, b, 2)
P
python3 "$dir/swap.py" "$dir/swap" "$dir/enough" &
swapper=$!
ran=0 made=0
for i in $(seq 150); do
    "$confine" run -q $backend -w "$dir/swap/root" -- sh -c 'echo x >in 2>/dev/null; echo x >"$0/out" 2>/dev/null; chmod 700 "$0" 2>/dev/null; :' "$dir/target" >/dev/null 2>&1 </dev/null && ran=$((ran + 1))
    [ -z "$(ls -A "$dir/target")" ] || made=$((made + 1))
done
touch "$dir/enough"
wait "$swapper"
[ "$made" -eq 0 ]
result $? "a root that is swapped for a link: nothing outside (of 150 starts $ran ran)"

# What is hidden and not there for a moment, while a run starts, is not left out: the run is refused.
mkdir -p "$dir/hidden/sub" "$dir/hidden/empty"
echo moved-key >"$dir/hidden/sub/key"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/hidden"
rm "$dir/enough"
sed 's/root/sub/; s/link/empty/' "$dir/swap.py" >"$dir/move.py"
python3 "$dir/move.py" "$dir/hidden" "$dir/enough" &
swapper=$!
ran=0 read=0
for i in $(seq 400); do
    seen=$("$confine" run -q $backend -w . --hide "$dir/hidden/sub/key" -- cat "$dir/hidden/sub/key" "$dir/hidden/empty/key" 2>/dev/null </dev/null)
    [ $? -eq 125 ] || ran=$((ran + 1))
    [ -z "$seen" ] || read=$((read + 1))
    [ $ran -lt 20 ] || [ $i -lt 60 ] || break
done
touch "$dir/enough"
wait "$swapper"
[ "$read" -eq 0 ] && [ "$ran" -gt 0 ] || why "read $read times in $ran of $i starts"
result $? "a hidden file that moves while runs start stays hidden"

# The death of confine at any moment.
mark=3${RANDOM}7.$$
none_left() { ! pgrep -f "sleep $mark" >/dev/null; }
for i in $(seq 40); do
    "$confine" run -q $backend -w . -- sh -c "sleep $mark & sleep $mark; :" >/dev/null 2>&1 </dev/null &
    victim=$!
    python3 -c 'import sys, time; time.sleep(float(sys.argv[1]))' "0.$(printf '%03d' $((i * 2)))"
    kill -KILL "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
done
await none_left
result $? "SIGKILL of confine at 40 moments: no process is left"
no_bwrap() { ! pgrep -f "bwrap.*$dir/w" >/dev/null; }
await no_bwrap
result $? "and no bwrap"

# exec: without a supervisor.
call "$confine" exec $backend -w . -- sh -c 'ps ax | wc -l; exit 9'
[ "$status" -eq 9 ] && [ "$(cat "$dir/out")" -lt 10 ] && [ ! -s "$dir/err" ]
result $? "exec"
call "$confine" exec $backend -w . -- sh -c "sleep $mark & exit 4"
[ "$status" -eq 4 ]
result $? "exec: the status"
await none_left
result $? "exec leaves nothing"
finish
