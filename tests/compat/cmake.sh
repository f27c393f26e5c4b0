#!/bin/bash
# cmake.sh - cmake with make and ninja, meson with ninja: configure, build, test, install into the workspace.
. "$(dirname "$0")/compat.sh"
need gcc

mkdir "$w/src"
echo 'int twice(int x) { return 2 * x; }' >"$w/src/part.c"
printf '#include <stdio.h>\nint twice(int x);\nint main(void) { return printf("%%d\\n", twice(21)) < 0; }\n' >"$w/src/main.c"
cat >"$w/src/CMakeLists.txt" <<'CM'
cmake_minimum_required(VERSION 3.10)
project(app C)
include(CheckFunctionExists)
check_function_exists(mkstemp HAVE_MKSTEMP)
find_package(Threads REQUIRED)
add_library(part part.c)
add_executable(app main.c)
target_link_libraries(app part Threads::Threads)
enable_testing()
add_test(NAME runs COMMAND app)
install(TARGETS app)
CM
cat >"$w/src/meson.build" <<'ME'
project('app', 'c')
cc = meson.get_compiler('c')
assert(cc.has_function('mkstemp'))
app = executable('app', 'main.c', 'part.c', dependencies: dependency('threads'), install: true)
test('runs', app)
ME
own "$w"
if outside sh -c 'command -v cmake && command -v make' >/dev/null 2>&1; then
    does "cmake and make" 'cmake -S src -B cm -DCMAKE_INSTALL_PREFIX="$PWD/root" >log 2>&1 || { tail log; exit 1; }; cmake --build cm -j2 >log 2>&1 || { tail log; exit 1; }'
    does "ctest, install" 'cd cm && ctest -j2 >log 2>&1 && grep -q "100% tests passed" log && cmake --install . >/dev/null && ../root/bin/app | grep -qx 42'
    if outside sh -c 'command -v ninja' >/dev/null 2>&1; then
        does "cmake and ninja" 'cmake -G Ninja -S src -B cn >/dev/null && ninja -C cn >/dev/null && cn/app | grep -qx 42'
    fi
else
    skip "cmake" "cmake is not installed for this user"
fi
if outside sh -c 'command -v meson && command -v ninja' >/dev/null 2>&1; then
    does "meson and ninja" 'meson setup me src --prefix "$PWD/mroot" >log 2>&1 || { tail log; exit 1; }; ninja -C me >log 2>&1 || { tail log; exit 1; }'
    does "meson test, install" 'meson test -C me >log 2>&1 || { tail log; exit 1; }; meson install -C me >/dev/null && mroot/bin/app | grep -qx 42'
else
    skip "meson" "meson is not installed for this user"
fi
if outside sh -c 'command -v ccache' >/dev/null 2>&1; then
    does "ccache in the private cache" 'ccache gcc -c src/part.c -o a.o && ccache gcc -c src/part.c -o a.o'
else
    skip "ccache" "ccache is not installed"
fi
close
