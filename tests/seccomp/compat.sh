#!/bin/sh
# Tools that people run keep working behind the filter. Each is tried bare first: what fails there is no control.
set -u

work=$SECCOMP_WORK/compat
PATH=/usr/local/bin:/usr/bin:/bin HOME=$work LC_ALL=C TERM=dumb
export PATH HOME LC_ALL TERM
unset PYENV_VERSION GIT_DIR GIT_WORK_TREE TMPDIR
mkdir "$work" && cd "$work" || exit 1
number=0
failed=0

skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# try NAME WANTED SCRIPT: the script ends with 0 and its output holds WANTED, bare and behind each set
try() {
    try_in landlock "$@"
    try_in namespace "$@"
}

# try_in WORDS NAME WANTED SCRIPT: the same behind one choice, a set and what is left out of it
try_in() {
    words=$1
    shift
    if ! timeout 60 sh -eu -c "$3" >bare.out 2>&1 </dev/null || ! grep -q -- "$2" bare.out; then
        skip "$words: $1" "fails without the filter too: $(tail -n 1 bare.out | tr '#\n' '. ')"
        return
    fi
    number=$((number + 1))
    # shellcheck disable=SC2086 # several words
    "$CONFINE_LINKS/seccomp-run" --set $words --sentinel 300 -- timeout 60 sh -eu -c "$3" >filtered.out 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 0 ] && grep -q -- "$2" filtered.out; then
        echo "ok $number - $words: $1"
    else
        failed=1
        sed 's/^/# /' filtered.out | tail -n 20
        echo "not ok $number - $words: $1 (status $status)"
    fi
}

# have NAME PROGRAM...: skips NAME unless every program is there
have() {
    name=$1
    shift
    for program; do
        command -v "$program" >/dev/null || { skip "$name" "no $program"; return 1; }
    done
}

# build OUTPUT COMPILER FLAGS...: the source is on standard input
build() {
    output=$1
    shift
    cat >"$output.c"
    "$@" -o "$output" "$output.c" 2>build.out
}

echo 'TAP version 13'

name='AddressSanitizer and LeakSanitizer: no leak'
if have "$name" gcc; then
    if build asan gcc -g -fsanitize=address <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char *volatile text = malloc(100);

    (void)argv;
    strcpy(text, "done");
    puts(text);
    if (argc == 1)
        free(text);
    text = NULL;
    return 0;
}
C
    then
        try "$name" "done" ./asan
        try 'LeakSanitizer: a leak is found' 'detected memory leaks' './asan leak || [ $? -eq 1 ] || [ $? -eq 23 ]'
    else
        skip "$name" "no AddressSanitizer: $(head -n 1 build.out)"
    fi
fi

name='ThreadSanitizer: a race is found'
if have "$name" clang; then
    if build tsan clang -g -fsanitize=thread <<'C'
#include <pthread.h>
#include <stdio.h>
static int shared;
static void *add(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        shared++;
    return NULL;
}
int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    puts("done");
    return 0;
}
C
    then
        try "$name" 'data race' './tsan || [ $? -eq 66 ]'
    else
        skip "$name" "no ThreadSanitizer: $(head -n 1 build.out)"
    fi
fi

name='OpenMP with bound threads'
if have "$name" gcc; then
    if build openmp gcc -fopenmp <<'C'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 1; i <= 100; i++)
        sum += i;
    printf("sum %d, bind %d\n", sum, omp_get_proc_bind());
    return sum != 5050;
}
C
    then
        try "$name" 'sum 5050, bind 1' 'OMP_PROC_BIND=true ./openmp'
    else
        skip "$name" "no OpenMP: $(head -n 1 build.out)"
    fi
fi

name='own thread: affinity, priority and scheduler by number'
if have "$name" gcc; then
    build own gcc -D_GNU_SOURCE -pthread <<'C'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void)
{
    cpu_set_t set;
    struct sched_param param = {0};

    if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) ||
        pthread_setaffinity_np(pthread_self(), sizeof(set), &set) || pthread_setschedparam(pthread_self(), SCHED_OTHER, &param) ||
        setpriority(PRIO_PROCESS, (id_t)gettid(), 5))
        return 1;
    puts("done");
    return 0;
}
C
    try "$name" "done" ./own
fi

name='gdb on an own child'
if have "$name" gdb gcc; then
    build child gcc -g <<'C'
#include <stdio.h>
int main(void)
{
    int answer = 42;

    printf("answer %d\n", answer);
    return 0;
}
C
    try "$name" 'exited normally' \
        'gdb -nx -batch -ex "break main" -ex run -ex next -ex "print answer" -ex continue ./child'
fi

name=strace
if have "$name" strace; then
    try "$name" 'execve(' 'strace -f -o trace.out true; cat trace.out'
fi

name=Java
if have "$name" java javac; then
    cat >Hello.java <<'J'
import java.util.stream.IntStream;

public class Hello {
    public static void main(String[] arguments) throws Exception {
        int sum = IntStream.rangeClosed(1, 100).parallel().sum();
        Thread thread = new Thread(() -> System.out.println("hello " + sum));
        thread.setPriority(Thread.MAX_PRIORITY);
        thread.start();
        thread.join();
    }
}
J
    try "$name" 'hello 5050' 'java -XX:ThreadPriorityPolicy=0 -XX:+UseG1GC Hello.java'
fi

name='Python: asyncio'
if have "$name" python3; then
    try "$name" 'done 6 b.x' 'python3 -c "
import asyncio
async def work(n):
    await asyncio.sleep(0.01)
    return n
async def main():
    child = await asyncio.create_subprocess_exec(\"echo\", \"x\", stdout=asyncio.subprocess.PIPE)
    text = (await child.communicate())[0].strip()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sum, [1])
    print(\"done\", sum(await asyncio.gather(work(1), work(2), work(3))), text)
asyncio.run(main())"'
    cat >pool.py <<'P'
import multiprocessing

def square(n):
    return n * n

if __name__ == "__main__":
    for method in "fork", "spawn":
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, sum(pool.map(square, range(10))))
P
    try 'Python: multiprocessing' 'spawn 285' 'python3 pool.py'
    try 'Python: shutil and os keep modes and times' 'ok' 'python3 -c "
import os, shutil
open(\"one\", \"w\").close(); os.chmod(\"one\", 0o750); os.utime(\"one\", (1, 2))
shutil.copy2(\"one\", \"two\"); os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)); os.getpriority(os.PRIO_PROCESS, 0)
print(\"ok\" if os.stat(\"two\").st_mtime == 2 else \"lost\")"'
fi

name=Node.js
if have "$name" node; then
    try "$name" 'hello child worker' 'node -e "
const {execFileSync} = require(\"child_process\"), {Worker} = require(\"worker_threads\");
const text = execFileSync(\"echo\", [\"child\"]).toString().trim();
require(\"fs\").promises.readFile(\"/etc/passwd\").then(() =>
  new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(\\\"worker\\\")\", {eval: true})
    .on(\"message\", (m) => console.log(\"hello\", text, m)));"'
fi

name='tar, cp -p, install, mv, mkfifo, ln'
try "$name" "done" '
rm -rf files; mkdir files; cd files; mkdir -p a/b; echo x >a/b/c; chmod 750 a/b/c; ln -s c a/b/l; mkfifo a/p
tar cf t.tar a; mkdir out; tar xpf t.tar -C out; cp -pR out copy; install -m 755 a/b/c bin; mv copy moved
[ "$(stat -c %a bin moved/a/b/c | tr "\n" " ")" = "755 750 " ]; [ -p moved/a/p ]; echo done'

name='git init, commit, clone'
if have "$name" git; then
    try "$name" "done" '
rm -rf repo again; git init -q repo; cd repo; git config user.email a@b; git config user.name n
echo x >f; git add f; git commit -q -m one; git gc -q; cd ..; git clone -q repo again; [ -f again/f ]; echo done'
fi

name='gcc, make -j and the built program'
if have "$name" gcc make; then
    try "$name" 'built and run' '
rm -rf build; mkdir build; cd build
printf "#include <stdio.h>\nint main(void) { puts(\"built and run\"); return 0; }\n" >p.c
printf "all: p q\n\t./p\n%%: %%.c\n\tgcc -O2 -o \$@ \$<\nq.c: p.c\n\tcp p.c q.c\n" >Makefile
make -s -j2'
fi

name=Perl
if have "$name" perl; then
    try "$name" 'child 3 nice 2' 'perl -e "\$| = 1; use POSIX; POSIX::nice(2); system(\"exit 3;\"); print \"child \", \$? >> 8, \" nice \", getpriority(0, 0), \"\n\""'
fi

# What own namespaces hold works, and with priv.userns left out a sandbox inside.
name='Python: servers on loopback and a Unix socket, a message by shared memory'
if have "$name" python3; then
    cat >serve.py <<'P'
import asyncio, os, socket
from multiprocessing import shared_memory

async def echo(reader, writer):
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()

async def ask(reader, writer):
    writer.write(b"x\n")
    return await reader.readline()

async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    tcp = await ask(*await asyncio.open_connection(*server.sockets[0].getsockname()))
    await asyncio.start_unix_server(echo, "serve.sock")
    unix = await ask(*await asyncio.open_unix_connection("serve.sock"))
    os.unlink("serve.sock")
    block = shared_memory.SharedMemory(create=True, size=16)
    block.close()
    block.unlink()
    print("done", tcp == unix == b"x\n", len(socket.getaddrinfo("127.0.0.1", 80)) > 0)

asyncio.run(main())
P
    try_in namespace "$name" 'done True True' 'python3 serve.py'
fi

name='bubblewrap inside'
if have "$name" bwrap; then
    try_in 'namespace --without priv.userns' "$name" 'made inside' \
        'bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp sh -c "[ ! -e /tmp/x ] && echo made inside"'
fi

name='unshare: namespaces and mounts inside'
if have "$name" unshare; then
    try_in 'namespace --without priv.userns' "$name" 'done' \
        'unshare --user --map-root-user --mount --net --pid --fork sh -c "mount -t tmpfs none /mnt && umount /mnt && echo done"'
fi

name='Chromium with its own sandbox inside'
if have "$name" chromium; then
    try_in 'namespace --without priv.userns' "$name" 'hello' \
        'chromium --headless --disable-gpu --user-data-dir="$PWD/chromium" --dump-dom "data:text/html,<p>hello</p>"'
fi

echo "1..$number"
exit "$failed"
