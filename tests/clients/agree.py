#!/usr/bin/env python3
"""agree.py - what the clients know by name is what the program has: options, keys of a policy, lines of the channel. A TAP program.

A client that lags behind refuses an option that is there, or shows an event as none of its own.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
BINDINGS = os.path.join(HERE, '../../bindings')
DOCS = os.path.join(HERE, '../../docs')
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(BINDINGS, 'python')]
import confine  # noqa: E402
from confine import events, options, session  # noqa: E402
from tap import Tap  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
#: The client gives these itself, or takes the thing in another form (`policy`, `pass_fds`).
OWN = {'help', 'report', 'control', 'pass_fd', 'policy', 'quiet', 'verbose'}
OWN_OF_SESSION = {'help', 'json', 'owner', 'policy'}
tap = Tap()


def schema(name):
    with open(os.path.join(DOCS, f'{name}.schema.json'), encoding='utf-8') as file:
        return json.load(file)


def taken(command):
    """The long options of a command, with underscores."""
    text = subprocess.run([CONFINE, 'help', command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name.replace('-', '_') for name in re.findall(r'^  (?:-\w, |    )--([a-z-]+)', text, re.M)}


def node(name):
    with open(os.path.join(BINDINGS, 'node', name), encoding='utf-8') as file:
        return file.read()


def snake(names):
    return {re.sub('[A-Z]', lambda letter: '_' + letter[0].lower(), name) for name in names}


def same(name, seen, wanted):
    tap.ok(seen == wanted and len(wanted) > 4, name, f'missing: {sorted(wanted - seen)}; too many: {sorted(seen - wanted)}')


def members(types, name):
    return set(re.findall(r'^  (\w+):', re.search(rf'^export interface {name} {{(.*?)^}}', types, re.S | re.M)[1], re.M))


def main():
    run, start = taken('run') - OWN, taken('session') - OWN_OF_SESSION
    lines = {kind['properties']['type']['const'] for kind in schema('control')['oneOf']}
    backends = set(schema('policy')['properties']['backend']['enum'])
    types, words = node('index.d.ts'), node('lib/options.js')
    sets = {name: set(re.findall(r"'(\w+)'", text)) for name, text in re.findall(r'(\w+_OPTIONS) = new Set\(\[(.*?)\]\)', words, re.S)}
    interface = re.search(r'^export interface Options \{(.*?)^\}', types, re.S | re.M)[1]

    same('Python: options of a run', set(options.Options.__annotations__), run)
    same('Python: options of a session', set(session.SETTINGS), start)
    same('Python: keys of a policy', set(options.Policy.__annotations__), set(schema('policy')['properties']) - {'$schema'})
    same('Python: lines of the channel', set(events.KINDS), lines)
    missing = {kind.__name__ for kind in events.KINDS.values()} - set(confine.__all__)
    tap.ok(not missing, 'Python: each of their classes can be imported', missing)
    same('Node: options of a run', snake(sets['RUN_OPTIONS']), run)
    same('Node: options of a run, as types', snake(re.findall(r'^  (\w+)\?:', interface, re.M)), run)
    same('Node: options of a session', snake(sets['SESSION_OPTIONS']), start)
    picked = re.search(r'interface SessionOptions extends Pick<Options, (.*?)>', types)[1]
    same('Node: options of a session, as types', snake(re.findall(r"'(\w+)'", picked)), start)
    same('Node: lines of the channel, as types', set(re.findall(r"\btype: '(\w+)'[;]", types.split('export interface Policy')[0])), lines)
    report = schema('report')
    known = {'Denial': report['$defs']['denial'], 'Planted': report['properties']['planted']['items'],
             'Connection': report['properties']['network']['properties']['connections']['items']}
    for name, wanted in known.items():
        same(f'Node: members of {name}, as types', members(types, name), set(wanted['required']))
    extra = members(types, 'Report') - set(report['required'])
    tap.ok(not extra and {'denials', 'planted', 'network', 'approvals'} <= members(types, 'Report'), 'Node: members of a report, as types', extra)
    named = set(re.findall(r"'([\w-]+)'", re.search(r'^export type Backend = (.*?);', types, re.M)[1]))
    tap.ok(named <= backends and 'custom' in named, 'Node: backends, as types', sorted(named - backends))


main()
tap.finish()
