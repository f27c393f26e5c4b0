#!/bin/bash
# What the caller hands to the command and no filter takes back: then the report must not call it held.
. "$(dirname "$0")/../cli/tap.sh"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -static -o "$dir/act" "$here/act.c" || exit 99

# claim SURFACE: its state and reason in the report
claim() {
    python3 -c 'import json, sys
claims = {c["id"]: c for c in json.load(open(sys.argv[2]))["surfaces"]}
print(claims[sys.argv[1]]["state"], claims[sys.argv[1]]["reason"] or "-")' "$1" "$dir/report"
}

views() { [ "${CONFINE_BACKEND:-landlock}" = namespace ]; }
# Where a surface is partial anyway, the reason is that one's.
handed() { # SURFACE REASON
    [ "$(claim "$1")" = "partial $2" ] || { views && [ "$(claim "$1")" = 'partial sockets-of-later' ]; } || why "$1: $(claim "$1")"
}

# One row: what crosses, the surface, the reason, the words that hand it over.
python3 -c '
import socket, sys, time
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
while True:
    open(sys.argv[2], "ab", buffering=0).write(server.recv(64))' "$dir/socket" "$dir/received" &
server=$!
await test -S "$dir/socket"

run=("$confine" run -q $backend --report "$dir/report")
call "$dir/act" socket 1 2 "${run[@]}" -- true
handed unix.path socket-on-0-2
result $? 'a datagram socket as standard input: unix.path is not called enforced'

"$dir/act" socket 1 2 "${run[@]}" -- "$dir/act" send-unix 0 "$dir/socket" >"$dir/out" 2>"$dir/err"
for _ in $(seq 40); do [ ! -s "$dir/received" ] || break; sleep 0.05; done
if views; then
    [ ! -s "$dir/received" ]
    result $? 'its name is masked, as long as it was bound before the run'
elif [ -s "$dir/received" ]; then
    handed unix.path socket-on-0-2
    result $? 'it does reach a name outside'
else
    skip 'it does reach a name outside' 'this kernel refuses it: Landlock ABI 9'
fi
kill "$server"


python3 - "${run[@]}" <<'P' >"$dir/out" 2>"$dir/err"
import socket, subprocess, sys
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
words = sys.argv[1:] + ["--pass-fd", str(out.fileno()), "--", "true"]
sys.exit(subprocess.run(words, pass_fds=[out.fileno()], stdin=subprocess.DEVNULL).returncode)
P
handed unix.path socket-passed
result $? 'a datagram socket that is passed: unix.path is not called enforced'

# FAMILY TYPE SURFACE; 2 INET, 10 INET6, 16 netlink; 1 stream, 2 datagram, 3 raw
while read -r family type surface; do
    call "$dir/act" socket "$family" "$type" "${run[@]}" -- true
    if [ "$(head -c 6 "$dir/out")" = socket ]; then skip "socket $family $type" 'not to be had here'; continue; fi
    [ "$(claim "$surface")" = 'partial socket-on-0-2' ] || why "$surface: $(claim "$surface")"
    result $? "a socket of family $family and type $type as standard input: $surface is not called enforced"
    call "$dir/act" socket "$family" "$type" "${run[@]}" --require "$surface" -- true
    [ "$status" -eq 125 ] && [ "$(field .error.surface "$dir/report")" = "$surface" ]
    result $? 'and where it is required the run is refused'
done <<'ROWS'
2 1 net.tcp
10 1 net.tcp
2 2 net.udp
10 2 net.udp
16 3 net.other
ROWS

# Node's standard input is one end of a pair: it reaches its peer alone.
python3 - "${run[@]}" -- true <<'P' >"$dir/out" 2>"$dir/err"
import socket, subprocess, sys
ours, theirs = socket.socketpair()
sys.exit(subprocess.run(sys.argv[1:], stdin=theirs).returncode)
P
[ $? -eq 0 ] && [ "$(claim net.tcp)" = 'enforced -' ] &&
    { [ "${surfaces:=$(claim unix.path)}" = 'enforced -' ] || { views && [ "$surfaces" = 'partial sockets-of-later' ]; }; } || why "unix.path: $surfaces"
result $? 'a pair of streams as standard input: held'

# A terminal on 0 to 2 is relayed; one that is passed is the command's.
python3 - "${run[@]}" --pass-fd 9 -- "$dir/act" modes 9 <<'P' >"$dir/out" 2>"$dir/err"
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
os.dup2(theirs, 9)
sys.exit(subprocess.run(sys.argv[1:], pass_fds=[9], stdin=subprocess.DEVNULL).returncode)
P
[ $? -eq 0 ]
result $? 'a terminal that is passed can be used'
for surface in tty.read tty.inject tty.state; do
    [ "$(claim $surface)" = 'partial terminal-passed' ] || why "$surface: $(claim $surface)"
    result $? "and $surface is not called enforced"
done

# A terminal that is granted by its name is no other.
python3 - "${run[@]}" -- "$dir/act" open 0 <<'P' >"$dir/out" 2>"$dir/err"
import os, pty, subprocess, sys
name = os.ttyname(pty.openpty()[1])
words = sys.argv[1:]
at = words.index("--")
sys.exit(subprocess.run(words[:at] + ["--device", name] + words[at:] + [name], stdin=subprocess.DEVNULL).returncode)
P
opened=$?
if views; then # it is none of this view's terminals
    [ $opened -ne 0 ] && grep -q 'ENOENT$' "$dir/out"
else
    [ $opened -eq 0 ]
fi && [ "$(claim tty.read)" = 'partial terminal-granted' ] || why "tty.read: $(claim tty.read), $(cat "$dir/out")"
result $? 'a terminal that is granted as a device: tty.read is not called enforced'

# A directory leads around a view, by the mounts that it was opened on: to what is hidden, and to modes.
mkdir "$dir/beside"
echo hidden >"$dir/beside/hidden"
chmod 600 "$dir/beside/hidden"
around=("$dir/act" around 5 hidden)
for way in 'run 0' 'run 5' 'exec 0'; do
    words=("${way% *}" $backend --hide "$dir/beside/hidden")
    [ "${way% *}" != run ] || words+=(-q)
    if [ "${way#* }" = 0 ]; then
        "$confine" "${words[@]}" -- sh -c 'exec 5<&0 </dev/null; exec "$@"' sh "${around[@]}" <"$dir/beside"
    else
        "$confine" "${words[@]}" --pass-fd 5 -- "${around[@]}" 5<"$dir/beside" </dev/null
    fi >"$dir/out" 2>"$dir/err"
    status=$?
    if views; then
        [ "$status" -eq 125 ] && has_line 'is a directory' && [ "$(stat -c %a "$dir/beside/hidden")" = 600 ]
        result $? "a directory as descriptor ${way#* } of ${way% *}: refused"
    else
        [ "$(cat "$dir/out")" = 'read EACCES' ]
        result $? "a directory as descriptor ${way#* } of ${way% *}: what is hidden stays unreadable"
    fi
done
# The control: the same directory shows it to whoever is not confined.
call sh -c 'exec 5<"$0"; exec "$@"' "$dir/beside" "${around[@]}"
[ "$(cat "$dir/out")" = 'read open
mode open' ]
result $? 'outside it can be read, and its mode changed'

# A file to be read is one to be written, by /proc, on the mounts of before: only Landlock refuses that.
echo canary >"$dir/beside/file"
chmod 666 "$dir/beside/file"
for way in 'run 0' 'run 5' 'exec 0'; do
    for more in '' '--open priv.userns'; do
        [ -z "$more" ] || views || continue
        [ -z "$more" ] || [ "$(id -u)" -ne 0 ] || continue # root cannot nest
        echo canary >"$dir/beside/file"
        words=("${way% *}" $backend $more)
        [ "${way#* }" = 0 ] || words+=(--pass-fd 5)
        "$confine" "${words[@]}" -- sh -c 'echo crossed >/proc/self/fd/"$0"' "${way#* }" <"$dir/beside/file" 5<"$dir/beside/file" >"$dir/out" 2>"$dir/err"
        [ "$(cat "$dir/beside/file")" = canary ]
        result $? "a file to be read, descriptor ${way#* } of ${way% *} ${more:-}: not written"
    done
done

# The descriptor of the report is not the command's as well.
call bash -c '"$@" 8>"$0"' "$dir/forged" "$confine" run $backend --report fd:8 --pass-fd 8 -- sh -c 'echo forged >&8'
[ "$status" -eq 125 ] && has_line 'passed to the command' && ! grep -q forged "$dir/forged"
result $? 'a report is not written where the command can write one'

finish
