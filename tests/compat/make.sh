#!/bin/bash
# make.sh - gcc and make: a program of several files with tests, and a package of the distribution.
. "$(dirname "$0")/compat.sh"
need gcc make ar

outside sh -c 'cd "$1" && mkdir src tests && for i in 1 2 3 4 5 6 7 8; do
    printf "#include \"all.h\"\nint part%d(int x) { return x + %d; }\n" $i $i >src/part$i.c; done
    { for i in 1 2 3 4 5 6 7 8; do echo "int part$i(int x);"; done; } >src/all.h
    cat >src/main.c <<C
#include <stdio.h>
#include <stdlib.h>
#include "all.h"
int main(int argc, char **argv)
{
    char name[4096];
    FILE *file = NULL;
    int x = argc > 1 ? atoi(argv[1]) : 0;

    snprintf(name, sizeof(name), "%s/prog.XXXXXX", getenv("TMPDIR"));
    x = mkstemp(name) + 0 * x;
    file = x < 0 ? NULL : fdopen(x, "w+");
    if (!file)
        return 2;
    x = argc > 1 ? atoi(argv[1]) : 0;
    x = part1(part2(part3(part4(part5(part6(part7(part8(x))))))));
    fprintf(file, "%d", x);
    rewind(file);
    return fscanf(file, "%d", &x) == 1 && printf("%d\n", x) > 0 ? 0 : 1;
}
C
    cat >Makefile <<M
CFLAGS = -O1 -Wall -Isrc -MMD -pipe
parts = \$(patsubst %.c,%.o,\$(wildcard src/part*.c))
prog: src/main.o libparts.a ; \$(CC) -o \$@ \$^
libparts.a: \$(parts) ; \$(AR) rcs \$@ \$^
test: prog
	@for i in 0 1 2; do test "\$\$(./prog \$\$i)" = \$\$((36 + i)) || exit 1; done
	@echo passed
install: prog ; install -D -m 750 prog \$(DESTDIR)/usr/bin/prog
clean: ; rm -f src/*.o src/*.d *.a prog
-include \$(wildcard src/*.d)
M' sh "$w"

run confined -- make -j4
is "make -j4" "$status" 0
run confined -- make test
is "make test: what it prints" "$out" passed
is "make test: nothing on the standard error but the notice about loopback" \
    "$(grep -v no-loopback <<<"$err")" ""
run confined -- make -j4 prog
is "nothing is built twice" "$out" "make: 'prog' is up to date."
does "a header that is newer builds its users" 'sleep 0.01; touch src/all.h; make | grep part3 >/dev/null'
does "make install with a mode" 'make -s install DESTDIR=$PWD/root && test "$(stat -c %a root/usr/bin/prog)" = 750'
refuses "make install into the system is refused" 'cannot create regular file|Permission denied' 'make install'
is "the jobs of a failing make keep its status" "$(run confined -- make -j4 nothing; echo "$status")" 2
does "link-time optimisation, debug information, a shared library" 'gcc -flto -g -O2 -Isrc src/*.c -o lto && ./lto 1 | grep -qx 37
    gcc -shared -fPIC -o libx.so src/part1.c && gcc -Isrc -o dyn -x c - -L. -lx -Wl,-rpath,"\$ORIGIN" <<<"int part1(int); int main(void) { return part1(-1); }" && ./dyn'
does "an archive through -save-temps and coverage" 'gcc --coverage -save-temps=obj -o cov src/main.c src/part*.c -Isrc && ./cov >/dev/null && ls | grep -q gcda'
does "threads and OpenMP" 'gcc -fopenmp -o omp -x c - <<<"#include <omp.h>
int main(void) { int n = 0;
#pragma omp parallel num_threads(4) reduction(+:n)
n += 1; return n != 4; }" && ./omp && OMP_PROC_BIND=true ./omp'
if outside sh -c 'echo "int main(void) { return 0; }" | gcc -fsanitize=address,undefined -x c -o "$TMPDIR/a" - && "$TMPDIR/a"; s=$?; rm -f "$TMPDIR/a"; exit $s' 2>/dev/null; then
    does "AddressSanitizer with LeakSanitizer, clean" 'gcc -fsanitize=address,undefined -x c -o san - <<<"int main(void) { return 0; }" && ./san'
    refuses "and it finds a leak" 'detected memory leaks' 'gcc -fsanitize=address -x c -o leak - <<<"#include <stdlib.h>
int main(void) { volatile char *p = malloc(7); p = 0; return !!p; }" && ./leak'
    does "ThreadSanitizer" 'gcc -fsanitize=thread -x c -o tsan - <<<"#include <pthread.h>
static void *f(void *p) { return p; }
int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }" && (setarch -R ./tsan || ./tsan)'
else
    skip "AddressSanitizer" "the compiler has no sanitizers here"
fi
if outside sh -c 'command -v gdb' >/dev/null 2>&1; then
    does "gdb on a program of its own" 'gcc -g -O0 -o dbg -x c - <<<"int main(void) { return 42; }" && gdb -q -batch -ex run -ex "print \$_exitcode" ./dbg 2>&1 | grep -q "= 42"'
    does "gdb stops at a breakpoint" 'gdb -q -batch -ex "break main" -ex run -ex bt ./dbg 2>&1 | grep -q "#0.*main"'
else
    skip "gdb" "gdb is not installed"
fi
if outside sh -c 'command -v strace' >/dev/null 2>&1; then
    does "strace on a child" 'strace -f -o trace ./prog 3 | grep -qx 39 && grep -q execve trace'
else
    skip "strace" "strace is not installed"
fi
if outside sh -c 'echo "#include <stdio.h>
int main(void) { return tmpfile() ? 0 : (perror(\"tmpfile\"), 3); }" | gcc -x c -o "$1/tmpfile" -' sh "$w"; then
    if views; then
        does "tmpfile() has /tmp built in: there is a private one" './tmpfile'
    else
        refuses "tmpfile() has /tmp built in: it fails with its errno" 'tmpfile: Permission denied' './tmpfile'
    fi
    case $backend:$CONFINE_STAGE/ in
    namespace:*) ;;
    *:/tmp/*) skip "--tmp /tmp lets it work" "confine itself lies in /tmp here" ;;
    *)
        options=(--tmp /tmp) inside=(HOME=/nonexistent)
        does "--tmp /tmp lets it work" './tmpfile'
        options=() inside=()
        ;;
    esac
fi
does "make clean" 'make -s clean && test ! -e prog'

# bzip2 of the distribution: its own build with its own tests.
source=${CONFINE_BUILD:-}/deps/src/bzip2
if [ ! -r "$source/Makefile" ]; then
    source=$test_dir/src/bzip2
    timeout 120 "$here/../../tools/fetch-source" "$test_dir/src" bzip2 >"$test_dir/.fetch" 2>&1 || source=
fi
if [ -n "$source" ]; then
    mkdir "$w/bzip2"
    cp -R "$source/." "$w/bzip2/"
    own "$w/bzip2"
    does "bzip2: make and its tests" 'cd bzip2 && make -j2 >log 2>&1 || { tail log; exit 1; }; grep -q "tests.* fine" log || tail -5 log'
    does "bzip2: what was built works on a megabyte" 'head -c 1M /dev/urandom >big && ./bzip2/bzip2 -k big && ./bzip2/bzip2 -dc big.bz2 | cmp - big'
else
    skip "bzip2: make and its tests" "its source cannot be had here: $(tail -1 "$test_dir/.fetch")"
fi
close
