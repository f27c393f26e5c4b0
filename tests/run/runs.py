"""runs.py - one run of confine seen from outside: status, report, and whether anything of it is still there.

That nothing is left is not looked up in a list of processes: every process of a run inherits the write end of a
pipe (--pass-fd), so the end of that pipe is the end of the last of them, whatever it is called and wherever it is.
"""
import json, os, select, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from tap import Tap  # noqa: E402, F401: for those that use this file

STAGE = os.environ["CONFINE_STAGE"]
CONFINE = os.path.join(STAGE, "bin/confine")
BACKENDS = ("namespace", "bubblewrap", "landlock")
NOBODY = 65534
GENEROUS = 60  # seconds for what must happen; only a failure takes them


class Place:
    """A private directory, removed at the end, also when this process is told to end or is killed."""

    def __init__(self):
        # /tmp and /run are private in a view: the workspace lies elsewhere.
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="confine-runs.", dir=os.environ.get("CONFINE_PLACES", "/var/tmp")))
        os.chmod(self.path, 0o755)
        self.work = os.path.join(self.path, "w")
        self.home = os.path.join(self.path, "home")
        self.tmp = os.path.join(self.path, "tmp")
        for each in (self.work, self.home, self.tmp):
            os.mkdir(each)
            if os.geteuid() == 0 and each != self.tmp:
                os.chown(each, NOBODY, NOBODY)
        os.chmod(self.tmp, 0o1777)  # as /tmp: root's sweep only goes where nobody else renames
        subprocess.Popen(["setsid", "sh", "-c", 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"',
                          "sh", str(os.getpid()), self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(signum, lambda *_: sys.exit(130))

    def remove(self):
        for directory, names, _ in os.walk(self.path):
            for name in names:
                if not os.path.islink(os.path.join(directory, name)):
                    os.chmod(os.path.join(directory, name), 0o700)
        shutil.rmtree(self.path, ignore_errors=True)

    def build(self, name, source, *flags):
        path = os.path.join(self.path, name)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-static", *flags,
                        "-o", path, os.path.join(HERE, source)], check=True)
        return path


class Run:
    """A run that has been started: `pid`, and after wait() `status` and `report` (None if there is none)."""

    def __init__(self, place, backend, options, command, stdin=subprocess.DEVNULL, front=()):
        self.held, theirs = os.pipe()
        # A file in memory: a pipe of an ordinary user's is small once he has many, and the report would wait in it.
        report = os.memfd_create("report")
        writer = os.dup(report)
        os.set_inheritable(theirs, True)
        os.set_inheritable(writer, True)
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": place.home, "LC_ALL": "C", "TMPDIR": place.tmp}
        self.process = subprocess.Popen(
            [*(word.format(theirs, writer) for word in front), CONFINE, "run", "-q", "-b", backend, "-w", place.work, "--pass-fd", str(theirs), "--report", f"fd:{writer}",
             *options, "--", *command], cwd=place.work, env=environment, stdin=stdin, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, pass_fds=(theirs, writer))
        self.pid = self.process.pid
        self.report_fd = report
        os.close(theirs)
        os.close(writer)

    def gone(self, seconds=0):
        """Has everything that holds the pipe ended, now or within that time?"""
        ready, _, _ = select.select([self.held], [], [], seconds)
        return bool(ready)

    def wait(self):
        code = self.process.wait(timeout=GENEROUS)
        # What is left of a run that was killed may hold the other end: only what is there is read.
        os.set_blocking(self.process.stderr.fileno(), False)
        self.errors = (self.process.stderr.read() or b"").decode(errors="replace")
        self.status = 128 - code if code < 0 else code
        text = os.pread(self.report_fd, 1 << 24, 0)
        self.report = json.loads(text) if text else None
        return self.status

    def close(self):
        for fd in (self.held, self.report_fd):
            os.close(fd)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def wait_for(path, process=None):
    """The file is there, or the process has ended, or it took too long. Return: is it there?"""
    end = time.monotonic() + GENEROUS
    while not os.path.exists(path) and time.monotonic() < end and (process is None or process.poll() is None):
        time.sleep(0.005)
    return os.path.exists(path)


def observers(pid):
    """The children of confine that are confine itself, and stand behind a filter: each begins while the command starts."""
    found = []
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm", encoding="ascii") as comm, open(f"/proc/{child}/status", encoding="ascii") as status:
                if comm.read().strip() == "confine" and "Seccomp:\t2" in status.read():
                    found.append(int(child))
    return found


def usable(place):
    """Which backends work here: {name: None or why not}."""
    answers = {}
    for backend in BACKENDS:
        with Run(place, backend, [], ["true"]) as run:
            run.wait()
            answers[backend] = None if run.status == 0 else run.errors.strip() or f"status {run.status}"
    return answers
