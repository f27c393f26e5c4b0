#!/bin/bash
# caches-tools.sh - ccache, pip and gradle: what a cache is for, once it is filled.
. "$(dirname "$0")/caches-lib.sh"

have() { outside sh -c 'command -v "$1"' sh "$1" >"$test_dir/.need" 2>&1; }

# --- ccache
ccache_cases() {
    local hits='ccache -z >/dev/null && rm -f a.o && ccache gcc -c a.c && ccache --print-stats >stats'
    printf '#include <stdio.h>\nint answer(void) { return printf("%%d", 42); }\n' >"$w/a.c"
    touch "$w/Makefile"
    own "$w"
    for backend in "${backends[@]}"; do
        begin
        does "$backend: ccache, cold: compiled and kept" "$hits && grep -qx 'cache_miss	1' stats"
        does "$backend: ccache, again: from the cache" "$hits && grep -qE '^direct_cache_hit	1' stats"
        filled ccache
        unchanged
    done
    ok "outside: the same file" outside env -C "$w" ccache gcc -c a.c
    for backend in "${backends[@]}"; do
        begin
        if has_overlays; then
            does "$backend: ccache, from the user's own cache" "$hits && grep -qE '^direct_cache_hit	1' stats"
        else
            does "$backend: ccache, with a cache of the user's own: compiled anew" "$hits && grep -qx 'cache_miss	1' stats"
        fi
        unchanged
    done
}

# --- pip
pip_cases() {
    local install='rm -rf env && python3 -m venv --system-site-packages env && env/bin/pip install --no-index --find-links dist
        --no-build-isolation thing >log && env/bin/python -c "import thing; assert thing.answer() == 42"'
    install=${install//$'\n'/ }
    mkdir -p "$w/dist" "$w/thing/thing"
    echo thing >"$w/requirements.txt"
    printf 'import part\ndef answer(): return 2 * part.half\n' >"$w/thing/thing/__init__.py"
    printf 'from setuptools import setup\nsetup(name="thing", version="1", packages=["thing"], install_requires=["part"])\n' \
        >"$w/thing/setup.py"
    # A source archive, from which pip makes a wheel and keeps it, and a wheel.
    /usr/bin/python3 - "$w" <<'PY'
import sys, tarfile, zipfile
w = sys.argv[1]
with tarfile.open(w + '/dist/thing-1.tar.gz', 'w:gz') as tar:
    open(w + '/thing/PKG-INFO', 'w').write('Metadata-Version: 2.1\nName: thing\nVersion: 1\n')
    tar.add(w + '/thing', 'thing-1')
with zipfile.ZipFile(w + '/dist/part-1-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('part.py', 'half = 21\n')
    wheel.writestr('part-1.dist-info/METADATA', 'Metadata-Version: 2.1\nName: part\nVersion: 1\n')
    wheel.writestr('part-1.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr('part-1.dist-info/RECORD', 'part.py,,\npart-1.dist-info/METADATA,,\npart-1.dist-info/WHEEL,,\npart-1.dist-info/RECORD,,\n')
PY
    own "$w"
    for backend in "${backends[@]}"; do
        begin
        does "$backend: pip, cold, from files: a wheel is made" "$install && grep -q 'Building wheel' log"
        does "$backend: pip, again: the wheel is there" "$install && ! grep -q 'Building wheel' log"
        filled pip
        unchanged
    done
    ok "outside: pip, the same wheel" outside env -C "$w" bash -euc "$install"
    for backend in "${backends[@]}"; do
        has_overlays || continue
        begin
        does "$backend: pip, the user's own wheel" "$install && ! grep -q 'Building wheel' log"
        unchanged
    done
}

if have ccache && have gcc; then ccache_cases; else skip "ccache" "ccache or gcc is not installed for this user"; fi
if outside python3 -c 'import venv, ensurepip, setuptools, wheel' >"$test_dir/.need" 2>&1; then
    pip_cases
else
    skip "pip" "python3 lacks ensurepip, setuptools or wheel"
fi
close
