"""observed.py OBSERVE-RUN WHAT [LIE WHAT...]: hold the other end of observe-run's channel, answer what is announced, and say it.

WHAT: works, held, nested (twice, the second one finds no room), lies (it must end with 125).
"""
import array
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

RECEIVE, SEND, CONTINUE, NOTICE = 0xc0502100, 0xc0182101, 1, '=QIIiIQ6Q'
CALLS = {257: 'openat', 83: 'mkdir', 90: 'chmod', 263: 'unlinkat', 87: 'unlink', 268: 'fchmodat', 56: 'openat', 34: 'mkdirat', 35: 'unlinkat', 53: 'fchmodat',
         452: 'fchmodat2', 258: 'mkdirat', 84: 'rmdir', 2: 'open'}
link, what, lie = sys.argv[1], sys.argv[2], sys.argv[3:]
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
number = str(theirs.fileno())
script = {'works': 'cat /dev/null; : >/dev/null; mkdir made; chmod 700 made; rmdir made; exit 7', 'held': 'ls /proc/self/fd | wc -l',
          'nested': 'exit 3', 'lies': 'echo ran'}[what]
again = [link, '--channel', number, '--'] if what == 'nested' else []
child = subprocess.Popen([*lie, link, '--channel', number, '--metadata', '--', *again, 'sh', '-c', script], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()])
theirs.close()


def word():
    data, control, _, _ = ours.recvmsg(64, socket.CMSG_SPACE(16))
    fds = array.array('i')
    for _, _, room in control:
        fds.frombytes(room[:len(room) - len(room) % 4])
    return (*(struct.unpack('=Ii', data) if len(data) == 8 else (0, 0)), fds)


kind, value, fds = word()
if what == 'lies':
    for fd in fds:
        os.close(fd)
    output, error = child.communicate()
    good = child.returncode == 125 and error.count(b'\n') == 1 and error.startswith(b'observe-run: fatal: ') and b'ran' not in output
    print('125, one line, nothing has run' if good else (child.returncode, error, output, value))
    sys.exit(0)
seen, listener = [], fds[0]
while True:
    ready, _, _ = select.select([listener, child.stdout], [], [], 30)
    if listener in ready:
        room = bytearray(80)
        try:
            fcntl.ioctl(listener, RECEIVE, room)
        except OSError:
            break
        notice = struct.unpack('=QIIiIQ6Q', room)
        seen.append(CALLS.get(notice[3], str(notice[3])))
        fcntl.ioctl(listener, SEND, struct.pack('=QqiI', notice[0], 0, 0, CONTINUE))
    elif child.stdout in ready or child.poll() is not None:
        break
status = child.wait(30)
output = child.stdout.read().decode().strip()
if what == 'nested':
    kind, value, more = word()
    print(f'{len(more)} descriptors; errno {value}; status {status}')
elif what == 'held':
    print(f'{output} descriptors; status {status}')
else:
    print(f'{len(fds)} descriptor; {" ".join(seen)}; status {status}')
