#!/bin/bash
# limits.sh - what this backend cannot give: that it fails at once and by name, and that the way out of docs/compatibility.md is one.
. "$(dirname "$0")/compat.sh"
need python3

cat >"$w/unix.py" <<'PY'
import os, socket, threading
s = socket.socket(socket.AF_UNIX); s.bind(os.path.abspath('sock')); s.listen()
threading.Thread(target=lambda: s.accept()[0].send(b'hello')).start()
c = socket.socket(socket.AF_UNIX); c.connect(os.path.abspath('sock')); assert c.recv(9) == b'hello'; os.unlink('sock')
PY
cat >"$w/loopback.py" <<'PY'
import socket, threading
s = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=lambda: s.accept()[0].send(b'hello')).start()
assert socket.create_connection(s.getsockname(), 5).recv(9) == b'hello'
PY
own "$w"

refuses "loopback: EPERM at once" 'PermissionError.*Operation not permitted' 'python3 loopback.py'
options=(--network host)
does "--network host: it works" 'python3 loopback.py'
is "and the report says that nothing holds the network" "$(field surfaces | grep -o '"id": "net.tcp", "state": "[a-z]*"' | cut -d'"' -f8)" open
options=()
confined -q -- true
if field surfaces | grep -o '"id": "unix.path".*' | grep -q '^.\{0,200\}"mechanism": "seccomp"'; then
    refuses "pathname sockets: EPERM at once" 'PermissionError.*Operation not permitted' 'python3 unix.py'
else
    does "pathname sockets of one's own" 'python3 unix.py'
fi
options=(--open unix.path)
does "--open unix.path: they work" 'python3 unix.py'
is "and the report says that they are open" "$(field surfaces | grep -o '"id": "unix.path", "state": "[a-z]*"' | cut -d'"' -f8)" open
options=()

refuses "a pseudo-terminal: no devices" 'out of pty devices|Permission denied' 'python3 -c "import pty; pty.openpty()"'
refuses "a user namespace: EPERM" 'Operation not permitted' 'unshare -U true'
does "set-id bits: EPERM for these, other modes work" ': >f; if chmod 4755 f 2>err; then exit 1; fi; grep -q "not permitted" err; chmod 755 f; test "$(stat -c %a f)" = 755'
run confined --protect "$w/f" -- true
is "--protect is refused, by name" "$status $(field error.code) $(field error.surface)" "125 SANDBOX_UNAVAILABLE fs.protected"
refuses "SysV shared memory: EPERM" 'not permitted' 'ipcmk -M 1000'
if outside sh -c 'command -v gdb' >/dev/null 2>&1; then
    refuses "a debugger on a process outside" 'not permitted|Permission denied|Could not attach' "gdb -q -batch -p $$ 2>&1 | tee log; ! grep -qE 'not permitted|Could not attach' log"
fi
close
