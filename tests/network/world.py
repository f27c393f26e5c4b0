"""world.py: a gateway, and a world for it that is nobody else's: three network namespaces, in one process.

   world   servers on addresses that look public
   host    where the gateway is; a cable leads from it to the world
   inside  where the command would be; the gateway's listeners are made there and handed out

The process plays the supervisor, the servers and the clients. A socket belongs to the namespace that it was made in, so
it is enough to step there for the moment of making it.
"""
import array
import contextlib
import ctypes
import json
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNET = 0x40000000
POOL4, POOL6 = '198.18.0.0/15', 'fdc0:ffee:c0f1::/64'
GENEROUS = 60  # seconds for what should take none


def enter():
    """Start anew in user, network and mount namespaces of our own."""
    if os.environ.get('CONFINE_WORLD') == 'in':
        return
    try:
        subprocess.run(['unshare', '-Urnmp', '--fork', 'ip', 'link', 'set', 'lo', 'up'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print('1..0 # SKIP no user and network namespaces here, or no ip(8)')
        sys.exit(0)
    os.environ['CONFINE_WORLD'] = 'in'
    os.execvp('unshare', ['unshare', '-Urnm', '--kill-child', '--fork', '-p', '--mount-proc', sys.executable, *sys.argv])


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class World:
    def __init__(self, hosts, addresses=('93.184.1.1/16', '2600:1::1/64')):
        """HOSTS: {name: [address]}, for the resolver; ADDRESSES of the world."""
        self.gateways = []
        self.spaces = {'host': os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)}
        call('ip', 'link', 'set', 'lo', 'up')
        for name in ('world', 'inside'):
            if LIBC.unshare(NEWNET):
                raise OSError(ctypes.get_errno(), 'unshare')
            self.spaces[name] = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
            call('ip', 'link', 'set', 'lo', 'up')
            if name == 'inside':
                call('ip', 'route', 'add', 'local', POOL4, 'dev', 'lo')
                call('ip', '-6', 'route', 'add', 'local', POOL6, 'dev', 'lo')
        self.step('world')
        call('ip', 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'host', 'netns', f'/proc/{os.getpid()}/fd/{self.spaces["host"]}')
        for address in addresses:
            call('ip', 'addr', 'add', address, 'dev', 'cable', *(['nodad'] if ':' in address else []))
        call('ip', 'link', 'set', 'cable', 'up')
        self.step('host')
        call('ip', 'addr', 'add', '93.184.0.1/16', 'dev', 'host')
        call('ip', 'addr', 'add', '2600:1::ff/64', 'dev', 'host', 'nodad')
        call('ip', 'link', 'set', 'host', 'up')
        # Where nothing has to be made for it, there is nothing to leave behind.
        self.dir = '/mnt' if os.path.isdir('/mnt') else tempfile.mkdtemp(prefix='confine-world.')
        # A file system of our own: nothing is left behind, whatever ends us.
        call('mount', '-t', 'tmpfs', 'tmpfs', self.dir)
        with open(f'{self.dir}/hosts', 'w', encoding='ascii') as file:
            file.write('127.0.0.1 localhost\n')
            for name, values in hosts.items():
                for value in values:
                    file.write(f'{value} {name}\n')
        with open(f'{self.dir}/resolv.conf', 'w', encoding='ascii') as file:
            file.write('nameserver 93.184.1.1\noptions timeout:20 attempts:1\n')
        call('mount', '--bind', f'{self.dir}/hosts', '/etc/hosts')
        call('mount', '--bind', f'{self.dir}/resolv.conf', os.path.realpath('/etc/resolv.conf'))

    def step(self, name):
        if LIBC.setns(self.spaces[name], NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')

    @contextlib.contextmanager
    def at(self, name):
        self.step(name)
        try:
            yield
        finally:
            self.step('host')

    def make(self, where, family=socket.AF_INET, kind=socket.SOCK_STREAM):
        with self.at(where):
            return socket.socket(family, kind)

    def listen(self, where, address, port, backlog=4096, kind=socket.SOCK_STREAM):
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        listener = self.make(where, family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.setsockopt(*((socket.IPPROTO_IPV6, 78) if family == socket.AF_INET6 else (socket.IPPROTO_IP, 15)), 1)  # FREEBIND
        listener.bind((address, port))
        if kind == socket.SOCK_STREAM:
            listener.listen(backlog)
        return listener


class Gateway:
    """A confined gateway and the supervisor's end of its channel."""

    CHAIN = ('detach-run --keep {channel} -- landlock-run --ro {program} --ro /etc/hosts --ro /etc/resolv.conf -- '
             'scope-run --signal --abstract -- drop-run -- '
             'seccomp-run --set landlock --without net.inet --sentinel 300 -- {program} --channel {channel}')

    def __init__(self, world, rules, upstream=None, chain=None, start=True, limit=None):
        self.world, self.said, self.kept, self.ended = world, [], [], False
        world.gateways.append(self)
        libexec = os.path.join(os.environ['CONFINE_STAGE'], 'libexec/confine')
        program = os.path.join(libexec, 'confine-gateway')
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = (chain or self.CHAIN).format(program=program, channel=theirs.fileno()).split()
        limits = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)) if limit else None
        self.process = subprocess.Popen([os.path.join(libexec, 'confine-launch'), *words], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, pass_fds=[theirs.fileno()], preexec_fn=limits)
        theirs.close()
        if start:
            self.wait('confined')
            self.send('start', rules=rules, upstream=upstream, pool4=POOL4, pool6=POOL6)
            self.wait('ready')

    def send(self, kind, fd=None, **words):
        packet = json.dumps({'type': kind, **words}).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd.fileno()]))] if fd else []
        self.channel.sendmsg([packet], rights)

    def hear(self, timeout=GENEROUS):
        """The next message; None: the channel has ended."""
        if not select.select([self.channel], [], [], timeout)[0]:
            raise TimeoutError('the gateway says nothing')
        try:
            packet = self.channel.recv(65536)
        except ConnectionResetError:
            packet = b''
        if not packet:
            self.ended = True
            return None
        message = json.loads(packet)
        self.said.append(message)
        if message['type'] == 'wants-socket':
            family = socket.AF_INET6 if message['family'] == 6 else socket.AF_INET
            self.kept.append(self.world.make('inside', family))  # as long as the one who made it likes
            self.send('socket', self.kept[-1], id=message['id'])
        return message

    def wait(self, kind, **like):
        """The next message of KIND with these words."""
        while True:
            message = self.hear()
            if message is None:
                raise EOFError(f'the gateway has ended: {self.process.stderr.read().decode()}')
            if message['type'] == kind and all(message.get(key) == value for key, value in like.items()):
                return message

    def listen(self, role, port, address='0.0.0.0', **words):
        kind = socket.SOCK_DGRAM if role == 'dns' else socket.SOCK_STREAM
        listener = self.world.listen('inside', address, port, kind=kind)
        port = listener.getsockname()[1]
        self.send('listen', listener, role=role, **words)
        listener.close()
        return port

    def end(self):
        """Return: all that it said behind `end`."""
        from_here = len(self.said)
        self.send('end')
        while self.hear():
            pass
        self.process.wait(GENEROUS)
        return self.said[from_here:]

    def stop(self):
        self.channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(GENEROUS)
        self.process.kill()
        return self.process.wait()


def wait_until(what, seconds=GENEROUS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.01)
    return False
