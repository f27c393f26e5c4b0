"""screen.py - a terminal that a person could sit at (tmux), for tests of what runs on it; and TAP."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 60  # seconds for whatever is waited for; nothing here should take one


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, name, holds, said=''):
        self.count += 1
        print(f'{"ok" if holds else "not ok"} {self.count} - {name}', flush=True)
        if not holds:
            self.failed += 1
            for line in str(said).splitlines()[-40:]:
                print(f'# {line}')

    def same(self, name, seen, expected):
        self.ok(name, seen == expected, f'seen:     {seen!r}\nexpected: {expected!r}')

    def skip(self, name, why):
        self.count += 1
        print(f'ok {self.count} - {name} # SKIP {why}', flush=True)

    def close(self):
        print(f'1..{self.count}')
        sys.exit(1 if self.failed else 0)


class Directory:
    """A private directory; gone at the end, also when we are told to end, or killed."""

    def __init__(self):
        base = os.environ.get('TMPDIR', '/tmp')
        # Where a view is private, /tmp is not the one of outside.
        self.path = tempfile.mkdtemp(prefix='confine-tty.', dir='/var/tmp' if base.startswith(('/tmp', '/run')) else base)
        subprocess.Popen(['setsid', 'sh', '-c', 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; '
                          'tmux -S "$2/screen" kill-server; rm -rf "$2"', 'sh',
                          str(os.getpid()), self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Screen:
    """A tmux server of its own with one shell. Keys go in, the screen is looked at."""

    def __init__(self, directory, prompt='outer> ', columns=100, rows=30):
        self.prompt = prompt
        self.socket = os.path.join(directory, 'screen')
        env = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': directory, 'LC_ALL': 'C.UTF-8', 'PS1': prompt,
               'TMPDIR': directory, 'HISTFILE': '/dev/null'}
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(rows), '-c', directory,
                  'exec env -i TERM="$TERM" ' + ' '.join(f"{k}='{v}'" for k, v in env.items()) +
                  ' bash --norc --noprofile')
        self.tmux('set', '-s', 'set-clipboard', 'on')
        self.tmux('set', '-g', 'status', 'off')
        self.tmux('set', '-w', 'allow-rename', 'on')
        self.wait_line(prompt.rstrip())

    def tmux(self, *words):
        return subprocess.run(['tmux', '-S', self.socket, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env={'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8', 'SHELL': '/bin/sh'}).stdout

    def type(self, *keys):
        self.tmux('send-keys', *keys)

    def say(self, line):
        """A line, and Enter."""
        self.tmux('send-keys', '-l', line)
        self.tmux('send-keys', 'Enter')

    def text(self):
        return self.tmux('capture-pane', '-p')

    def lines(self):
        return [line.rstrip() for line in self.text().splitlines()]

    def wait(self, holds, limit=LIMIT):
        """Until HOLDS is true of the lines. Return: whether it was, within the limit."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if holds(self.lines()):
                return True
            time.sleep(0.02)
        return False

    def wait_line(self, line):
        return self.wait(lambda lines: line in lines)

    def last(self):
        """The last line that is not empty."""
        return ([line for line in self.lines() if line] or [''])[-1]

    def wait_prompt(self, prompt=None):
        wanted = (prompt or self.prompt).rstrip()
        return self.wait(lambda lines: ([line for line in lines if line] or [''])[-1] == wanted)

    def clear(self, prompt=None):
        """An empty screen with a prompt on it."""
        self.wait_prompt(prompt)
        self.say('clear')
        wanted = (prompt or self.prompt).rstrip()
        self.wait(lambda lines: [line for line in lines if line] == [wanted])

    def run(self, line, prompt=None):
        """What a line prints, up to the next prompt."""
        self.clear(prompt)
        self.say(line)
        wanted = (prompt or self.prompt).rstrip()
        ended = self.wait(lambda lines: lines and lines[0].startswith(wanted) and len([l for l in lines if l]) > 1 and
                          [l for l in lines if l][-1] == wanted)
        return [l for l in self.lines() if l][1:-1] if ended else self.lines()

    def resize(self, columns, rows):
        self.tmux('resize-window', '-x', str(columns), '-y', str(rows))

    def close(self):
        self.tmux('kill-server')
