#!/usr/bin/env python3
"""tools.py - tools that know nothing of confine reach what --allow names: no variable, no setting; and nothing else.

Each tool's run has one rule list. That it works is half of it: the report must have the connection by name, and no tool
may have reached what is not listed. With CONFINE_LONG the slow ones as well.

Should:  use each tool as people do.
Mustn't: reach anything but the test's own servers. A TAP program.
"""
import hashlib
import base64
import json
import os
import shutil
import subprocess
import sys
import tarfile
import io
import threading

import outside
from outside import Outside, Run, Tap, WORLD, SIX, PRIVATE

LONG = os.environ.get('CONFINE_LONG')


def fetch_grpc():
    """The directory that has a gRPC of npm's, from the registry that is configured here; None: it is not to be had."""
    place = os.path.join(os.environ['CONFINE_BUILD'], 'grpc')
    package = place + '/node_modules/@grpc/grpc-js/package.json'
    if not os.path.exists(package) and outside.have('npm'):
        subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries', '0', '--prefix', place, '@grpc/grpc-js@1'],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return place if os.path.exists(package) else None


# There is no registry where the test is from here on.
if LONG and 'CONFINE_GRPC' not in os.environ:
    os.environ['CONFINE_GRPC'] = fetch_grpc() or ''
outside.enter()
tap = Tap()
NAMES = {'web.test': [WORLD, SIX], 'four.test': [WORLD], 'six.test': [SIX], 'git.test': [WORLD], 'deb.test': [WORLD], 'npm.test': [WORLD],
         'ws.test': [WORLD], 'h2.test': [WORLD], 'grpc.test': [WORLD], 'deep.under.wild.test': [WORLD], 'other.test': [WORLD], 'private.test': [PRIVATE]}
world = Outside(NAMES, f'{WORLD} hosts.test also.wild.test # a comment\n{PRIVATE}\tcorp.test\n127.0.1.1 own.test\n')
www = world.dir + '/www'
world.write('www/hello', 'hello\n')
context, certificate = world.certificate(*NAMES)
for address in (WORLD, SIX, PRIVATE):
    world.web(address, 80, www)
world.web(WORLD, 443, www, context)
world.serve(WORLD, 2222, lambda connection: connection.sendall(b'banner\n'))
world.serve(WORLD, 7, lambda connection: connection.sendall(connection.recv(100)))
work = world.dir + '/work'
os.mkdir(work, 0o777)
os.chmod(work, 0o777)


def websocket(connection):
    head = b''
    while b'\r\n\r\n' not in head:
        head += connection.recv(4096)
    key = [line.split(b': ')[1] for line in head.split(b'\r\n') if line.lower().startswith(b'sec-websocket-key')][0]
    accept = base64.b64encode(hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
    connection.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ' + accept + b'\r\n\r\n')
    frame = connection.recv(4096)
    mask, data = frame[2:6], frame[6:]
    text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
    connection.sendall(bytes([0x81, len(text)]) + text)


world.serve(WORLD, 8080, websocket)

PYTHON_WS = '''
import socket, os, base64
s = socket.create_connection(("ws.test", 8080))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: ws.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: " + base64.b64encode(os.urandom(16)) + b"\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n")
head = s.recv(4096); assert b"101" in head, head
text = b"hello"; mask = b"abcd"
s.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(text)))
print(s.recv(100)[2:].decode())
'''
NODE_FETCH = 'fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t))'
NODE_GET = 'require("http").get(process.argv[1], r => r.pipe(process.stdout))'
CURL = ['curl', '-sS', '--max-time', '60']
PYTHON_GET = 'import sys, ssl, urllib.request as u; c = ssl.create_default_context(cafile=sys.argv[2]) if len(sys.argv) > 2 else None; ' \
             'sys.stdout.write(u.urlopen(sys.argv[1], context=c).read().decode())'

# name, program that must be there, rules, command, what it must say
TOOLS = [
    ('curl http', 'curl', ['web.test'], [*CURL, 'http://web.test/hello'], 'hello'),
    ('curl https', 'curl', ['web.test'], [*CURL, '--cacert', certificate, 'https://four.test/hello'], None),
    ('curl https, the listed name', 'curl', ['four.test'], [*CURL, '--cacert', certificate, 'https://four.test/hello'], 'hello'),
    ('curl -4', 'curl', ['web.test'], [*CURL, '-4', 'http://web.test/hello'], 'hello'),
    ('curl -6', 'curl', ['web.test'], [*CURL, '-6', 'http://web.test/hello'], 'hello'),
    ('curl -6 to a name of IPv4', 'curl', ['four.test'], [*CURL, '-6', 'http://four.test/hello'], 'hello'),
    ('a name of IPv6 alone', 'curl', ['six.test'], [*CURL, 'http://six.test/hello'], 'hello'),
    ('a name below a wildcard', 'curl', ['*.wild.test'], [*CURL, 'http://deep.under.wild.test/hello'], 'hello'),
    ('a name in capitals', 'curl', ['Web.Test'], [*CURL, 'http://WEB.test./hello'], 'hello'),
    ('an address', 'curl', [f'{WORLD}:80'], [*CURL, f'http://{WORLD}/hello'], 'hello'),
    ('an address of a network', 'curl', ['93.184.0.0/16:80'], [*CURL, f'http://{WORLD}/hello'], 'hello'),
    ('an IPv6 address', 'curl', [f'[{SIX}]:80'], [*CURL, f'http://[{SIX}]/hello'], 'hello'),
    ('a private name', 'curl', ['private:private.test'], [*CURL, 'http://private.test/hello'], 'hello'),
    ('a name of /etc/hosts', 'curl', ['hosts.test'], [*CURL, 'http://hosts.test/hello'], 'hello'),
    ('a name of /etc/hosts, below a wildcard', 'curl', ['*.wild.test'], [*CURL, 'http://also.wild.test/hello'], 'hello'),
    ('a private name of /etc/hosts', 'curl', ['private:corp.test'], [*CURL, 'http://corp.test/hello'], 'hello'),
    ('an unlisted name of /etc/hosts', 'curl', ['web.test'], [*CURL, 'http://corp.test/hello'], None),
    ('python http', 'python3', ['web.test'], ['python3', '-c', PYTHON_GET, 'http://web.test/hello'], 'hello'),
    ('python https', 'python3', ['four.test'], ['python3', '-c', PYTHON_GET, 'https://four.test/hello', certificate], 'hello'),
    ('python, a raw socket', 'python3', ['web.test:2222'],
     ['python3', '-c', 'import socket; print(socket.create_connection(("web.test", 2222)).recv(99).decode())'], 'banner'),
    ('bash /dev/tcp', 'bash', ['web.test:2222'], ['bash', '-c', 'read -r line </dev/tcp/web.test/2222; echo "$line"'], 'banner'),
    ('getent', 'getent', ['web.test'], ['getent', 'ahosts', 'web.test'], '198.18.'),
    ('WebSocket', 'python3', ['ws.test:8080'], ['python3', '-c', PYTHON_WS], 'hello'),
    ('node fetch http', 'node', ['web.test'], ['node', '-e', NODE_FETCH, 'http://web.test/hello'], 'hello'),
    ('node fetch https', 'node', ['four.test'], ['env', f'NODE_EXTRA_CA_CERTS={certificate}', 'node', '-e', NODE_FETCH, 'https://four.test/hello'], 'hello'),
    ('node http.get', 'node', ['web.test'], ['node', '-e', NODE_GET, 'http://web.test/hello'], 'hello'),
]


def try_tools(options, user, which):
    for name, program, rules, command, expected in which:
        title = f'{name} ({" ".join(options)}{", user %d" % user if user else ""})'
        if not outside.have(program):
            tap.skip(title, f'no {program}')
            continue
        run = Run([*options, *(word for rule in rules for word in ('--allow', rule))], command, user)
        if expected is None:  # a name that is not a rule's
            tap.ok(run.status != 0 and 'hello' not in run.out and ('four.test' in run.refused() or 'corp.test' in command[-1]), title, run)
            continue
        seen = [row for row in run.network().get('connections', []) if not row['refused']]
        told = program == 'getent' or any(row['rule'] for row in seen)
        tap.ok(run.status == 0 and expected in run.out and told and not run.refused(), title, run)


# --- the slow ones

def git_over_http(user):
    source = world.dir + '/source'
    if not os.path.isdir(source):
        for words in (['init', '-q', source], ['-C', source, '-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-q', '--allow-empty', '-m', 'one'],
                      ['clone', '-q', '--bare', source, www + '/repository.git'], ['-C', www + '/repository.git', 'update-server-info']):
            subprocess.run(['git', *words], check=True)
    target = f'{work}/http-{user}'
    run = Run(['-w', work, '--allow', 'git.test'], ['git', 'clone', '-q', 'http://git.test/repository.git', target], user)
    tap.ok(run.status == 0 and os.path.isdir(target + '/.git'), f'git clone by http, user {user}', run)


def git_over_ssh(user):
    if user:
        return tap.skip('git clone by ssh', 'the server is root\'s')
    if not outside.have('sshd'):
        return tap.skip('git clone by ssh', 'no sshd')
    home = world.dir + '/ssh'
    os.mkdir(home, 0o700)
    for name in ('host', 'user'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{home}/{name}'], check=True)
    shutil.copy(home + '/user.pub', home + '/authorized')
    os.makedirs('/run/sshd', exist_ok=True)
    with world.outside():
        server = subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', '/dev/null', '-h', home + '/host', '-o', f'ListenAddress={WORLD}:22',
                                   '-o', f'AuthorizedKeysFile={home}/authorized', '-o', 'StrictModes=no', '-o', 'UsePAM=no',
                                   '-o', f'PidFile={home}/pid'], stderr=subprocess.PIPE)
    server.stderr.readline()
    ssh = f'ssh -F /dev/null -i {home}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile={work}/known -o BatchMode=yes'
    run = Run(['-w', work, '--allow', 'git.test:22', '--env', f'GIT_SSH_COMMAND={ssh}'],
              ['git', 'clone', '-q', f'root@git.test:{www}/repository.git', work + '/by-ssh'])
    tap.ok(run.status == 0 and os.path.isdir(work + '/by-ssh/.git'), 'git clone by ssh from a real sshd', run)
    server.terminate()
    server.wait()
    return None


def npm_install(user):
    if not outside.have('npm'):
        return tap.skip('npm install', 'no npm')
    for name, dependencies in (('one', {'two': '1.0.0'}), ('two', {})):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode='w:gz') as archive:
            for file, text in (('package/package.json', json.dumps({'name': name, 'version': '1.0.0', 'dependencies': dependencies})),
                               ('package/index.js', 'module.exports = 1\n')):
                entry = tarfile.TarInfo(file)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        os.makedirs(f'{www}/{name}-tar', exist_ok=True)
        with open(f'{www}/{name}-tar/{name}.tgz', 'wb') as file:
            file.write(data.getvalue())
        world.write(f'www/{name}', json.dumps({
            'name': name, 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': {
                'name': name, 'version': '1.0.0', 'dependencies': dependencies,
                'dist': {'tarball': f'http://npm.test/{name}-tar/{name}.tgz', 'shasum': hashlib.sha1(data.getvalue()).hexdigest()}}}}))
    project = f'{work}/project-{user}'
    os.mkdir(project)
    with open(project + '/package.json', 'w', encoding='ascii') as file:
        json.dump({'name': 'project', 'version': '1.0.0', 'dependencies': {'one': '1.0.0'}}, file)
    if user:
        for path in (project, project + '/package.json'):
            os.chown(path, user, user)
    run = Run(['-w', project, '--allow', 'npm.test', '--caches', 'off'],
              ['npm', 'install', '--registry', 'http://npm.test/', '--no-audit', '--no-fund', '--cache', project + '/.cache'], user, {'HOME': www})
    tap.ok(run.status == 0 and os.path.isfile(project + '/node_modules/two/index.js'), f'npm install with a dependency, user {user}', run)
    return None


def apt_update(user):
    if user:
        return tap.skip('apt-get update', 'for root')
    world.write('www/debian/Packages', '')
    world.write('www/debian/Release', 'Origin: test\n')
    state = work + '/apt'
    for directory in ('lists/partial', 'cache/archives/partial', 'etc'):
        os.makedirs(f'{state}/{directory}')
    with open(state + '/sources.list', 'w', encoding='ascii') as file:
        file.write('deb [trusted=yes] http://deb.test/debian ./\n')
    options = [word for pair in (f'Dir::Etc::sourcelist={state}/sources.list', 'Dir::Etc::sourceparts=-', f'Dir::State::lists={state}/lists',
                                 f'Dir::Cache={state}/cache', 'APT::Sandbox::User=root', 'Acquire::http::Proxy=DIRECT') for word in ('-o', pair)]
    run = Run(['-w', state, '--allow', 'deb.test', '--user', 'keep'], ['apt-get', *options, 'update'])
    tap.ok(run.status == 0 and 'deb.test' in run.out and all(name.startswith('_') for name in run.refused()), 'apt-get update', run)
    return None


JAVA = '''
import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] words) throws Exception {
    System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(words[0])).build(), HttpResponse.BodyHandlers.ofString()).body()); } }
'''
GO = '''
package main
import ("fmt"; "io"; "net"; "os")
func main() {
    c, err := net.Dial("tcp", os.Args[1])
    if err != nil { fmt.Println(err); os.Exit(1) }
    fmt.Fprintf(c, "GET /hello HTTP/1.0\\r\\nHost: web.test\\r\\n\\r\\n")
    b, _ := io.ReadAll(c)
    os.Stdout.Write(b)
}
'''


def java(user):
    if not outside.have('javac'):
        return tap.skip('Java HttpClient', 'no javac')
    world.write('Get.java', JAVA)
    subprocess.run(['javac', '-d', world.dir, world.dir + '/Get.java'], check=True)
    run = Run(['--allow', 'web.test'], ['java', '-cp', world.dir, 'Get', 'http://web.test/hello'], user)
    tap.ok(run.status == 0 and 'hello' in run.out, f'Java HttpClient, user {user}', run)
    return None


def go(user):
    if not outside.have('go'):
        return tap.skip('Go, static', 'no go')
    world.write('dial.go', GO)
    if not os.path.exists(world.dir + '/dial'):
        subprocess.run(['go', 'build', '-o', world.dir + '/dial', world.dir + '/dial.go'], check=True,
                       env=dict(os.environ, CGO_ENABLED='0', GO111MODULE='off', GOCACHE=world.dir + '/go-cache', GOPATH=world.dir + '/go', HOME=world.dir))
    run = Run(['--allow', 'web.test'], [world.dir + '/dial', 'web.test:80'], user)
    tap.ok(run.status == 0 and 'hello' in run.out, f'Go, static, user {user}', run)
    run = Run(['--allow', 'web.test'], [world.dir + '/dial', 'other.test:80'], user)
    tap.ok(run.status == 1 and 'other.test' in run.refused(), f'Go, an unlisted name, user {user}', run)
    return None


H2_SERVER = '''
const h2 = require('http2');
const s = h2.createServer();
s.on('stream', (stream, headers) => { stream.respond({':status': 200}); stream.end('hello ' + headers[':authority']); });
s.listen(8443, process.argv[1], () => console.log('ready'));
'''
H2_CLIENT = '''
const c = require('http2').connect('http://h2.test:8443'); const r = c.request({':path': '/'});
r.on('data', d => process.stdout.write(d)); r.on('end', () => c.close()); r.end();
'''
# A service without a description of it: what is sent are its bytes.
GRPC_METHODS = "{say: {path: '/test.Echo/Say', requestStream: false, responseStream: false, requestSerialize: b => b, requestDeserialize: b => b, " \
               "responseSerialize: b => b, responseDeserialize: b => b}, many: {path: '/test.Echo/Many', requestStream: false, responseStream: true, " \
               "requestSerialize: b => b, requestDeserialize: b => b, responseSerialize: b => b, responseDeserialize: b => b}}"
GRPC_SERVER = '''
const g = require('@grpc/grpc-js'); const s = new g.Server();
s.addService(METHODS, {say: (call, done) => done(null, Buffer.from('hello ' + call.request)), many: call => { for (let i = 0; i < 3; i++) call.write(Buffer.from('part ' + i)); call.end(); }});
s.bindAsync(process.argv[1] + ':50051', g.ServerCredentials.createInsecure(), e => console.log(e || 'ready'));
'''.replace('METHODS', GRPC_METHODS)
GRPC_CLIENT = '''
const g = require('@grpc/grpc-js'); const C = g.makeClientConstructor(METHODS, 'Echo'); const c = new C(process.argv[1] + ':50051', g.credentials.createInsecure());
const end = Date.now() + 60000;
c.say(Buffer.from('there'), {deadline: end}, (e, answer) => { if (e) { console.error(e.message); process.exit(1); } console.log(answer.toString());
  const r = c.many(Buffer.from(''), {deadline: end}); r.on('data', d => console.log(d.toString())); r.on('end', () => c.close()); });
'''.replace('METHODS', GRPC_METHODS)


class Served:
    """A server of node's, outside, while the block runs."""

    def __init__(self, script, environment=None):
        with world.outside():
            self.process = subprocess.Popen(['node', '-e', script, WORLD], stdout=subprocess.PIPE, env=dict(os.environ, **(environment or {})))

    def __enter__(self):
        return self.process.stdout.readline().decode().strip() == 'ready'

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def http2(user):
    if not outside.have('node'):
        return tap.skip('HTTP/2', 'no node')
    with Served(H2_SERVER):
        run = Run(['--allow', 'h2.test:8443'], ['node', '-e', H2_CLIENT], user)
        tap.ok(run.status == 0 and 'hello h2.test' in run.out, f'HTTP/2, node, user {user}', run)
        run = Run(['--allow', 'h2.test:8443'], [*CURL, '--http2-prior-knowledge', 'http://h2.test:8443/'], user)
        tap.ok(run.status == 0 and 'hello h2.test' in run.out, f'HTTP/2 from the first byte, curl, user {user}', run)
        run = Run(['--allow', 'web.test:8443'], [*CURL, '--http2-prior-knowledge', 'http://h2.test:8443/'], user)
        tap.ok(run.status != 0 and 'h2.test' in run.refused(), f'HTTP/2, an unlisted name, user {user}', run)
    return None


def grpc(user):
    place = os.environ['CONFINE_GRPC']
    if not outside.have('node') or not place:
        return tap.skip('gRPC', 'no node, or no registry to have @grpc/grpc-js from')
    modules = world.dir + '/grpc'
    if not os.path.isdir(modules):
        shutil.copytree(place + '/node_modules', modules + '/node_modules', symlinks=True)
    path = {'NODE_PATH': modules + '/node_modules'}
    with Served(GRPC_SERVER, path) as stands:
        tap.ok(stands, f'a gRPC server, user {user}')
        run = Run(['--allow', 'grpc.test:50051'], ['node', '-e', GRPC_CLIENT, 'grpc.test'], user, path)
        tap.ok(run.status == 0 and run.out.split('\n')[:4] == ['hello there', 'part 0', 'part 1', 'part 2'], f'gRPC, a call and a stream, user {user}', run)
        run = Run(['--allow', 'web.test:50051'], ['node', '-e', GRPC_CLIENT, 'grpc.test'], user, path)
        tap.ok(run.status == 1 and 'grpc.test' in run.refused() and 'hello' not in run.out, f'gRPC, an unlisted name, user {user}', run)
    return None


for caller in outside.callers():
    try_tools(['-b', 'namespace'], caller, TOOLS if caller is None or LONG else TOOLS[:2])
    if 'bubblewrap' in outside.backends():
        try_tools(['-b', 'bubblewrap'], caller, TOOLS if LONG else TOOLS[2:3])
    if LONG:
        for slow in (git_over_http, git_over_ssh, npm_install, apt_update, java, go, http2, grpc):
            slow(caller)
allowed = {name for name in NAMES}
tap.ok(not [name for name in world.asked if name not in allowed and not name.endswith('.localdomain') and '.' in name],
          'nobody asked the resolver for what is no rule\'s', world.asked)
threading.excepthook = lambda _: None
status = tap.close()
world.close()
sys.stdout.flush()
os._exit(status)
