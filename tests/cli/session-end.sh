#!/bin/bash
# Sessions: how they end, who may use one, and what is refused.
CONFINE_BACKEND=namespace
export CONFINE_BACKEND
. "$(dirname "$0")/tap.sh"
. "$here/session-lib.sh"

# start NAME OPTION...: a session with `sleep 7100` in it that has left everything; $init is its process 1.
process= first= kept=
start() {
    "$confine" session start "$@" >/dev/null || return
    in_session "$1" -- sh -c 'setsid sleep 7100 </dev/null >/dev/null 2>&1 &'
    await there 7100
    init=$(children "$(keeper "$1")") named=$1
}
children() { cat "/proc/$1/task/$1/children"; }
# who PID: the process and its start, because numbers come again; alive WHO: is it still there?
who() { echo "$1:$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20)"; }
alive() { [ "$(who "${1%%:*}")" = "$1" ] && [ "$(sed 's/.*) //' "/proc/${1%%:*}/stat" 2>/dev/null | cut -c1)" != Z ]; }
ended() { ! alive "$1"; }
swept() { [ -z "$(names)" ] || { "$confine" session list >/dev/null; [ -z "$(ls "$place")" ]; }; }
listed() { "$confine" session list >"$dir/out" 2>"$dir/err"; grep -q "^$1: " "$dir/out"; } # does it live, and answer?
# note: remember who is in the session; left_nothing NAME: result of its end.
note() {
    process=$(who "$(inside 7100)") first=$(who "${init%% *}") kept=$(who "$(keeper "$named")")
    alive "$process" && alive "$first" && alive "$kept" || why "nothing to look for: $process, $first, $kept"
}
left_nothing() {
    await ended "$process" && await ended "$first" && await ended "$kept" && await swept
    result $? "$1"
}

start one --owner $$ && note
call "$confine" session end one
{ [ "$status" -eq 0 ] && ended "$process" && [ -z "$(ls "$place")" ]; } || why "status $status"
result $? 'end returns when the last process has gone, and the files with it'
left_nothing 'and nothing of it is there'

start two --owner $$ && note
"$confine" run -q --session two -- sleep 7101 &
run=$!
await there 7101
call "$confine" session end two
wait $run
[ $? -eq 137 ] && [ "$status" -eq 0 ]
result $? 'a run that is under way ends with its session, by a signal'
left_nothing 'and leaves nothing'

for signal in TERM INT HUP KILL; do
    start three --owner $$ && note
    kill -$signal "$(keeper three)"
    left_nothing "SIG$signal to the keeper"
done
start four --owner $$ && note
kill -KILL "${init%% *}"
left_nothing 'SIGKILL to process 1'

sleep 7200 &
owner=$!
start five --owner $owner && note
kill -KILL $owner
wait $owner 2>/dev/null
left_nothing 'the end of the owner'
bash -c '"$1" session start six >/dev/null; read -r line; : keep this shell' sh "$confine" < <(await listed six; echo)
grep -q '^six: ' "$dir/out"
result $? 'without --owner it lives as long as the process that started confine'
await swept
result $? 'and no longer'

# At any moment: what is being made, joined or ended when its keeper is killed.
for number in $(seq 20); do
    "$confine" session start "many$number" --owner $$ >/dev/null 2>&1 &
    starting=$!
    sleep "0.0$((RANDOM % 5))"
    case $((number % 2)) in 0) kill -KILL $starting 2>/dev/null ;; esac
    wait $starting 2>/dev/null
    in_session "many$number" -- sleep 7100 >/dev/null 2>&1 &
    sleep "0.0$((RANDOM % 5))"
    keeper 'many[0-9]*' | xargs -r kill -KILL 2>/dev/null
    wait
done
await gone 7100 && await swept
result $? 'keepers that are killed at any moment leave nothing'

# --- who ------------------------------------------------------------------------------------------------

for number in 1 2 3 4 5 6 7 8; do
    "$confine" session start race --owner $$ >>"$dir/won" 2>>"$dir/lost" &
done
wait
[ "$(cat "$dir/won")" = race ] && [ "$(grep -c 'there is one already' "$dir/lost")" -eq 7 ] || why "$(cat "$dir/won" "$dir/lost")"
result $? 'of eight that take one name, one gets it'
call "$confine" session start race --owner $$
[ "$status" -eq 125 ] && has_line 'there is one already'
result $? 'and nobody afterwards'

# The lock file, opened for writing, is what opens the session.
cat >"$dir/ask.py" <<'P'
import array, os, socket, struct, sys
place, name, how, kind = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(60)
place = os.open(place, os.O_RDONLY)
s.connect("/proc/self/fd/%d/%s.socket" % (place, name))
lock = {"none": None, "read": os.O_RDONLY, "write": os.O_RDWR, "path": os.O_PATH, "other": os.O_RDWR}[how]
rights = []
if lock is not None:
    file = "/dev/null" if how == "other" else "/proc/self/fd/%d/%s.lock" % (place, name)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open(file, lock)]))]
s.sendmsg([struct.pack("II", 4, int(kind))], rights)
data, ancillary, _, _ = s.recvmsg(256, 64)
print(struct.unpack("Ii", data[:8])[1] if data else "nothing", sum(len(a[2]) // 4 for a in ancillary))
P
for row in 'none 2 1 0' 'read 2 1 0' 'path 2 1 0' 'other 3 1 0' 'read 3 1 0' 'write 9 93 0' 'write 1 0 0' 'write 2 0 7'; do
    read -r how kind errnum given <<<"$row"
    call python3 "$dir/ask.py" "$place" race "$how" "$kind"
    [ "$(cat "$dir/out")" = "$errnum $given" ] || why "seen: $(cat "$dir/out" "$dir/err")"
    result $? "lock file: $how, request $kind"
done
# Runs that start together have all connected before the first of them has spoken.
python3 - "$place" >"$dir/out" 2>"$dir/err" <<'P'
import array, os, socket, struct, sys
place, asked = sys.argv[1], 0
lock = array.array("i", [os.open(place + "/race.lock", os.O_RDWR)])
peers = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(200)]
for peer in peers:
    peer.connect(place + "/race.socket")
for peer in peers:
    try:
        peer.sendmsg([struct.pack("II", 4, 1)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, lock)])
        asked += struct.unpack("Ii", peer.recv(256)[:8])[1] == 0
    except OSError:
        pass
print(asked)
P
[ "$(cat "$dir/out")" = 200 ] || why "answered: $(cat "$dir/out" "$dir/err")"
result $? 'two hundred that have connected and speak one after the other'
# Somebody of this user has as many descriptors on their way as the keeper may have: who joins waits for that, nobody
# else does, and no more does the end of the session.
(ulimit -n 128 && "$confine" session start full --owner $$ >/dev/null)
cat >"$dir/full.py" <<'P'
import array, os, select, socket, struct, subprocess, sys
place, confine = sys.argv[1:]
lock = array.array("i", [os.open(place + "/full.lock", os.O_RDWR)])
def fill():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(3):
        ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 64))])
    return ends
def ask(kind):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(60)
    peer.connect(place + "/full.socket")
    peer.sendmsg([struct.pack("II", 4, kind)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, lock)])
    return peer
def answer(peer):
    data, ancillary, _, _ = peer.recvmsg(256, 64)
    return struct.unpack("Ii", data[:8])[1], sum(len(a[2]) // 4 for a in ancillary)
ends = fill()
joins = ask(2)
print("others", *answer(ask(1)), "join", len(select.select([joins], [], [], 0)[0]))
for end in ends:
    end.close()
print("later", *answer(joins))
ends = fill()
joins = [ask(2) for _ in range(8)]
try:
    print("end", subprocess.run([confine, "session", "end", "full"], timeout=120).returncode)
except subprocess.TimeoutExpired:
    print("end is waited for")
P
call python3 "$dir/full.py" "$place" "$confine"
[ "$(echo $(cat "$dir/out"))" = 'others 0 0 join 0 later 0 7 end 0' ] || why "seen: $(cat "$dir/out" "$dir/err")"
result $? "who joins waits for room for its descriptors, and nobody else"
# Silent ones are dropped, and do not keep others out.
python3 - "$place/race.socket" <<'P' &
import socket, sys, time
held = []
for _ in range(200):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    held.append(s)
open("held", "w").close()
time.sleep(600)
P
silent=$!
await test -e held
call in_session race -- true
[ "$status" -eq 0 ]
result $? 'whoever connects and says nothing keeps nobody out'
kill $silent
wait $silent 2>/dev/null
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 "$dir" "$dir/w"
    call setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/ XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" \
        "$confine" session end race
    [ "$status" -eq 125 ] && [ "$(names)" = race ]
    result $? 'another user does not get there'
    chmod 777 "$place"
    call "$confine" session list
    [ "$status" -eq 125 ] && has_line 'others can look into it'
    result $? 'a directory that others can look into is not used'
    chmod 700 "$place"
    call "$confine" session end race
    chown 65534:65534 "$dir/w"
    call "$confine" session start race --owner $$ -w "$dir/w"
    call in_session race -- id -u
    [ "$status" -eq 125 ] && has_line "session race is user 65534's"
    result $? 'a session has one user'
    call in_session race -w . -- id -u
    [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = 65534 ]
    result $? 'who may be the owner of the workspace'
    chown 0:0 "$dir/w"
else
    ln -s /run "$dir/linked"
    call env XDG_RUNTIME_DIR=/ "$confine" session start x --owner $$
    [ "$status" -eq 125 ] && has_line 'XDG_RUNTIME_DIR'
    result $? 'a directory that is not the caller'\''s is not used'
fi
call "$confine" session end race

# --- what is refused ------------------------------------------------------------------------------------

call "$confine" session start plain --owner $$
call "$confine" session start sized --owner $$ --limit tmp_size=1M
refused 'another network' 125 session-decides 'the network of session plain is none' --session plain -n host -- touch "$dir/ran"
refused 'a published port' 125 session-decides 'say --publish at confine session start' --session plain --publish 3000 -- touch "$dir/ran"
refused 'a forwarded port' 125 session-decides 'say --forward at confine session start' --session plain --forward 3000 -- touch "$dir/ran"
call "$confine" session allow plain web.test
[ "$status" -eq 125 ] && has_line 'session plain: its network has no list (a list is begun by confine session start --allow RULE)'
result $? 'a rule for a session without a list'
call "$confine" session allow nobody web.test
[ "$status" -eq 125 ] && has_line 'there is none of this name'
result $? 'or for none'
call "$confine" session allow plain 'web.test:0'
[ "$status" -eq 125 ] && has_line 'allow: web.test:0: a rule as --allow takes it must be here'
result $? 'what is no rule is named'
# It ends between the keeper's answer and the links: meanwhile there is a policy to be read, of more than a pipe holds.
call "$confine" session start brief --owner $$
mkfifo "$dir/late"
late() { "$confine" run -q --session brief --policy fd:9 -- true 9<"$dir/late"; }
call late &
waiter=$!
exec {late}>"$dir/late"
printf '%70000s' ' ' >&$late
"$confine" session end brief
echo '{"policy": 1}' >&$late
exec {late}>&-
wait $waiter
has_line '"namespace-run: fatal: session: it has ended" (it ended while this run was starting; a new one: confine session start'
result $? 'a run whose session ends while it starts is told so'
kept=$(keeper plain)
kill -STOP "$kept"
call timeout 60 "$confine" session start plain --owner $$
[ "$status" -eq 125 ] && has_line 'session plain: its keeper does not answer: ' && has_line "(process $kept keeps it: kill -CONT $kept "
result $? 'a keeper that is stopped is not waited for without a bound'
python3 - "$place/plain.socket" <<'END'
import socket, sys
while True:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        one.connect(sys.argv[1])
    except BlockingIOError:
        break
    one.close()
END
call timeout 60 "$confine" session list --json
kill -CONT "$kept"
[ "$status" -eq 125 ] && has_line 'session plain: its keeper does not answer: ' && has_way_out && grep -q '"name": *"sized"' "$dir/out" && ! grep -q '"name": *"plain"' "$dir/out" &&
    tr -d ' \n' <"$dir/out" | grep -q '"silent":\["plain"\]'
result $? 'nor where its queue is full; the list says that it does not answer, behind those that do'
refused 'a proxy' 125 session-decides 'a session has no proxy' --session plain --proxy-env -- touch "$dir/ran"
refused 'an upstream' 125 session-decides 'say --upstream at confine session start' --session plain --upstream http://192.0.2.1:80 -- touch "$dir/ran"
# A file's are the session's as well, or the run is refused; what was added later is the session's.
policy() { # NAME NETWORK
    (umask 022 && echo "{\"policy\": 1, \"network\": {$2}}" >"$dir/$1.json")
}
policy one '"allow": ["one.test", "two.test:8080"], "forward": ["3000:4000", "5000"]'
policy same '"allow": ["ONE.test:443,80"], "forward": ["3000:4000", "5000:5000"]'
policy more '"allow": ["one.test", "late.test"]'
policy ports '"allow": ["one.test:80"]'
policy forward '"allow": ["one.test"], "forward": ["3001:4000"]'
policy publish '"allow": ["one.test"], "publish": ["3001"]'
policy upstream '"allow": ["one.test"], "upstream": "http://192.0.2.1:80"'
call "$confine" session start listed --owner $$ --policy "$dir/one.json"
[ "$status" -eq 0 ]
result $? 'a session with the rules of a file'
for file in one same; do
    call in_session listed --policy "$dir/$file.json" -- true
    [ "$status" -eq 0 ]
    result $? "which its runs may name, too: $file"
done
refused 'a rule of a file that it does not have' 125 session-decides 'more.json:1: the network of session listed does not have late.test (confine session allow listed late.test' \
    --session listed --policy "$dir/more.json" -- touch "$dir/ran"
refused 'or not with these ports' 125 session-decides 'does not have one.test:80 ' --session listed --policy "$dir/ports.json" -- touch "$dir/ran"
refused 'another port that is forwarded' 125 session-decides 'does not have 3001:4000 (start the session' --session listed --policy "$dir/forward.json" -- touch "$dir/ran"
refused 'a port that is not published' 125 session-decides 'does not have 3001 (start the session' --session listed --policy "$dir/publish.json" -- touch "$dir/ran"
refused 'another proxy' 125 session-decides 'the way into the network of session listed is another one' --session listed --policy "$dir/upstream.json" -- touch "$dir/ran"
refused 'an option, where all runs could have it' 125 session-decides 'confine session allow listed late.test; leave it out here' --session listed --allow late.test -- touch "$dir/ran"
policy proxy '"allow": ["one.test"], "proxy_env": true'
call run_with_report --session listed --policy "$dir/proxy.json" -- sh -c '[ -z "${http_proxy:-}" ]'
[ "$status" -eq 0 ] && valid "$dir/report" && report 'any(line.startswith("no-proxy-env: ") and "session listed" in line for line in r["warnings"])'
result $? 'variables of a proxy that it does not have: said'
call "$confine" session allow listed LATE.test
call in_session listed --policy "$dir/more.json" -- true
[ "$status" -eq 0 ]
result $? 'a rule that was added since'
call "$confine" session end listed
refused 'another size' 125 session-decides 'of session plain is not limited' --session plain --limit tmp_size=1M -- touch "$dir/ran"
refused 'another size than there is' 125 session-decides '1048576 bytes' --session sized --limit tmp_size=2M -- touch "$dir/ran"
refused 'what a session cannot hold' 125 until-session-ends 'cannot hold proc.survivor here' --session plain --require proc.survivor -- touch "$dir/ran"
refused '--wait-all' 125 session-decides 'leave --wait-all out' --session plain --wait-all -- touch "$dir/ran"
refused 'no such session' 125 no-session 'there is none of this name' --session nobody -- touch "$dir/ran"
refused 'a temp directory of no session' 125 no-session 'there is no session' --tmp session -- touch "$dir/ran"
for name in landlock bubblewrap; do
    refused "backend $name" 125 no-sessions "the backend $name has no sessions" --session plain -b $name -- touch "$dir/ran"
done
refused 'no confinement' 125 no-sessions 'the backend none has no sessions' --session plain -m danger-full-access -- touch "$dir/ran"
call "$confine" exec --session plain -- touch "$dir/ran"
[ "$status" -eq 125 ] && has_line 'confine exec has no supervisor for a run in a session' && [ ! -e "$dir/ran" ]
result $? 'exec'
call "$confine" session start x --owner $$ -b landlock
[ "$status" -eq 125 ] && has_line 'the backend landlock has no sessions'
result $? 'a session of another backend'
call "$confine" session start x --owner $$ --limit time=1s
[ "$status" -eq 125 ] && has_line 'a limit of a run'
result $? 'a limit that a session does not have'
call "$confine" session start x --owner 2147483647
[ "$status" -eq 125 ] && has_line 'a session ends with its owner'
result $? 'an owner that is not there'
for words in '' 'begin' 'start' 'list x' 'end' 'end --json plain' 'start a b'; do
    # shellcheck disable=SC2086
    call "$confine" session $words
    [ "$status" -eq 125 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]
    result $? "session $words"
done
[ "$(names)" = $'plain\nsized' ]
result $? 'and none of it made a session'

call in_session sized --report "$dir/report" -- dd if=/dev/zero of=/tmp/full bs=4096 count=1000
[ "$status" -eq 1 ]
in_session sized -- sh -c 'echo x >/tmp/more' 2>/dev/null && why 'there was room for more'
python3 - "$dir/report" <<'P' >>"$dir/why" 2>&1
import json, sys
[held] = [s for s in json.load(open(sys.argv[1]))["surfaces"] if s["id"] == "limit.tmp_size"]
assert held["state"] == "enforced" and held["by"][0]["evidence"] == "attested", held
P
[ ! -s "$dir/why" ]
result $? 'what is full is full for all runs'

# A workspace below /tmp lies in what others have written: where it leads elsewhere, nothing runs, and nothing is
# made there.
tmp=$(mktemp -d /tmp/confine-session.XXXXXX)
mkdir "$tmp/ws"
in_session plain -- sh -c 'mkdir /tmp/elsewhere && ln -s elsewhere "$1"' sh "$tmp"
call in_session plain -w "$tmp/ws" -- touch "$dir/ran" here
[ "$status" -eq 125 ] && [ ! -e "$dir/ran" ] && [ -z "$(in_session plain -- ls -A /tmp/elsewhere)" ]
result $? 'a link where the workspace should be is not followed'
in_session plain -- rm "$tmp"
call in_session plain -w "$tmp/ws" -- sh -c 'pwd; echo x >made'
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = "$tmp/ws" ] && [ -s "$tmp/ws/made" ]
result $? 'a workspace below /tmp'
rm -rf "$tmp"
for name in plain sized; do "$confine" session end "$name"; done
[ -z "$(ls "$place")" ]
result $? 'nothing is left in the directory of sessions'
finish
