"""fence.py - `confine fence` from Python: packets over a socket, descriptors with them."""
import json
import os
import socket
import subprocess

WORDS = [(os.O_APPEND, 'append'), (os.O_CREAT, 'create'), (os.O_EXCL, 'exclusive'), (os.O_TRUNC, 'truncate'),
         (os.O_DIRECTORY, 'directory'), (os.O_NOFOLLOW, 'nofollow')]
ACCESS = {os.O_RDONLY: 'read', os.O_WRONLY: 'write', os.O_RDWR: 'read,write'}


class Fence:
    def __init__(self, confine, options, **how):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([confine, 'fence', *options], stdin=other, **how)
        other.close()
        self.ready = json.loads(self.socket.recv(65536))

    def ask(self, *words):
        """Return: the answer, and the descriptor that came with it or None."""
        self.socket.send(b''.join(os.fsencode(word) + b'\0' for word in words))
        answer, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 1)
        return json.loads(answer), descriptors[0] if descriptors else None

    def open(self, path, flags, mode='644'):
        return self.ask('open', ','.join([ACCESS[flags & os.O_ACCMODE]] + [word for flag, word in WORDS if flags & flag == flag]), mode, path)

    def close(self):
        self.socket.close()
        return self.process.wait(60)
