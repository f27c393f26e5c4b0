#!/bin/bash
# runner.sh [slow] - the backend custom: runners that do what bubblewrap does, and runners that do something else.
#
# slow: one that never gets ready, which takes as long as confine waits.
# /tmp is private inside: the test's directory lies elsewhere.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/w" "$HOME"
chmod 755 "$dir"
backend= # the policy names it

# runner NAME [JSON]: its policy; the program comes from stdin, where there is none it is JSON's own.
runner() {
    cat >"$dir/$1"
    chmod 755 "$dir/$1"
    named "$1" "$dir/$1" "${2:-}"
}
named() { # NAME PATH [JSON]
    echo '{"policy": 1, "backend": "custom", "runner": {"command": ["'"$2"'"]'"${3:-}"'}}' >"$dir/$1.json"
}
script=', "runner_is_script": true'
with() { echo "--policy=$dir/$1.json"; }

# caught NAME RUNNER SURFACE...: refused for exactly these surfaces at least, and the command did not run.
caught() {
    local name=$1 runner=$2 surface
    shift 2
    rm -f "$dir/ran" ran
    call run_with_report "$(with "$runner")" -w . -- sh -c 'echo x >ran'
    { [ "$status" -eq 125 ] || why "status $status"; } && has_line "the boundary does not hold: " && valid "$dir/report" &&
        report 'r["error"]["code"] == "ATTESTATION_FAILED" and r["error"]["reason"] == "boundary-absent" and r["outcome"]["kind"] == "not-started"' &&
        { [ ! -e ran ] || why "the command ran"; } &&
        for surface; do grep -qw -- "$surface" "$dir/err" || why "$surface is not named" || break; done
    result $? "$name"
}

if ! backend_works bubblewrap; then
    skip "runners" "bubblewrap, which they start, cannot be used here"
    finish
fi

if [ "${1:-}" = slow ]; then
    runner slow "$script" <<'R'
#!/bin/sh
trap '' TERM
sleep 1000 &
wait
exec /usr/bin/bwrap "$@"
R
    refused "a runner that is not ready in time is refused" 125 chain-timeout "behind the runner $dir/slow was not ready within 10 seconds" \
        "$(with slow)" -w . -- touch "$dir/ran"
    ! pgrep -f "$dir/slow" >>"$dir/why"
    result $? "and nothing of it is left"
    finish
fi

# What does as it is told.
named bwrap /usr/bin/bwrap
run 4 "a program as runner" 'r["backend"] == "custom" and r["chain"][1] == "runner" and r["outcome"]["survivors_killed"] == 1' \
    "$(with bwrap)" -- sh -c 'setsid sleep 1000 & exit 4'
runner script "$script" <<'R'
#!/bin/sh
exec /usr/bin/bwrap "$@"
R
run 0 "a script as runner, where that was said" 'r["chain"][1] == "runner"' "$(with script)" -- true
runner parent "$script" <<'R'
#!/usr/bin/python3
import subprocess, sys
sys.exit(subprocess.call(["/usr/bin/bwrap"] + sys.argv[1:], close_fds=False))
R
run 3 "a runner that waits in front of another one: what is left is counted alike" 'r["outcome"]["survivors_killed"] == 2' \
    "$(with parent)" -- sh -c 'sleep 1000 & setsid sleep 1000 & exit 3'
run 137 "and the signal is the command's" 'r["outcome"]["kind"] in ("signaled", "exited")' "$(with parent)" -- sh -c 'kill -9 $$'
run 124 "and the time limit ends it" 'r["outcome"]["kind"] == "timed-out"' "$(with parent)" --timeout 300ms --grace 100ms -- sleep 1000

runner talks "$script" <<'R'
#!/bin/sh
head -c 300000 /dev/zero >&2
exec /usr/bin/bwrap "$@"
R
run 0 "one that says more than a pipe holds before it starts anything" 'r["chain"][1] == "runner"' "$(with talks)" -- true

# Nothing is called shown that only the runner says.
run 0 "what is heard from behind it is declared, and nothing attested" \
    'r["enforcement"] == "partial" and all(b["evidence"] == "declared" for x in s.values() for b in x["by"]) and all(x["state"] != "enforced" for x in s.values()) and s["fs.write"]["reason"] == "declared" and "custom-runner" in r["warnings"][0] and "fs.write" in r["gaps"]' \
    "$(with script)" -- true
refused "so what must be shown is refused" 125 declared "cannot hold fs.write here (declared)" "$(with script)" -w . --require fs.write -- touch "$dir/ran"
refused "and so is --require full" 125 declared "(declared)" "$(with script)" -w . --require full -- touch "$dir/ran"
mkdir -p "$HOME/secret" && echo key >"$HOME/secret/key"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$HOME"
run 1 "what is named holds by its word" 's["fs.hidden"]["state"] == "partial"' "$(with script)" --hide "$HOME/secret" -- cat "$HOME/secret/key"
runner liar "$script" <<'R'
#!/usr/bin/python3
import os, sys
words = sys.argv[1:]
last = len(words) - 1 - words[::-1].index("--")
if os.fork() == 0:
    os.execvp(words[last + 1], words[last + 1:])
os.wait()
os.execv("/usr/bin/bwrap", ["bwrap"] + words)
R
rm -f count
run 0 "one that lies is not found, and believed in nothing" \
    'r["enforcement"] == "partial" and not [x for x in s.values() if x["state"] == "enforced" or "attested" in [b["evidence"] for b in x["by"]]]' \
    "$(with liar)" -- sh -c 'echo ran >>count'
[ "$(wc -l <count)" -eq 2 ]
result $? "(it had run the command twice)"

# What does something else than it is told. `without` takes a word away, `instead` puts another in its place.
runner nothing "$script" <<'R'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
R
caught "a runner that only starts what stands behind --" nothing fs.truncate fs.write fs.metadata net.tcp net.udp ipc.sysv proc.visible tty.read
runner child "$script" <<'R'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
"$@"
R
caught "the same as its child" child fs.truncate fs.metadata net.tcp proc.visible
for row in 'without:--unshare-net:net.tcp net.udp net.other' 'without:--unshare-ipc:ipc.sysv ipc.mqueue' 'without:--unshare-pid:proc.visible' \
    'instead:--ro-bind=--bind:fs.truncate fs.metadata'; do
    IFS=: read -r how words surfaces <<<"$row"
    runner "${words%%=*}" "$script" <<R
#!/usr/bin/python3
import os, sys
words = sys.argv[1:]
at = words.index("${words%%=*}")
words[at:at + 1] = [] if "$how" == "without" else ["${words#*=}"]
os.execv("/usr/bin/bwrap", ["bwrap"] + words)
R
    caught "a runner $how ${words/=/: }" "${words%%=*}" $surfaces
done

# What leaves our links out starts the command by itself: nothing can be said but that nothing was heard.
runner leaves-out "$script" <<'R'
#!/usr/bin/python3
import os, sys
words = sys.argv[1:]
last = len(words) - 1 - words[::-1].index("--")
os.execvp(words[last + 1], words[last + 1:])
R
run 125 "a runner that leaves attest-run out: nothing came over the channel" \
    'r["error"]["reason"] == "runner-failed" and r["error"]["code"] == "SANDBOX_UNAVAILABLE" and r["outcome"]["kind"] == "not-started"' \
    "$(with leaves-out)" -- true
has_line "nothing behind it has said that the command can be confined"
result $? "which is all that is said: only the runner knows what it has started"
runner broken "$script" <<'R'
#!/bin/sh
echo 'runner: out of order today' >&2
exit 3
R
refused "a runner that fails is quoted" 125 runner-failed 'it said "runner: out of order today' "$(with broken)" -w . -- touch "$dir/ran"
runner closes "$script" <<'R'
#!/usr/bin/python3
import subprocess, sys
sys.exit(subprocess.call(["/usr/bin/bwrap"] + sys.argv[1:]))
R
refused "a runner that closes descriptors" 125 runner-failed "the runner $dir/closes ended" "$(with closes)" -w . -- touch "$dir/ran"
runner leaves "$script" <<'R'
#!/bin/sh
/usr/bin/bwrap "$@" &
exit 0
R
call run_with_report "$(with leaves)" -w . -- sh -c 'echo x >gone'
has_line "$dir/leaves must start what stands behind its" || has_line "the runner $dir/leaves ended"
result $? "a runner that does not wait is named"
[ "$status" -eq 125 ] && [ ! -e gone ] && [ "$(field .outcome.kind "$dir/report")" = not-started ]
result $? "a runner that does not wait"
! pgrep -f "^/usr/bin/bwrap .*$dir/w" >>"$dir/why"
result $? "nothing of them is left"

# The death of confine: a runner that asks the kernel for nothing ends as well, and what it started.
mark=4${RANDOM}3.$$
"$confine" run -q "$(with parent)" -w . -- sh -c "sleep $mark & echo x >started; sleep $mark" >"$dir/out" 2>"$dir/err" </dev/null &
victim=$!
await test -e started
kill -KILL "$victim"
wait "$victim" 2>/dev/null
over() { ! pgrep -f "sleep $mark|$dir/parent" >/dev/null; }
await over
[ -e started ] && ! pgrep -f "sleep $mark|$dir/parent" >>"$dir/why"
result $? "SIGKILL of confine: neither the runner nor the command is left"

# Which programs are taken.
named unsaid "$dir/script"
refused "a script, and nobody said so" 125 runner-is-script "is a script or no program at all" "$(with unsaid)" -w . -- touch "$dir/ran"
echo text >"$dir/text" && chmod 755 "$dir/text"
named text "$dir/text" "$script"
refused "what is neither" 125 runner-not-executable "no script with a #! line" "$(with text)" -w . -- touch "$dir/ran"
runner no-interpreter "$script" <<<'#! /nowhere/sh'
refused "a script without its interpreter" 125 missing-interpreter "the interpreter /nowhere/sh" "$(with no-interpreter)" -w . -- touch "$dir/ran"
named missing /nowhere/runner
refused "a runner that is not there" 125 missing-runner "cannot look at /nowhere/runner" "$(with missing)" -w . -- touch "$dir/ran"
ln -s /usr/bin/bwrap "$dir/link"
named link "$dir/link"
refused "a link" 125 runner-is-link "is a link" "$(with link)" -w . -- touch "$dir/ran"
runner plain "$script" <"$dir/script"
chmod 644 "$dir/plain"
refused "one that may not be executed" 125 runner-not-executable "it may not be executed" "$(with plain)" -w . -- touch "$dir/ran"
named directory "$dir/home"
refused "a directory" 125 $([ "$(id -u)" -ne 0 ] && echo runner-not-executable || echo runner-writable) "$dir/home" "$(with directory)" -w . -- touch "$dir/ran"
runner writable "$script" <"$dir/script"
chmod 777 "$dir/writable"
refused "one that others can write" 125 runner-writable "can be written by somebody else" "$(with writable)" -w . -- touch "$dir/ran"
mkdir "$dir/open" && cp "$dir/script" "$dir/open/script" && chmod 777 "$dir/open"
named open "$dir/open/script" "$script"
refused "one in a directory that others can write" 125 runner-writable "$dir/open can be written" "$(with open)" -w . -- touch "$dir/ran"
cp "$dir/script" "$dir/w/script"
named inside "$dir/w/script" "$script"
refused "one in a writable grant" 125 runner-writable "$([ "$(id -u)" -ne 0 ] && echo "lies in a writable grant" || echo "can be written by")" "$(with inside)" -w . -- touch "$dir/ran"
named around "$dir/home/../w/script" "$script"
refused "the same by a name with .. in it" 125 runner-writable "$([ "$(id -u)" -ne 0 ] && echo "lies in a writable grant" || echo "can be written by")" "$(with around)" -w . -- touch "$dir/ran"
cp "$(readlink -f /bin/sh)" "$dir/w/sh"
runner inside-interpreter "$script" <<R
#!$dir/w/sh
exec bwrap "\$@"
R
refused "one whose interpreter lies there" 125 runner-writable "$([ "$(id -u)" -ne 0 ] && echo "$dir/w/sh lies in a writable grant" || echo "can be written by")" \
    "$(with inside-interpreter)" -w . -- touch "$dir/ran"
echo '{"policy": 1, "backend": "custom", "runner": {"command": ["/bin/sh", "'"$dir/w/script"'"]}}' >"$dir/word.json"
sed -i "s,/bin/sh,$(readlink -f /bin/sh)," "$dir/word.json"
refused "a program, and the script that it is to interpret lies there" 125 runner-writable "$dir/w/script lies in a writable grant" "$(with word)" -w . -- touch "$dir/ran"
# What decides what starts is looked at where it lies: the command could lead a link in its reach elsewhere, for the next run.
within() { # NAME PATH POLICY [TEXT]: refused for that path
    refused "$1" 125 runner-writable "${4:-$2 lies in a writable grant}" "$(with "$3")" -w . -- touch "$dir/ran"
}
# The workspace is another user's, where root calls: that is said first of an interpreter.
others=$([ "$(id -u)" -ne 0 ] || echo "$dir/w can be written by somebody else")
ln -s "$(readlink -f /bin/sh)" "$dir/w/link-to-sh"
runner by-link "$script" <<R
#!$dir/w/link-to-sh
exec /usr/bin/bwrap "\$@"
R
within "one whose interpreter is a link there" "$dir/w/link-to-sh" by-link "$others"
ln -s "$dir/script" "$dir/w/link-to-script"
printf '{"policy": 1, "backend": "custom", "runner": {"command": ["%s", "%s"]}}' "$(readlink -f /bin/sh)" "$dir/w/link-to-script" >"$dir/word-link.json"
within "a program, and a link there to the script that it is to interpret" "$dir/w/link-to-script" word-link
printf '{"policy": 1, "backend": "custom", "runner": {"command": ["%s", "script"]}}' "$(readlink -f /bin/sh)" >"$dir/word-here.json"
within "a program, and the name of a script in the workspace, where it starts" "$dir/w/script" word-here
mkdir "$dir/w/build"
runner first-word "$script" <<'R'
#!/bin/sh
shift
exec /usr/bin/bwrap "$@"
R
printf '{"policy": 1, "backend": "custom", "runner": {"command": ["%s", "build"], "runner_is_script": true}}' "$dir/first-word" >"$dir/word-build.json"
run 0 "a word that happens to be a directory's name is no script" 'r["chain"][1] == "runner"' "$(with word-build)" -- true
printf '{"policy": 1, "backend": "custom", "runner": {"command": ["%s", "--init-file=%s"]}}' "$(readlink -f /bin/bash)" "$dir/w/script" >"$dir/word-value.json"
within "a program, and a script there behind a =" "$dir/w/script" word-value
printf '{"policy": 1, "backend": "custom", "runner": {"command": ["%s", "%s"]}}' "$(readlink -f /bin/sh)" "$dir/w/to-come" >"$dir/word-later.json"
within "a program, and a script that the command could make" "$dir/w/to-come" word-later
runner middle <<R
#!$dir/w/link-to-sh
R
runner by-script "$script" <<R
#!$dir/middle
exec /usr/bin/bwrap "\$@"
R
within "one interpreted by a script that is interpreted there" "$dir/w/link-to-sh" by-script "$others"
runner by-argument "$script" <<R
#!$(readlink -f /bin/sh) $dir/w/script
R
within "one whose first line gives the interpreter a script there" "$dir/w/script" by-argument
runner endless "$script" <<R
#!$dir/endless
R
refused "one that interprets itself" 125 runner-not-executable "more than the kernel follows" "$(with endless)" -w . -- touch "$dir/ran"
# A mode of 0664, of one's own group: who else is named in the list, the mode does not say.
runner listed "$script" <"$dir/script"
if python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in
    ((1, 7, 0xffffffff), (2, 7, 4242), (4, 5, 0xffffffff), (16, 7, 0xffffffff), (32, 5, 0xffffffff))))' "$dir/listed" 2>/dev/null; then
    refused "one that an access list lets somebody else write" 125 runner-writable "$dir/listed can be written by somebody else" "$(with listed)" -w . -- touch "$dir/ran"
else
    skip "one that an access list lets somebody else write" "no access lists on this file system"
fi
runner grouped "$script" <"$dir/script"
chmod 775 "$dir/grouped"
run 0 "one's own group may write it, where nobody else is named" 'r["chain"][1] == "runner"' "$(with grouped)" -- true
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 1777 "$dir/sticky"
    ln -s "$(readlink -f /bin/sh)" "$dir/sticky/sh"
    runner by-own "$script" <<R
#!$dir/sticky/sh
exec /usr/bin/bwrap "\$@"
R
    run 0 "one whose interpreter is root's link" 'r["chain"][1] == "runner"' "$(with by-own)" -- true
    chown -h 65534:65534 "$dir/sticky/sh"
    refused "one whose interpreter is somebody else's link" 125 runner-writable "$dir/sticky/sh can be written by somebody else" "$(with by-own)" -w . -- touch "$dir/ran"
fi
refused "none at all" 125 no-runner "no policy names one" --backend custom -w . -- touch "$dir/ran"
echo '{"policy": 1, "runner": {"command": ["/usr/bin/bwrap"]}}' >"$dir/w/.confine.json"
[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$dir/w/.confine.json"
refused "the workspace names none" 125 not-narrowing "runner may not stand here" -w . --backend custom -- touch "$dir/ran"
rm "$dir/w/.confine.json"

# probe starts the one that the user's policy names.
mkdir -p "$HOME/.config/confine" && cp "$dir/script.json" "$HOME/.config/confine/policy.json"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$HOME"
home=$(getent passwd "$(id -u)" | cut -d: -f6)
call "$confine" probe -b custom --json
python3 -c 'import json, sys
row, = json.load(open(sys.argv[1]))["backends"]
assert row["name"] == "custom" and not row["usable"] and row["reason"] == "no-runner", row' "$dir/out" 2>>"$dir/why" || [ -e "$home/.config/confine/policy.json" ]
result $? "probe: \$HOME names no policy; and where none names a runner, it says so"

# For programs: what its own failure looks like.
named told "$dir/script" "$script"', "failure_signatures": ["runner: ", "no room"]'
call "$confine" plan --json "$(with told)" -w . -- true
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
rules = [(r["status"], r["signature"]) for r in d["runner_failure_rules"]]
assert (None, "runner: ") in rules and (None, "no room") in rules and (125, "confine: ") in rules, rules
assert d["backend"] == "custom" and d["links"][1] == "runner" and d["denial_signatures"], d["links"]' "$dir/out" 2>>"$dir/why"
result $? "failure_signatures are data of the plan"
call "$confine" policy --json "$(with told)"
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["runner"]
assert r["failure_signatures"] == ["runner: ", "no room"] and r["runner_is_script"] and r["from"]["line"] == 1, r' "$dir/out" 2>>"$dir/why"
result $? "confine policy names the runner, and the file"
call "$confine" exec "$(with script)" -w . -- sh -c 'exit 9'
[ "$status" -eq 9 ]
result $? "exec"
call "$confine" exec "$(with nothing)" -w . -- touch "$dir/w/ran-by-exec"
[ "$status" -eq 125 ] && [ ! -e "$dir/w/ran-by-exec" ] && grep -q 'attest-run: fatal' "$dir/err"
result $? "exec: a runner that does nothing is refused by attest-run itself"
finish
