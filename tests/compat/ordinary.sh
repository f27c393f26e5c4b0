#!/bin/bash
# ordinary.sh - a dozen ordinary actions with the network cut, each as a row of its own, and places for a workspace.
#
# Should:  know each backend's answer by heart: where an action cannot work, which errno says so.
# Mustn't: take a failure outside for one of the sandbox: each action is done outside first.
. "$(dirname "$0")/compat.sh"
need python3

# Prints `done`, or the name of the errno, when it is ARG; anything else is a traceback.
cat >"$w/act.py" <<'PY'
import asyncio, errno, os, pty, socket, sys, threading, time

def pair():
    a, b = socket.socketpair()
    assert a.send(b'hello') == 5 and b.recv(9) == b'hello'

def option():
    a, b = socket.socketpair()
    a.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    assert a.getsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED) == 1

def stream(family, host):
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((host, 0)); server.listen()
        def serve():
            with server.accept()[0] as peer: peer.sendall(peer.recv(9)[::-1])
        thread = threading.Thread(target=serve); thread.start()
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(60); client.connect(server.getsockname()); client.sendall(b'abc')
            assert client.recv(9) == b'cba'
        thread.join()

def tcp(): stream(socket.AF_INET, '127.0.0.1')

def tcp6(): stream(socket.AF_INET6, '::1')

def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(('127.0.0.1', 0)); server.settimeout(60); client.sendto(b'hello', server.getsockname())
        assert server.recvfrom(9)[0] == b'hello'

def semaphore():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sem_open.restype = ctypes.c_void_p
    name = b'/confine-test-%d' % os.getpid()
    sem = libc.sem_open(name, os.O_CREAT | os.O_EXCL, 0o600, 1)
    if not sem: raise OSError(ctypes.get_errno(), 'sem_open')
    libc.sem_unlink(name)
    assert libc.sem_trywait(ctypes.c_void_p(sem)) == 0 and libc.sem_trywait(ctypes.c_void_p(sem)) == -1
    assert ctypes.get_errno() == errno.EAGAIN and libc.sem_post(ctypes.c_void_p(sem)) == 0

def executor():
    async def main():
        assert await asyncio.get_running_loop().run_in_executor(None, lambda: threading.get_ident()) != threading.get_ident()
    asyncio.run(main())

def listener():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind('listener'); server.listen()
        try:
            def serve():
                with server.accept()[0] as peer: peer.sendall(b'hello')
            thread = threading.Thread(target=serve); thread.start()
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(60); client.connect('listener')
                assert client.recv(9) == b'hello'
            thread.join()
        finally: os.unlink('listener')

def shm():
    name = '/dev/shm/confine-test-%d' % os.getpid()
    with open(name, 'x') as file: file.write('hello')
    try: assert open(name).read() == 'hello'
    finally: os.unlink(name)

def link():
    open('one', 'w').close(); os.link('one', 'two')
    try: assert os.stat('two').st_nlink == 2 and os.path.samefile('one', 'two')
    finally: os.unlink('one'); os.unlink('two')

def rename():
    os.makedirs('from/deep'); os.mkdir('to')
    try:
        open('from/deep/file', 'w').close(); number = os.stat('from/deep/file').st_ino
        os.rename('from/deep/file', 'to/file'); os.rename('from/deep', 'to/deep')
        assert os.stat('to/file').st_ino == number
        os.unlink('to/file'); os.rmdir('to/deep')
    finally: os.rmdir('from'); os.rmdir('to')

def owner():
    open('mine', 'w').close()
    try:
        for call in os.chown, os.lchown:
            call('mine', os.getuid(), os.getgid()); call('mine', -1, -1)
            for user, group in (0, -1), (-1, 0), (12345, 12345):
                try: call('mine', user, group); print('given to', user, group)
                except PermissionError: pass
    finally: os.unlink('mine')

def terminal():
    ours, theirs = pty.openpty()
    os.write(theirs, b'hello\n')
    assert os.read(ours, 9).startswith(b'hello') and os.path.exists(os.ttyname(theirs))

try: globals()[sys.argv[1]]()
except OSError as error:
    if error.errno: print(errno.errorcode[error.errno]); sys.exit(0)
    print(error); sys.exit(0)
print('done')
PY
own "$w/act.py"
options=(-q --network none)
confined -- true </dev/null
unix=done
if ! views && field surfaces | grep -o '"id": "unix.path".*' | grep -q '^.\{0,200\}"mechanism": "seccomp"'; then
    unix=EPERM
fi
while IFS='|' read -r act without name; do
    if [ "$act" = tcp6 ] && [ ! -e /proc/net/if_inet6 ]; then skip "$name" "this kernel has no IPv6"; continue; fi
    expected=done
    views || expected=$without
    is "outside: $name" "$(cd "$w" && outside python3 act.py "$act" 2>&1)" done
    run confined -- python3 act.py "$act"
    is "$name: $expected" "$out$err" "$expected"
done <<ROWS
pair|done|a pair of sockets: send
option|done|a pair of sockets: setsockopt
tcp|EPERM|TCP on the own loopback
tcp6|EPERM|TCP on the own loopback, ::1
udp|EPERM|UDP on the own loopback
semaphore|EACCES|a POSIX semaphore (sem_open)
executor|done|asyncio: run_in_executor
listener|$unix|a Unix listener in the workspace
shm|EACCES|a file in /dev/shm
link|done|a hard link
rename|done|a rename across directories
owner|done|one's own file: given to oneself, EPERM for others
terminal|out of pty devices|openpty
ROWS
options=()

# Below the names that a view of its own replaces by private ones, a workspace is the caller's own.
for place in /tmp /dev/shm /run; do
    if ! workspace=$(mktemp -d "$place/confine-test.XXXXXX" 2>"$test_dir/.place"); then
        skip "a workspace in $place" "$(tail -1 "$test_dir/.place")"
        continue
    fi
    # Like $test_dir: a killed shell runs no trap.
    setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"' sh $$ "$workspace" </dev/null >/dev/null 2>&1 &
    own "$workspace"
    from=$workspace
    does "a workspace in $place" 'echo x >file && mkdir sub && mv file sub/ && ln sub/file again && pwd >where'
    is "its files are outside as well" "$(cat "$workspace/again" "$workspace/where")" "x
$workspace"
    # Of /run what resolves names may be shown as well.
    if views && [ $place != /run ]; then
        is "and nothing else of $place is seen" "$(confined -q -- ls -A "$place")" "$(basename "$workspace")"
    fi
    rm -rf "$workspace"
done
workspace= from=
close
