"""tap.py - what tests in Python share: TAP, each point at once, what is wrong with it behind it, the plan at the end; a port; and a home."""
import atexit
import os
import random
import shutil
import socket
import sys
import tempfile


def own_home():
    """A home for this process and what it starts, until it ends. One that is not there would not do: confine takes the
    user's real one in its place, with its policies, and keeps its caches there."""
    home, owner = tempfile.mkdtemp(prefix='confine-home.', dir='/var/tmp'), os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(home, ignore_errors=True))
    os.environ['HOME'] = home


def free_port():
    """A port of the loopback that nobody has, of those that the kernel does not hand out by itself: one of these would be somebody's soon."""
    with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as file:
        least = int(file.read().split()[0])
    while True:
        with socket.socket() as one:
            try:
                one.bind(('127.0.0.1', random.randrange(2000, least) if least > 4000 else 0))
                return one.getsockname()[1]
            except OSError:  # somebody's
                pass


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        print('TAP version 13', flush=True)

    def ok(self, good, name, why=''):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good:
            print('\n'.join('# ' + line[:600] for line in str(why).splitlines()[:40]), flush=True)
        return good

    def skip(self, name, why):
        self.count += 1
        print(f'ok {self.count} - {name} # SKIP {why}', flush=True)

    def close(self):
        """The plan. Return: the status to end with: 1 as well where nothing was looked at."""
        print(f'1..{self.count}', flush=True)
        return 1 if self.failed or not self.count else 0

    def finish(self):
        sys.exit(self.close())
