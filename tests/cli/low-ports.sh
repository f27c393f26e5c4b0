#!/bin/bash
# low-ports.sh - a command listens on every port of a network of its own, those below 1024 included.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/w" "$HOME"
chmod 755 "$dir"
setting=/proc/sys/net/ipv4/ip_unprivileged_port_start
before=$(cat $setting 2>&1)

cat >"$dir/server.py" <<'P'
import socket, sys, threading
port, host = int(sys.argv[1]), sys.argv[2]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
server = socket.socket(family)
server.bind((host, port))
server.listen()
if "serve" in sys.argv:
    open(sys.argv[4], "w")
    client, _address = server.accept()
    client.sendall(b"here")
    client.close()
else:
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((host, port))
    client = socket.create_connection((host, port), timeout=20)
    print("listens")
P
chmod 644 "$dir/server.py"
six=
[ ! -e /proc/net/if_inet6 ] || six=::1

# listens NAME WORD...: behind these, a command listens on port 80 and on port 1
listens() {
    local name=$1 host
    shift
    for host in 127.0.0.1 $six; do
        call "$@" python3 "$dir/server.py" 80 $host
        [ "$status" -eq 0 ] && grep -qx listens "$dir/out" || why "status $status"
        result $? "$name: $host"
    done
    call "$@" python3 "$dir/server.py" 1 0.0.0.0
    [ "$status" -eq 0 ]
    result $? "$name: the lowest one, everywhere"
}
# asked PORT: what a server inside says to a client out here
asked() {
    timeout 10 python3 -c 'import socket, sys
print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5).recv(9).decode(), end="")' "$1" 2>&1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# published NAME WORD...: a client out here reaches port 80 inside. PUBLISH in the words is a port that is free.
published() {
    local name=$1 port
    shift
    port=$(free_port)
    rm -f "$dir/w/up"
    "${@//PUBLISH/$port}" python3 "$dir/server.py" 80 127.0.0.1 serve "$dir/w/up" >"$dir/out" 2>"$dir/err" </dev/null &
    up() { [ -e "$dir/w/up" ] || ! kill -0 $!; }
    await up
    answer=$(asked "$port")
    [ "$answer" = here ] || why "answer: $answer"
    result $? "$name"
    kill $! 2>/dev/null
    wait $!
}

if [ ! -e $setting ] && [ "$(uname -r | cut -d. -f1)" -gt 3 ]; then
    skip "ports below 1024" "/proc/sys has no such setting here"
    finish
fi
if backend_works namespace; then
    run="$confine run -q -b namespace -w ."
    listens "a network of its own" $run --
    listens "made by one process after the other" taskset -c "$(taskset -pc $$ | sed 's/.*[:,-] *//')" $run --
    listens "a list of hosts" $run --allow example.org:8443 --
    published "a port that is published" $run --publish PUBLISH:80 --
    published "and one beside a list" $run --publish PUBLISH:80 --allow example.org --
    export XDG_RUNTIME_DIR=$dir/runtime
    mkdir -m 0700 "$XDG_RUNTIME_DIR"
    [ "$(id -u)" -ne 0 ] || user='--user 65534'
    call "$confine" session start low --owner $$ ${user:-}
    listens "the first run of a session" $run --session low --
    listens "and a later one" $run --session low --
    call "$confine" session end low
    call $run -- sh -c "cat $setting; echo 5 >$setting || echo no"
    [ "$(tr '\n' ' ' <"$dir/out")" = "0 no " ] || why "$(cat "$dir/out")"
    result $? "the setting is not the command's to change"
    # A kernel without the setting: everything else is as before.
    without() { strace -f -qq -o "$dir/trace" -P $setting -e inject=openat:error=ENOENT $run -- python3 "$dir/server.py" "$1" 127.0.0.1; }
    if [ "${before:-0}" -le 80 ] || ! strace -o /dev/null true 2>"$dir/err"; then
        skip "a kernel without the setting" "it takes strace, and a machine whose low ports are root's"
    else
        call without 80
        [ "$status" -eq 1 ] && grep -q PermissionError "$dir/err" && grep -q INJECTED "$dir/trace"
        result $? "where the kernel has no such setting the run begins, and such a port is refused"
        call without 8080
        [ "$status" -eq 0 ]
        result $? "and no other"
    fi
else
    skip "namespace" "it cannot be used here"
fi
if backend_works bubblewrap; then
    published "bubblewrap: a port that is published" "$confine" run -q -b bubblewrap -w . --publish PUBLISH:80 --
else
    skip "bubblewrap" "it cannot be used here"
fi
[ "$(cat $setting 2>&1)" = "$before" ]
result $? "the machine's own is what it was"
finish
