#!/bin/bash
# everyday.sh - what a person types: workspaces, start directories, pipes, files, statuses, survivors, signals.
. "$(dirname "$0")/compat.sh"

# raw OPTION... -- CMD...: confine as a person calls it, without a report; the descriptors are the caller's
raw() { (cd "${from:-$w}" && exec env -i PATH="$path" HOME="$home" LC_ALL=C TMPDIR="$tmp" CONFINE_MARK="$test_dir" "${inside[@]}" "$confine" run --backend "$backend" "$@"); }
shows() { local name=$1 want=$2; shift 2; is "$name" "$(raw -q "$@" 2>&1)" "$want"; }

# --- workspaces and start directories
mkdir -p "$w/sub/deep" "$test_dir/else"
printf 'test: ; @echo tested in $(CURDIR)\n' >"$w/Makefile"
cp "$w/Makefile" "$w/sub/"
own "$w" "$test_dir/else"
shows "run -w . -- make test" "tested in $w" -w . -- make test
shows "run -w . -C sub -- make test" "tested in $w/sub" -w . -C sub -- make test
ok "-C does not narrow the workspace" raw -q -w . -C sub -- touch ../top
ok "the file is there" test -e "$w/top"
from=$w/sub/deep
shows "from below the workspace: the caller's directory" "$w/sub/deep" -w "$w" -- pwd
from=$test_dir/else
shows "from elsewhere: the workspace" "$w" -w "$w" -- pwd
shows "no workspace: the caller's directory, readable" "$test_dir/else" -- pwd
from=
if [ "$user" = self ]; then
    shows "no workspace: reads" "Makefile sub top" -- sh -c 'echo *'
    no "no workspace: writes nothing" raw -q -- touch "$w/x"
    ok "but has a temp directory" raw -q -- sh -c 'f=$(mktemp) && echo x >$f'
    ok "and its caches are there, too" raw -q -- sh -c 'mkdir -p "$XDG_CACHE_HOME/x"'
else
    shows "no workspace, as root named by --user: reads" "Makefile sub top" --user 65534 -- sh -c 'echo *'
    no "no workspace, as root named by --user: writes nothing" raw -q --user 65534 -- touch "$w/x"
fi
no "a file beside the workspace is out of reach" raw -q -w . -- touch "$test_dir/else/x"
ok "--write reaches it" raw -q -w . --write "$test_dir/else" -- touch "$test_dir/else/x"
run raw -w "$home" -- true
is "HOME as the workspace is refused" "$status $(grep -c 'must not be writable' <<<"$err")" "125 1"

# --- a program that keeps its state in the home
mkdir "$test_dir/state" "$home/.agent"
echo '{}' >"$home/.agent.json"
printf '[user]\n\tname = Somebody\n' >"$home/.gitconfig"
own "$test_dir/state" "$home"
replace='echo "$1" >~/.agent.json.new && mv ~/.agent.json.new ~/.agent.json'
own_home=(--env HOME="$test_dir/state" --write "$test_dir/state")
ok "a directory of its own in the home" raw -q -w . --write "$home/.agent" -- sh -c 'echo x >~/.agent/new && mv ~/.agent/new ~/.agent/old'
ok "a file right in the home, written in place" raw -q -w . --write "$home/.agent.json" -- sh -c 'echo x >~/.agent.json'
run raw -w . --denials on --write "$home/.agent.json" -- sh -c "$replace" sh y
is "one that is replaced takes the whole home, which is not offered" \
    "$(cat "$home/.agent.json") $status $(grep -c 'creating .*/.agent.json.new; no option is offered, because it would hand over all of' <<<"$err")" "x 2 1"
ok "in a home of its own it is replaced" raw -q -w . "${own_home[@]}" -- sh -c "$replace" sh z
is "there, and nowhere else" "$(cat "$test_dir/state/.agent.json" "$home/.agent.json" | tr '\n' ' ')" "z x "
if command -v git >/dev/null; then
    is "and git finds the caller's settings where it is told" \
        "$(raw -q -w . "${own_home[@]}" --env GIT_CONFIG_GLOBAL="$home/.gitconfig" -- git config user.name)" Somebody
fi
rm -r "$home/.agent" "$home/.agent.json" "$home/.gitconfig"

# --- output, errors, input
run raw -q -w . -- sh -c 'printf out; printf err >&2; exit 9'
is "output, error and status are exact" "$out|$err|$status" "out|err|9"
is "in a pipeline" "$(seq 3 | raw -q -w . -- sort -r | tr '\n' ' ')" "3 2 1 "
is "a pipeline that stops reading early" "$(raw -q -w . -- sh -c 'yes | head -1000000' | head -1)" y
raw -q -w . -- sh -c 'for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done' >"$test_dir/both" 2>&1 </dev/null
is "> FILE 2>&1 keeps the order" "$(tr '\n' ' ' <"$test_dir/both")" "o1 e1 o2 e2 o3 e3 o4 e4 o5 e5 "
raw -q -w . -- echo more >>"$test_dir/both" </dev/null
is ">> FILE appends" "$(tail -1 "$test_dir/both") $(wc -l <"$test_dir/both")" "more 11"
(echo before; raw -q -w . -- echo inside </dev/null; echo after) >"$test_dir/both"
is "a file shared with commands before and after" "$(tr '\n' ' ' <"$test_dir/both")" "before inside after "
seq 1000 >"$test_dir/lines"
(raw -q -w . -- sh -c 'read -r a; read -r b; echo "$a $b"' && head -1) <"$test_dir/lines" >"$test_dir/both"
is "standard input from a file: what is not read is left to the next" "$(tr '\n' ' ' <"$test_dir/both")" "1 2 3 "
is "standard input of a megabyte from a file" "$(head -c 1048576 /dev/zero >"$test_dir/mega"; raw -q -w . -- wc -c <"$test_dir/mega")" 1048576
head -c 1048576 /dev/urandom >"$test_dir/mega"
sum=$(cksum <"$test_dir/mega")
is "a megabyte of bytes through pipes" "$(cat "$test_dir/mega" | raw -q -w . -- cat | cat | cksum)" "$sum"
raw -q -w . -- cat <"$test_dir/mega" >"$test_dir/mega.out"
is "a megabyte of bytes through files" "$(cksum <"$test_dir/mega.out")" "$sum"
# A limit stands for a full disk: what cannot be handed on must not end in status 0.
err=$( (ulimit -f 8; trap '' XFSZ; raw -q -w . -- sh -c 'trap "" PIPE; head -c 200000 /dev/zero 2>/dev/null; exit 0' >"$test_dir/lost") 2>&1)
is "output that is lost is no success" "$? $(grep -c 'output could not be written' <<<"$err")" "125 1"
is "/dev/null on all three" "$(raw -q -w . -- sh -c 'cat; echo x; echo y >&2' </dev/null >/dev/null 2>/dev/null; echo $?)" 0
ok "/dev/stdout and /dev/stderr are there when files are behind them" \
    sh -c '"$@" >"$0" 2>&1 </dev/null' "$test_dir/dev" env -i PATH="$path" HOME="$home" "$confine" run -q --backend "$backend" -w "$w" -- sh -c 'echo a >/dev/stdout; echo b >/dev/stderr'
is "and both arrived" "$(tr '\n' ' ' <"$test_dir/dev")" "a b "
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    eval "raw -q -w . --report '$test_dir/closed.json' -- sh -c 'echo x >ran; exit 4' $closed" 2>/dev/null
    is "with $closed: refused or run, never a wrong descriptor" "$? $(cat "$w/ran" 2>/dev/null)" \
        "$(if [ -e "$w/ran" ]; then echo '4 x'; else echo '125 '; fi)"
    rm -f "$w/ran" "$test_dir/closed.json"
done
no "descriptors above 2 do not get in" raw -q -w . -- sh -c 'echo x >&7' 7>"$test_dir/seven"
is "and nothing was written" "$(cat "$test_dir/seven")" ""

# --- ends
for status in 0 1 2 124 125 126 127 255; do
    raw -q -w . -- sh -c "exit $status" </dev/null
    is "status $status" $? "$status"
done
run confined -- no-such-program-here
is "no such command: 127" "$status $(field error.code)" "127 COMMAND_NOT_FOUND"
run confined -- "$w/Makefile"
is "not executable: 126" "$status $(field error.code)" "126 COMMAND_NOT_EXECUTABLE"
run confined -- sh -c 'kill -SEGV $$'
is "a signal: 128 + 11" "$status $(field outcome.kind) $(field outcome.signal)" "139 signaled 11"
start=$(date +%s%N)
run confined -- sh -c 'sleep 100 & exit 5'
took=$((($(date +%s%N) - start) / 1000000))
is "a survivor does not hold the run up, and is killed" "$status $(field outcome.survivors_killed)" "5 1"
ok "at once, not after its 100 s ($took ms)" test $took -lt 50000
run confined -- sh -c 'for i in 1 2 3; do setsid sh -c "sleep 100 & : >there.$i; sleep 100" >/dev/null 2>&1 & done
    until [ -e there.1 ] && [ -e there.2 ] && [ -e there.3 ]; do sleep 0.05; done; exit 6'
is "daemons in sessions of their own are killed, too" "$status $(marked | grep -c 'sleep 100')" "6 0"
ok "and counted" test "$(field outcome.survivors_killed)" -ge 6
run confined --wait-all -- sh -c '(sleep 0.5; echo late >late) & exit 0'
is "--wait-all waits" "$status $(cat "$w/late" 2>/dev/null)" "0 late"
start=$(date +%s%N)
run confined --timeout 1s -- sleep 100
took=$((($(date +%s%N) - start) / 1000000))
is "--timeout: 124" "$status $(field outcome.kind)" "124 timed-out"
ok "after a second ($took ms)" test $took -ge 1000 -a $took -lt 50000
run confined --timeout 1s --grace 300ms -- sh -c 'trap "" TERM; while :; do sleep 0.1; done'
is "--timeout of one that ignores SIGTERM" "$status" 124
for limit in 1s 20s; do # the longer one where the command had not come that far
    run confined --timeout $limit -- sh -c 'trap "echo cleaned >cleaned; exit 0" TERM; : >trapped; sleep 100 & wait'
    [ ! -e "$w/trapped" ] || break
done
is "--timeout of one that cleans up" "$status $(cat "$w/cleaned")" "124 cleaned"

# A signal to confine, as a terminal's Ctrl-C or a service manager sends it. setsid: a background job ignores SIGINT.
for signal in INT:130 TERM:143 HUP:129 QUIT:131; do
    rm -f "$w/started"
    cat >"$test_dir/send.py" <<'PY'
import os, signal, subprocess, sys, time
started, number, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
signal.signal(signal.SIGHUP, signal.SIG_DFL)
p = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
end = time.time() + 120
while not os.path.exists(started) and time.time() < end: time.sleep(0.02)
time.sleep(0.1)
p.send_signal(number)
sys.exit(p.wait())
PY
    run env -i PATH="$path" HOME="$home" CONFINE_MARK="$test_dir" TMPDIR="$tmp" /usr/bin/python3 "$test_dir/send.py" "$w/started" "$(kill -l "${signal%:*}")" \
        "$confine" run -q --backend "$backend" -w "$w" -- sh -c 'echo >started; exec sleep 100'
    is "SIG${signal%:*} to confine ends the command: ${signal#*:}" "$status" "${signal#*:}"
    is "and nothing stays" "$(marked | grep -c 'sleep 100')" 0
done

# The caller is killed outright: the command ends with it.
rm -f "$w/started"
env -i PATH="$path" HOME="$home" LC_ALL=C TMPDIR="$tmp" CONFINE_MARK="$test_dir" \
    "$confine" run -q --backend "$backend" -w "$w" -- sh -c 'echo >started; exec sleep 101' </dev/null >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do [ ! -e "$w/started" ] || break; sleep 0.1; done
kill -KILL $pid
wait $pid 2>"$test_dir/killed"
for _ in $(seq 600); do marked | grep -q 'sleep 101' || break; sleep 0.1; done
is "SIGKILL to confine ends the command, too" "$(marked | grep -c 'sleep 101')" 0
if views; then
    is "and leaves no temp directory" "$(ls -A "$tmp")" ""
else
    confined -- true >/dev/null 2>&1
    is "and the next run removes its temp directory" "$(ls -A "$tmp")" ""
fi

# --- the temp directory where nobody says where, and gone afterwards: a private /tmp, else a directory below the caller's
made=$(cd "$w" && env -i PATH="$path" HOME="$home" "$confine" run -q --backend "$backend" -w . -- sh -c 'mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; chmod 000 $TMPDIR/a; ln -s / $TMPDIR/root; ls $TMPDIR | tr "\n" " "; echo $TMPDIR')
if views; then
    is "it is /tmp itself, and empty before" "$made" "a root /tmp"
    name=$(basename "$test_dir").mark
    ok "what is written there" raw -q -w . -- sh -c 'echo x >"/tmp/$1" && test -e "/tmp/$1"' sh "$name"
    no "is not outside" test -e "/tmp/$name"
    is "and not in the next run" "$(raw -q -w . -- ls -A /tmp)" ""
else
    made=${made#a root }
    is "below /tmp, in the place of its caller" "$(dirname "$made")" "/tmp/confine-$(id -u)"
    no "and gone, with all that was in it" test -e "$made"
fi
ok "the root is not" test -d /usr

# --- names that confine makes for its checks: other runs have theirs in the same places, so ours are followed
trace=$test_dir/trace
if outside sh -c 'command -v strace' >/dev/null 2>&1 && strace -o /dev/null true 2>/dev/null; then
    (cd "$w" && env -i PATH="$path" HOME="$home" TMPDIR="$tmp" strace -o "$trace" -e trace=%file,bind \
        "$confine" run -q --backend "$backend" -w . -- sh -c 'echo x >$TMPDIR/x') >/dev/null 2>&1
    made=$(grep -oE '^(mkdir|mknod|symlink|bind)[^"]*".*(\.?confine-[-0-9a-z]{12,}|[0-9a-f]{16})"' "$trace" | grep -oE '(\.?confine-[-0-9a-z]*|[0-9a-f]{16})"$' | tr -d '"' | sort -u)
    ok "names of its own are made ($(wc -w <<<"$made"))" test -n "$made"
    for name in $made; do
        ok "$name is gone" test -z "$(find /tmp /var/tmp /dev/shm "$tmp" -maxdepth 2 -name "$name" 2>/dev/null)"
    done
else
    skip "names of its own are gone" "strace cannot be used here"
fi

# --- inside confine: the inner one is landlock, whatever the outer one is
options=(-q)
if views; then
    case $confine in /tmp/* | /run/* | /dev/shm/*) options+=(--read "$CONFINE_STAGE") ;; esac
    run confined -- "$confine" run -q --backend namespace -- true
    is "namespace in namespace: refused" "$status $(grep -c . <<<"$err")" "125 1"
    run confined -- "$confine" run -q -- true
    is "auto in namespace: landlock" "$status $err" "0 "
fi
inner="$confine run -q --backend landlock -w $w/sub --report fd:3 -- sh -c 'echo x >ok; echo y >../bad'"
run confined -- sh -c "$inner 3>inner.json; echo \$?"
is "confine in confine: the inner workspace is narrower" "$out $(test -e "$w/sub/ok" && echo ok) $(test -e "$w/bad" && echo bad)" \
    "2 ok "
ok "the inner report is what the schema says" "$here/../cli/validate" "$here/../../docs/report.schema.json" "$w/inner.json"
value() { /usr/bin/python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2], {"r": r, "s": {x["id"]: x for x in r["surfaces"]}}))' "$@"; }
is "it says the backend, and that writing is enforced" "$(value "$w/inner.json" 'r["backend"] + " " + s["fs.write"]["state"]')" "landlock enforced"
run confined -- sh -c "$confine run -q --backend landlock -w /var/tmp/.. -- true; $confine run -q --backend landlock -w $w -- touch $test_dir/else/y"
no "the inner run is not wider than the outer" test -e "$test_dir/else/y"
close
