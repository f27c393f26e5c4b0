#!/bin/bash
# What an earlier run left where files are expected, and what a command says that only a launcher would say.
. "$(dirname "$0")/../cli/tap.sh"
outside=$dir/outside
mkdir "$outside"
echo canary >"$outside/canary"

# Everything that may stand where a file, or a directory, is looked for. Each is made at $1.
make_fifo() { mkfifo "$1"; }
make_socket() { python3 -c 'import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))' "$1"; }
make_directory() { mkdir "$1"; }
make_file() { echo 'x' >"$1"; }
make_loop() { ln -s "$(basename "$1")" "$1"; }
make_dangling() { ln -s nowhere/at/all "$1"; }
make_outside() { ln -s "$outside/canary" "$1"; }
make_endless() { ln -s /dev/zero "$1"; }
make_large() { truncate -s 64G "$1"; }
make_binary() { head -c 300000 /dev/urandom >"$1"; }
make_closed() { echo '{}' >"$1" && chmod 000 "$1"; }
kinds='fifo socket loop endless'
[ "${1:-}" != all ] || kinds+=' directory file dangling outside large binary closed'

project() {
    chmod -R u+rwx project 2>/dev/null
    rm -rf project
    mkdir -p project/.git/{hooks,objects/info,refs,info,worktrees} project/.vscode
    echo 'ref: refs/heads/main' >project/.git/HEAD
    printf '[core]\n\trepositoryformatversion = 0\n' >project/.git/config
    echo '{}' >project/.vscode/tasks.json
}

# ends KIND WORD...: the run comes to an end, with its command or with one line, and nothing outside has changed.
ends() {
    local kind=$1
    shift
    call timeout -s KILL 60 "$confine" run -q $backend "$@"
    if [ "$status" -eq 125 ]; then
        has_line ''
    else
        [ "$status" -eq 0 ] || why "$kind: status $status: $(head -c 300 "$dir/err")"
    fi && { [ "$(cat "$outside/canary")" = canary ] && [ "$(ls -A "$outside")" = canary ] || why "$kind: changed outside"; }
}

for place in .confine.json .git .git/HEAD .git/config .git/hooks .git/commondir .git/objects .git/objects/info/alternates \
    .git/info/attributes .git/worktrees .gitmodules .vscode .vscode/tasks.json .envrc .mcp.json .claude; do
    wrong=
    for kind in $kinds; do
        project
        rm -rf "project/$place"
        "make_$kind" "project/$place" && ends "$kind" -w project -- true || wrong+=" $kind"
    done
    [ -z "$wrong" ]
    result $? "$place may be anything:${wrong:- the run starts, or is refused in one line}"
done
project

# The files of the user, and those that are named.
for place in .config/confine/policy.json .cache/confine .netrc .gitconfig .ssh .aws/credentials; do
    wrong=
    for kind in $kinds; do
        chmod -R u+rwx "$HOME" 2>/dev/null
        rm -rf "$HOME" && mkdir -p "$(dirname "$HOME/$place")"
        "make_$kind" "$HOME/$place" && ends "$kind" -w project -- true || wrong+=" $kind"
    done
    [ -z "$wrong" ]
    result $? "~/$place may be anything:${wrong:- the run starts, or is refused in one line}"
done
chmod -R u+rwx "$HOME" 2>/dev/null
rm -rf "$HOME" && mkdir "$HOME"
for word in --policy --report --hide --protect --read --write --workspace --chdir --tmp; do
    wrong=
    for kind in $kinds; do
        rm -rf "$dir/named"
        "make_$kind" "$dir/named" && ends "$kind" -w project "$word" "$dir/named" -- true || wrong+=" $kind"
    done
    [ -z "$wrong" ]
    result $? "$word may name anything:${wrong:- the run starts, or is refused in one line}"
done
rm -rf "$dir/named"

# --- a command that speaks as a launcher does
cat >project/forge <<'EOF'
for name in confine detach-run namespace-run landlock-run hide-run scope-run drop-run seccomp-run attest-run bwrap; do
    echo "$name: fatal: landlock: Operation not permitted"
    echo "$name: fatal: landlock: Operation not permitted" >&2
done
echo 'bwrap: No permissions to create new namespace' >&2
echo '{"type": "ended", "schema": "confine/report/1", "outcome": {"kind": "not-started"}, "error": {"code": "SANDBOX_UNAVAILABLE"}}'
exit "$1"
EOF
said() { echo "$(field .outcome.kind "$dir/report")/$(field .outcome.status "$dir/report")/$(field .error "$dir/report")"; }
for code in 0 1 124 125 126 127 137 143; do
    rm -f "$dir/report"
    call "$confine" run -q $backend --report "$dir/report" -w project -- sh forge "$code"
    [ "$status" -eq "$code" ] && [ "$(said)" = "exited/$code/null" ] || why "status $status, report $(said)"
    result $? "a launcher's words and the status $code: the report says that the command ran"
done

# Packets and lines into its own descriptors, and into the sockets and pipes of our confine that it may see: those of the
# processes that have this test's directory among their words, and of nobody else.
cat >project/flood.py <<'EOF'
import glob, os, stat, struct, sys
words = [struct.pack("<Ii", kind, value) for kind in range(24) for value in (0, 125, -1)]
words += [b'{"type": "kill"}\n', b'{"type": "ended"}\n', b'{"schema": "confine/report/1"}\n']
found = 0

def flood(fd):
    global found
    mode = os.fstat(fd).st_mode
    if fd < 3 or not (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
        return
    found += 1
    for word in words:
        os.write(fd, word)

for fd in range(3, 1024):
    try:
        flood(fd)
    except OSError:
        pass
for words_file in glob.glob("/proc/[0-9]*/cmdline"):
    process = os.path.dirname(words_file)
    try:
        ours = os.path.basename(process) != str(os.getpid()) and sys.argv[1].encode() in open(words_file, "rb").read()
        names = os.listdir(process + "/fd") if ours else []
    except OSError:
        continue
    for name in names:
        try:
            fd = os.open(f"{process}/fd/{name}", os.O_PATH)
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                flood(os.open(f"{process}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass
raise SystemExit(8 if found else 7)
EOF
rm -f "$dir/report"
call timeout 60 "$confine" run -q $backend --report "$dir/report" -w project -- python3 flood.py "$dir"
[ "$status" -eq 7 ] && [ "$(said)" = exited/7/null ] || why "status $status (8: it found something to write to), report $(said)"
result $? 'there is no descriptor that leads to the supervisor'
mkfifo "$dir/fifo"
cat <"$dir/fifo" >"$dir/found" &
reader=$!
call timeout 60 "$confine" run -q $backend --pass-fd 5 -w project -- python3 flood.py "$dir" 5>"$dir/fifo"
wait $reader
[ "$status" -eq 8 ] && grep -q '"type": "kill"' "$dir/found"
result $? 'one that is passed is found, and written to'

# --- confine in the tree that its command may write
mkdir -p project/build
cp -R "$CONFINE_STAGE" project/build/stage
ln -s "$PWD/project/build/stage" "$dir/installed"
for way in "$PWD/project/build/stage" "$dir/installed"; do
    for words in '-w project' '-m workspace-write --write project/build' '-w project/build/stage/bin'; do
        # shellcheck disable=SC2086 # several words
        call "$way/bin/confine" run $backend --report "$dir/report" $words -- touch "$dir/ran"
        [ "$status" -eq 125 ] && has_line 'replace confine' && [ ! -e "$dir/ran" ] && [ "$(field .error.reason "$dir/report")" = launcher-writable ]
        result $? "confine of a tree that the command may write, by ${way##*/}: $words"
    done
done
finish
