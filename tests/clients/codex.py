#!/usr/bin/env python3
"""codex.py - what codex itself allows by its settings, and what a command may do under the policy that is made of them. A TAP program.

Should:  try the same in both, in directories of its own, and name each difference.
Mustn't: need an account or a network but for npm.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..')]
import pinned  # noqa: E402
from tap import Tap  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
PACKAGE, VERSION = '@openai/codex', '0.171.0'
INTEGRITY = 'sha512-1IOFzL2Xg86tLdw6kDo3GoKbkQENgQi7TI6rlEvN132R7ngSw7SNOIQoTcnKzSZZ8kf9N9GynCweSoaFbqk2Eg=='
PATIENCE = 120
tap = Tap()

# name, settings, what is said on the command line of codex (which takes the mode from nowhere else), what differs here: theirs, ours
HELD = {'write .git': (False, True)}  # and said to be WIDER; what is in /tmp is one's own here, and not tried
PROFILE = 'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
VECTORS = [
    ('read-only', '', 'read-only', {}),
    ('workspace-write', '', 'workspace-write', HELD),
    ('with more roots', '[sandbox_workspace_write]\nwritable_roots = ["{top}/other"]\nexclude_slash_tmp = true\n', 'workspace-write', HELD),
    ('with the network', '[sandbox_workspace_write]\nnetwork_access = true\n', 'workspace-write', HELD),
    ('a mode beside a profile', 'default_permissions = ":workspace"\n', 'read-only', {}),
    ('danger-full-access', '', 'danger-full-access', {}),
    (':read-only', 'default_permissions = ":read-only"\n', None, {}),
    (':workspace', 'default_permissions = ":workspace"\n', None, HELD),
    ('another directory', PROFILE + '[permissions.p.filesystem]\n"{top}/other" = "write"\n":slash_tmp" = "read"\n', None, HELD),
    ('another root', PROFILE + '[permissions.p.workspace_roots]\n"{top}/other" = true\n', None, HELD),
    ('less in it', PROFILE + '[permissions.p.filesystem]\n":workspace_roots" = { "." = "write", "sub" = "read", "secret" = "deny" }\n', None, HELD),
    ('more in what is less', PROFILE + '[permissions.p.filesystem]\n":workspace_roots" = { "." = "write", "sub" = "read", "sub/deep" = "write" }\n', None,
     {**HELD, 'write sub/deep': (True, False)}),
    ('nothing outside is read', 'default_permissions = "p"\n[permissions.p.filesystem]\n":minimal" = "read"\n":workspace_roots" = "write"\n"{top}/home" = "read"\n'
     '"{top}/node_modules" = "read"\n', None, HELD),
    ('the network of a profile', PROFILE + '[permissions.p.network]\nenabled = true\n', None, HELD),
    ('variables', '[shell_environment_policy]\nexclude = ["FOO"]\nset = { ADDED = "x" }\nignore_default_excludes = false\n', 'read-only', {}),
    ('only these', '[shell_environment_policy]\ninclude_only = ["FOO", "ADDED"]\nset = { ADDED = "x" }\n', 'read-only', {'variable HOME': (False, True)}),
    ('only these, and the home', '[shell_environment_policy]\ninclude_only = ["home", "BAR"]\nset = { ADDED = "x" }\n', 'read-only', {}),
    ('only these of the core', '[shell_environment_policy]\ninclude_only = ["FOO", "HOME"]\ninherit = "core"\n', 'read-only', {}),
    ('only these, and no secrets', '[shell_environment_policy]\ninclude_only = ["MY_TOKEN", "HOME"]\nignore_default_excludes = false\n', 'read-only', {}),
    ('a few variables', '[shell_environment_policy]\ninherit = "core"\n', 'read-only', {}),
]
PROBE = '''
for place in . sub sub/deep .git ../other; do
    if (: >"$place/made.$$") 2>/dev/null; then echo "write $place"; rm -f "$place/made.$$"; fi
done
for file in secret ../other/file /etc/passwd; do if cat "$file" >/dev/null 2>&1; then echo "read $file"; fi; done
if (exec 3<>/dev/tcp/127.0.0.1/PORT) 2>/dev/null; then echo connect; fi
for name in FOO BAR ADDED MY_TOKEN HOME; do if [ -n "${!name+x}" ]; then echo "variable $name"; fi; done
'''


def probe(words, port, environment, work):
    done = subprocess.run([*words, '/bin/bash', '--norc', '-c', PROBE.replace('PORT', str(port))], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    return set(done.stdout.splitlines()), done.stderr


def install(top):
    """Return: the program, or why it cannot be had."""
    missing = pinned.install(top, PACKAGE, VERSION, INTEGRITY)
    if missing:
        return None, missing
    for directory, _, files in os.walk(top + '/node_modules'):
        if 'codex' in files and directory.endswith('/bin'):
            return os.path.join(directory, 'codex'), None
    return None, 'it has no program for this machine'


def compare(name, top, settings, mode, known, codex, port):
    home, work = top + '/home', top + '/work'
    environment = {'PATH': os.environ['PATH'], 'HOME': home, 'CODEX_HOME': home, 'FOO': 'f', 'BAR': 'b', 'MY_TOKEN': 't'}
    if 'ignore_default_excludes' not in settings:
        del environment['MY_TOKEN']  # passed there, taken away here, and said so
    settings = settings.replace('{top}', top)
    with open(home + '/config.toml', 'w') as file:
        file.write(settings)
    words = [codex, 'sandbox', *(['-c', f'sandbox_mode="{mode}"'] if mode else []), '--']
    theirs, err = probe(words, port, environment, work)
    with open(top + '/config.toml', 'w') as file:
        file.write((f'sandbox_mode = "{mode}"\n' if mode else '') + settings)
    done = subprocess.run([CONFINE, 'policy', '--from-codex', top + '/config.toml'], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    with open(top + '/policy.json', 'w') as file:
        file.write(done.stdout)
    os.chmod(top + '/policy.json', 0o600)
    ours, our_err = probe([CONFINE, 'run', '-q', '--policy', top + '/policy.json', '--'],
                          port, environment, work)
    seen = {cell: (cell in theirs, cell in ours) for cell in theirs ^ ours}
    wider = [cell for cell, sides in seen.items() if sides[1]]
    why = f'differs: {seen}, known: {known}\n{err}\n{our_err}\n{done.stderr}'
    tap.ok(theirs and ours and seen == known and (not wider or 'WIDER' in done.stderr), name, why)


def main():
    if not shutil.which('npm'):
        print('1..0 # SKIP npm is not installed')
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    top = os.path.realpath(tempfile.mkdtemp(prefix='confine-codex-tool.', dir='/var/tmp'))
    try:
        codex, missing = install(top)
        for name in ('home', 'work/sub/deep', 'work/.git', 'other'):
            os.makedirs(f'{top}/{name}')
        for name in ('work/secret', 'other/file'):
            with open(f'{top}/{name}', 'w') as file:
                file.write('x\n')
        for words in ([codex, 'sandbox', '--', 'true'], [CONFINE, 'run', '--backend=namespace', '--', 'true']):
            if missing:
                break
            done = subprocess.run(words, env=dict(os.environ, CODEX_HOME=top + '/home'), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            missing = f'{words[0]} does not work here: {done.stdout.strip().splitlines()[:1]}' if done.returncode else None
        if missing:
            print(f'1..0 # SKIP {missing}')
            return 0
        with socket.create_server(('127.0.0.1', 0), backlog=64) as server:
            for name, settings, mode, known in VECTORS:
                compare(name, top, settings, mode, known, codex, server.getsockname()[1])
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return tap.close()


sys.exit(main())
