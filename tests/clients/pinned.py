"""pinned.py - one version of a package from npm, and no other."""
import json
import subprocess


def install(place, package, version, integrity, *words, env=None):
    """Into PLACE/node_modules. `words`: more of npm's options. Return: None, or why it cannot be had."""
    with open(place + '/package.json', 'w') as file:
        json.dump({'private': True, 'dependencies': {package: version}}, file)
    done = subprocess.run(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', *words], cwd=place, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    if done.returncode:
        return f'npm cannot install it: {done.stdout.strip().splitlines()[-1:]}'
    with open(place + '/package-lock.json') as file:
        there = json.load(file)['packages']['node_modules/' + package]
    assert (there['version'], there['integrity']) == (version, integrity), there
    return None
