#!/usr/bin/env python3
"""table.py RESULTS FILE: what tools/peers measured, as docs/peers.md."""
import datetime
import json
import os
import platform
import shlex
import sys

# name: how it stands in the table, what it is, and what its words were chosen for.
PEERS = {
    'bubblewrap': ('bwrap', 'Debian\'s bubblewrap, with the words that harnesses use: all namespaces, the host read-only, '
                   'a workspace that may be written, an empty `/tmp`.'),
    'bubblewrap-hardened': ('bwrap, more', 'The same with everything that it has against escapes: no capabilities, no user '
                            'namespaces inside, a new session, an empty environment, an empty `/run`, hooks read-only.'),
    'firejail': ('firejail', 'Debian\'s firejail (set-id root) without a profile, `--read-only` on the root and the home: '
                 'its profiles are made for desktop programs. Started outside of any process namespace: in one it confines '
                 'nothing, and `--quiet` says so to nobody.'),
    'crun': ('crun', 'An OCI bundle as `crun spec --rootless` writes it, with the host\'s directories bound read-only and '
             'the workspace writable and the caller\'s environment (`tests/peers/crun-run`); no system call filter: that is '
             'an engine\'s to add.'),
    'codex': ('codex', 'OpenAI Codex\'s `codex sandbox` with `workspace-write`, as its agent uses it.'),
    'srt': ('srt', 'Anthropic\'s sandbox-runtime with `allowWrite: ["."]` and no allowed domains.'),
}
NOT_RUN = {
    'landrun': 'is a Go module and in neither of the two registries that are used here (Debian\'s and npm\'s)',
    'nsjail': 'is not in Debian 12, and has no package of its makers in npm',
    'podman, docker': 'start crun or runc with a filter and a network of their own; a daemon or a set-up of the machine is needed',
    'systemd-run': 'needs systemd as process 1',
    'minijail, setpriv --landlock': 'are not in Debian 12',
    'sandbox-exec, Windows': 'no such machine',
}


def load(directory):
    columns = []
    with open(os.path.join(directory, 'confine.json'), encoding='utf-8') as file:
        for backend in json.load(file)['backends']:
            if backend['usable']:
                columns.append({'title': f'confine `{backend["name"]}`', 'attempts': backend['attempts'], 'own': True,
                                'over': backend['totals']['over_claims']})
    for name, (title, what) in PEERS.items():
        path = os.path.join(directory, name)
        if not os.path.exists(path + '.json'):
            why = open(path + '.why', encoding='utf-8').read().strip() if os.path.exists(path + '.why') else 'was not tried'
            NOT_RUN[title] = f'did not run here: {why}'
            continue
        with open(path + '.json', encoding='utf-8') as file:
            result = json.load(file)
        with open(path + '.version', encoding='utf-8') as file:
            version = file.read().strip()
        columns.append({'title': f'{title} {version}', 'attempts': result['attempts'], 'own': False, 'what': what,
                        'prefix': result['prefix'], 'date': result['date'], 'kernel': result['kernel']})
    return columns


def cell(column, surface):
    verdicts = [a['verdict'] for a in column['attempts'] if surface in (None, a['surface'])]
    crossed, blocked = verdicts.count('crossed'), verdicts.count('blocked')
    return f'{crossed}/{crossed + blocked}' if crossed + blocked else '-'


def words(prefix):
    # Paths of the machine that it was measured on say nothing.
    return shlex.join(os.path.basename(word) if word.startswith('/') and os.path.basename(word) in
                      ('codex', 'srt', 'crun-run', 'srt.json') else word for word in prefix)


def write(columns, out):
    surfaces = list(dict.fromkeys(a['surface'] for a in columns[0]['attempts']))
    print('# The same battery under other sandboxes\n', file=out)
    print('What `confine check` tries, tried under other sandboxes as well (`tools/check-peer`). Each is set up for the same thing, '
          'as its own documentation says: the workspace may be written, the rest of the host read, no network. Written by '
          '`tools/peers`, which fetches them and measures all anew.\n', file=out)
    print(f'Measured on {datetime.date.today().isoformat()}, Linux {platform.release()} ({platform.machine()}), as an ordinary '
          'user; Debian 12.\n', file=out)
    print('A cell is *crossed/tried*: how many of the attempts that cross unconfined crossed inside too. **It is no score.** Most of '
          'what crosses is not promised by anybody: reading what may be read, limits that were not asked for, variables of the '
          'environment, what is written now and run later. A peer that has another purpose is not worse for it. What it shows is '
          'where a sandbox ends, for somebody who combines them. Attempts of `SET-…` in `fs.write` start the sandbox itself in a '
          'hostile environment or workspace, which most leave to whoever calls them. Crossings of `confine` are those that its '
          'report declares; what it calls held was not crossed '
          f'({sum(c.get("over", 0) for c in columns)} over-claims).\n', file=out)
    print('| surface | ' + ' | '.join(c['title'] for c in columns) + ' |', file=out)
    print('|---' * (len(columns) + 1) + '|', file=out)
    for surface in surfaces:
        print(f'| `{surface}` | ' + ' | '.join(cell(c, surface) for c in columns) + ' |', file=out)
    print('| **all** | ' + ' | '.join(cell(c, None) for c in columns) + ' |', file=out)
    print('\n## How each was started\n\n`{}` is the workspace.\n', file=out)
    print('- **confine**: `confine check --all`, no options.', file=out)
    for column in columns:
        if not column['own']:
            print(f'- **{column["title"]}**: `{words(column["prefix"])}`\n  {column["what"]}', file=out)
    print('\n## Crossed in `fs.write`, by attempt\n', file=out)
    for column in columns:
        crossed = [f'{a["id"]} ({a["what"]})' for a in column['attempts'] if a['surface'] == 'fs.write' and a['verdict'] == 'crossed']
        print(f'- **{column["title"]}**: ' + ('; '.join(crossed) if crossed else 'none') + '.', file=out)
    print('\n## Not run\n', file=out)
    for name, why in NOT_RUN.items():
        print(f'- {name}: {why}.', file=out)


def main():
    columns = load(sys.argv[1])
    with open(sys.argv[2] + '.new', 'w', encoding='utf-8') as out:
        write(columns, out)
    os.rename(sys.argv[2] + '.new', sys.argv[2])


main()
