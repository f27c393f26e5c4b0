#!/bin/bash
# limits.sh - what one backend gives and another cannot: that this fails at once and by name, and that the way out of
# docs/compatibility.md is one.
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

if views; then
    does "loopback of one's own" 'python3 loopback.py'
else
    refuses "loopback: EPERM at once" 'PermissionError.*Operation not permitted' 'python3 loopback.py'
fi
options=(--network host)
does "--network host: it works" 'python3 loopback.py'
is "and the report says that nothing holds the network" "$(field surfaces | grep -o '"id": "net.tcp", "state": "[a-z]*"' | cut -d'"' -f8)" open
options=()
confined -q -- true
if ! views && field surfaces | grep -o '"id": "unix.path".*' | grep -q '^.\{0,200\}"mechanism": "seccomp"'; then
    refuses "pathname sockets: EPERM at once" 'PermissionError.*Operation not permitted' 'python3 unix.py'
else
    does "pathname sockets of one's own" 'python3 unix.py'
fi
options=(--open unix.path)
does "--open unix.path: they work" 'python3 unix.py'
is "and the report says that they are open" "$(field surfaces | grep -o '"id": "unix.path", "state": "[a-z]*"' | cut -d'"' -f8)" open
options=()

if views; then
    does "a pseudo-terminal" 'python3 -c "import pty; pty.openpty()"'
else
    refuses "a pseudo-terminal: no devices" 'out of pty devices|Permission denied' 'python3 -c "import pty; pty.openpty()"'
fi
refuses "a user namespace: EPERM" 'Operation not permitted' 'unshare -U true'
does "set-id bits: EPERM for these, other modes work" ': >f; if chmod 4755 f 2>err; then exit 1; fi; grep -q "not permitted" err; chmod 755 f; test "$(stat -c %a f)" = 755'
words='EPERM' read_only='Permission denied'
if views; then words='EACCES' read_only='Read-only file system'; fi
cat >"$w/queue.py" <<'PY'
import ctypes, errno, os, sys
libc = ctypes.CDLL('librt.so.1', use_errno=True)
name = b'/confine-test-%d' % os.getpid()
if libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None) < 0: sys.exit(errno.errorcode[ctypes.get_errno()])
libc.mq_unlink(name)
PY
own "$w/queue.py"
is "outside: POSIX message queues" "$(cd "$w" && outside python3 queue.py 2>&1 && echo done)" done
refuses "POSIX message queues: $words" "$words" 'python3 queue.py'
refuses "a file of one's own in /proc: $read_only" "$read_only" 'echo 500 >/proc/self/oom_score_adj'
owner=0
if views; then owner=65534; fi
is "root's files: owner $owner" "$(confined -q -- stat -c %u /usr)" "$owner"
words='not permitted'
if views; then words='Invalid argument|not permitted'; fi
refuses "becoming another user: $words" "$words" 'python3 -c "import os; os.setuid(os.getuid() + 1)"'
refuses "a directory's set-group-id bit: EPERM" 'not permitted' 'mkdir -p g; chmod g+s g'
if views; then
    run confined --protect "$w/f" -- sh -c 'echo x >f; mv f g; rm -f f; : >h && mv h i && rm i'
    is "--protect holds a file, and nothing beside it" "$status $(stat -c %s "$w/f") $(grep -c 'Read-only file system' <<<"$err")$(grep -c 'Device or resource busy' <<<"$err")" "0 0 12"
    does "SysV shared memory" 'ipcmk -M 1000 && ipcs -m | grep -q 1000'
    is "is one's own" "$(confined -q -- sh -c 'ipcs -m | grep -c 1000')$(ipcs -m | awk '$5 == 1000' | wc -l)" 00
else
    run confined --protect "$w/f" -- true
    is "--protect is refused, by name" "$status $(field error.code) $(field error.surface)" "125 SANDBOX_UNAVAILABLE fs.protected"
    refuses "SysV shared memory: EPERM" 'not permitted' 'ipcmk -M 1000'
    options=(--open ipc.sysv)
    does "--open ipc.sysv: it works" 'number=$(ipcmk -M 1000) && ipcrm -m "${number##* }"'
    options=()
fi
if outside sh -c 'command -v gdb' >/dev/null 2>&1; then
    words='not permitted|Permission denied|Could not attach'
    if views; then words='No such process'; fi
    refuses "a debugger on a process outside" "$words" "gdb -q -batch -p $$ 2>&1 | tee log; ! grep -qE '$words' log"
fi
close
