#!/bin/bash
# python.sh - python3: virtual environments, unittest, temporary files, processes, databases, loops.
. "$(dirname "$0")/compat.sh"
need python3

py() {
    local name=$1 text
    text=$(cat)
    ok "$name" confined -- python3 -c "$text"
}

does "a module, its byte code, unittest" 'mkdir -p pkg && echo "def twice(x): return 2 * x" >pkg/__init__.py
    printf "import unittest, pkg\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(pkg.twice(2), 4)\n" >test_pkg.py
    python3 -m unittest -q 2>&1 | grep -q OK && test -d pkg/__pycache__'
if outside python3 -c 'import venv, ensurepip' 2>/dev/null; then
    does "a virtual environment with pip" 'python3 -m venv env && env/bin/python -c "import sys; assert sys.prefix != sys.base_prefix" && env/bin/pip --version | grep -q env'
    does "pip installs a local package without the network" 'mkdir -p dist/thing && echo "answer = 42" >dist/thing/__init__.py
        printf "from setuptools import setup\nsetup(name=\"thing\", version=\"1\", packages=[\"thing\"])\n" >dist/setup.py
        env/bin/python -c "import setuptools" 2>/dev/null || env/bin/pip --version >/dev/null
        env/bin/pip install -q --no-index --no-build-isolation ./dist && env/bin/python -c "import thing; assert thing.answer == 42"'
    refuses "pip from the network fails, and says that there is none" 'Operation not permitted|No matching distribution|NewConnectionError' \
        'timeout 120 env/bin/pip install -q --retries 0 --disable-pip-version-check six'
else
    does "a virtual environment without pip (this python has no ensurepip)" 'python3 -m venv --without-pip env && env/bin/python -c "import sys; assert sys.prefix != sys.base_prefix"'
fi
py "tempfile: files, named files, directories; TMPDIR is private" <<'PY'
import os, tempfile
with tempfile.TemporaryFile() as f: f.write(b'x')
with tempfile.NamedTemporaryFile() as f: assert os.path.exists(f.name)
with tempfile.TemporaryDirectory() as d: open(os.path.join(d, 'a'), 'w').close()
fd, name = tempfile.mkstemp(); os.write(fd, b'left'); os.close(fd)
with tempfile.SpooledTemporaryFile(max_size=4) as f: f.write(b'more than that')
assert tempfile.gettempdir() == os.environ['TMPDIR']
assert os.environ['TMPDIR'] == '/tmp' and os.stat('/tmp').st_mode & 0o7777 == 0o1777 or os.stat(os.environ['TMPDIR']).st_mode & 0o777 == 0o700
PY
py "subprocess: pipes, a shell, a time limit, a signal" <<'PY'
import signal, subprocess
assert subprocess.run(['cat'], input=b'in', capture_output=True).stdout == b'in'
assert subprocess.run('echo a | tr a b', shell=True, capture_output=True, text=True).stdout == 'b\n'
try: subprocess.run(['sleep', '9'], timeout=0.2); raise SystemExit('no timeout')
except subprocess.TimeoutExpired: pass
p = subprocess.Popen(['sleep', '9']); p.terminate(); assert p.wait() == -signal.SIGTERM
p = subprocess.Popen(['sleep', '9'], start_new_session=True); p.kill(); assert p.wait() == -9
PY
does "sqlite3: a WAL database in the workspace" 'python3 -c "
import sqlite3
d = sqlite3.connect(\"a.db\"); d.execute(\"pragma journal_mode=wal\"); d.execute(\"create table t (x)\")
d.executemany(\"insert into t values (?)\", [(i,) for i in range(1000)]); d.commit()
assert d.execute(\"select sum(x) from t\").fetchone() == (499500,)"'
py "threads, locks, a thread pool" <<'PY'
import concurrent.futures as c, threading
with c.ThreadPoolExecutor(8) as p: assert sum(p.map(lambda x: x * x, range(100))) == 328350
threading.Thread(target=lambda: None).start()
PY
py "fork, exec, wait, sockets in pairs, select, mmap" <<'PY'
import mmap, os, select, socket
a, b = socket.socketpair(); a.send(b'x'); assert select.select([b], [], [], 1)[0] and b.recv(1) == b'x'
m = mmap.mmap(-1, 4096); pid = os.fork()
if not pid: m[0] = 7; os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3 and m[0] == 7
PY
py "asyncio: processes, pipes, queues, a signal handler" <<'PY'
import asyncio, os, signal
async def main():
    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    assert (await p.communicate(b'hello'))[0] == b'hello'
    got = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.wait_for(got.wait(), 2)
    q = asyncio.Queue(); await q.put(1); assert await q.get() == 1
    assert await asyncio.to_thread(lambda: 5) == 5
asyncio.run(main())
PY
cat >"$w/mp.py" <<'PY'
import multiprocessing as m, sys
def f(x): return x * x
def put(q): q.put('from a child')
if __name__ == '__main__':
    c = m.get_context(sys.argv[1])
    with c.Pool(2) as p: assert p.map(f, range(10)) == [x * x for x in range(10)]
    q = c.Queue(); p = c.Process(target=put, args=(q,)); p.start(); assert q.get() == 'from a child'; p.join()
    v = c.Value('i', 0)
    with v.get_lock(): v.value += 1
    e = c.Event(); e.set(); assert e.is_set()
PY
cat >"$w/shm.py" <<'PY'
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=16); s.buf[0] = 1; s.close(); s.unlink()
PY
own "$w"
# POSIX semaphores and shared memory are files in /dev/shm, by name. Without mounts there is no private one.
way=
if ! views; then
    refuses "multiprocessing without /dev/shm says which file" "PermissionError|Permission denied" "python3 mp.py fork"
    options=(--write /dev/shm) way='--write /dev/shm: '
fi
for method in fork spawn; do
    does "${way}multiprocessing: pool, queue, value, event ($method)" "python3 mp.py $method"
done
does "${way}concurrent.futures: a process pool" 'python3 -c "
import concurrent.futures as c
with c.ProcessPoolExecutor(2) as p: assert list(p.map(abs, [-1, -2])) == [1, 2]"'
does "${way}shared memory" 'python3 shm.py'
options=()
does "os: links, times, modes, rename, walk in the workspace" 'python3 -c "
import os, shutil
os.makedirs(\"d/e\"); open(\"d/e/f\", \"w\").close(); os.link(\"d/e/f\", \"d/g\"); os.symlink(\"e\", \"d/h\"); os.utime(\"d/g\", (1, 2)); os.chmod(\"d/g\", 0o640)
assert os.stat(\"d/e/f\").st_mtime == 2; shutil.copytree(\"d\", \"k\", symlinks=True); os.rename(\"k/e/f\", \"k/f\"); shutil.rmtree(\"d\"); shutil.move(\"k\", \"d\")
assert sorted(os.listdir(\"d\")) == [\"e\", \"f\", \"g\", \"h\"]"'
if views; then
    does "a server on loopback, and a client" 'python3 -u -m http.server --bind 127.0.0.1 8000 >log 2>&1 & server=$!
        until grep -q Serving log; do sleep 0.1; kill -0 $server; done
        echo served >page; python3 -c "import urllib.request as u; assert u.urlopen(\"http://127.0.0.1:8000/page\").read() == b\"served\\n\""; kill $server'
else
    refuses "a listening socket fails with its errno, at once" 'PermissionError.*Operation not permitted' \
        'python3 -m http.server --bind 127.0.0.1 0'
fi
refuses "a download fails, at once" 'Operation not permitted|Name or service|name resolution' \
    'timeout 60 python3 -c "import urllib.request as u; u.urlopen(\"https://example.org\", timeout=30)"'
close
