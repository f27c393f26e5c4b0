#!/bin/bash
# distributions.sh - layouts of other distributions, imitated in a mount namespace of this test's own.
#
# What is here: files in ssh_config.d (Fedora, everything with systemd 256), programs below /run (NixOS), a resolver's
# file below /run (systemd-resolved), the sockets of WSL. Real systems of these kinds were not run.
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
trap 'rm -rf "$dir" "$place"' EXIT
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
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(sys.argv[1])' /run/WSL/1_interop

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
inside ls /run /run/systemd/resolve
[ "$status" -eq 0 ] && ! grep -q WSL "$dir/out" && [ -e /run/WSL/1_interop ]
result $? 'the interop sockets of WSL are not there'
finish
