#!/usr/bin/env python3
"""real.py - the registries that this machine is configured for: npm installs with dependencies, apt downloads, through
--allow. Hosts are read from the tools' own configuration when this runs; nothing is written down here.

Should:  see the connections by name in the report, and a run without the rule fail.
Mustn't: need a registry: where none is configured or reachable, it is skipped. A TAP program.
"""
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.parse

from outside import Run, Tap

tap = Tap()


def say(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd='/').stdout.strip()


def rules(url):
    """The options that this machine needs for the host of URL, or None: it cannot be reached."""
    parts = urllib.parse.urlsplit(url)
    proxy = os.environ.get(f'{parts.scheme}_proxy') or os.environ.get(f'{parts.scheme.upper()}_PROXY')
    target = f'{parts.hostname}:{parts.port}' if parts.port else parts.hostname
    if proxy:
        return ['--allow', target, '--upstream', proxy]
    try:
        addresses = {row[4][0] for row in socket.getaddrinfo(parts.hostname, parts.port or parts.scheme, type=socket.SOCK_STREAM)}
        with socket.create_connection((parts.hostname, parts.port or (443 if parts.scheme == 'https' else 80)), 10):
            pass
    except OSError:
        return None
    return ['--allow', target if all(ipaddress.ip_address(one).is_global for one in addresses) else f'private:{target}']


def npm(directory):
    registry = say('npm', 'config', 'get', 'registry')
    options = rules(registry) if registry.startswith('http') else None
    if not options:
        tap.skip('npm install', 'no npm, or its registry cannot be reached')
        return
    with open(directory + '/package.json', 'w', encoding='ascii') as file:
        json.dump({'name': 'project', 'version': '1.0.0', 'dependencies': {'debug': '4.3.4'}}, file)
    command = ['npm', 'install', '--no-audit', '--no-fund', '--fetch-retries', '0']
    host = urllib.parse.urlsplit(registry).hostname
    run = Run(['-w', directory, '--allow', 'unlisted.invalid'], command)
    tap.ok(run.status != 0 and run.refused().get(host) == 'not-listed', 'npm install without the rule', run)
    run = Run(['-w', directory, *options], command)
    tap.ok(run.status == 0 and os.path.isdir(directory + '/node_modules/ms') and
              any(row['name'] == host and row['received'] for row in run.network()['connections']), 'npm install with dependencies', run)


def apt(directory):
    line = say('apt-get', 'download', '--print-uris', 'hostname')
    url = line.split("'")[1] if line.count("'") > 1 else ''
    options = rules(url) if url.startswith('http') else None
    if not options:
        tap.skip('apt-get download', 'no apt, or its mirror cannot be reached')
        return
    run = Run(['-w', directory, *options], ['apt-get', 'download', '-o', 'APT::Sandbox::User=root', 'hostname'])
    tap.ok(run.status == 0 and any(name.endswith('.deb') for name in os.listdir(directory)), 'apt-get download', run)


place = tempfile.mkdtemp(prefix='confine-real.', dir='/var/tmp')
try:
    for one in (npm, apt):
        here = os.path.join(place, one.__name__)
        os.mkdir(here)
        Run.directory = here
        one(here)
finally:
    shutil.rmtree(place)
sys.exit(tap.close())
