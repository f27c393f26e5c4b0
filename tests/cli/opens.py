#!/usr/bin/env python3
"""opens.py - `--open SURFACE`, for every surface that there is: it is refused with what works instead, or it crosses.

The surfaces are those that `confine probe` names. What is accepted must be open in the report, and the battery of
`confine check` must get out by it: an option that is taken and opens nothing is what this is against.

Should:  need no list of its own: a new surface is tried like the others.
Mustn't: be content where nothing was refused, or nothing opened. A TAP program.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
USER = ['--user', '65534'] if os.geteuid() == 0 else []  # an ordinary user may open more
tap = Tap()


def call(*words):
    done = subprocess.run([CONFINE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, CANARY_API_TOKEN='hunter2'), check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def open_one(backend, surface):
    """Return: (`refused` or `open`, what is wrong)."""
    status, out, errors = call('run', '-b', backend, *USER, '--open', surface, '--', 'true')
    if status == 125:
        return 'refused', None if re.fullmatch(r'confine: .*\bopen(ed)?\b.* \(.+\)\n', errors) and surface in errors else errors
    if status != 0:
        return 'neither', 'status %d: %s' % (status, errors)
    status, out, errors = call('check', '-b', backend, *USER, '--open', surface, '--only', surface, '--json')
    try:
        seen = [one for one in json.loads(out)['backends'][0]['surfaces'] if one['id'] == surface][0]
    except (ValueError, KeyError, IndexError, TypeError):
        return 'open', 'status %d: %s%s' % (status, out[:200], errors)
    return 'open', None if status == 0 and seen['state'] == 'open' and seen['crossed'] > 0 else seen


def try_backend(row):
    backend = row['name']
    if not row['usable']:
        tap.skip(backend, 'it does not work here')
        return
    seen = {}
    for surface in sorted(row['surfaces']):
        kind, wrong = open_one(backend, surface)
        seen.setdefault(kind, []).append(surface)
        tap.ok(not wrong, '%s: --open %s: %s' % (backend, surface, kind), wrong)
    tap.ok(len(seen.get('refused', ())) > 20 and len(seen.get('open', ())) > 4, backend + ': some are refused, some are open', seen)


status, out, errors = call('probe', '--json')
for row in json.loads(out)['backends']:
    if row['name'] in ('namespace', 'bubblewrap', 'landlock'):
        try_backend(row)
tap.finish()
