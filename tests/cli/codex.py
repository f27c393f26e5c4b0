#!/usr/bin/env python3
"""codex.py - settings of codex as a policy, and what is said of the rest. A TAP program."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
BACKEND = '--backend=' + os.environ.get('CONFINE_BACKEND', 'landlock')
tap = Tap()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
place = os.path.realpath(tempfile.mkdtemp(prefix='confine-codex.', dir='/var/tmp'))
work, home = place + '/work', place + '/home'
os.environ['HOME'] = home


def may(*paths):
    return [{'path': path, 'optional': True} for path in paths]


WORKSPACE = {'mode': 'workspace-write', 'workspace': work}
TMP = ('filesystem: :slash_tmp is the run', 'filesystem: :tmpdir is the run')
GIT = ('WIDER: .git, .agents and .codex',)
PORTS = 'allows the ports 443 and 80 here'
PROFILE = 'default_permissions = "p"\n[permissions.p]\n'
FILES = 'default_permissions = "p"\n[permissions.p.filesystem]\n'
NETWORK = FILES + '":root" = "read"\n[permissions.p.network]\n'
READ_ONLY = 'sandbox_mode = "read-only"\n'
ONLY = 'include_only: WIDER: passed in any case here, and not there: '
CORE = 'inherit: WIDER: passed in any case here, and not there: TERM, COLORTERM, NO_COLOR, TZ, LC_* '
ENVIRONMENT = READ_ONLY + '[shell_environment_policy]\n'
# name, the settings, the policy, the lines on stderr by what is in each
VECTORS = [
    ('nothing', '', {'mode': 'read-only'}, ('sandbox_mode: not set',)),
    ('read-only', READ_ONLY, {'mode': 'read-only'}, ()),
    ('workspace-write', 'sandbox_mode = "workspace-write"', WORKSPACE, TMP + GIT),
    ('what stands beside it', 'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["/srv/x", "~/y", "z"]\nnetwork_access = true\n'
     'exclude_slash_tmp = true\nexclude_tmpdir_env_var = true', {**WORKSPACE, 'write': may('/srv/x', '~/y'), 'network': {'mode': 'host'}},
     ('writable_roots: z is left out',) + GIT),
    ('danger-full-access', 'sandbox_mode = "danger-full-access"', {'mode': 'danger-full-access'}, ('nothing is confined',)),
    ('the profile of that name', 'default_permissions = ":danger-full-access"', {'mode': 'danger-full-access'}, ('nothing is confined',)),
    ('a mode is before a profile', READ_ONLY + 'default_permissions = ":workspace"', {'mode': 'read-only'}, ('default_permissions: not in force',)),
    ('what is for another mode', READ_ONLY + '[sandbox_workspace_write]\nwritable_roots = ["/srv"]', {'mode': 'read-only'},
     ('sandbox_workspace_write: not in force there in mode read-only',)),
    ('or for none', 'default_permissions = ":read-only"\n[sandbox_workspace_write]\nnetwork_access = true', {'mode': 'read-only'},
     ('sandbox_workspace_write: not in force there without',)),
    ('a built-in profile', 'default_permissions = ":workspace"', WORKSPACE, TMP + GIT),
    ('a profile of one\'s own', FILES + '":minimal" = "read"\n":workspace_roots" = "read"\n"/opt/x/" = "read"\n"/srv/**" = "write"\n'
     '"~/.aws" = "none"\n"/a" = "deny"',
     {'mode': 'workspace-write', 'readable': 'listed', 'read': may(work, '/opt/x'), 'write': may('/srv'), 'hide': may('~/.aws', '/a')}, GIT),
    ('one that extends others', PROFILE + 'extends = "q"\ndescription = "d"\n[permissions.p.filesystem]\n":workspace_roots" = { sub = "read" }\n'
     '[permissions.q]\nextends = ":workspace"\n[permissions.q.filesystem]\n":workspace_roots" = { "." = "write", "x" = "deny" }\n',
     {**WORKSPACE, 'hide': may(work + '/x'), 'read': may(work + '/sub'), 'protect': may(work + '/sub')}, TMP + GIT),
    ('several roots', PROFILE + 'extends = ":workspace"\n[permissions.p.workspace_roots]\n"/srv/a" = true\n"/srv/b" = false\n"c" = true',
     {**WORKSPACE, 'write': may('/srv/a')}, ('workspace_roots: c is left out',) + TMP + GIT),
    ('read in what can be written', FILES + '":root" = "read"\n"/srv" = { "." = "write", "a" = "read", "a/b" = "write" }\n"~/c" = "read"',
     {'mode': 'workspace-write', 'write': may('/srv', '/srv/a/b'), 'read': may('/srv/a', '~/c'), 'protect': may('/srv/a', '~/c')},
     ('/srv/a/b cannot be written here',) + GIT),
    ('patterns', FILES + 'glob_scan_max_depth = 3\n":root" = "read"\n":workspace_roots" = { "**/.env" = "deny" }\n"/x/*" = "read"', {'mode': 'read-only'},
     ('/**/.env" is a pattern', 'WIDER: what ', '"/x/*" is a pattern')),
    ('names with a colon', FILES + '":root" = "write"\n":minimal" = "write"\n":strange" = "write"\n":tmpdir" = "deny"\n":slash_tmp" = "read"\n":root/x" = "read"',
     {'mode': 'read-only'}, (':root cannot be written', ':minimal cannot', ':strange is a name', ':tmpdir is the run', ':root/x is a name')),
    ('no network', NETWORK + 'enabled = false\ndomains = { "a.example" = "allow" }', {'mode': 'read-only'}, ('domains: nothing is reached',)),
    ('all of it', NETWORK + 'enabled = true', {'mode': 'read-only', 'network': {'mode': 'host'}}, ()),
    ('names', NETWORK + 'enabled = true\ndomains = { "a.example.org" = "allow", "**.b.example.org" = "allow", "*.c.example.org" = "allow", "d.example.org" = "deny", '
     '"10.0.0.1" = "allow" }', {'mode': 'read-only', 'network': {'mode': 'listed', 'allow': ['a.example.org', 'b.example.org', '*.b.example.org', '*.c.example.org']}},
     (PORTS, PORTS, PORTS, PORTS, 'WIDER: d.example.org', '10.0.0.1 is left out')),
    ('every name', NETWORK + 'enabled = true\ndomains = { "a.example.org" = "allow", "*" = "allow" }', {'mode': 'read-only', 'network': {'mode': 'host'}}, (PORTS,)),
    ('only names that are no rule', NETWORK + 'enabled = true\ndomains = { "10.0.0.1" = "allow" }', {'mode': 'read-only'}, ('10.0.0.1 is left out',)),
    ('the rest of it', NETWORK + 'mode = "limited"\nallow_local_binding = true\nsocks_url = "http://x"\nenable_socks5 = false\nunix_sockets = { "/run/x" = "allow", '
     '"/run/y" = "none" }', {'mode': 'read-only', 'sockets': may('/run/x')}, ('WIDER: nothing looks at the methods', 'allow_local_binding:', 'socks_url:')),
    ('variables', ENVIRONMENT + 'inherit = "core"\nexclude = ["FOO", "AWS_*"]\nset = { A = "b", TMPDIR = "/x", "c d" = "e" }\nignore_default_excludes = true',
     {'mode': 'read-only', 'environment': {'clean': True, 'unset': ['FOO'], 'set': {'A': 'b'}}},
     ('WIDER: "AWS_*" is a pattern', 'TMPDIR is left out', '"c d" is left out', 'ignore_default_excludes:', CORE)),
    ('only these', ENVIRONMENT + 'include_only = ["MY_TOKEN", "X*"]', {'mode': 'read-only', 'environment': {'clean': True, 'pass': ['MY_TOKEN']}},
     ('narrower: "X*" is a pattern', ONLY + 'PATH, HOME, USER, LOGNAME, SHELL, LANG, TERM, COLORTERM, NO_COLOR, TZ, LC_* ')),
    ('only these, and the home', ENVIRONMENT + 'include_only = ["HOME", "path", "L*"]', {'mode': 'read-only', 'environment': {'clean': True, 'pass': ['HOME', 'path']}},
     ('narrower: "L*" is a pattern', ONLY + 'USER, SHELL, TERM, COLORTERM, NO_COLOR, TZ ')),
    ('only these of none', ENVIRONMENT + 'inherit = "none"\ninclude_only = ["FOO"]', {'mode': 'read-only', 'environment': {'clean': True}}, (ONLY + 'PATH, ',)),
    ('only these of the core', ENVIRONMENT + 'include_only = ["FOO", "HOME"]\ninherit = "core"', {'mode': 'read-only', 'environment': {'clean': True}}, (ONLY + 'PATH, USER, ',)),
    ('only these, and no secrets', ENVIRONMENT + 'include_only = ["MY_TOKEN", "FOO"]\nignore_default_excludes = false',
     {'mode': 'read-only', 'environment': {'clean': True, 'pass': ['FOO']}}, (ONLY + 'PATH, ',)),
    ('only these, and what is set', ENVIRONMENT + 'include_only = ["FOO", "add?d"]\nset = { ADDED = "x", OTHER = "y" }',
     {'mode': 'read-only', 'environment': {'clean': True, 'pass': ['FOO'], 'set': {'ADDED': 'x'}}}, ('narrower: "add?d" is a pattern', 'set: OTHER is left out', ONLY + 'PATH, ')),
    ('none', ENVIRONMENT + 'inherit = "none"\nexperimental_use_profile = true\nfilters = { x = "y" }', {'mode': 'read-only', 'environment': {'clean': True}},
     ('inherit: WIDER: passed in any case here, and not there: PATH, HOME, ', 'experimental_use_profile:', 'WIDER: filters has no equal')),
    ('as they are', ENVIRONMENT + 'inherit = "all"\nignore_default_excludes = false\nexclude = []', {'mode': 'read-only'}, ()),
    ('what is not the sandbox\'s', 'model = "m"\n' + READ_ONLY + '[mcp_servers.x]\ncommand = "y"\n[projects."/x"]\ntrust_level = "trusted"\n[profiles.z]', {'mode': 'read-only'},
     ('does not speak of the sandbox: model, mcp_servers', 'profiles: not looked at', 'projects: there is no trust')),
]
BAD = {'sandbox_mode = "x"': 'sandbox_mode must be', 'sandbox_mode = 1': 'sandbox_mode must be', 'sandbox_mode = "workspace-write"\nsandbox_workspace_write = 1': 'a table',
       'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = "x"': 'writable_roots must be',
       'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = [1]': 'writable_roots must be', 'default_permissions = "p"': 'a profile that there is',
       'default_permissions = ":x"': 'a profile that there is', '[permissions.p]': 'default_permissions must be', PROFILE + 'extends = "p"': 'no circle',
       PROFILE + 'extends = ":danger-full-access"': 'can be extended', PROFILE + 'extends = 1': 'extends must be', PROFILE + 'filesystem = 1': 'filesystem must be a table',
       FILES + '"a" = "read"': 'absolute', FILES + '"~a" = "read"': 'absolute', FILES + '"/a" = "execute"': 'read, write or deny', FILES + '"/a" = 1': 'read, write or deny',
       FILES + '"/a" = { "../b" = "read" }': 'a path below another', FILES + '"/a" = { "b/../../c" = "write" }': 'a path below another', NETWORK + 'enabled = true\ndomains = 1': 'a table',
       NETWORK + 'enabled = true\ndomains = { a = 1 }': 'allow or deny', READ_ONLY + 'shell_environment_policy = 1': 'a table', ENVIRONMENT + 'inherit = "x"': 'inherit must be',
       ENVIRONMENT + 'exclude = "x"': 'exclude must be', ENVIRONMENT + 'set = { A = 1 }': 'set must be', READ_ONLY + READ_ONLY: 'a key that there is already',
       'a = [': 'a value is expected', '{"mode": 1}': ':1:1: a key is expected'}


def convert(settings):
    with open('config.toml', 'w') as file:
        file.write(settings)
    done = subprocess.run([CONFINE, 'policy', '--from-codex', 'config.toml'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


def effective(policy, *words):
    with open(place + '/policy.json', 'w') as file:
        file.write(policy)
    os.chmod(place + '/policy.json', 0o600)
    return subprocess.run([CONFINE, *words[:1], '--policy', place + '/policy.json', *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def main():
    for directory in (work, home):
        os.mkdir(directory)
    os.chdir(work)
    for name, settings, wanted, lines in VECTORS:
        status, out, notes = convert(settings)
        why = []
        if status or json.loads(out) != {'policy': 1, **wanted}:
            why.append(f'status {status}, {out}')
        if len(notes) != len(lines) or not all(note.startswith('confine: ') for note in notes):
            why.append(f'{len(notes)} lines, not {len(lines)}')
        why += [f'no line with {line!r}' for line in set(lines) if sum(line in note for note in notes) != lines.count(line)]
        again = effective(out, 'policy', '--json')
        if again.returncode:
            why.append(f'cannot be read again: {again.stderr}')
        tap.ok(not why, name, '\n'.join(why + notes))
    for settings, text in BAD.items():
        status, out, notes = convert(settings)
        tap.ok((status, out, len(notes)) == (125, '', 1) and text in notes[0], f'refused: {settings!r}', (status, out, notes))
    done = subprocess.run([CONFINE, 'policy', '--from-srt', 'none.json', '--from-codex', 'config.toml'], capture_output=True, text=True, check=False)
    tap.ok((done.returncode, done.stdout) == (125, '') and done.stderr.startswith('confine: --from-srt and --from-codex: one file') and done.stderr.count('\n') == 1,
           'two files are refused in a line', done)
    _, out, _ = convert(ENVIRONMENT.replace('read-only', 'workspace-write') + 'include_only = ["MY_TOKEN", "A"]\nset = { A = "b" }\n')
    os.environ.update(MY_TOKEN='t', OTHER='o')
    done = effective(out, 'run', '-q', BACKEND, '--', 'sh', '-c', 'echo x >made; (echo x >../outside); echo "$MY_TOKEN,$A,$OTHER"')
    tap.ok((done.returncode, done.stdout) == (0, 't,b,\n') and os.path.exists(work + '/made') and not os.path.exists(place + '/outside'), 'a command runs under it', done)


try:
    main()
finally:
    os.chdir('/')
    shutil.rmtree(place)
tap.finish()
