#!/bin/bash
# distributions.sh - layouts of other distributions, imitated in a mount namespace of this test's own.
#
# What is here: files in ssh_config.d (Fedora, everything with systemd 256), programs below /run (NixOS), a resolver's
# file below /run (systemd-resolved), a service that knows the users (nscd, sssd), the sockets of WSL. Real systems of these
# kinds were not run.
if [ "$(id -u)" -eq 0 ] && [ -z "${CONFINE_IMITATED:-}" ] && unshare -m true 2>/dev/null; then
    CONFINE_IMITATED=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "$0")/tap.sh"

if [ -z "${CONFINE_IMITATED:-}" ]; then
    skip 'layouts of other distributions' 'only root can mount'
    finish
fi
user=64123 # root's files are nobody's in its namespace, and nobody is 65534
place=$(mktemp -d /var/tmp/confine-layout.XXXXXX) || exit 99
servers=
clear_up() {
    kill $servers 2>/dev/null
    rm -rf "$dir" "$place"
}
mkdir "$place/ws" "$place/home" "$place/up" "$place/work" "$place/run"
chmod 755 "$place"
chown "$user:$user" "$place/ws" "$place/home"
mount -t overlay -o "lowerdir=/etc,upperdir=$place/up,workdir=$place/work" overlay /etc 2>"$dir/why" || {
    skip 'layouts of other distributions' 'no overlay on /etc here'
    finish
}
mount -t tmpfs -o mode=755 tmpfs /run
echo "layout:x:$user:$user::$place/home:/bin/sh" >>/etc/passwd
mkdir -p /etc/ssh/ssh_config.d /run/current-system/sw/bin /run/systemd/resolve /run/WSL /usr/lib
echo 'Host layout' >"$place/linked.conf"
printf '    Port 2222\n' >>"$place/linked.conf"
printf 'Host plain\n    Port 2223\n' >/etc/ssh/ssh_config.d/10-plain.conf
ln -sf "$place/linked.conf" /etc/ssh/ssh_config.d/20-linked.conf
printf 'Include /etc/ssh/ssh_config.d/*.conf\n' >/etc/ssh/ssh_config
cp /bin/true /run/current-system/sw/bin/tool
echo 'nameserver 127.0.0.53' >/run/systemd/resolve/stub-resolv.conf
ln -sf /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
# serves SOCKET: in the background, until this test ends: nscd's answer to who user 64124 is, and nothing to anything else.
cat >"$dir/serve.py" <<'P'
import os, socket, struct, sys
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + ".new")
os.chmod(sys.argv[1] + ".new", 0o666)
server.listen(64)
os.rename(sys.argv[1] + ".new", sys.argv[1])
parent = os.getppid()
server.settimeout(1)
while os.getppid() == parent:
    try:
        asker, _ = server.accept()
        asker.settimeout(30)
        asked = asker.recv(1000)
    except OSError:
        continue
    if asked[:8] == struct.pack("=ii", 2, 1) and asked[12:] == b"64124\0":
        words = [b"directory\0", b"x\0", b"Somebody\0", b"/\0", b"/bin/sh\0"]
        sizes = [len(word) for word in words]
        asker.sendall(struct.pack("=9i", 2, 1, *sizes[:2], 64124, 64124, *sizes[2:]) + b"".join(words))
    asker.close()
P
serves() {
    python3 "$dir/serve.py" "$1" &
    servers="$servers $!"
    await test -S "$1"
}
serves /run/WSL/1_interop

cd "$place/ws" || exit 99
export HOME=$place/home
inside() { call "$confine" run -q -b namespace -w . --report "$dir/report" -- "$@"; }
inside true
if [ "$status" -ne 0 ]; then
    skip 'layouts of other distributions' "no namespaces here: $(head -c 200 "$dir/err")"
    finish
fi

if command -v ssh >/dev/null; then
    for host in plain layout; do
        inside ssh -G "$host"
        [ "$status" -eq 0 ] && grep -q '^port 222' "$dir/out"
        result $? "ssh_config.d: ssh takes the settings for $host"
    done
    inside stat -c '%u %a' /etc/ssh/ssh_config.d/10-plain.conf
    [ "$(cat "$dir/out")" = "$user 644" ]
    result $? 'its files belong to the command'
    inside sh -c 'echo x >>/etc/ssh/ssh_config.d/10-plain.conf'
    [ "$status" -ne 0 ] && ! grep -q x /etc/ssh/ssh_config.d/10-plain.conf
    result $? 'and can be read only'
else
    skip 'ssh_config.d' 'ssh is not installed'
fi
inside /run/current-system/sw/bin/tool
result "$status" 'programs below /run/current-system run'
inside cat /etc/resolv.conf
[ "$(cat "$dir/out")" = 'nameserver 127.0.0.53' ]
result $? 'a resolver that keeps its file below /run'
if "$confine" run -q -b bubblewrap -w . -- true 2>/dev/null; then # which gets a file of that name, there, that has musl wait for nobody
    call "$confine" run -q -b bubblewrap -w . -- cat /etc/resolv.conf
    [ "$status" -eq 0 ] && grep -qx 'nameserver 127.0.0.53' "$dir/out" && grep -q 'timeout:0' "$dir/out"
    result $? 'and behind bubblewrap'
else skip 'a resolver that keeps its file below /run, bubblewrap' 'it cannot be used here'; fi
# A user of a directory: no line in /etc/passwd, and a service that knows the name.
serves /run/nscd/socket
unnamed() { call setpriv --reuid 64124 --regid 64124 --clear-groups "$confine" run "$@" -- id -un; }
call setpriv --reuid 64124 --regid 64124 --clear-groups id -un
[ "$(cat "$dir/out")" = directory ] || why "$(cat "$dir/out" "$dir/err")"
result $? 'control: outside the service names the user'
for name in namespace bubblewrap; do
    if ! "$confine" run -q -b $name -w . -- true 2>/dev/null; then
        skip "a user without a name, $name" 'it cannot be used here'
        continue
    fi
    unnamed -b $name
    [ "$status" -ne 0 ] && grep -q '^confine: warning: user-unnamed: user 64124 .*--socket /run/nscd/socket' "$dir/err"
    result $? "$name: inside the user has no name, and the way out is said"
    unnamed -b $name --socket /run/nscd/socket
    [ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = directory ] && [ ! -s "$dir/err" ]
    result $? "$name: which names it"
done
# WSL starts programs of Windows for whoever reaches its socket: by any name of it, on any backend.
reach='import socket; socket.socket(socket.AF_UNIX).connect("/run/WSL/1_interop")'
call setpriv --reuid $user --regid $user --clear-groups /usr/bin/python3 -c "$reach"
result $status 'control: outside the interop socket of WSL is reached'
for name in namespace bubblewrap landlock; do
    if ! "$confine" run -q -b $name -w . -- true 2>/dev/null; then
        skip "the interop socket of WSL, $name" 'it cannot be used here'
        continue
    fi
    WSL_INTEROP=/run/WSL/1_interop call "$confine" run -q -b $name -w . -- sh -c '! /usr/bin/python3 -c "$0" 2>&1 && [ -z "${WSL_INTEROP-}" ]' "$reach"
    [ "$status" -eq 0 ] && grep -qE 'FileNotFoundError|PermissionError' "$dir/out"
    result $? "$name: inside it is not"
done
inside ls /run /run/systemd/resolve
[ "$status" -eq 0 ] && ! grep -q WSL "$dir/out" && [ -e /run/WSL/1_interop ]
result $? 'the interop sockets of WSL are not there'
finish
