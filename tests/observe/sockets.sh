#!/bin/bash
# sockets.sh - who asks inside for a socket of outside is told of, and who asks for one of the command's own is not, though a socket
# outside has its name: of a tmux, a database, a display. For two backends: a view of the command's own.
TMPDIR=/var/tmp
export TMPDIR CONFINE_BACKEND=namespace
. "$(dirname "$0")/../cli/tap.sh"

place=$(mktemp -d /tmp/confine-sockets.XXXXXX) || exit 1
chmod 755 "$place"
listener=
end_all() {
    [ -z "$listener" ] || kill "$listener"
    rm -rf "$place"
    clear_up
}
at_end=([$$]=end_all)
cat >"$dir/w/talk.py" <<'P'
import os, socket, sys, time

def listen(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen()
    return listener

name = sys.argv[2]
if sys.argv[1] == "listen":
    listener = listen(name)
    time.sleep(300)
if sys.argv[1] == "own":
    os.makedirs(os.path.dirname(name))
    listener = listen(name)
for kind in socket.SOCK_STREAM, socket.SOCK_STREAM:
    try:
        socket.socket(socket.AF_UNIX, kind).connect(name)
        print("connected")
    except OSError as error:
        print(error.errno)
P
python3 talk.py listen "$place/s" >/dev/null 2>&1 &
listener=$!
await test -S "$place/s"
[ "$(id -u)" -ne 0 ] || { chown -R 65534:65534 "$dir/w" "$HOME" && chmod 755 "$dir"; }
for name in namespace bubblewrap; do
    backend=--backend=$name
    if ! backend_works $name; then
        skip "$name" "it does not work here"
        continue
    fi
    run 0 "$name: a socket outside" \
        "[(i['surface'], i['operation'], i['path'], i['count']) for i in r['denials']['items']] == [('unix.path', 'connect', '$place/s', 2)]" \
        -- python3 talk.py ask "$place/s"
    [ "$(cat "$dir/out")" = "$(printf '2\n2')" ]
    result $? "$name: which is not there"
    run 0 "$name: one of its own that has that name" "r['denials']['items'] == [] and r['denials']['complete']" -- python3 talk.py own "$place/s"
    [ "$(cat "$dir/out")" = "$(printf 'connected\nconnected')" ]
    result $? "$name: which is there"
done
# A name is made by binding, as by making a file: with Landlock alone too, where there are such sockets.
mkdir "$dir/mine"
[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$dir/mine"
for name in namespace landlock; do
    backend=--backend=$name
    if ! backend_works $name; then
        skip "$name" "it does not work here"
        continue
    fi
    call run_with_report $backend -w . --open unix.path -- python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$dir/mine/made"
    [ "$status" -eq 1 ] && valid "$dir/report" && report \
        "[(i['surface'], i['operation'], i['path'], i['grant_option']) for i in r['denials']['items']] == [('fs.write', 'create', '$dir/mine/made', '--write $dir/mine')]"
    result $? "$name: a socket that may not be made"
done
# A datagram socket that is connected sends nothing: by some addresses programs only ask for their own.
cat >ask.py <<'P'
import socket
for address in "10.253.155.219", "10.253.155.220":
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((address, 58162))
    except OSError as error:
        print(error.errno)
P
backend=--backend=namespace
if backend_works namespace; then
    run 0 "an address that only asks, and one that does not" \
        "[(i['surface'], i['address'], i['noise']) for i in r['denials']['items']] == [('net.udp', '10.253.155.219:58162', 'address-probe'), ('net.udp', '10.253.155.220:58162', None)]" \
        -- python3 ask.py
fi
finish
