#!/usr/bin/env python3
"""page.py - docs/harness.md says only what is so: its blocks run, and print what stands below them. A TAP program."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..'))
from tap import Tap  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
BINDINGS = os.path.join(HERE, '../../bindings')
PAGE = os.environ.get('CONFINE_PAGE', os.path.join(HERE, '../../docs/harness.md'))
PATIENCE = 120
SOURCE = os.path.realpath(os.path.join(HERE, '../..'))
COMPILERS = {'c': [os.environ.get('LIBRARY_CC', 'cc'), '-Wall', '-Werror', '-D_GNU_SOURCE', '-o'], 'go': ['go', 'build', '-o'], 'rust': ['rustc', '-o']}
SUFFIXES = {'rust': 'rs'}
#: The library's own sources: tests/library has it as it is installed.
LIBRARY = ['-I' + SOURCE + '/include', '-I' + SOURCE, f'-DCONFINE_PROGRAM="{CONFINE}"', *sorted(glob.glob(SOURCE + '/src/confine*.c'))]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
tap = Tap()


def blocks():
    """(language, text, what it prints), in the order of the page."""
    found = re.findall(r'^```(\w+)\n(.*?)^```$', open(PAGE).read(), re.S | re.M)
    for i, (language, text) in enumerate(found):
        if language != 'text':
            printed = found[i + 1][1] if i + 1 < len(found) and found[i + 1][0] == 'text' else ''
            yield language, text.replace('/usr/local/bin/confine', CONFINE), printed


def program(language, text, place):
    """The words that run a block, None where it cannot be run here."""
    name = os.path.join(place, 'block.mjs' if language == 'js' else 'block')
    with open(name, 'w') as file:
        file.write(text)
    if text.startswith('#!/bin/sh\n'):  # a shell
        os.chmod(name, 0o755)
        return [name, '-c', 'echo "$0, $1: $(pwd)"; exit 7', 'zero', 'one']
    words = COMPILERS[language] if language in COMPILERS else {'sh': ['bash', '-e'], 'python': [sys.executable], 'js': ['node']}[language]
    if not shutil.which(words[0]) or language == 'rust' and subprocess.run(['rustc', '--version'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        return None  # what stands for a compiler may have none
    if language not in COMPILERS:
        return [*words, name]
    source = f'{name}.{SUFFIXES.get(language, language)}'
    os.rename(name, source)
    subprocess.run([*words, name, source, *(LIBRARY if language == 'c' else [])], env=dict(os.environ, GOCACHE=place + '/go', GO111MODULE='off'), check=True,
                   timeout=PATIENCE)
    return [name]


def main():
    place = os.path.realpath(tempfile.mkdtemp(prefix='confine-page.', dir='/var/tmp'))
    work = os.path.join(place, 'work')
    try:
        for name in ('work', 'elsewhere', 'home', 'run', 'node_modules', 'bin'):
            os.mkdir(os.path.join(place, name), 0o700)
        os.symlink(os.path.realpath(os.path.join(BINDINGS, 'node')), os.path.join(place, 'node_modules/confine'))
        os.symlink(CONFINE, os.path.join(place, 'bin/confine'))
        environment = dict(os.environ, HOME=place + '/home', XDG_RUNTIME_DIR=place + '/run', PATH=place + '/bin:' + os.environ['PATH'], AGENT_WORKSPACE=work,
                           PYTHONPATH=os.path.join(BINDINGS, 'python'), PYTHONDONTWRITEBYTECODE='1')
        usable = subprocess.run([CONFINE, 'run', '--backend=namespace', '--', 'true'], stderr=subprocess.PIPE, text=True, check=False)
        count = 0
        for language, text, printed in blocks():
            count += 1
            name = f'block {count} ({language})'
            words = program(language, text, place)
            if usable.returncode or not words:
                tap.skip(name, f'{language} is not installed' if not words else f'the backend namespace does not work here: {usable.stderr.strip()}')
                continue
            status = 0
            if text.startswith('#!'):
                status, printed = 7, f'zero, one: {work}\n'
            done = subprocess.run(words, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=PATIENCE, check=False)
            tap.ok((done.returncode, done.stdout) == (status, printed), name, f'{done}\nexpected {printed!r}')
        tap.ok(count >= 7, 'the page has blocks', count)
        names = sorted(set(re.findall(r'(?<![\w-])--[a-z][a-z-]*', open(PAGE).read())) - {'--tools'})
        known = ''.join(subprocess.run([CONFINE, 'help', command], stdout=subprocess.PIPE, text=True, check=True).stdout
                        for command in ('run', 'plan', 'session', 'policy')) + ' --owner '
        wrong = [name for name in names if not re.search(re.escape(name) + r'[ \n]', known)]
        tap.ok(not wrong and len(names) >= 10, 'every option that it names is there', wrong)
    finally:
        shutil.rmtree(place, ignore_errors=True)


main()
tap.finish()
