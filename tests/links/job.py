"""Runs namespace-run --terminal as a job of an interactive shell, on a terminal of its own.

    job.py LINK DIRECTORY

Every step waits for what it must see, and gives up only after a long time.
"""
import os
import pty
import select
import sys
import time

LINK, PLACE = sys.argv[1:3]
PATIENCE = 60


class Shell:
    """An interactive shell; `seen` holds what its terminal has shown and nobody has looked at."""

    def __init__(self):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir("/")
            os.environ.update(PS1="prompt> ", ENV="", HISTFILE="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.seen = b""
        self.wait("prompt> ")

    def wait(self, text):
        """Read until TEXT was shown; return everything up to it."""
        end = time.monotonic() + PATIENCE
        while text.encode() not in self.seen:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise SystemExit(f"job.py: waited for {text!r}, saw {self.seen!r}")
            self.seen += os.read(self.terminal, 4096)
        before, _, self.seen = self.seen.partition(text.encode())
        return before.decode(errors="replace")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def command(self, text):
        self.type(text + "\n")
        self.wait("\n")  # the echo


def run(words):
    return f"{LINK} --terminal --rw {PLACE} -- {words}"


shell = Shell()
# The words are computed, so that the echo of the line is not taken for what is waited for.
# exec, because a shell that is stopped between vfork and exec of a child cannot stop itself.
shell.command(run("sh -c 'echo re\"\"ady; exec cat'"))
shell.wait("ready")
shell.type("\x1a")  # Ctrl-Z
shell.wait("Stopped")
print("Ctrl-Z stops it, and the shell has its terminal")
shell.wait("prompt> ")
shell.command("fg")
shell.wait("cat'")
shell.type("again\n")
shell.wait("again\r\nagain")
print("fg continues it, with the terminal")
shell.type("\x03")  # Ctrl-C
shell.wait("prompt> ")
shell.command("echo status $?")
shell.wait("status 130")
print("Ctrl-C ends it: 130")
shell.wait("prompt> ")
shell.command(run("sh -c 'read line; echo got $line; exit 3'") + " &")
shell.wait("prompt> ")
shell.command("sleep 0.3; jobs")
while "Stopped" not in shell.wait("prompt> "):
    shell.command("jobs")
print("a read in the background stops it")
shell.command("fg")
shell.wait("exit 3'")
shell.type("word\n")
shell.wait("got word")
shell.wait("prompt> ")
shell.command("echo status $?")
shell.wait("status 3")
print("fg lets it read")
shell.wait("prompt> ")
shell.command(run("sh -c 'echo re\"\"ady; exec sleep 1000'") + " &")
shell.wait("ready")
shell.command("kill %1; wait %1; echo status $?")
shell.wait("status 143")
print("kill %1 ends it: 143")
shell.wait("prompt> ")
shell.command(f"echo word | {run('cat')} | cat")
shell.wait("word\r\n")
shell.wait("prompt> ")
print("a pipeline")
shell.command(run("bash --norc --noprofile --noediting -i"))
shell.wait("prompt> ")
shell.command("sh -c 'echo in\"\"side; exec cat'")
shell.wait("inside")
shell.type("\x1a")
shell.wait("Stopped")
shell.wait("prompt> ")
shell.command("fg")
shell.wait("cat'")
shell.type("deep\n")  # only who has the terminal reads it
shell.wait("deep\r\ndeep")
shell.type("\x03")
shell.wait("prompt> ")
shell.command("exit 9")
shell.wait("prompt> ")
shell.command("echo status $?")
shell.wait("status 9")
print("a shell inside has jobs of its own")
shell.wait("prompt> ")
shell.command("exit")
os.waitpid(shell.child, 0)
