#!/bin/bash
# Sessions: what runs share, what they do not, and that nothing is left of any of it.
CONFINE_BACKEND=namespace
export CONFINE_BACKEND
. "$(dirname "$0")/tap.sh"
. "$here/session-lib.sh"

# --- begin, list, end ----------------------------------------------------------------------------------

call "$confine" session start dev --owner $$
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = dev ] && [ ! -s "$dir/err" ]
result $? 'start says the name and nothing else'
[ "$(timeout 60 "$confine" session start other --owner $$)" = other ]
result $? 'and leaves nobody waiting for its output'
call "$confine" session list --json x
[ "$status" -eq 125 ] && has_line "takes no such word" && grep -q '"reason": "unexpected-word"' "$dir/out"
result $? 'what is wrong with a list is an object, too'
call "$confine" session list --json
python3 - "$dir/out" $$ <<'P' >>"$dir/why" 2>&1
import json, sys
sessions = json.load(open(sys.argv[1]))["sessions"]
assert [s["name"] for s in sessions] == ["dev", "other"], sessions
for s in sessions:
    assert s["owner"] == int(sys.argv[2]) and s["age_s"] >= 0 and s["network"] == "none" and s["tmp_size"] is None
    assert s["processes"] == []
P
result $? 'list says who lives'
call "$confine" session list
grep -q "^dev: owner $$, age [0-9]* s, network none, 0 processes\$" "$dir/out" || why "$(cat "$dir/out")"
result $? 'and for people, what network it has'
call "$confine" session end other
[ "$status" -eq 0 ] && [ "$(names)" = dev ] && [ "$(ls "$place" | wc -l)" -eq 2 ]
result $? 'end ends one and leaves the other'
call "$confine" session end other
[ "$status" -eq 125 ] && has_line 'there is none of this name (it may have ended with its owner, see --owner;'
result $? 'end of what is not there'

call "$confine" session start --publish 39999 late
[ "$status" -eq 125 ] && has_line 'the name of a session must follow, before --publish (confine session start NAME)' && [ "$(names)" = dev ]
result $? 'a name behind the options'

for name in ../x a/b . .. .x '' -x "$(printf 'a%.0s' $(seq 64))" $'a\nb' 'a b'; do
    for verb in 'session start' 'session end' 'run --session'; do
        case $verb in run*) set -- -- true ;; *) set -- ;; esac
        # shellcheck disable=SC2086
        call "$confine" $verb "$name" "$@"
        [ "$status" -eq 125 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] || why "$verb: $status"
    done
    [ ! -s "$dir/why" ] && [ "$(ls "$place")" = $'dev.lock\ndev.socket' ]
    result $? "no name: $(printf %q "$name" | cut -c1-20)"
done

# --- who keeps it: its socket is masked, as those of all others are -------------------------------------

cat >"$dir/w/keeper.py" <<'P'
import os, socket, sys
print(len([line for line in open("/proc/net/unix") if line.endswith(" " + sys.argv[1] + "\n")]), end=" ")
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])
    print("reached")
except OSError:
    print("refused")
P
[ "$(python3 keeper.py "$place/dev.socket")" = '1 reached' ]
result $? "a keeper's socket is reached outside"
for how in '--session dev' --backend=namespace --backend=bubblewrap; do
    # shellcheck disable=SC2086
    call "$confine" run -q $how -w . -- python3 keeper.py "$place/dev.socket"
    case $how-$status in *bubblewrap-125) skip "$how: no keeper is reached" 'not there' ;; *)
        [ "$(cat "$dir/out")" = '0 refused' ]
        result $? "$how: no keeper is reached" ;;
    esac
done

# --- what is shared ------------------------------------------------------------------------------------

port() { cat "$dir/port"; }
cat >"$dir/server.py" <<'P'
import http.server, os, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
with open("/tmp/port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("/tmp/port.new", "/tmp/port")
server.serve_forever()
P
cat >"$dir/client.py" <<'P'
import sys, urllib.request
print(urllib.request.urlopen("http://127.0.0.1:%s/said" % open("/tmp/port").read()).read().decode(), end="")
P
call in_session dev --report "$dir/report" -- \
    sh -c "echo hello >/tmp/said; cd /tmp; python3 '$dir/server.py' >/tmp/log 2>&1 & while [ ! -e /tmp/port ]; do sleep 0.05; done"
[ "$status" -eq 0 ]
result $? 'a server of python, started in one run'
valid "$dir/report" && [ "$(field .session "$dir/report")" = dev ] &&
    [ "$(field .outcome.survivors_killed "$dir/report")" = 0 ] && [ "$(field .ephemeral "$dir/report")" = "['/run']" ] ||
    why "$(cat "$dir/report")"
result $? 'its report names the session, and kills nobody'
python3 - "$dir/report" <<'P' >>"$dir/why" 2>&1
import json, sys
report = json.load(open(sys.argv[1]))
held = {s["id"]: s for s in report["surfaces"]}
for name in "net.tcp", "net.udp", "ipc.sysv", "proc.signal", "proc.trace", "proc.visible", "unix.abstract":
    assert held[name]["state"] == "enforced", held[name]
    assert all(b["evidence"] == "attested" for b in held[name]["by"]), held[name]
assert held["proc.survivor"]["state"] == "partial" and held["proc.survivor"]["reason"] == "until-session-ends"
P
result $? 'every namespace is shown to be the one of the session'
for number in first second third; do
    call in_session dev -- python3 "$dir/client.py"
    [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = hello ]
    result $? "the $number run after it reaches it"
done
call "$confine" session list --json
python3 - "$dir/out" <<'P' >>"$dir/why" 2>&1
import json, os, sys
[session] = json.load(open(sys.argv[1]))["sessions"]
[process] = session["processes"]
assert process["name"].startswith("python"), process
assert 1 < process["inner_pid"] and os.path.exists("/proc/%d" % process["pid"]), process
P
result $? 'list says what lives'
if command -v node >/dev/null && node -e 0; then
    call in_session dev -- sh -c 'node -e "
        require(\"http\").createServer((q, s) => s.end(\"node says \" + q.url)).listen(0, \"127.0.0.1\", function () {
            require(\"fs\").writeFileSync(\"/tmp/node.new\", \"\" + this.address().port);
            require(\"fs\").renameSync(\"/tmp/node.new\", \"/tmp/node\");
        })" >/tmp/node.log 2>&1 & while [ ! -e /tmp/node ]; do sleep 0.05; done'
    for number in first second third; do
        call in_session dev -- node -e '
            const port = require("fs").readFileSync("/tmp/node", "utf8");
            require("http").get("http://127.0.0.1:" + port + "/" + "'"$number"'", a => a.pipe(process.stdout));'
        [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = "node says /$number" ]
        result $? "a server of node, and the $number run after it"
    done
else
    skip 'a server of node' 'there is no node'
fi
call "$confine" run -q -b namespace -- python3 "$dir/client.py"
[ "$status" -eq 1 ]
result $? 'a run outside of the session does not reach it'
in_session dev -- sh -c 'echo x >/dev/shm/x'
call in_session dev -- sh -c 'cat /dev/shm/x; ls /tmp/said; ipcmk -M 100 >/dev/null'
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = $'x\n/tmp/said' ] && [ ! -e /dev/shm/x ] && [ ! -e /tmp/said ]
result $? '/tmp and /dev/shm are shared, and not the ones outside'
call in_session dev -- sh -c 'tail -n +2 /proc/sysvipc/shm | wc -l'
[ "$(cat "$dir/out")" -eq 1 ]
result $? 'so is System V IPC'
call in_session dev --tmp private -- ls -A /tmp /dev/shm
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = $'/dev/shm:\n\n/tmp:' ]
result $? 'but for a run with --tmp private'
call in_session dev -- sh -c 'kill -9 1; kill -9 -1; cat /tmp/port >/dev/null'
call in_session dev -- python3 "$dir/client.py"
[ "$status" -eq 0 ]
result $? 'no run ends process 1, nor what another has started'

# --- what is a run's own -------------------------------------------------------------------------------

echo secret >"$dir/secret"
call in_session dev -w . -- sh -c 'echo x >made'
[ "$status" -eq 0 ] && [ -s made ]
result $? 'one run may write here'
call in_session dev --hide "$dir/secret" -- sh -c "echo x >made2 || cat '$dir/secret'"
[ "$status" -ne 0 ] && [ ! -s "$dir/out" ] && [ ! -e made2 ]
result $? 'and the next may neither write nor read what it is not to'
call in_session dev --timeout 100ms -- sleep 600
[ "$status" -eq 124 ]
result $? 'limits are its own'
runs=()
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    in_session dev -- sh -c "echo $number >/tmp/run-$number; i=0; while [ \$(ls /tmp/run-* | wc -l) -lt 12 ]; do [ \$((i += 1)) -lt 3000 ] || exit 1; sleep 0.02; done" \
        >>"$dir/runs" 2>&1 &
    runs+=($!)
done
for run in "${runs[@]}"; do wait "$run" || why "a run ended with $?"; done
[ ! -s "$dir/why" ] && [ ! -s "$dir/runs" ] || why "$(cat "$dir/runs")"
result $? 'twelve at once, that wait for each other'

# A server that keeps the output of its run: the caller reads the end of it nevertheless.
call timeout 60 bash -c '"$1" run -q --session dev -- \
    sh -c "echo first; (while :; do echo more; done) & sleep 7000 & exit 4" | sort -u
    exit "${PIPESTATUS[0]}"' bash "$confine"
[ "$status" -eq 4 ] && grep -qx first "$dir/out" || why "status $status"
result $? 'what lives on keeps nobody waiting for the output of its run'
call in_session dev -- sh -c 'echo out; echo err >&2'
[ "$(cat "$dir/out")" = out ] && [ "$(cat "$dir/err")" = err ]
result $? 'output and error stay two'
in=$(head -c 3000000 /dev/zero | "$confine" run -q --session dev -- sh -c 'cat; sleep 7000 &' | sha256sum)
[ "$in" = "$(head -c 3000000 /dev/zero | sha256sum)" ]
result $? 'and nothing of it is lost'

# --- how runs end --------------------------------------------------------------------------------------

call in_session dev -- sh -c 'sleep 7001 </dev/null >/dev/null 2>&1 &'
[ "$status" -eq 0 ] && await there 7001
result $? 'what a run leaves behind lives on'
for limit in 1s 20s; do # the longer one where it had not left the session of the command by then
    call in_session dev --timeout $limit --grace 100ms -- sh -c 'trap "" TERM; setsid sh -c ": >/tmp/left; exec sleep 7003" & sleep 7002'
    ! in_session dev -- test -e /tmp/left || break
done
[ "$status" -eq 124 ] && gone 7002 && there 7001 && await there 7003
result $? 'a time limit ends what is in the session of the command, and nothing else'
call in_session dev --timeout 1s --grace 100ms --report "$dir/report" -- \
    sh -c 'sh -c "trap \"\" TERM; sleep 7004 & sleep 7005" & exec sleep 7006'
[ "$status" -eq 124 ] && gone 7004 && gone 7005 && gone 7006 || why "$status: $("$confine" session list)"
result $? 'also when the command ends by the first signal'

for signal in TERM HUP; do
    env --default-signal=HUP "$confine" run -q --session dev --grace 100ms -- sh -c 'sleep 7010 & sh -c "trap \"\" TERM HUP; sleep 7011" & sleep 7012' &
    run=$!
    await there 7012 && await there 7011
    kill -$signal $run
    wait $run
    [ $? -eq $((128 + $(kill -l $signal))) ] && gone 7010 && gone 7011 && gone 7012 && there 7001
    result $? "SIG$signal takes the run along, and no other"
done
"$confine" run -q --session dev -- sh -c 'sleep 7020 & sleep 7021' &
run=$!
await there 7021
kill -KILL $run
wait $run 2>/dev/null
await gone 7020 && await gone 7021 && there 7001
result $? 'so does SIGKILL of confine'

"$confine" run -q --session dev -- sleep 7025 2>/dev/null &
run=$!
await there 7025
kill -KILL $run $(cat /proc/$run/task/$run/children)
wait $run 2>/dev/null
await gone 7025 && there 7001
result $? 'and of what waits in front of the command, at the same time'

# At any moment. A run that had not started leaves nothing to be found.
for _ in $(seq 30); do
    "$confine" run -q --session dev -- sh -c 'sleep 7030 & sleep 7031' >/dev/null 2>&1 &
    run=$!
    sleep "0.0$((RANDOM % 60 + 10))"
    kill -KILL $run 2>/dev/null
    wait $run 2>/dev/null
done
await gone 7030 && await gone 7031
result $? 'at any moment'
call in_session dev -- python3 "$dir/client.py"
[ "$status" -eq 0 ]
result $? 'after which the session is what it was'

# Whoever can write where sessions have their names could end them, join them, or answer in their place.
for path in "$XDG_RUNTIME_DIR" "$place"; do
    for backend in namespace landlock; do
        call "$confine" run -q -b $backend -w . --write "$path" -- true
        [ "$status" -eq 125 ] && has_line 'where sessions have their names' || why "status $status"
        result $? "$backend: the place of sessions is not granted (${path#"$dir"/})"
    done
done
finish
