#!/bin/bash
# What a command, or an odd caller, can make the supervisor do.
. "$(dirname "$0")/../cli/tap.sh"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -static -o "$dir/act" "$here/act.c" || exit 99

# Everything that a run made in the place for temporary files is gone.
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp
clean() { [ -z "$(ls -A "$dir/tmp")" ] || why "left behind: $(ls -A "$dir/tmp")"; }

for what in 'touch $TMPDIR/x; chmod 0 $TMPDIR' 'mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR' \
    'ln -s / $TMPDIR/l; mkdir $TMPDIR/d; chmod 0 $TMPDIR/d; chmod 0333 $TMPDIR' \
    'cd $TMPDIR; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i + 1)); done'; do
    call "$confine" run -q $backend -w . -- sh -c "$what"
    [ "$status" -eq 0 ] && clean
    result $? "the temp directory goes: $what"
done

# PTRACE_TRACEME: the parent is the supervisor, which never asked for it.
call timeout 120 "$confine" run -q $backend -- "$dir/act" traceme "$dir/act" open 0 /
[ "$status" -eq 0 ] && [ "$(tail -n 1 "$dir/out")" = '/ open' ]
result $? 'a command that asks to be traced by its parent goes on'

call timeout 120 "$confine" run -q $backend -- "$dir/act" traceme sh -c 'kill -USR1 $$; exit 3'
[ "$status" -eq 138 ] || why "status $status"
result $? 'and ends by the signal that it sends itself'

# A child of the command's parent is nobody's whom the command waits for; it is counted once, as long as it lives.
for seconds in 0 300; do
    call timeout 120 "$confine" run -q $backend --report "$dir/report" -- "$dir/act" sibling $seconds
    survivors=$(field .outcome.survivors_killed "$dir/report")
    [ "$status" -eq 0 ] && [ "$survivors" -eq $((seconds > 0)) ] || why "status $status, $survivors killed"
    result $? "a sibling of $seconds seconds is counted for what it is"
done
call timeout 120 "$confine" run -q $backend --wait-all -- "$dir/act" sibling 0
[ "$status" -eq 0 ] || why "status $status"
result $? 'and nobody waits for one that has ended'

# What a time limit ends is the command, which is no survivor, and what it has left.
for limit in 2s 20s; do # the longer one where the command had not come that far
    rm -f up
    call "$confine" run -q $backend -w . --timeout $limit --grace 1s --report "$dir/report" -- \
        sh -c 'trap "" TERM; sleep 300 & sleep 300 & sleep 300 & : >up; wait'
    [ ! -e up ] || break
done
rm -f up
[ "$status" -eq 124 ] && [ "$(field .outcome.survivors_killed "$dir/report")" -eq 3 ] ||
    why "status $status, $(field .outcome.survivors_killed "$dir/report") killed"
result $? 'at the end of the time the count is that of what was left'

# An ignored SIGCHLD takes the status of children away.
for exec in exec 'sleep 2 & exec'; do
    call bash -c "trap '' CHLD; $exec \"\$@\"" bash "$confine" run -q $backend -- sh -c 'exit 7'
    [ "$status" -eq 7 ] || why "status $status"
    result $? "SIGCHLD is ignored: the status is the command's ($exec)"
done

# With strangers as children the work is done in a second process; the first one's death means the run as well.
bash -c 'sleep 600 & echo $! >"$0"; exec "$@"' "$dir/stranger" "$confine" run -q $backend -w . -- \
    sh -c 'echo >up; exec sleep "$0"' "300.$$" </dev/null >/dev/null 2>&1 &
front=$!
await test -e up
# Its number inside may be another one outside.
running() { grep -zlxF "300.$$" /proc/[0-9]*/cmdline 2>/dev/null | while read -r file; do grep -zsqx sleep "$file" && echo "$file"; done; }
runs() { before=$(running); [ -n "$before" ]; }
ended() { [ -z "$(running)" ]; }
await runs
kill -KILL "$front"
wait "$front" 2>/dev/null
await ended
[ -n "$before" ] && [ -z "$(running)" ]
result $? 'the end of the process in front ends the command'
kill "$(cat "$dir/stranger")" 2>/dev/null
rm -rf "$dir"/tmp/*

# With a process namespace another one stands between: what becomes of it is not what becomes of the run.
if [ "${CONFINE_BACKEND:-landlock}" = namespace ]; then
    while read -r signal expected limits name; do
        for limit in ${limits//,/ }; do # the longer one where the command had not come that far
            "$confine" run -q $backend -w . --timeout "$limit" --grace 1s -- sh -c 'sleep 99 & exec sleep "$0"' "300.$$" </dev/null >/dev/null 2>&1 &
            front=$!
            until runs || ! kill -0 "$front" 2>/dev/null; do sleep 0.05; done
            [ -z "$before" ] || break
            wait "$front" 2>/dev/null
        done
        between=$(tr ' ' '\n' <"/proc/$front/task/$front/children" | head -1)
        [ "${between:-0}" -le 1 ] || kill "-$signal" "$between"
        wait "$front" 2>/dev/null
        status=$?
        { [ -n "$before" ] && [ "$status" -eq "$expected" ]; } || why "status $status"
        [ -n "$before" ] && [ "$status" -eq "$expected" ] && [ -z "$(running)" ]
        result $? "$name"
    done <<'ROWS'
KILL 137 60s SIGKILL to the process between ends the run, and nothing is left
STOP 124 5s,60s one that is stopped does not keep a run from its time limit
ROWS
fi

# Output into a file of the caller's is written by the supervisor: the limit holds there, too.
"$confine" run -q $backend --limit file_size=64K --report "$dir/report" -- head -c 1000000 /dev/zero >"$dir/file" 2>"$dir/err"
[ "$(stat -c %s "$dir/file")" -eq 65536 ] || why "the file has $(stat -c %s "$dir/file") bytes"
result $? 'a limit on the size of files holds for the output'
[ "$(field .schema "$dir/report")" = confine/report/1 ]
result $? 'and not for the report'

# Input from a file: what the command did not read is given back, and never what was read before it.
seq 1000 >"$dir/numbers"
seek() {
    python3 - "$@" 3<"$dir/numbers" <<'P' >"$dir/out" 2>"$dir/err"
import os, subprocess, sys
os.read(3, 50)
subprocess.run(sys.argv[1:], stdin=3)
print(os.lseek(3, 0, 1))
P
}
seek "$confine" run -q $backend -- sh -c 'printf 12345678 >/proc/self/fd/0'
[ "$(cat "$dir/out")" = 50 ] || why "the offset is $(cat "$dir/out")"
result $? 'writing into its input does not turn the caller back'
seek "$confine" run -q $backend -- head -c 7
[ "$(tail -n 1 "$dir/out")" = 57 ]
result $? 'what was not read is given back'

# Odd limits and masks of the caller: an answer, never a signal.
call bash -c '(ulimit -f 0; exec "$@") | cat; exit ${PIPESTATUS[0]}' bash "$confine" run -q $backend -- echo hi
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = hi ]
result $? 'a limit of no bytes: what writes no file runs'
call bash -c '(ulimit -f 0; exec "$@") 2>&1 | cat >&2; exit ${PIPESTATUS[0]}' bash "$confine" run $backend --report "$dir/small" -- true
[ "$status" -eq 125 ] && has_line 'ulimit -f'
result $? 'and a report is refused before the run'
call bash -c 'umask 0777; "$@"' bash "$confine" run -q $backend -w . -- sh -c 'touch $TMPDIR/x made && umask'
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = 0077 ] && clean
result $? 'a mask that takes the owner everything: a run as ever'

# Others of the run are waited for: a signal that ends still ends the run, and its status says so.
rm -f up
"$confine" run -q $backend -w . --wait-all --grace 1s -- sh -c 'setsid sleep 300 & echo >up; exit 0' &
run=$!
await test -e up
sleep 0.3 # the command ends; if it has not, it is the one that is signalled
kill -TERM $run
(trap 'kill $!; exit' TERM; sleep 60 & wait $! && kill -KILL $run) >/dev/null 2>&1 &
late=$!
wait $run
status=$?
kill $late 2>/dev/null
rm -f up
case ${CONFINE_BACKEND:-landlock}:$status in
landlock:143 | namespace:137 | namespace:143) ;; # in a process namespace the time of grace passes first
*) why "status $status" ;;
esac
result $? 'while others are waited for, SIGTERM ends the run'

# The command has ended, others of the run are waited for, and its number is another's by now: a process namespace with
# few numbers, in which all that are free are taken by leaders of groups.
cat >"$dir/numbers" <<'EOF'
mount -t proc proc /proc && echo 420 2>/dev/null >/proc/sys/kernel/pid_max || exit 99
for _ in $(seq 310); do /bin/true; done
"$@" --wait-all -- sh -c 'setsid sleep 300 & echo $$ >up; exit 0' &
run=$!
for _ in $(seq 1200); do [ ! -s up ] || break; sleep 0.05; done
exec python3 - $run <<'PYTHON'
import os, signal, sys, time
run, others = int(sys.argv[1]), []
def processes():
    return {int(p) for p in os.listdir('/proc') if p.isdigit()}
def is_there(words):
    return any(open(f'/proc/{p}/cmdline').read().startswith(words) for p in processes())
for _ in range(1200):  # until the command has been reaped: only who is left is left
    if not is_there('sh\0'):
        break
    time.sleep(0.05)
held = os.pipe()
while True:
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.close(held[1])
        os.read(held[0], 1)
        os._exit(0)
    others.append(pid)
os.kill(run, signal.SIGINT)
os.kill(run, signal.SIGTERM)  # whose end says that the other one has been seen
while os.path.exists(f'/proc/{run}') and open(f'/proc/{run}/stat').read().rsplit(')', 1)[1].split()[0] != 'Z':
    time.sleep(0.05)
os.close(held[1])
hit = [pid for pid in others if os.WIFSIGNALED(os.waitpid(pid, 0)[1])]
print(len(others), 'others, hit:', hit)
sys.exit(1 if hit or len(others) < 50 else 0)
PYTHON
EOF
rm -f up
call timeout 200 unshare -mpf --kill-child bash "$dir/numbers" "$confine" run -q $backend -w . --grace 1s
if [ "$status" -eq 1 ] && grep -q '^unshare:' "$dir/err" || [ "$status" -eq 99 ]; then
    skip 'a signal for the group of a command that has ended reaches nobody else' 'no process namespace with few numbers here'
else
    [ "$status" -eq 0 ] || why "status $status; $(cat "$dir/out" "$dir/err")"
    result $? 'a signal for the group of a command that has ended reaches nobody else'
fi
# Few descriptors: a refusal, never a death of confine itself.
for most in $(seq 10 70); do
    call bash -c "ulimit -n $most && exec \"\$@\"" bash "$confine" run -q $backend -- true
    [ "$status" -eq 0 ] || [ "$status" -eq 125 ] || { why "$most descriptors: status $status"; break; }
done
[ "$status" -eq 0 ]
result $? 'with few descriptors a run is refused, or is one as ever'
finish
