"""outside.py: what a confined command may want to reach: servers on addresses that look public, in a network namespace
of the test's own, and confine in another one, joined to it by a cable.

Names are answered by a resolver of our own, so that whoever asks it for a name that is no rule's is seen. The servers
note every connection: what must not be reached is looked for there, and not only at what the client says.
"""
import contextlib
import ctypes
import http.server
import json
import os
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, free_port  # noqa: E402, F401: for those that use this file

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNET = 0x40000000
CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
WORLD, HOST, RESOLVER = '93.184.1.1', '93.184.0.1', '93.184.1.53'
SIX = '2600:1::1'
PRIVATE, METADATA = '10.9.9.9', '169.254.169.254'


def enter():
    """Start anew in network, mount and process namespaces of our own; whoever is not root, in a user namespace, too."""
    if os.environ.get('CONFINE_OUTSIDE') == 'in':
        return
    os.environ['CONFINE_OUTSIDE'] = 'in'
    how = ['unshare', *(['-nmp'] if os.geteuid() == 0 else ['-Unmp', '--map-current-user', '--keep-caps']), '--fork', '--kill-child', '--mount-proc', '--propagation', 'private']
    try:  # what all of it needs, once
        subprocess.run([*how, 'sh', '-c', 'ip link add cable type veth peer name host && mount -t tmpfs tmpfs /mnt'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f'1..0 # SKIP no namespaces, or no cable between them: {getattr(error, "stderr", error)}')
        sys.exit(0)
    os.execvp('unshare', [*how, sys.executable, *sys.argv])


# What the cable needs is kept; whom the test is about has none.
NO_CAPABILITIES = [] if os.geteuid() == 0 else ['setpriv', '--ambient-caps', '-all', '--inh-caps', '-all', '--']


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Outside:
    def __init__(self, names, hosts=''):
        """NAMES: {name: [address]}, for the resolver; HOSTS: lines of /etc/hosts."""
        self.names, self.asked, self.reached = names, [], []
        self.here = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        call('ip', 'link', 'set', 'lo', 'up')
        if LIBC.unshare(NEWNET):
            raise OSError(ctypes.get_errno(), 'unshare')
        self.there = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        call('ip', 'link', 'set', 'lo', 'up')
        call('ip', 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'host', 'netns', f'/proc/{os.getpid()}/fd/{self.here}')
        for address in (f'{WORLD}/16', f'{RESOLVER}/32', f'{PRIVATE}/32', f'{METADATA}/32', f'{SIX}/64'):
            call('ip', 'addr', 'add', address, 'dev', 'cable', *(['nodad'] if ':' in address else []))
        call('ip', 'link', 'set', 'cable', 'up')
        self.step(self.here)
        call('ip', 'addr', 'add', f'{HOST}/16', 'dev', 'host')
        call('ip', 'addr', 'add', '2600:1::ff/64', 'dev', 'host', 'nodad')
        call('ip', 'link', 'set', 'host', 'up')
        call('ip', 'route', 'add', 'default', 'via', WORLD)
        # What is made lies in a mount of our own, so that nothing is left behind, whatever ends us.
        self.made = None if os.path.isdir('/mnt') else tempfile.mkdtemp(prefix='confine-outside.', dir='/var/tmp')
        self.dir = self.made or '/mnt'
        call('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', self.dir)
        self.write('hosts', '127.0.0.1 localhost\n::1 localhost\n' + hosts)
        self.write('resolv.conf', f'nameserver {RESOLVER}\noptions timeout:20 attempts:1\n')
        call('mount', '--bind', f'{self.dir}/hosts', '/etc/hosts')
        call('mount', '--bind', f'{self.dir}/resolv.conf', os.path.realpath('/etc/resolv.conf'))
        self.resolver()

    def close(self):
        subprocess.run(['umount', '-l', self.dir], check=False)
        if self.made:
            with contextlib.suppress(OSError):
                os.rmdir(self.made)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    @staticmethod
    def step(space):
        if LIBC.setns(space, NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')

    @contextlib.contextmanager
    def outside(self):
        self.step(self.there)
        try:
            yield
        finally:
            self.step(self.here)

    # -- servers

    def listen(self, address, port, kind=socket.SOCK_STREAM):
        with self.outside():
            listener = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, kind)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
        if kind == socket.SOCK_STREAM:
            listener.listen(512)
        return listener

    def serve(self, address, port, talk):
        """TALK(socket) for each connection, in a thread of its own."""
        listener = self.listen(address, port)

        def accept():
            while True:
                connection, _ = listener.accept()
                self.reached.append((address, port))
                threading.Thread(target=self.guard, args=(talk, connection), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    @staticmethod
    def guard(talk, connection):
        with connection, contextlib.suppress(OSError):
            talk(connection)

    def web(self, address, port, directory, context=None):
        listener = self.listen(address, port)
        reached = self.reached

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            address_family = listener.family

            def process_request(self, request, client_address):
                reached.append((address, port))
                super().process_request(request, client_address)

            def finish_request(self, request, client_address):
                if context:
                    request = context.wrap_socket(request, server_side=True)
                super().finish_request(request, client_address)

            def handle_error(self, request, client_address):
                pass

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def __init__(self, *words):
                super().__init__(*words, directory=directory)

            def log_message(self, *words):
                pass

        server = Server((address, port), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        server.server_name, server.server_port = address, port
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def resolver(self):
        listener = self.listen(RESOLVER, 53, socket.SOCK_DGRAM)

        def answer(query):
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode('latin-1'))
                at += query[at] + 1
            kind, = struct.unpack('>H', query[at + 1:at + 3])
            name = '.'.join(labels).lower()
            self.asked.append(name)
            records = [address for address in self.names.get(name, []) if (':' in address) == (kind == 28) and kind in (1, 28)]
            body = b''.join(b'\xc0\x0c' + struct.pack('>HHIH', kind, 1, 5, len(data)) + data for data in (
                socket.inet_pton(socket.AF_INET6 if ':' in address else socket.AF_INET, address) for address in records))
            return (query[:2] + (b'\x81\x80' if name in self.names else b'\x81\x83') + query[4:6] +
                    struct.pack('>HHH', len(records), 0, 0) + query[12:at + 5] + body)

        def loop():
            while True:
                query, client = listener.recvfrom(4096)
                with contextlib.suppress(IndexError, struct.error, OSError):
                    listener.sendto(answer(query), client)

        threading.Thread(target=loop, daemon=True).start()

    def certificate(self, *names):
        """Return: (context of a server, file of the certificate), for NAMES."""
        key, certificate = f'{self.dir}/key.pem', f'{self.dir}/certificate.pem'
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                        '-subj', '/CN=test', '-addext', 'subjectAltName=' + ','.join(f'DNS:{name}' for name in names),
                        '-keyout', key, '-out', certificate], check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context, certificate


class Run:
    """One `confine run`: status, out, errors, report."""
    directory = '/var/tmp'

    def __init__(self, options, command, user=None, environment=None, timeout=120, **words):
        # A file in memory: a pipe of an ordinary user's is small once he has many, and the report would wait in it.
        self.written = os.memfd_create('report')
        front = ['setpriv', '--reuid', str(user), '--regid', str(user), '--clear-groups', '--'] if user else NO_CAPABILITIES
        self.process = subprocess.Popen(
            [*front, CONFINE, 'run', *options, '--report', f'fd:{self.written}', '--', *command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[self.written], cwd=self.directory,
            env=dict(os.environ, LC_ALL='C', **(environment or {})), **words)
        if timeout:
            self.wait(timeout)

    def wait(self, timeout=120):
        out, errors = self.process.communicate(timeout=timeout)
        self.status, self.out, self.errors = self.process.returncode, out.decode(errors='replace'), errors.decode(errors='replace')
        text = os.pread(self.written, 1 << 24, 0)
        os.close(self.written)
        self.report = json.loads(text) if text else None
        return self

    def network(self):
        return self.report['network'] if self.report else {}

    def refused(self):
        """{name: reason} of what was not allowed."""
        rows = self.network().get('connections', []) + self.network().get('counted', [])
        return {row['name'] or row['address']: row['refused'] for row in rows if row['refused']}

    def __str__(self):
        return f'status {self.status}, out {self.out[-400:]!r}, errors {self.errors[-400:]!r}, network {json.dumps(self.network())[:600]}, ' \
               f'error {self.report and self.report["error"]}'


def callers():
    """Whom confine runs as: the user of this process; from root, an ordinary one as well."""
    return [None, 65534] if os.geteuid() == 0 and not in_user_namespace() else [None]


def in_user_namespace():
    with open('/proc/self/uid_map', encoding='ascii') as file:
        return file.read().split() != ['0', '0', '4294967295']


def have(program):
    return shutil.which(program)


def validate(schema, objects):
    """Return: what is wrong, by the schema of docs/; empty where the library is missing, as elsewhere in the tests."""
    try:
        import jsonschema
    except ImportError:
        return ''
    with open(f'{os.environ["CONFINE_SOURCE"]}/docs/{schema}', encoding='utf-8') as file:
        checker = jsonschema.Draft202012Validator(json.load(file))
    return '\n'.join(f'{error.message[:200]} at {list(error.absolute_path)}' for one in objects for error in checker.iter_errors(one))


def backends():
    """Those with a network of the command's own that work here."""
    return [name for name in ('namespace', 'bubblewrap') if Run(['-b', name], ['true']).status == 0]
