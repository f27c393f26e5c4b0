#!/bin/bash
# A port that a session publishes: it leads to whichever server runs in the session, for as long as the session lives.
CONFINE_BACKEND=namespace
export CONFINE_BACKEND
. "$(dirname "$0")/tap.sh"
. "$here/session-lib.sh"

free_port() { PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/.. python3 -c 'import tap; print(tap.free_port())'; }
asked() { # what the server says to a client out here, by IPv4 or IPv6
    timeout 120 python3 - "$1" "$port" <<'P' 2>&1
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60)
s.sendall(b"x")
print(s.recv(100).decode(), end="")
P
}
six=::1
[ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6 || six=127.0.0.1
cat >"$dir/server.py" <<'P'
import os, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 4321))
s.listen(5)
open("/tmp/up." + sys.argv[1], "w")
for _ in range(int(sys.argv[2])):
    c, _address = s.accept()
    c.recv(10)
    c.sendall(sys.argv[1].encode())
    c.shutdown(socket.SHUT_WR)
    while c.recv(100): # until the connection has ended, which a run that ends before says nothing of
        pass
    c.close()
P
serve() { # NAME TIMES: a server that is left behind in the session
    call in_session web -- sh -c "python3 '$dir/server.py' $1 $2 >/tmp/log.$1 2>&1 & while [ ! -e /tmp/up.$1 ]; do sleep 0.05; done"
    [ "$status" -eq 0 ]
}

port=$(free_port)
call "$confine" session start web --owner $$ --publish "$port:4321"
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = web ]
result $? 'a session that publishes a port'
kept=$(keeper web)
call "$confine" session list
grep -qx "  port $port leads to 4321 inside" "$dir/out" || why "$(cat "$dir/out")"
"$confine" session list --json | python3 -c 'import json, sys
[one] = json.load(sys.stdin)["sessions"]
assert one["published"] == [{"port": int(sys.argv[1]), "inside": 4321}] and one["published_lost"] is False, one' "$port" 2>>"$dir/why"
[ ! -s "$dir/why" ]
result $? 'and says so in the list'
[ -z "$(asked 127.0.0.1)" ] || asked 127.0.0.1 | grep -Eq 'Reset|reset|closed'
result $? 'nothing answers where nothing listens inside'
serve first 2
result $? 'a server that one run leaves behind'
[ "$(asked 127.0.0.1)" = first ] && [ "$(asked $six)" = first ]
result $? 'is reached from outside'
! python3 -c 'import socket; socket.create_connection(("127.0.0.1", 4321), timeout=2)' 2>>"$dir/why.client"
result $? 'by no other port'
serve second 1 && [ "$(asked 127.0.0.1)" = second ]
result $? 'and so is the next one'

"$confine" run -q --session web --report "$dir/report" -- sh -c "python3 '$dir/server.py' third 1" &
run=$!
reached() { [ "$(asked 127.0.0.1)" = third ]; }
await reached || kill $run
wait $run
python3 - "$dir/report" <<'P' >>"$dir/why" 2>&1
import json, sys
report = json.load(open(sys.argv[1]))
network = report["network"]
rows = [c for c in network["connections"] if c["protocol"] == "publish" and c.get("received") or c.get("sent")]
assert rows and network["shared"] is True, network
held = {s["id"]: s for s in report["surfaces"]}
assert held["net.tcp"]["state"] == "enforced" and held["net.udp"]["state"] == "enforced", held["net.tcp"]
P
valid "$dir/report" && [ ! -s "$dir/why" ] || why "$(cat "$dir/report")"
result $? 'a run that is there has the connection in its report, and reaches nothing outside'
call in_session web -- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), timeout=2)'
[ "$status" -eq 1 ]
result $? 'a way in is none out'

call "$confine" session start again --owner $$ --publish "$port:4321"
[ "$status" -eq 125 ] && has_line "--publish $port: cannot listen on this port of the loopback: Address" && [ "$(names)" = web ]
result $? 'a port that is taken is one line, and no session'

other=$(free_port)
call bash -c 'for n in $(seq 30 90); do (ulimit -n $n && exec "$0" session start again --owner "$1" --publish "$2:4321") && exit; done' "$confine" $$ "$other"
[ "$status" -eq 0 ] && "$confine" session end again && ! grep -Eq 'No such file|choose another' "$dir/err" && grep -Eq 'descriptors available|open files' "$dir/err" || why "$(cat "$dir/err")"
[ ! -s "$dir/why" ]
result $? 'a limit of open files that is reached is called that'
call "$confine" session start again --owner $$ --publish "$(free_port):4321" --forward "$port:4321"
[ "$status" -eq 125 ] && has_line 'port 4321 inside is forwarded, so no server can listen there' && [ "$(names)" = web ]
result $? 'nor is one published that leads back out'

call "$confine" run -q --session web --report "$dir/report" -- true
report 'not any(one.startswith("session-ports: ") for one in r["warnings"])'
result $? 'no run warns of what is there'
# Sockets of the session are made by a process of its own. The keeper cannot start another one: it stands in the session.
hand=$(pgrep -P "$kept" | while read -r p; do tr '\0' ' ' <"/proc/$p/cmdline" | grep -q -- '--serve' && echo "$p"; done)
[ -n "$hand" ] && [ "$(wc -w <<<"$hand")" -eq 1 ] || why "hand: $hand; $(ps --ppid "$kept" -o pid,args)"
result $? 'a process of its own goes in'
serve fourth 5
kill -KILL $hand
answer=$(asked 127.0.0.1)
[ "$answer" != fourth ] || why "$answer"
result $? 'without it nothing is reached'
call "$confine" session list
grep -qx "  port $port is lost: what led to 4321 inside has ended; start the session anew" "$dir/out" || why "$(cat "$dir/out")"
"$confine" session list --json | python3 -c 'import json, sys
[one] = json.load(sys.stdin)["sessions"]
assert one["published_lost"] is True, one' 2>>"$dir/why"
[ ! -s "$dir/why" ]
result $? 'which the list says'
call "$confine" run -q --session web --report "$dir/report" -- true
valid "$dir/report" && report 'any(one.startswith("session-ports: ") for one in r["warnings"])'
result $? 'and the next run'
call in_session web -- python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", 4321)); s.send(b"x"); print(s.recv(99))'
[ "$status" -eq 0 ] && grep -q fourth "$dir/out"
result $? 'but the session goes on'

call "$confine" session end web
[ "$status" -eq 0 ] && [ -z "$(names)" ] && await sh -c "! [ -e /proc/$kept/fd/0 ]"
result $? 'it ends'
python3 -c 'import socket, sys; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen()' "$port"
result $? 'and its port is free'

call "$confine" session start web --owner $$ --publish "$port:4321"
kept=$(keeper web)
serve fifth 1
children=$(pgrep -P "$kept")
kill -KILL "$kept"
left() { for p in $children; do [ ! -e "/proc/$p/stat" ] || grep -q ') Z ' "/proc/$p/stat" || echo "$p"; done; }
none_left() { [ -z "$(left)" ]; }
[ "$(wc -w <<<"$children")" -ge 3 ] && await none_left || why "of $children: $(left)"
result $? 'of a keeper that is killed nothing is left, the helpers included'
rm -f "$place"/web.*
finish
