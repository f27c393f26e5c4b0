#!/usr/bin/env python3
"""agree.py TRIES - a fence and a command under the same policy are allowed the same. A TAP program.

A thousand names are made up on a tree that has what leads astray: links of every kind, hard links, hidden and protected
things, special files, mounts (as root), odd names. A fence opens them one after the other, and so does one command
(tries.c) in a real run, for each backend. The rows are compared: both open the same object, or neither opens one. Where
they may differ stands in DIFFER, with the surface that the report of that run does not call enforced, or the words of
confine-fence(1): nothing else passes, and a row there that no name needs fails as well.

Should:  begin from the same numbers each time (SEED), so that a failure is the same tomorrow.
Mustn't: let the fence open what the command cannot, but for WIDER.
"""
import collections
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..')]
from fence import Fence  # noqa: E402
from tap import Tap, own_home  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
ROOT = os.geteuid() == 0
NAMES = 1000
SEED = 8
FLAGS = [os.O_RDONLY, os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC,
         os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.O_RDWR | os.O_CREAT | os.O_TRUNC,
         os.O_RDONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_NOFOLLOW, os.O_RDONLY | os.O_CREAT]

# Where a command opens what the fence refuses: backend, reason of the fence, the surface that the report does not call
# enforced (None: what confine-fence(1) says).
DIFFER = {
    ('namespace', 'hidden', 'fs.hidden'): 'a hard link to what is hidden',
    ('landlock', 'hidden', 'fs.hidden'): 'a hard link to what is hidden; what is new beside what is shown',
    ('landlock', 'protected', 'fs.protected'): 'what is protected',
    ('namespace', 'special-file', None): 'a FIFO, a device',
    ('landlock', 'special-file', None): 'a FIFO, a device',
    ('namespace', 'private-place', None): 'what a command has of its own',
    ('landlock', 'private-place', None): '/proc',
    ('landlock', 'not-granted', None): 'a bind mount of what is writable, as root',
    ('landlock', 'ELOOP', None): 'the links of /proc',
    ('namespace', 'ELOOP', None): 'the links of /proc',
}
# The other way round: what is not hidden itself is reached through a hidden directory, which has no names inside.
WIDER = ('namespace', 'through-hidden', 'fs.hidden')
NEEDS_ROOT = {('landlock', 'not-granted', None)}
tap = None


def write(path, text='x\n', mode=0o644):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)
    os.chmod(path, mode)


class Tree:
    """What the names are made up on. It goes with the test, whatever ends that."""

    def __init__(self, owner, backend):
        self.top = tempfile.mkdtemp(prefix='confine-agree.', dir='/var/tmp')
        self.remover = subprocess.Popen(['sh', '-c', 'read x; rm -rf -- "$0"', self.top], stdin=subprocess.PIPE,
                                        start_new_session=True)
        os.chmod(self.top, 0o755)
        self.cwd = os.getcwd()
        os.chdir(self.top)
        self.fill(backend)
        if owner:
            for directory, directories, files in os.walk('.'):
                for name in ['', *directories, *files]:
                    os.chown(os.path.join(directory, name), owner, owner, follow_symlinks=False)

    def fill(self, backend):
        for name in ['ws/d1/d2/d3', 'ws/kept/in', 'ws/.git/hooks', 'ws/.git/info', 'ws/.git/objects', 'ws/.git/refs',
                     'out/vault/pub', 'out/vault/priv', 'out/sealed', 'out/plain', 'wide/deep', 'ws/mnt', 'ws/again', 'alias', 'ws/shut',
                     'ws/Case', 'ws/case']:
            os.makedirs(name)
        for name in ['ws/file', 'ws/d1/f1', 'ws/d1/d2/f2', 'ws/d1/d2/d3/f3', 'ws/held', 'ws/.envrc', 'ws/kept/k', 'ws/kept/in/k2',
                     'out/key', 'out/vault/pub/p', 'out/vault/priv/s', 'out/plain/f', 'out/only', 'wide/w', 'wide/deep/w2',
                     'ws/.git/config', 'ws/Case/File', 'ws/case/file', 'ws/new\nline', 'ws/tab\tname',
                     'ws/ blank ', 'ws/-dash', 'ws/"quoted"', 'ws/file (deleted)', 'ws/.hid', 'out/free']:
            write(name)
        with open(b'ws/\xff\xfe', 'wb'):
            pass
        write('ws/' + 'n' * 255)
        write('ws/.git/HEAD', 'ref: refs/heads/main\n')
        write('ws/.git/hooks/pre-commit', '#!/bin/sh\n', 0o755)
        write('ws/unreadable', mode=0)
        write('ws/readonly', mode=0o444)
        write('ws/shut/in')
        os.chmod('ws/shut', 0)
        for text, name in [('file', 'l-file'), ('d1', 'l-d1'), (self.top + '/ws/d1/d2', 'l-abs'), ('l-abs', 'l-chain'),
                           ('l-chain/d3', 'l-chain2'), ('nothing', 'l-dangling'), ('l-dangling', 'l-dangling2'),
                           ('../out/nothing', 'l-dangling-out'), ('l-loop', 'l-loop'), ('../out', 'l-out'), ('../out/key', 'l-key'),
                           ('../out/vault', 'l-vault'), ('../out/vault/pub', 'l-pub'), ('kept', 'l-kept'), ('held', 'l-held'),
                           ('kept/new', 'l-dangling-kept'), ('/etc/hosts', 'l-etc'), ('/', 'l-root'), ('../wide', 'l-wide'),
                           ('d1/../../out/plain', 'l-up'), ('.git/hooks', 'l-hooks'), ('/proc/self/cwd', 'l-magic'),
                           ('/dev/null', 'l-null'), ('/tmp', 'l-tmp'), ('../wide/new', 'l-dangling-wide'), ('d1/', 'l-slash')]:
            os.symlink(text, 'ws/' + name)
        os.symlink('../../ws', 'out/sealed/l-work')
        os.symlink('../ws', 'out/l-back')
        if backend == 'landlock':  # with mounts that is refused where a protected path is named
            os.link('ws/.envrc', 'ws/d1/h-envrc')
        os.link('out/key', 'ws/h-key')
        os.link('out/plain/f', 'ws/h-plain')
        os.link('ws/file', 'out/h-file')
        os.mkfifo('ws/fifo')

    def mount(self):
        """In a mount namespace of the test's own."""
        for what, where in [('out/plain', 'ws/mnt'), ('wide', 'alias'), ('ws/kept', 'ws/again')]:
            subprocess.run(['mount', '--bind', what, where], check=True)

    def close(self):
        os.chdir(self.cwd)
        if ROOT:
            subprocess.run(['umount', self.top + '/ws/mnt', self.top + '/ws/again', self.top + '/alias'], check=False, stderr=subprocess.DEVNULL)
        os.chmod(self.top + '/ws/shut', 0o755)
        self.remover.stdin.close()
        self.remover.wait()


def options(backend):
    held = '?' if backend == 'landlock' else ''  # it cannot, and says so
    return ['-b', backend, '-w', 'ws', '-C', 'ws', '--write', 'wide', '--write', 'out/only', '--hide', 'out/key', '--hide', 'out/vault', '--hide', 'out/sealed',
            '--read', 'out/vault/pub', '--protect', 'ws/held' + held, '--protect', 'ws/kept' + held, '--tty', 'none',
            '--caches', 'off', '--denials', 'off']


def odd(choose, name):
    """NAME in other words, most of which mean the same."""
    kind = choose.randrange(18)
    return {0: '%s/.', 1: './%s', 2: '%s/', 3: '%s//', 4: '%s/..', 5: 'd1/../%s', 6: 'l-d1/../%s', 7: '%s/new',
            8: '%s/new/', 9: '%s/x/y'}.get(kind, '%s') % (name.swapcase() if kind == 10 else name)


def walk_names(top):
    """What is there, by every way that a few steps lead to."""
    names = []
    for directory, depth in [(top + '/ws', 3), (top + '/out', 2), (top + '/wide', 2), (top + '/alias', 2)]:
        todo = [(directory, depth)]
        while todo:
            at, left = todo.pop()
            names.append(at)
            try:
                inside = sorted(os.listdir(at)) if left else []
            except OSError:
                continue
            todo += [(at + '/' + name, left - 1 if os.path.isdir(at + '/' + name) else 0) for name in inside if name not in
                     ('l-root', 'l-magic', 'l-etc', 'l-tmp', 'out')]
    return names


def make_names(top):
    choose = random.Random(SEED)
    there = walk_names(top)
    outside = ['/etc/hosts', '/etc/confine-agree-new', '/usr/bin/env', '/etc', '/', '/dev/null', '/dev/zero', '/dev/full', '/dev/tty',
               '/proc/self/status', '/proc/self/environ', '/proc/version', '/proc/1/environ', '/etc/shadow', '/tmp', '/tmp/confine-agree-none',
               '/dev/shm', '/sys/kernel/osrelease', top, top + '/new', top + '/out/new', top + '/out/vault/new', '/run', '/var/tmp',
               '', '.', '..', '../..', '../../../../../../../../etc/hosts', 'n' * 256, 'n/' * 2000 + 'x', 'd1/' * 1400, 'l-d1/../' * 15 + 'file',
               '/proc/self/root/etc/hosts', '/proc/self/cwd/file', '/proc/self/fd', '/dev/stdin', '/dev/fd/0', 'ws', '//etc//passwd',
               'new', 'd1/new', 'd1/d2/new', 'l-out/new', 'l-chain/new', 'l-vault/new', 'l-pub/new', 'kept/new', '.git/hooks/new',
               '.git/new', '.GIT/hooks/pre-commit', 'KEPT/k', 'HELD', 'mnt/new', 'mnt/f', 'again/k', 'again/new', '../alias/w', '../alias/new', '../out/only',
               '../out/only/', '../out/sealed/l-work/file', '../out/sealed/../plain/f', 'l-out/sealed/l-work/d1',
               '../out/sealed/l-work', '../out/sealed/none', '../wide/new', 'l-magic/file', 'l-null', 'l-root/etc/hosts', 'l-tmp/x', 'l-root' + top + '/out/key']
    rows = [(flags, name) for name in outside for flags in choose.sample(FLAGS, 2)]
    while len(rows) < NAMES:
        name = choose.choice(there)
        if choose.random() < 0.6 and name.startswith(top + '/ws/'):
            name = name[len(top) + 4:]
        elif choose.random() < 0.3:
            name = '../' + name[len(top) + 1:]
        for _ in range(choose.randrange(3)):
            name = odd(choose, name)
        rows.append((choose.choice(FLAGS), name))
    return rows[:NAMES]


Seen = collections.namedtuple('Seen', 'errnum device inode made reason path')


def ask_fence(fence, flags, path):
    # Made by us, or there already?
    before = fence.open(path, flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC)) if flags & os.O_CREAT else (None, None)
    if before[1] is not None:
        os.close(before[1])
    answer, fd = fence.open(path, flags)
    if fd is None:
        return Seen(answer.get('errno', errno.EACCES), 0, 0, 0, answer.get('error', {}).get('reason'), answer.get('path'))
    made = before[0] is not None and before[0].get('errno') == errno.ENOENT
    seen = Seen(0, os.fstat(fd).st_dev, os.fstat(fd).st_ino, int(made), None, answer['path'])
    if made:
        os.unlink(os.readlink('/proc/self/fd/%d' % fd))
    os.close(fd)
    return seen


def ask_command(top, tries, backend, rows, report):
    shutil.copy(tries, top + '/tries')  # from wherever it was built to where every command sees it
    os.chmod(top + '/tries', 0o755)
    with open('ws/rows', 'wb') as file:
        file.write(b''.join(b'%d\0%s\0' % (flags, os.fsencode(path)) for flags, path in rows))
    os.chmod('ws/rows', 0o644)
    done = subprocess.run([CONFINE, 'run', '-q', *options(backend), '--report', report, '--', top + '/tries', 'rows'], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    if done.returncode != 0 or len(lines) != len(rows):
        return None, 'status %d, %d lines: %s' % (done.returncode, len(lines), done.stderr.decode(errors='replace'))
    return [Seen(*map(int, line.split()), None, None) for line in lines], ''


def passes_hidden(top, path):
    """Does the way of PATH lead through what is hidden?"""
    at = path if path.startswith('/') else top + '/ws/' + path
    parts = at.split('/')
    return any(os.path.realpath('/'.join(parts[:i + 1]) or '/').startswith((top + '/out/vault', top + '/out/sealed')) for i in range(len(parts)))


def is_same(top, backend, ours, theirs):
    if ours.inode == theirs.inode and ours.device == theirs.device:
        return True
    # What is beside a hidden name is seen by an overlay: files keep their number, directories do not.
    return backend == 'namespace' and ours.path.startswith(top + '/out') and (ours.inode == theirs.inode or os.path.isdir(ours.path))


def ask_policy(backend, rows, fence):
    """What `confine policy` says of the same names. Return: what is wrong."""
    known = [(flags, seen) for (flags, _), seen in zip(rows, fence) if seen.path and seen.reason in (None, 'not-granted') and
             not flags & (os.O_NOFOLLOW | os.O_EXCL)]
    done = subprocess.run([CONFINE, 'policy', '--json', *options(backend), *[seen.path for _, seen in known]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return [done.stderr.decode(errors='replace')]
    wrong = []
    for (flags, seen), says in zip(known, json.loads(done.stdout)):
        writes = bool(flags & (os.O_ACCMODE | os.O_CREAT))
        may = not says['hidden'] and (not says['protected'] and says['write'] if seen.made or flags & os.O_ACCMODE else says['read'])
        if may != (seen.errnum == 0) and not (seen.reason and writes and not says['write']):
            wrong.append('%o %s: fence %s, policy %s' % (flags, seen.path, seen, says))
    return wrong if known else ['nothing was asked']


def judge(top, backend, rows, fence, command, surfaces):
    """Return: what is wrong, the differences that were met, how many agree."""
    wrong, met, counts = [], set(), collections.Counter()
    for (flags, path), ours, theirs in zip(rows, fence, command):
        row = '%s %o %r: fence %s, command %s' % (backend, flags, path, ours, theirs)
        if ours.errnum == 0 and theirs.errnum == 0:
            counts['both open'] += 1
            if not ours.made and not is_same(top, backend, ours, theirs):
                wrong.append('another object: ' + row)
        elif ours.errnum and theirs.errnum:
            counts['neither opens'] += 1
            if (ours.reason is None and ours.errnum != theirs.errnum and theirs.errnum not in (errno.EACCES, errno.EROFS, errno.EPERM) and
                    not (backend == WIDER[0] and passes_hidden(top, path))):
                wrong.append('another errno: ' + row)
        elif ours.errnum == 0:
            counts['fence alone'] += 1
            if backend == WIDER[0] and passes_hidden(top, path) and surfaces[WIDER[2]] != 'enforced':
                met.add(WIDER)
            else:
                wrong.append('wider: ' + row)
        else:
            reason = ours.reason or errno.errorcode[ours.errnum]
            counts['command alone: ' + reason] += 1
            found = [key for key in DIFFER if key[:2] == (backend, reason)]
            met.update(found)
            if not found:
                wrong.append('narrower: ' + row)
            elif found[0][2] and surfaces[found[0][2]] == 'enforced':
                wrong.append('%s is enforced: %s' % (found[0][2], row))
    return wrong, met, counts


def compare(tries, backend, whose, owner):
    tree = Tree(owner, backend)
    try:
        if ROOT:
            tree.mount()
        rows = make_names(tree.top)
        fence = Fence(CONFINE, options(backend))
        ours = [ask_fence(fence, flags, path) for flags, path in rows]
        answers = {path: fence.open(path, os.O_WRONLY)[0] for path in (tree.top + '/out/plain/f', '/etc/hosts')}
        offered = {path: (answer['type'], answer['grant_option'], answer['error']['hint']) for path, answer in answers.items()}
        granted = '--write ' + tree.top + '/out/plain/f'
        wanted = {tree.top + '/out/plain/f': ('denied', granted, 'ask for ' + granted),
                  '/etc/hosts': ('denied', '--write /etc/hosts', 'ask for --write /etc/hosts') if ROOT and not owner else ('denied', None, None)}
        tap.ok(offered == wanted and (None in offered['/etc/hosts']) == ('its mode or owner refuses as well' in answers['/etc/hosts']['error']['message']),
               '%s%s: no option is offered for what a mode refuses as well' % (backend, whose), answers)
        tap.ok(fence.close() == 0, '%s%s: a fence ends with its socket' % (backend, whose))
        report = tree.top + '/report'
        theirs, why = ask_command(tree.top, tries, backend, rows, report)
        if not tap.ok(theirs is not None, '%s%s: a command tries all' % (backend, whose), why):
            return set()
        with open(report, encoding='utf-8') as file:
            surfaces = {one['id']: one['state'] for one in json.load(file)['surfaces']}
        wrong, met, counts = judge(tree.top, backend, rows, ours, theirs, surfaces)
        print('# %s%s: %s' % (backend, whose, ', '.join('%s %d' % one for one in sorted(counts.items()))))
        tap.ok(not wrong, '%s%s: they agree on %d names' % (backend, whose, len(rows)), '%d differ\n' % len(wrong) + '\n'.join(wrong))
        tap.ok(min(counts['both open'], counts['neither opens']) > NAMES // 5, '%s%s: and both say yes and no' % (backend, whose), counts)
        wrong = ask_policy(backend, rows, ours)
        tap.ok(not wrong, '%s%s: and so does confine policy' % (backend, whose), '\n'.join(wrong))
        return met
    finally:
        tree.close()


def main():
    if ROOT and len(sys.argv) < 3:
        os.execvp('unshare', ['unshare', '-m', '--propagation', 'private', sys.executable, __file__, sys.argv[1], 'again'])
    global tap
    tap = Tap()
    own_home()
    met, tries = set(), os.path.abspath(sys.argv[1])
    for backend in ['namespace', 'landlock']:
        met |= compare(tries, backend, '', 0)
        if ROOT:
            met |= compare(tries, backend, ', of another user', 65534)
    unmet = [key for key in [*DIFFER, WIDER] if key not in met and (ROOT or key not in NEEDS_ROOT)]
    tap.ok(not unmet, 'every difference that may be is met', unmet)
    tap.finish()


main()
