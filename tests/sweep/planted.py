#!/usr/bin/env python3
"""planted.py - what a command writes that runs later outside is in the report, and honest work is not. A TAP program."""
import atexit
import ctypes
import glob
import json
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, own_home  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
BACKENDS = os.environ.get('CONFINE_BACKENDS', 'namespace landlock').split()
SETTINGS = os.environ['CONFINE_SETTINGS']  # tests/sweep/settings.c
PLACES = os.environ.get('CONFINE_PLACES', '/var/tmp')
SWEEP = os.environ['CONFINE_STAGE'] + '/libexec/confine/confine-sweep'
os.environ.update(GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_SYSTEM='/dev/null', GIT_AUTHOR_NAME='a', GIT_AUTHOR_EMAIL='a@b',
                  GIT_COMMITTER_NAME='a', GIT_COMMITTER_EMAIL='a@b')
own_home()
for name in ('GIT_DIR', 'GIT_WORK_TREE', 'XDG_CONFIG_HOME'):
    os.environ.pop(name, None)

tap = Tap()


def git(place, *words):
    subprocess.run(['git', '-C', place, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tick():
    """Whatever was written so far is older than what comes: the kernel's coarse clock has passed this moment. That it has moved is
    not enough: a file's stamp may be of the fine one, which is ahead of a tick that is late."""
    begun = time.clock_gettime(time.CLOCK_REALTIME)
    while time.clock_gettime(5) <= begun:  # CLOCK_REALTIME_COARSE
        time.sleep(0.001)


class Tree:
    """A repository with a commit, a submodule, a nested repository, a bare one, a linked work tree, and settings and hooks that
    were there before."""

    top = tempfile.mkdtemp(prefix='confine-planted.', dir=PLACES)
    path = top + '/w'

    def make(self):
        """Once: what it holds names its place, so that copies of it are always at this one."""
        os.mkdir(self.path)
        git(self.path, 'init', '-q')
        for name, text in (('file', 'x\n'), ('scripts/hooks/pre-push', '#!/bin/sh\n'), ('tools/clean', '#!/bin/sh\n'),
                           ('.gitsettings', '[user]\n\tname = x\n'), ('pkg/deep/file', 'y\n')):
            self.write(name, text)
        os.chmod(self.path + '/scripts/hooks/pre-push', 0o755)
        git(self.path, 'add', '.')
        git(self.path, 'commit', '-q', '-m', 'first')
        git(self.path, 'config', 'filter.old.clean', 'cat')
        git(self.path, 'config', 'alias.old', '!true')
        git(self.path, 'config', 'include.path', '../.gitsettings')
        self.write('.git/hooks/pre-rebase', '#!/bin/sh\n')
        os.chmod(self.path + '/.git/hooks/pre-rebase', 0o755)
        os.mkdir(self.path + '/nested')
        git(self.path + '/nested', 'init', '-q')
        git(self.path + '/nested', 'commit', '-q', '--allow-empty', '-m', 'x')
        git(self.path, 'init', '-q', '--bare', 'bare.git')
        git(self.path, 'init', '-q', self.top + '/other')
        git(self.top + '/other', 'commit', '-q', '--allow-empty', '-m', 'x')
        git(self.path, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', self.top + '/other', 'sub')
        git(self.path, 'worktree', 'add', '-q', 'linked')
        os.rename(self.path, self.top + '/first')

    def __enter__(self):
        if not os.path.exists(self.top + '/first'):
            self.make()
        subprocess.run(['cp', '-a', self.top + '/first', self.path], check=True)
        tick()
        return self

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)

    def __exit__(self, *_):
        self.put_away()

    def put_away(self):
        """Not removed before the end: a file system may pass what was by one by one when it makes the next tree there."""
        os.rename(self.path, tempfile.mkdtemp(dir=self.top) + '/w')

    def run(self, command, *words, backend='landlock', tree=True):
        report = tempfile.TemporaryFile()
        done = subprocess.run([CONFINE, 'run', f'--backend={backend}', *(['-w', self.path] if tree else []), f'--report=fd:{report.fileno()}', *words, '--',
                               'sh', '-c', command], cwd=self.path, pass_fds=[report.fileno()], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        report.seek(0)
        self.report = json.loads(report.read() or b'null')
        self.said = done.stdout
        return self.report

    def found(self):
        return [(item['kind'], item['path'].replace(self.path + '/', '', 1), item['detail']) for item in self.report['planted']]


# name, what the command does, what must be found: kind, path, and what the detail begins with
TECHNIQUES = [
    ('a hook', 'printf "#!/bin/sh\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit', 'git-hook', '.git/hooks/pre-commit', None),
    ('a hook as a link', 'ln -s /bin/true .git/hooks/post-merge', 'git-hook', '.git/hooks/post-merge', None),
    ('a hook that was there, changed', 'echo true >> .git/hooks/pre-rebase', 'git-hook', '.git/hooks/pre-rebase', None),
    ('a hook made executable', 'cp .git/hooks/pre-commit.sample x; mv x .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit', 'git-hook', '.git/hooks/pre-commit', None),
    ('hooks moved into place', 'rm -r .git/hooks; cp -rp scripts/hooks .git/hooks', 'git-hook', '.git/hooks/pre-push', None),
    ('hooks as a link', 'rm -r .git/hooks; ln -s ../scripts/hooks .git/hooks', 'git-hook', '.git/hooks', '../scripts/hooks'),
    ('core.hooksPath', 'git config core.hooksPath scripts/hooks', 'git-setting', '.git/config', 'core.hookspath = scripts/hooks'),
    ('core.fsmonitor', 'git config core.fsmonitor ./x', 'git-setting', '.git/config', 'core.fsmonitor = ./x'),
    ('core.sshCommand', 'git config core.sshCommand ./x', 'git-setting', '.git/config', 'core.sshcommand'),
    ('core.pager', 'git config core.pager ./x', 'git-setting', '.git/config', 'core.pager'),
    ('core.editor', 'git config core.editor ./x', 'git-setting', '.git/config', 'core.editor'),
    ('core.gitProxy', 'git config core.gitProxy ./x', 'git-setting', '.git/config', 'core.gitproxy'),
    ('pager.log', 'git config pager.log ./x', 'git-setting', '.git/config', 'pager.log'),
    ('an alias', 'git config alias.st "!./x"', 'git-setting', '.git/config', 'alias.st = !./x'),
    ('a filter', 'git config filter.new.smudge ./x', 'git-setting', '.git/config', 'filter.new.smudge'),
    ('a filter that was there, changed', 'git config filter.old.clean ./x', 'git-setting', '.git/config', 'filter.old.clean = ./x'),
    ('diff.external', 'git config diff.external ./x', 'git-setting', '.git/config', 'diff.external'),
    ('a textconv', 'git config diff.x.textconv ./x', 'git-setting', '.git/config', 'diff.x.textconv'),
    ('a merge driver', 'git config merge.x.driver ./x', 'git-setting', '.git/config', 'merge.x.driver'),
    ('a mergetool', 'git config mergetool.x.cmd ./x', 'git-setting', '.git/config', 'mergetool.x.cmd'),
    ('a credential helper', 'git config credential.helper "!./x"', 'git-setting', '.git/config', 'credential.helper'),
    ('one for an address', 'git config credential.https://example.org.helper ./x', 'git-setting', '.git/config', 'credential.https://example.org.helper'),
    ('gpg.program', 'git config gpg.program ./x', 'git-setting', '.git/config', 'gpg.program'),
    ('a submodule that is updated by a command', 'git config submodule.sub.update "!./x"', 'git-setting', '.git/config', 'submodule.sub.update'),
    ('a remote by a helper', 'git config remote.x.url "ext::sh -c x"', 'git-setting', '.git/config', 'remote.x.url'),
    ('an upload-pack', 'git config remote.x.uploadpack ./x', 'git-setting', '.git/config', 'remote.x.uploadpack'),
    ('an include', 'git config --add include.path ../more', 'git-setting', '.git/config', 'include.path = ../more'),
    ('a file that is included already', 'git config -f .gitsettings core.pager ./x', 'git-setting', '.gitsettings', 'core.pager = ./x'),
    ('an includeIf', 'git config includeIf.gitdir:/.path ../more', 'git-setting', '.git/config', 'includeif.gitdir:/.path'),
    ('by hand, and odd', 'printf "[CORE]FsMonitor\\n= \\n[core] # x\\n\\tfsMonitor=./\\"x y\\"\\n" >> .git/config', 'git-setting', '.git/config', 'core.fsmonitor = ./x y'),
    ('behind a line that git refuses', 'printf "???\\n[core]\\npager = ./x\\n" >> .git/config', 'git-setting', '.git/config', 'core.pager'),
    ('settings as a link', 'mv .git/config pkg/c; ln -s ../pkg/c .git/config', 'git-setting', '.git/config', None),
    ('settings of a work tree', 'git config extensions.worktreeConfig true; git config --worktree core.pager ./x', 'git-setting', '.git/config.worktree', 'core.pager'),
    ('attributes', 'echo "* filter=old" > .git/info/attributes', 'git-attributes', '.git/info/attributes', None),
    ('a nested repository', 'git init -q vendor/a; git -C vendor/a config core.pager ./x', 'git-setting', 'vendor/a/.git/config', 'core.pager'),
    ('one that was there', 'git -C nested config core.pager ./x', 'git-setting', 'nested/.git/config', 'core.pager'),
    ('a hook of it', 'cp scripts/hooks/pre-push nested/.git/hooks/pre-push', 'git-hook', 'nested/.git/hooks/pre-push', None),
    ('a hook of a submodule', 'cp scripts/hooks/pre-push .git/modules/sub/hooks/pre-push', 'git-hook', '.git/modules/sub/hooks/pre-push', None),
    ('settings of a submodule', 'git -C sub config core.pager ./x', 'git-setting', '.git/modules/sub/config', 'core.pager'),
    ('a bare layout', 'mkdir -p pkg/e/objects pkg/e/refs; echo "ref: refs/heads/x" > pkg/e/HEAD; git config -f pkg/e/config core.fsmonitor ./x', 'git-setting', 'pkg/e/config', 'core.fsmonitor'),
    ('settings of a bare repository', 'git -C bare.git config core.pager ./x', 'git-setting', 'bare.git/config', 'core.pager'),
    ('.git of a submodule, replaced', 'echo "gitdir: ../pkg" > sub/.git', 'git-file', 'sub/.git', '../pkg'),
    ('.git that leads outside', 'mkdir a; echo "gitdir: /usr/share" > a/.git', 'git-file', 'a/.git', '/usr/share'),
    ('.git as a link', 'mkdir a; ln -s ../bare.git a/.git', 'git-file', 'a/.git', '../bare.git'),
    ('commondir of a linked work tree', 'echo ../../../bare.git > .git/worktrees/linked/commondir', 'git-file', '.git/worktrees/linked/commondir', '../../../bare.git'),
    ('.envrc', 'echo x > .envrc', 'named', '.envrc', None),
    ('.envrc in a directory', 'echo x > pkg/deep/.envrc', 'named', 'pkg/deep/.envrc', None),
    ('.envrc moved', 'echo x > y; mv y .envrc', 'named', '.envrc', None),
    ('.envrc as a link', 'ln -s file .envrc', 'named', '.envrc', None),
    ('a link to a directory of tasks', 'mkdir e; echo "{}" > e/tasks.json; ln -s e .vscode', 'named', '.vscode', None),
    ('tasks of an editor', 'mkdir .vscode; echo "{}" > .vscode/tasks.json', 'named', '.vscode/tasks.json', None),
    ('settings of an editor, deeper', 'mkdir -p pkg/.vscode; echo "{}" > pkg/.vscode/settings.json', 'named', 'pkg/.vscode/settings.json', None),
    ('a project of an editor', 'mkdir -p .idea/runs; echo x > .idea/runs/a.xml', 'named', '.idea/runs/a.xml', None),
    ('settings of an agent', 'mkdir -p .claude; echo "{}" > .claude/settings.json', 'named', '.claude/settings.json', None),
    ('servers of an agent', 'echo "{}" > .mcp.json', 'named', '.mcp.json', None),
    ('a container of an editor', 'mkdir .devcontainer; echo "{}" > .devcontainer/devcontainer.json', 'named', '.devcontainer/devcontainer.json', None),
    ('mise', 'echo x > mise.toml', 'named', 'mise.toml', None),
    ('a debugger', 'echo x > .gdbinit', 'named', '.gdbinit', None),
    ('hooks of husky', 'mkdir -p .husky; echo x > .husky/pre-commit', 'named', '.husky/pre-commit', None),
    ('a policy of ours', 'echo "{}" > .confine.json', 'named', '.confine.json', None),
    ('a name that is no UTF-8', 'd=$(printf "\\377"); mkdir "$d"; echo x > "$d/.envrc"', 'named', '\ufffd/.envrc', None),
    ('deep down', 'd=.; for i in $(seq 60); do d=$d/d; done; mkdir -p $d; echo x > $d/.envrc', 'named', '/'.join(['d'] * 60) + '/.envrc', None),
]

# name, what was there before, what the command does, what must be found: all of it is older than the run
BEFORE = [
    ('tasks in a directory that gets the name', 'mkdir e; echo "{}" > e/tasks.json', 'mv e .vscode', 'named', '.vscode/tasks.json'),
    ('the same, deeper', 'mkdir pkg/e; echo "{}" > pkg/e/tasks.json', 'mv pkg/e pkg/.vscode', 'named', 'pkg/.vscode/tasks.json'),
    ('in place of one that was there', 'mkdir .vscode e; echo "{}" | tee .vscode/tasks.json > e/tasks.json', 'mv .vscode f; mv e .vscode', 'named', '.vscode/tasks.json'),
    ('hooks of husky in a directory that gets the name', 'mkdir e; echo x > e/pre-commit', 'mv e .husky', 'named', '.husky/pre-commit'),
    ('a directory moved into one that counts', 'mkdir .husky e; echo x > e/pre-commit', 'mv e .husky/_', 'named', '.husky/_/pre-commit'),
    ('settings of what becomes .git', 'git init -q y; git -C y config core.fsmonitor ./x; mv y/.git e; mkdir z', 'mv e z/.git', 'git-setting', 'z/.git/config'),
    ('a hook of it', 'git init -q y; cp scripts/hooks/pre-push y/.git/hooks; mv y/.git e; mkdir z', 'mv e z/.git', 'git-hook', 'z/.git/hooks/pre-push'),
    ('what becomes the .git of the workspace', 'cp -a .git e; git config -f e/config core.pager ./x', 'mv .git f; mv e .git', 'git-setting', '.git/config'),
    ('attributes', 'mkdir e; echo "* filter=old" > e/attributes', 'rm -r .git/info; mv e .git/info', 'git-attributes', '.git/info/attributes'),
    ('what becomes a repository by its HEAD', 'mkdir -p e/objects e/refs; cp bare.git/HEAD e/x; git config -f e/config core.fsmonitor ./x', 'mv e/x e/HEAD', 'git-setting', 'e/config'),
    ('by a directory of it', 'mkdir -p e/refs; cp bare.git/HEAD e; git config -f e/config core.fsmonitor ./x', 'mkdir e/objects', 'git-setting', 'e/config'),
    ('the repository of a submodule', 'cp -r .git/modules/sub e; git config -f e/config core.pager ./x', 'rm -rf .git/modules/sub; mv e .git/modules/sub', 'git-setting', '.git/modules/sub/config'),
    ('hooks by core.hooksPath', 'mkdir a e; cp scripts/hooks/pre-push e; git config core.hooksPath a/b', 'mv e a/b', 'git-hook', 'a/b/pre-push'),
    ('hooks behind a link', 'mkdir e; cp scripts/hooks/pre-push e; rm -r .git/hooks; ln -s ../a .git/hooks', 'mv e a', 'git-hook', 'a/pre-push'),
    ('behind a link that was there: tasks', 'ln -s v .vscode', 'mkdir v; echo "{}" > v/tasks.json', 'named', '.vscode/tasks.json'),
    ('a directory that was there', 'ln -s v .vscode; mkdir e; echo "{}" > e/tasks.json', 'mv e v', 'named', '.vscode/tasks.json'),
    ('a file, by more links', 'mkdir -p c/d; ln -s a/../b .envrc; ln -s c/d a', 'echo x > c/b', 'named', '.envrc'),
    ('a hook, by more links', 'mkdir c; ln -s c a; ln -s ../../a/x .git/hooks/pre-push', 'cp scripts/hooks/pre-push c/x', 'git-hook', '.git/hooks/pre-push'),
    ('hooks of husky', 'ln -s pkg .husky', 'echo x > pkg/pre-commit', 'named', '.husky/pre-commit'),
]

HONEST_BEFORE = [
    ('work beside what counts', 'mkdir -p .claude pkg/.vscode; echo "{}" | tee .claude/settings.json > pkg/.vscode/tasks.json; ln -s pkg/.vscode .vscode; ln -s pkg/deep/file .envrc; ln -s ../../pkg/deep/file .git/hooks/pre-commit; '
     'cp scripts/hooks/pre-push .git/hooks; echo "* filter=old" > .git/info/attributes; git -C nested config core.pager x',
     'echo > new; mkdir .claude/x; rmdir .claude/x; git add new; git commit -qm x; git sparse-checkout set --cone pkg; git sparse-checkout disable; echo > pkg/new'),
    ('a project that gets another name', 'mkdir -p p/.vscode p/.husky; echo "{}" | tee p/.vscode/tasks.json > p/.husky/pre-push; git init -q p; git -C p config core.pager x', 'mv p q'),
    ('links that lead nowhere, outside, and in circles', 'ln -s none .envrc; ln -s /usr/bin .husky; ln -s .vscode .vscode; mkdir a; ln -s . a/.idea; ln -s ../../../.. a/.zed', 'echo > new'),
]

HONEST = [
    ('commits and branches', 'git checkout -q -b b; echo z >> file; git commit -qam x; git checkout -q -; git merge -q b; git branch -d b; git tag t; git gc -q; git stash list'),
    ('a tracking branch', 'git clone -q . c; git -C c checkout -q -b y --track origin/HEAD; git -C c push -q origin y; git remote add up ./c; git fetch -q up; git branch -u up/y'),
    ('init, clone, bare clone', 'git init -q i; git init -q --bare j.git; git clone -q --bare . k.git; git clone -q ./k.git l'),
    ('a submodule, added and updated', 'git -c protocol.file.allow=always submodule -q add ./nested m; git commit -qm m; git clone -q . n; git -C n -c protocol.file.allow=always submodule update --init -q sub'),
    ('a submodule, absorbed', 'git init -q o; git -C o commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule -q add ./o o; git submodule absorbgitdirs'),
    ('a work tree, added, moved, removed', 'git worktree add -q v; git worktree move v vv; git worktree add -q u; git worktree remove u; git -C vv commit -q --allow-empty -m x'),
    ('a sparse checkout', 'git sparse-checkout set --cone pkg; git sparse-checkout disable'),
    ('settings that run nothing', 'git config user.name q; git config core.fsmonitor true; git config core.autocrlf input; git config alias.l log; git config core.hooksPath /dev/null; git config pager.log false'),
    ('what was there stays', 'git config user.name q; git config --unset user.name; git config branch.x.description y; git config alias.new log'),
    ('samples', 'rm .git/hooks/*.sample; git init -q'),
    ('rebase, cherry-pick, notes', 'echo a >> file; git commit -qam a; echo b > bb; git add bb; git commit -qm b; git rebase -q HEAD~1; git checkout -q -b p HEAD~1; git cherry-pick - >/dev/null; git notes add -m x'),
    ('a build', 'mkdir -p build/objects build/refs; for i in $(seq 300); do echo $i > build/f$i; done; touch HEAD; mkdir objects'),
    ('names that are nearly one', 'echo > envrc; echo > .envrc.example; mkdir vscode; echo > vscode/tasks.json; echo > tasks.json; echo > .gitignore; echo > .gitattributes; echo > .gitmodules.x'),
    ('removed', 'rm -rf .git/hooks/pre-rebase nested'),
]


def techniques(backend):
    for name, command, kind, path, detail in TECHNIQUES:
        with Tree() as tree:
            # what a mount holds cannot be planted there; whoever opens it sees it by the other backends
            tree.run(command, '--unprotect=@runs-later', backend=backend)
            seen = [item for item in tree.found() if item[:2] == (kind, path) and (item[2] or '').startswith(detail or '')]
            ok = len(seen) >= 1 and tree.report['planted_complete'] is True
            others = {item[1] for item in tree.found()} - {path}
            tap.ok(ok and len(others) <= 1, f'{backend}: {name}', f'{tree.report["planted"]} {tree.said}')


def prepared(backend):
    for name, before, command, kind, path in BEFORE:
        with Tree() as tree:
            subprocess.run(['sh', '-ec', before], cwd=tree.path, check=True, stdout=subprocess.DEVNULL)
            tick()
            tree.run(command, '--unprotect=@runs-later', backend=backend)
            tap.ok((kind, path) in [item[:2] for item in tree.found()] and tree.report['planted_complete'] is True,
                  f'{backend}: from before: {name}', f'{tree.report["planted"]} {tree.said}')
    with Tree() as tree:
        shutil.copy(tree.path + '/scripts/hooks/pre-push', tree.path + '/bare.git/hooks')
        tick()
        tree.run(f'cd {tree.path}; git -C bare.git config user.name x; git -C nested push -q ../bare.git HEAD:refs/heads/new; rm -f bare.git/HEAD.lock; touch bare.git/x', '-w', tree.path + '/bare.git',
                 '--write', tree.path + '/nested', '--unprotect=@runs-later', backend=backend, tree=False)
        tap.ok(tree.report['planted'] == [] and tree.report['outcome']['status'] == 0, f'{backend}: honest, from before: a workspace that is a repository',
              f'{tree.report["planted"]} {tree.report["outcome"]} {tree.said}')
    for name, before, command in HONEST_BEFORE:
        with Tree() as tree:
            subprocess.run(['sh', '-ec', before], cwd=tree.path, check=True, stdout=subprocess.DEVNULL)
            tick()
            tree.run(f'set -e; {command}', '--unprotect=@runs-later', backend=backend)
            tap.ok(tree.report['planted'] == [] and tree.report['planted_complete'] is True and tree.report['outcome']['status'] == 0,
                  f'{backend}: honest, from before: {name}', f'{tree.report["planted"]} {tree.report["outcome"]} {tree.said}')


def honest(backend):
    for name, command in HONEST:
        with Tree() as tree:
            tree.run(f'set -e; {command}', '--unprotect=@runs-later', backend=backend)
            tap.ok(tree.report['planted'] == [] and tree.report['planted_complete'] is True and tree.report['outcome']['status'] == 0,
                  f'{backend}: honest: {name}', f'{tree.report["planted"]} {tree.report["outcome"]} {tree.said}')


def people():
    with Tree() as tree:
        done = subprocess.run([CONFINE, 'run', '--backend=landlock', '-w', tree.path, '--', 'sh', '-c',
                               'for i in 1 2 3 4 5 6 7; do mkdir d$i; echo > d$i/.envrc; done; printf x > "$(printf \'a\\033[31m\')"; mkdir "$(printf \'e\\033[2J\')"; echo > "$(printf \'e\\033[2J\')/.envrc"'],
                              cwd=tree.path, capture_output=True, text=True)
        lines = done.stderr.splitlines()
        tap.ok(len(lines) == 6 and '3 more' in lines[-1] and '\033' not in done.stderr, 'people see five lines and how many more', done.stderr)


def bounds():
    while True: # on a busy machine the look may end for its other bound, the time, and says so
        with Tree() as tree:
            tree.run('for i in $(seq 1200); do mkdir d$i; echo > d$i/.envrc; done')
        if '(seconds)' not in tree.report['summary']:
            break
    tap.ok(len(tree.report['planted']) == 1000 and tree.report['planted_complete'] is False, 'more than a thousand: said to be incomplete',
          f'{len(tree.report["planted"])} {tree.report["summary"]}')
    with Tree() as tree:
        tree.run('i=0; while [ $i -lt 230 ]; do mkdir d; cd d; i=$((i+1)); done')
        tap.ok(tree.report['planted_complete'] is False, 'deeper than the bound: said to be incomplete')
    with Tree() as tree:
        tree.run('for n in 1 2 3 4 5 6 7 8; do mkdir p$n; echo > p$n/.envrc; (i=0; while [ $i -lt 230 ]; do mkdir d$n; cd d$n; i=$((i+1)); done); done')
        said = (sorted(item[1] for item in tree.found()), tree.report['planted_complete'], '(depth)' in tree.report['summary'])
        tap.ok(said == ([f'p{n}/.envrc' for n in range(1, 9)], False, True), 'and hides nothing of what is beside it', said)
    if os.getuid() != 0:
        with Tree() as tree:
            tree.run('mkdir shut; echo > shut/.envrc; chmod 0 shut')
            tap.ok(tree.report['planted_complete'] is False, 'a directory that cannot be read: said to be incomplete')
            os.chmod(tree.path + '/shut', 0o700)
    else:
        tap.skip('a directory that cannot be read', 'root reads everything')
    if os.getuid() != 0:
        for what in ('sub/.git/hooks', 'sub/.git/config'):
            with Tree() as tree:
                tree.run(f'rm -r sub; git init -q sub; chmod 111 {what}')
                tap.ok(tree.report['planted_complete'] is False, f'{what} that cannot be read: said to be incomplete')
                os.chmod(f'{tree.path}/{what}', 0o700)
    with Tree() as tree:
        tree.run('rm -rf .git; mkfifo .git; mkfifo .envrc; mkdir a; mkfifo a/.git; mkdir -p b/objects b/refs; touch b/HEAD; mkfifo b/config b/commondir; ln -s b/config c; mkdir e; head -c 3000000 /dev/zero > e/.git')
        tap.ok([item[1] for item in tree.found()] == ['.envrc'] and tree.report['planted_complete'], 'pipes in every place: not opened, not hung on', f'{tree.found()}')
    with Tree() as tree:
        tree.run('true', tree=False)
        tap.ok(tree.report['planted'] == [] and tree.report['planted_complete'] is None, 'read-only: nothing to look at')
    with Tree() as tree:
        git(tree.path + '/nested', 'config', 'filter.old.clean', 'cat')
        tick()
        words = ['--mode=workspace-write']
        for i in range(63):
            os.makedirs(f'{tree.path}/many/{i}')
            words += ['--write', f'{tree.path}/many/{i}']
        for place in (tree.path + '/nested', tree.path + '/pkg'):
            words += ['--write', place]
            tree.run('git -C nested config user.name y; echo > many/62/.envrc', *words, tree=False)
            said = (sorted(item[1] for item in tree.found()), tree.report['planted_complete'])
            tap.ok(said == (['many/62/.envrc'], place.endswith('nested')), f'{len(words) // 2} trees: the settings of the 64th are known from before, a 65th is not looked at', said)
    with Tree() as tree:
        home = tree.path + '/home'
        os.makedirs(home + '/.config/systemd/user')
        open(home + '/.bashrc', 'w').close()
        tick()
        environ = dict(os.environ, HOME=home)
        done = subprocess.run([SWEEP, 'look', '--since', f'{time.time():.9f}', '--home', home, '--root', '3', home], stdin=subprocess.DEVNULL,
                              env=environ, stdout=subprocess.PIPE, preexec_fn=lambda: (os.dup2(os.open(home, os.O_RDONLY), 3)), close_fds=False)
        quiet = done.stdout
        since = time.time() - 60
        open(home + '/.config/systemd/user/x.service', 'w').close()
        done = subprocess.run([SWEEP, 'look', '--since', f'{since:.9f}', '--home', home, '--root', '3', home], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, preexec_fn=lambda: (os.dup2(os.open(home, os.O_RDONLY), 3)), close_fds=False)
        seen = done.stdout.decode().split('\0')
        tap.ok(quiet == b'end\0\0000\0\0' and f'{home}/.bashrc' in seen and f'{home}/.config/systemd/user/x.service' in seen,
              'files of a home that is granted', f'{quiet} {seen}')


def full_file_system(backend):
    """There is no room for the settings without what was found: they stay, and git is not locked out of them."""
    name = f'{backend}: quarantine: without room for the rest, no lock is left'
    if backend != 'landlock' or os.geteuid() != 0:
        tap.skip(name, 'one backend does, and who may mount')
        return
    with tempfile.TemporaryDirectory(prefix='confine-planted.', dir=PLACES) as place:
        os.chmod(place, 0o755)
        os.mkdir(place + '/w')
        script = """mount -t tmpfs -o size=400k,uid=65534,gid=65534,mode=755 none "$0/w" && cd "$0/w" &&
            exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'git init -q . && "$@" >&2; ls -A .git' "$@" """
        inside = """printf "[core]\n\tpager = ./x\n" >> .git/config
            yes "# a line of a comment that stays" | head -n 1000 >> .git/config; head -c 900000 /dev/zero > fill"""
        done = subprocess.run(['unshare', '-m', 'sh', '-c', script, place, 'sh', CONFINE, 'run', '--backend=landlock', '-w', '.', '--planted=quarantine',
                               '--report=fd:1', '--', 'sh', '-c', inside],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace')
    names = done.stdout.split()
    tap.ok('config' in names and 'config.lock' not in names and 'No space left' in done.stderr, name, f'{done.stdout} {done.stderr}')


def settings_under_a_fault(backend):
    """At no moment has a repository no settings, and no byte of them is lost: whichever rename the program is killed at, and
    where the file system cannot exchange two names."""
    name = f'{backend}: quarantine: a repository keeps its settings'
    if backend != 'landlock' or shutil.which('strace') is None:
        tap.skip(name, 'one backend does, and strace makes the faults')
        return
    faults = {'killed at the first': 'signal=KILL:when=1', 'killed at the second': 'signal=KILL:when=2', 'no exchange': 'error=EINVAL:when=1'}
    for how, fault in faults.items():
        with tempfile.TemporaryDirectory(prefix='confine-planted.', dir=PLACES) as place:
            subprocess.run(['git', 'init', '-q', place], check=True)
            with open(place + '/.git/config', 'a', encoding='ascii') as config:
                config.write('[core]\n\tpager = ./x\n')
            root = os.open(place, os.O_RDONLY)
            done = subprocess.run(['strace', '-o', '/dev/null', '-e', 'trace=renameat2', '-e', f'inject=renameat2:{fault}', SWEEP,
                                   'look', '--since', '0.0', '--aside', 'run', '--root', str(root), place], stdin=subprocess.DEVNULL,
                                  capture_output=True, pass_fds=[root])
            os.close(root)
            paths = [os.path.join(at, file) for at, _, files in os.walk(place) for file in files if file.startswith('config')]
            texts = {path: open(path, encoding='ascii').read() for path in paths}
        ended = done.returncode == (0 if how == 'no exchange' else -9)
        tap.ok(ended and place + '/.git/config' in texts and any('pager' in text for text in texts.values()) and
               ('pager' in texts[place + '/.git/config']) == (how == 'killed at the first'), f'{name}: {how}', f'{done} {texts}')


def quarantine(backend):
    """Everything that the techniques leave is moved, the rest stays, and nothing is lost."""
    with Tree() as tree:
        command = ('echo x > .envrc; mkdir -p pkg/.vscode; echo "{}" > pkg/.vscode/tasks.json; cp scripts/hooks/pre-push nested/.git/hooks/pre-push; '
                   'git config alias.st "!./x"; git config branch.b.description kept; git config core.pager "a \\\\\nb"; printf "[core] editor = ./y # z\n" >> .git/config; '
                   'ln -s ../bare.git a.link; mkdir a; ln -s ../bare.git a/.git; git -C nested config core.fsmonitor ./x; echo honest > file')
        tree.run(command, '--planted=quarantine', '--unprotect=@runs-later', backend=backend)
        items = tree.report['planted']
        place = {item['moved'].split('/.confine-planted/')[0] for item in items if item['moved']}
        tap.ok(len(items) == 8 and all(item['moved'] for item in items) and place == {tree.path} and
              all(os.path.lexists(item['moved']) for item in items), f'{backend}: quarantine: everything is moved', f'{items} {tree.said}')
        gone = [item['path'] for item in items if item['kind'] != 'git-setting' and os.path.lexists(item['path'])]
        listed = subprocess.run(['git', 'config', '--list'], cwd=tree.path, capture_output=True, text=True).stdout
        tap.ok(gone == [] and 'alias.st' not in listed and 'core.pager' not in listed and 'core.editor' not in listed and
              'branch.b.description=kept' in listed and 'alias.old=!true' in listed and 'filter.old.clean=cat' in listed,
              f'{backend}: quarantine: the settings are cut out and the others stay', f'{gone} {listed}')
        first = next(item['moved'] for item in items if item['path'] == tree.path + '/.git/config')
        kept = open(first).read()
        tap.ok('./x' in kept and './y # z' in kept and subprocess.run(['git', 'status'], cwd=tree.path, capture_output=True).returncode == 0 and
              open(tree.path + '/file').read() == 'honest\n', f'{backend}: quarantine: nothing is lost', kept)
        each = f'"$0" run -q --backend={backend} -w . --planted=quarantine --'
        subprocess.run(['sh', '-c', f'for i in 1 2 3 4 5; do {each} sh -c "echo x > .envrc"; {each} touch b; done', CONFINE], cwd=tree.path, check=True)
        below = glob.glob(tree.path + '/.confine-planted/*/.confine-planted')
        tap.ok(below == [], f'{backend}: quarantine: what was moved aside is not new to a run that begins at once', below)
        tree.run('echo y > .envrc', '--planted=quarantine', backend=backend)
        tap.ok([item['path'] for item in tree.report['planted']] == [tree.path + '/.envrc'], f'{backend}: quarantine: the next run finds only its own',
              tree.report['planted'])
        tick()
        tree.run('rm -r pkg; mv "$(echo .confine-planted/*/pkg)" pkg', '--planted=quarantine', backend=backend)
        again = [item['path'] for item in tree.report['planted']]
        if backend != 'namespace':
            tap.skip(f'{backend}: quarantine: what lies there is held', 'it does not hold what runs later, and says so')
        else:
            tap.ok(again == [tree.path + '/pkg/.vscode/tasks.json'], f'{backend}: quarantine: nothing is moved back by the next run unseen', f'{again} {tree.said}')
    with Tree() as tree:
        tree.run('echo x > .confine-planted; echo x > .envrc', '--planted=quarantine', backend=backend)
        moved = [item['moved'] for item in tree.report['planted']]
        others = [open(os.path.join(tree.path, name)).read() for name in os.listdir(tree.path) if name.startswith('.confine-planted-')]
        tap.ok(len(moved) == 1 and moved[0].startswith(tree.path + '/.confine-planted/') and open(moved[0]).read() == 'x\n' and others == ['x\n'],
               f'{backend}: quarantine: another file of that name is kept under one more', f'{moved} {others}')
    for obstacle in ('echo x > .confine-planted', 'mkfifo .confine-planted', 'ln -s pkg .confine-planted', 'mkdir .confine-planted; chmod 500 .confine-planted') if backend == 'namespace' else ():
        with Tree() as tree:
            tree.run(obstacle, '--planted=quarantine', backend=backend)
            tree.run('mkdir -p pkg/.vscode; echo x > pkg/.vscode/tasks.json', '--planted=quarantine', '--unprotect=@runs-later', backend=backend)
            tick()
            tree.run('rm -r pkg; mv "$(echo .confine-planted*/pkg)" pkg || mv "$(echo .confine-planted*/*/pkg)" pkg', '--planted=quarantine', backend=backend)
            tap.ok([item['path'] for item in tree.report['planted']] == [tree.path + '/pkg/.vscode/tasks.json'],
                   f'{backend}: quarantine: nor behind {obstacle}', f"{tree.report['planted']} {tree.said}")
    full_file_system(backend)
    settings_under_a_fault(backend)
    with Tree() as tree:
        tree.run('touch .git/config.lock; git config -f x core.pager x; mv x .git/config; echo x > .envrc', '--planted=quarantine', '--unprotect=@runs-later', backend=backend)
        stays = {item['path'].replace(tree.path + '/', ''): (item['moved'] is not None, item['stays']) for item in tree.report['planted']}
        tap.ok(stays['.git/config'] == (False, "a .lock beside it, of git's or of the command's, is in the way") and stays['.envrc'][0], f'{backend}: quarantine: what cannot be moved is said', stays)
        tap.ok(' 2 things that it wrote run later outside; moved aside: 1 (see' in tree.report['summary'], f'{backend}: quarantine: the summary says what stays',
               tree.report['summary'])
        tick()  # what was moved has changed as well
        tree.run('rm -f .git/config.lock; mkdir shut; echo x > shut/.envrc; chmod 0 shut; echo x > .envrc', '--planted=quarantine', backend=backend)
        tap.ok(' 1 thing that it wrote was moved aside: it would run' in tree.report['summary'] and
               ' Not all that it wrote was looked at for what runs later outside (unreadable-directories).' in tree.report['summary'] and
               tree.report['planted_complete'] is False, f'{backend}: and what could not be looked at', tree.report['summary'])
        os.chmod(tree.path + '/shut', 0o700)


class Closing:
    """Waits until somebody closes a directory that was open for reading (inotify)."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, os.fsencode(path), 0x10) < 0:  # IN_CLOSE_NOWRITE
            raise OSError(ctypes.get_errno(), 'inotify')

    def wait(self):
        while True:
            if not select.select([self.fd], [], [], 60)[0]:
                raise TimeoutError('the trees are not walked ahead')
            events, at = os.read(self.fd, 65536), 0
            while at < len(events):
                length = struct.unpack_from('IIII', events, at)[3]
                at += 16 + length
                if length == 0:  # the directory itself, none in it
                    os.close(self.fd)
                    return


def look(path, *words, ahead=None):
    """What confine-sweep says of a tree. `ahead`: is called when it has walked ahead, before it is told to look."""
    root = os.open(path, os.O_RDONLY)
    closing = Closing(path) if ahead else None
    with subprocess.Popen([SWEEP, 'look', *(['--wait'] if ahead else []), *words, '--root', str(root), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          pass_fds=[root]) as process:
        if ahead:
            closing.wait()
            ahead()
        texts = process.communicate(b'l' if ahead else b'')[0].split(b'\0')
    os.close(root)
    return sorted(zip(*[iter(texts)] * 4))


def surveyed():
    """In trees that have been left alone for long enough: what a look finds behind its walk ahead is what one finds without."""
    commands = [item[:2] for item in TECHNIQUES] + HONEST
    with Tree() as tree:
        copies = [f'{tree.top}/copy-{number}' for number in range(len(commands))]
        for copy in copies:
            subprocess.run(['cp', '-a', tree.top + '/first', copy], check=True)
        made = time.time()
    while time.time() < made + 2.7:
        time.sleep(0.05)
    for (name, command), copy in zip(commands, copies):
        os.rename(copy, tree.path)
        tick()
        since = ['--since', f'{time.clock_gettime(5):.9f}']
        found = look(tree.path, *since, ahead=lambda command=command: subprocess.run(['sh', '-c', command], cwd=tree.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        alone = look(tree.path, *since)
        tap.ok(found == alone and (len(alone) > 1 or (name, command) in HONEST), f'behind a walk ahead: {name}', f'{found} {alone}')
        tree.put_away()


def same_as_git():
    """Our reader finds what git finds, in texts that are made of pieces of settings."""
    pieces = ['[core]', '[Core "Sub"]', '[a.b]', '[a "b\\"c"]', '\n', '\t', ' ', '=', 'name', 'Pager', 'x', '"', '\\"', '\\n', '\\\n', '#', ';',
              '!', 'a b', '  ', '\r\n', '-', '1', '[', ']', '.', '"q q"', '\\\\', 'true', '\nkey = value\n', '\nx\n', '\n[s "t"]\n', 'ž', '\n  n=1 ; c\n']
    rand = random.Random(7)
    wrong, whole = [], 0
    with tempfile.TemporaryDirectory(prefix='confine-planted.', dir=PLACES) as place:
        for i in range(900):
            text = '[core]\n' * rand.randrange(2) + ''.join(rand.choice(pieces) for _ in range(rand.randrange(1, 14)))
            with open(f'{place}/c', 'w', newline='') as file:
                file.write(text)
            theirs = subprocess.run(['git', 'config', '--no-includes', '-f', f'{place}/c', '--list', '-z'], capture_output=True)
            if theirs.returncode != 0:
                continue
            ours = subprocess.run([SETTINGS, f'{place}/c'], capture_output=True)
            whole += 1
            if ours.stdout.replace(b'\t', b' ') != theirs.stdout.replace(b'\t', b' '):  # some versions make blanks of tabs
                wrong.append((text, ours.stdout, theirs.stdout, ours.stderr))
        tap.ok(whole > 100 and not wrong, f'our reader finds what git finds ({whole} texts)', '\n'.join(map(repr, wrong[:5])) + f' of {whole}')


atexit.register(shutil.rmtree, Tree.top, True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if shutil.which('git') is None:
    print('1..0 # SKIP git is not installed')
    sys.exit(0)
for one in BACKENDS:
    if subprocess.run([CONFINE, 'run', '-q', f'--backend={one}', '--', 'true'], stderr=subprocess.DEVNULL).returncode != 0:
        tap.skip(one, 'the backend does not work here')
        continue
    techniques(one)
    honest(one)
    prepared(one)
    quarantine(one)
if 'landlock' in BACKENDS:
    surveyed()
people()
bounds()
same_as_git()
tap.finish()
