"""channel.py WHAT TERMINAL-RUN [LIE WHAT...]: hold the other end of terminal-run's channel, and say what is seen."""
import array
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import termios

what, link, lie = sys.argv[1], sys.argv[2], sys.argv[3:]
LOOK = ('test -t 0 && echo tty; test -t 1 && echo tty; test -t 2 || echo none; '
        'test "$(cut -d" " -f6 /proc/$$/stat)" = $$ && echo leads its session; '
        'test "$(tty)" = "$(readlink /proc/self/fd/0)" && echo same name; echo /dev/tty >/dev/tty; read x; echo $x; exit 7')
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
command = {'works': LOOK, 'held': 'exec sleep 60', 'lies': 'echo ran'}[what]
null = os.open('/dev/null', os.O_RDWR)
child = subprocess.Popen([*lie, link, '--channel', str(theirs.fileno()), '--on', '0,1', '--', 'sh', '-c', command], stdin=null,
                         stdout=null, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()])
theirs.close()
data, control, _, _ = ours.recvmsg(64, socket.CMSG_SPACE(16))
descriptors = array.array('i')
for _, _, room in control:
    descriptors.frombytes(room[:len(room) - len(room) % 4])
if what == 'lies':
    said = b''
    for fd in descriptors:
        while select.select([fd], [], [], 0.05)[0]:
            try:
                got = os.read(fd, 1000)
            except OSError:
                break
            said += got
            if not got:
                break
    error = child.stderr.read().decode()
    good = child.wait() == 125 and error.count('\n') == 1 and error.startswith('terminal-run: fatal: ') and b'ran' not in said
    print('125, one line, nothing has run' if good else (child.returncode, error, said))
    sys.exit(0)
seen = ['terminal message' if len(data) == 8 and len(descriptors) == 1 else repr(data)]
master = descriptors[0]
fcntl.ioctl(master, termios.TIOCGPTN if hasattr(termios, 'TIOCGPTN') else 0x80045430, struct.pack('i', 0))
seen.append('a master')
if what == 'held':
    os.close(master)  # if anybody had it still, the terminal would not hang up
    print('hung up' if child.wait(30) == -1 else child.returncode)
    sys.exit(0)
attributes = termios.tcgetattr(master)
attributes[3] &= ~termios.ECHO
termios.tcsetattr(master, termios.TCSANOW, attributes)
os.write(master, b'typed\n')
text = b''
while True:
    try:
        text += os.read(master, 1000)
    except OSError:
        break
print('; '.join(seen + text.decode().split('\r\n')[:-1] + [f'status {child.wait()}']))
