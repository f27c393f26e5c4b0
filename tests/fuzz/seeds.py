#!/usr/bin/env python3
"""seeds.py - the fuzzers of what a client says to the gateway begin with every known way around a list.

Both tables write their seeds themselves: test-bypass-forms.h (test-bypass.c has its rows refused) and ways.py (bypass.py has
them sent by a confined command). Here is looked whether tools/fuzz takes them, whether each says what its row says, and
whether the fuzzers' own checks hold for each, without a fuzzer.

Should:  find every row of both tables among the seeds.
Mustn't: need clang. A TAP program.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '../network')]
import ways  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
place = tempfile.mkdtemp(prefix='confine-seeds.')


def read(fuzzer):
    """{name: bytes} of what was written for it."""
    directory, found = f'{place}/{fuzzer}', {}
    for name in os.listdir(directory):
        with open(f'{directory}/{name}', 'rb') as file:
            found[name] = file.read()
    return found


def rows_of_table():
    """(name, text) of each row that the table in C has, without those whose text needs a compiler to be read."""
    with open(os.path.join(HERE, '../../src/network/test-bypass-forms.h'), encoding='utf-8') as file:
        text = file.read()
    table = text[text.index('bypasses[] = {'):text.index('};', text.index('bypasses[] = {'))]
    return re.findall(r'^ +\{"([^"]*)", "([^"\\]*)"', table, re.MULTILINE), len(re.findall(r'^ +\{"', table, re.MULTILINE))


try:
    made = subprocess.run([os.environ['CONFINE_SEEDS'], place], capture_output=True, text=True, check=False)
    said = [line.split() for line in made.stdout.splitlines()]
    rows, count = rows_of_table()
    tap.ok(made.returncode == 0 and count >= 80 and {int(row[1]) for row in said} == set(range(count)), 'every row of the table has a seed', made)
    own = {fuzzer: read(fuzzer) for fuzzer in ('dns', 'head', 'hello')}
    everything = b'\n--\n'.join(data for seeds in own.values() for data in seeds.values())
    missing = [name for name, text in rows if text.encode() not in everything]
    tap.ok(len(rows) > 60 and not missing, 'and it says what the row says', missing)
    other = subprocess.run([sys.executable, os.path.join(HERE, '../network/ways.py'), place], capture_output=True, text=True, check=False)
    wanted = [name for name, data in ways.proxied() if data not in read('head').values() and data[3:] not in read('head').values()]
    tap.ok(other.returncode == 0 and len(list(ways.proxied())) > 60 and not wanted, 'every way that a confined command tries has one', (other, wanted))
    names = [name for name in ways.NAMES + ways.LEADS if ways.question(name) not in {data[2:] for data in read('dns').values()}]
    tap.ok(not names, 'every name that it looks up as well', names)
    for fuzzer in ('dns', 'head', 'hello'):
        corpus = os.path.join(HERE, 'corpus', fuzzer)
        total = len(read(fuzzer)) + len(os.listdir(corpus))
        run = subprocess.run([os.environ[f'CONFINE_REPLAY_{fuzzer.upper()}'], f'{place}/{fuzzer}', corpus], capture_output=True, text=True, check=False)
        tap.ok(run.returncode == 0 and int(run.stdout) == total, f'fuzz-{fuzzer} finds nothing in {total} seeds', run.stderr.splitlines()[-2:])
    with open(os.path.join(HERE, '../../tools/fuzz'), encoding='utf-8') as file:
        script = file.read()
    tap.ok('/tests/fuzz-seeds' in script and 'tests/network/ways.py' in script, 'tools/fuzz begins with them')
finally:
    shutil.rmtree(place)
sys.exit(tap.close())
