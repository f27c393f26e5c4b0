#!/bin/bash
# shell.sh - shells and the small tools: here-documents, temp files, pipes, substitution, jobs, traps.
. "$(dirname "$0")/compat.sh"

for shell in bash dash zsh busybox ksh mksh; do
    outside sh -c 'command -v "$1"' sh $shell >/dev/null 2>&1 || { skip "$shell" "$shell is not installed"; continue; }
    [ $shell = busybox ] && call=(busybox sh) || call=("$shell")
    cat >"$w/common" <<'SH'
set -eu
x=$(cat <<EOF
line $((1 + 1))
EOF
)
test "$x" = 'line 2'
cat >big <<EOF
$(seq 20000)
EOF
test "$(wc -l <big)" -eq 20000
sort -r big | uniq | sed -n '1p;$p' | tr '\n' ' ' | grep -q '^9999 1 $'
t=$(mktemp) && d=$(mktemp -d) && echo x >"$t" && mv "$t" "$d/y" && rm -r "$d"
(sleep 0.1; exit 3) & p=$!
s=0; wait $p || s=$?
test $s = 3
trap 'echo trapped >trapped' USR1
kill -USR1 $$
test "$(cat trapped)" = trapped
trap 'echo at the end >end' EXIT
sleep 9 & kill $!
s=0; wait $! || s=$?
test $s = 143
( trap '' PIPE; yes 2>/dev/null || true ) | head -1 | grep -qx y
echo a >f; echo b >>f; exec 3<f; read -r one <&3; read -r two <&3; exec 3<&-
test "$one$two" = ab
umask 027; : >masked; test "$(stat -c %a masked)" = 640
cd / && cd - >/dev/null
ulimit -n >/dev/null
if (: >/etc/confine-test) 2>/dev/null; then exit 9; fi
mkfifo pipe; (echo through >pipe) & read -r one <pipe; test "$one" = through; rm pipe
SH
    own "$w/common"
    run confined -- "${call[@]}" common
    is "$shell: here-documents, jobs, traps, pipes, redirections" "$status $out" "0 "
    is "$shell: its EXIT trap ran" "$(cat "$w/end" 2>/dev/null)" "at the end"
    rm -f "$w"/{end,trapped,big,f,masked}
done
does "bash: process substitution, coprocesses, here-strings, job control" 'test "$(diff <(seq 3) <(seq 4) | tail -1)" = "> 4"; tee >(cat >copy) <<<x >/dev/null; for i in {1..600}; do test ! -s copy || break; sleep 0.1; done; test "$(cat copy)" = x
    coproc cat; echo hi >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; test "$x" = hi; kill $COPROC_PID 2>/dev/null
    wait || true'
does "bash: job control without a terminal" 'set -m; sleep 500 & kill -STOP %1; for i in {1..600}; do jobs >j; ! grep -q Stopped j || break; sleep 0.1; done; grep -q Stopped j; kill -CONT %1; kill %1; s=0; wait %1 || s=$?; test $s = 143'
does "bash: arrays, globs, printf, arithmetic over a thousand files" 'mkdir many; for i in {1..1000}; do : >many/$i; done; a=(many/*); test ${#a[@]} = 1000; shopt -s globstar; b=(**/*); test ${#b[@]} -ge 1000'
does "find, xargs -P, -exec, -delete" 'find many -type f | xargs -P4 -n50 sh -c "for f; do echo \$f >\$f; done" sh; test "$(cat many/* | wc -l)" = 1000; find many -name "*7" -exec mv {} {}.x \; ; find many -name "*.x" -delete; test "$(ls many | wc -l)" = 900'
does "sed -i, patch, diff, ed-like editing" 'seq 9 >n; cp n old; sed -i "s/5/five/;/2/d" n; diff -u old n >p || true; cp old again; patch -s again p; cmp again n; patch -sR again p; cmp again old'
does "sort with temporary files, split, join, comm, shuf" 'seq 200000 | shuf | sort -n -S 1M -T "$TMPDIR" | tail -1 | grep -qx 200000; seq 100 | split -l 10 - part.; test "$(ls part.* | wc -l)" = 10'
does "install, cp -a, cp --reflink=auto, ln, mv across directories, rm -rf" 'mkdir -p a/b c; install -m 700 n a/b/n; cp -a a c/; cp --reflink=auto n a/r; ln a/r c/r; mv a/b c/b; rm -rf a c'
does "make a file sparse, truncate, fallocate, dd, sync" 'truncate -s 10M s; dd if=/dev/zero of=s bs=4k count=10 conv=notrunc,fsync status=none; fallocate -l 1M fa 2>/dev/null || true; sync s; rm s'
does "/dev: null, zero, full, random, urandom, fd, stdin, stderr" 'echo x >/dev/null; head -c 4 /dev/zero >/dev/null; head -c 4 /dev/random /dev/urandom >/dev/null; if (echo x >/dev/full) 2>/dev/null; then exit 1; fi; echo y | cat /dev/stdin | grep -qx y; cat /dev/fd/3 3<<<z | grep -qx z; (echo e >/dev/stderr) 2>&1 | grep -qx e'
does "nice, nohup, timeout, setsid, flock, env -i, time" 'nice -n 5 true; nohup true 2>/dev/null; timeout 60 true; setsid -w true; flock lock -c true; env -i /bin/true; time -p true'
does "id, ps of the own processes, uname, df, du, free" 'id >/dev/null; ps -o pid= -p $$ >/dev/null; uname -a >/dev/null; df . >/dev/null; du -s . >/dev/null; cat /proc/self/status >/dev/null; nproc >/dev/null'
refuses "a signal to a process outside" "$(if views; then echo 'No such process'; else echo 'not permitted'; fi)" "kill -0 $$"
refuses "/etc cannot be written" 'Permission denied|Read-only' 'echo x >>/etc/hostname'
if outside sh -c 'command -v script' >/dev/null 2>&1; then
    if views; then
        does "a terminal of its own" 'script -qec tty /dev/null | grep -q ^/dev/pts/'
    else
        refuses "a terminal of its own: there is none without mounts, and script says so" 'failed to create pseudo-terminal|Permission denied' 'script -qec true /dev/null'
    fi
fi
if outside sh -c 'command -v curl' >/dev/null 2>&1; then
    start=$(date +%s%N)
    run confined -- curl -sS http://192.0.2.1/
    took=$((($(date +%s%N) - start) / 1000000))
    is "curl: an address fails with a status of its own" "$([ "$status" != 0 ] && [ "$status" -lt 124 ] && echo failed)" failed
    ok "curl: at once, not by a time limit ($took ms)" test $took -le 30000
    start=$(date +%s%N)
    run confined -- curl -sS https://example.org/
    took=$((($(date +%s%N) - start) / 1000000))
    is "curl: a name fails as one that cannot be resolved" "$status" 6
    ok "curl: at once, not by a time limit ($took ms)" test $took -le 30000
    does "curl: a file" 'echo local >f && curl -sS "file://$PWD/f" | grep -qx local'
else
    skip "curl" "curl is not installed"
fi
close
