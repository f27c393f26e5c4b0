#!/bin/bash
# terminal.sh - confine on a terminal, with --tty none: the command sees none, its output arrives, what is typed arrives, and the terminal is as before.
. "$(dirname "$0")/compat.sh"

cat >"$test_dir/terminal.py" <<'PY'
"""terminal.py TYPED WAIT ARG...: ARG... on a new terminal; TYPED is typed when WAIT has been seen. Prints what arrived."""
import os, pty, select, sys, termios, time
typed, wait, argv = sys.argv[1].encode().decode('unicode_escape').encode(), sys.argv[2].encode(), sys.argv[3:]
pid, master = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
seen, sent, end = b'', not typed, time.time() + 120
before = termios.tcgetattr(master)
while time.time() < end:
    if not sent and wait in seen:
        os.write(master, typed); sent = True
    if not select.select([master], [], [], 0.1)[0]:
        continue
    try:
        got = os.read(master, 65536)
    except OSError:
        break
    if not got:
        break
    seen += got
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(seen.decode(errors='replace').replace('\r\n', '\n'))
print('status', status)
PY
tty() { (cd "$w" && env -i PATH="$path" HOME="$home" TMPDIR="$tmp" LC_ALL=C TERM=xterm CONFINE_MARK="$test_dir" /usr/bin/python3 "$test_dir/terminal.py" "$@"); }
run_confine=("$confine" run -q --tty none --backend "$backend" -w "$w")

is "0, 1, 2 are no terminals; what is written arrives" \
    "$(tty '' '' "${run_confine[@]}" -- sh -c 'for i in 0 1 2; do test -t $i && echo $i is a terminal; done; echo out; echo err >&2; exit 3')" \
    "out
err
status 3"
is "/dev/tty is not the caller's" "$(tty '' '' "${run_confine[@]}" -- sh -c 'echo x >/dev/tty' 2>&1 | grep -vc '^x$')" 2
is "a line that is typed arrives" "$(tty 'hello\n' ready "${run_confine[@]}" -- sh -c 'echo ready; read -r x; echo got $x' | grep -c '^got hello$')" 1
is "the end of what is typed arrives" "$(tty 'a\nb\n\x04' ready "${run_confine[@]}" -- sh -c 'echo ready; wc -l' | grep -cx 2)" 1
is "Ctrl-C ends the command: 130" "$(tty '\x03' ready "${run_confine[@]}" -- sh -c 'echo ready; exec sleep 100' | tail -1 | sed 's/^.*status/status/')" "status 130"
is "Ctrl-\\ ends it: 131" "$(tty '\x1c' ready "${run_confine[@]}" -- sh -c 'echo ready; exec sleep 100' | tail -1 | sed 's/^.*status/status/')" "status 131"
is "a pager's pipe: output to a pipe while 2 is the terminal" \
    "$(tty '' '' /bin/sh -c '"$@" | tr a-z A-Z' sh "${run_confine[@]}" -- sh -c 'echo out; test -t 2 || echo no terminal' | head -2 | tr '\n' ' ')" \
    "OUT NO TERMINAL "
is "the terminal's modes are as before" \
    "$(tty '' '' /bin/sh -c 'a=$(stty -g); "$@"; b=$(stty -g); test "$a" = "$b" && echo same' sh "${run_confine[@]}" -- sh -c 'stty raw -echo 2>/dev/null; true' | head -1)" same
is "much output arrives whole" "$(tty '' '' "${run_confine[@]}" -- seq 100000 | wc -l)" 100001
is "a background job of a shell leaves the terminal to the shell" \
    "$(tty 'line\n' prompt /bin/bash --norc --noprofile -ic '"$@" & sleep 0.5; echo prompt; read -r x; echo shell got $x; wait' bash "${run_confine[@]}" -- sleep 1 2>&1 | grep -c '^shell got line$')" 1
close
