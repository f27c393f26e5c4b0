#!/bin/bash
# commands.sh - plan, exec, probe and policy.
. "$(dirname "$0")/tap.sh"

json() { # FILE EXPRESSION on `d`: true
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else "not true: " + sys.argv[2])' "$1" "$2" 2>>"$dir/why"
}

call "$confine" plan $backend -w . --json -- make "a b"
cp "$dir/out" "$dir/plan.json"
[ "$status" -eq 0 ] && [ ! -s "$dir/err" ] && json "$dir/plan.json" 'd["form"] == "exec" and len(d["surfaces"]) == 44'
result $? "plan --json"
json "$dir/plan.json" 'd["spawn"]["argv"][1:] == ["exec", "--backend=landlock", "--workspace=.", "--", "make", "a b"]'
result $? "spawn.argv is the exec form with the options as given"
json "$dir/plan.json" 'd["spawn"]["argv"][0].startswith("/") and d["spawn"]["cwd"].endswith("/w")'
result $? "spawn has absolute names"
json "$dir/plan.json" 'd["spawn"]["descriptors"] == [0, 1, 2] and "PATH" in d["spawn"]["env"]'
result $? "spawn has descriptors and names of variables"
json "$dir/plan.json" 'd["chain"][-2:] == ["make", "a b"] and d["links"][-1] == "attest-run"'
result $? "the chain ends with the command"
json "$dir/plan.json" 'all(by["evidence"] == "none" for s in d["surfaces"] for by in s["by"])'
result $? "a plan has no evidence"
json "$dir/plan.json" 'd["denial_signatures"] and all(r["signature"] for r in d["runner_failure_rules"])'
result $? "signatures and rules are there as data"
call "$confine" plan $backend -w . --json -- make "a b"
cmp -s "$dir/out" "$dir/plan.json"
result $? "the same plan has the same bytes"
call "$confine" plan $backend -w . --timeout 1s --json -- true
json "$dir/out" 'd["form"] == "run" and d["spawn"] is None'
result $? "what needs a supervisor cannot be spawned by hand"
MY_TOKEN=secret0815 call "$confine" plan $backend -w . --json -- true
! grep -q secret0815 "$dir/out" && json "$dir/out" '"MY_TOKEN" not in d["spawn"]["env"]'
result $? "no value of the environment is in a plan"
call "$confine" plan $backend -w . -- sh -c 'echo $HOME'
[ "$status" -eq 0 ] && grep -q '^# for reading' "$dir/out" && grep -q "landlock-run .*--rw $dir/w " "$dir/out" &&
    grep -q "sh -c 'echo \$HOME'" "$dir/out" && grep -q '^confine:   file ' "$dir/out"
result $? "plan for people: names, and the groups"
mkdir x
call "$confine" plan $backend -w . --protect x -- true
[ "$status" -eq 125 ] && [ ! -s "$dir/out" ] && has_line "fs.protected"
result $? "plan refuses what run refuses"
"$confine" plan $backend -w . -- true >/dev/full 2>"$dir/err" </dev/null || [ $? -eq 125 ] && has_line "No space left"
result $? "plan on a full disk is not a success"

# What the plan says to spawn is what runs.
mapfile -d '' -t words < <(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.stdout.write("".join(w + "\0" for w in d["spawn"]["argv"]))' <("$confine" plan $backend -w . --json -- sh -c 'echo "$0" >made; exit 5' "x y"))
call "${words[@]}"
[ "$status" -eq 5 ] && [ "$(cat made)" = "x y" ] && [ ! -s "$dir/err" ]
result $? "a plan's spawn.argv runs the command"
# Started where it says: relative names of the options begin there, and the command starts in the workspace all the same.
(cd "$dir" && "$confine" plan $backend -w w --json -- sh -c 'pwd >made3') >"$dir/plan.json"
rm -f made3
python3 -c 'import json, subprocess, sys
spawn = json.load(open(sys.argv[1]))["spawn"]
sys.exit(subprocess.run(spawn["argv"], cwd=spawn["cwd"]).returncode)' "$dir/plan.json" 2>"$dir/err" && [ "$(cat made3)" = "$dir/w" ]
result $? "a plan's spawn.argv runs in its spawn.cwd, with a relative workspace"

call "$confine" exec $backend -w . -- sh -c 'echo x >made2 && echo x >"$0"' "$dir/out-of-bounds"
[ -s made2 ] && [ ! -e "$dir/out-of-bounds" ] && [ "$status" -ne 0 ] && [ "$status" -ne 125 ]
result $? "exec confines"
call "$confine" exec $backend -w . -- sh -c 'exit 9'
[ "$status" -eq 9 ] && [ ! -s "$dir/err" ]
result $? "exec: the status is the command's, and nothing is said"
call "$confine" exec $backend -w . -- nosuchcommand
{ [ "$status" -eq 127 ] || [ "$status" -eq 125 ]; } && [ "$(wc -l <"$dir/err")" -eq 1 ]
result $? "exec: no such command"
call "$confine" exec -m danger-full-access -- true
has_line "danger-full-access: nothing is enforced"
result $? "exec: danger-full-access is said"

call "$confine" probe
[ "$status" -eq 0 ] && grep -q '^landlock: ' "$dir/out"
result $? "probe"
call "$confine" probe --json
[ "$status" -eq 0 ] && json "$dir/out" '[b for b in d["backends"] if b["name"] == "landlock"][0]["surfaces"].__len__() == 44'
result $? "probe --json"
"$here/validate" "$here/../../docs/probe.schema.json" "$dir/out" >>"$dir/why"
result $? "probe --json is what its schema says"
json "$dir/out" 'all(b["usable"] or (b["reason"] and b["message"]) for b in d["backends"])'
result $? "what cannot be used has a reason"
call "$confine" probe -b landlock --json
json "$dir/out" 'len(d["backends"]) == 1'
result $? "probe of one backend"

call "$confine" policy -w .
[ "$status" -eq 0 ] && grep -q workspace "$dir/out" && [ ! -s "$dir/err" ]
result $? "policy"
call "$confine" policy -w . --json
[ "$status" -eq 0 ] && json "$dir/out" 'isinstance(d, dict)'
result $? "policy --json"
call "$confine" policy -w . "$dir/w/new" /etc/passwd
[ "$status" -eq 0 ] && grep -qF "$dir/w/new" "$dir/out" && grep -qF /etc/passwd "$dir/out"
result $? "policy of paths"
# What the mode refuses to the command's user stands beside what the policy allows.
mkdir -p modes/closed/in
touch modes/file
user=$(id -u)
if [ "$user" -eq 0 ]; then
    user=65534
    chown -R "$user" modes
    chmod 711 "$dir" # to be gone through
fi
chmod 0 modes/closed modes/file
call "$confine" policy -w modes modes/file modes/closed/in modes/new
grep -qF "modes/file: read, write: " "$dir/out" &&
    [ "$(grep -cF "; but its mode or owner does not let user $user read or write it" "$dir/out")" -eq 2 ] && ! grep "modes/new" "$dir/out" | grep -q 'but'
result $? "policy of paths says what modes refuse to the command's user"
call "$confine" policy -w modes --json modes/file modes/new /etc/passwd
[ "$status" -eq 0 ] && json "$dir/out" '[[p["read"], p["write"], *p["mode"].values()] for p in d] == [[True, True, True, False, False], [True, True, False, False, True], [True, False, True, True, False]]'
result $? "and in JSON"
chmod 755 modes/closed
chmod 700 "$dir"
rm -rf modes
mkdir -p .git/hooks "$HOME/.aws" "$HOME/.config/gh" shown
echo x >"$HOME/.aws/credentials"
echo x >shown/key
call "$confine" policy $backend -w . --hide shown/key --unprotect .git/hooks "$HOME/.aws/credentials" shown/key .git/hooks new/er/still
grep -qF "hidden as $HOME/.aws/credentials, @credentials (~/.aws/credentials: token of a cloud), from built-in" "$dir/out" &&
    grep -qF "NOT hidden (inside-writable) although asked for as $dir/w/shown/key, from --hide" "$dir/out" &&
    grep -qF "unprotected as $dir/w/.git/hooks, from --unprotect" "$dir/out" &&
    grep -qF "$dir/w/new/er/still: read, write: grant of $dir/w, the workspace, from --workspace" "$dir/out"
result $? "policy of paths names the set, the item and the origin"
call "$confine" policy $backend -w . .git/hooks
grep -qF "as $dir/w/.git/hooks, @runs-later (./.git/hooks: " "$dir/out"
result $? "policy of a protected path names the set"
echo '{"policy": 1, "extends": ["base"], "write": [{"path": "w", "why": "the reason"}], "mode": "workspace-write"}' >"$dir/named.json"
call "$confine" policy --policy "$dir/named.json" "$dir/w/x"
[ "$status" -eq 125 ] && has_line "base"
result $? "extends: a base that is not there is one line"
echo '{"policy": 1, "write": [{"path": "w", "why": "the reason"}], "mode": "workspace-write"}' >"$dir/named.json"
call "$confine" policy --policy "$dir/named.json" "$dir/w/x"
grep -qF "$dir/w/x: read, write: grant of $dir/w, from $dir/named.json:1:" "$dir/out" && grep -qF '("the reason")' "$dir/out"
result $? "policy of a path names the file, the place and the reason"
call "$confine" policy $backend -w . --hide "$HOME/.aws"
grep -q "^hidden     $HOME/.aws  (from --hide)" "$dir/out" && grep -q "^writable   $dir/w  (the workspace, from --workspace)" "$dir/out"
result $? "policy says what the paths became"
call "$confine" policy -w . /tmp/some/file /dev/shm /run /etc "$dir/w"
[ "$(grep -c 'a private place' "$dir/out")" -eq 3 ] && ! grep -E "^(/etc|$dir/w):" "$dir/out" | grep -q 'a private place'
result $? "policy of a path says where a view has a private place"
call "$confine" policy -w . --json "$dir/w" /run/x
json "$dir/out" '[p["private"] for p in d] == [False, True]'
result $? "but not where the host's is granted"
rm -rf .git shown "$HOME/.aws" "$HOME/.config"
call "$confine" policy -w . --json "$dir/w/new" /etc/passwd
[ "$status" -eq 0 ] && json "$dir/out" 'len(d) == 2'
result $? "policy of paths, --json"
# --- a terminal that belongs to somebody else, as after su
if [ "$(id -u)" -eq 0 ]; then
    chown 65534 "$dir/w" && chmod 755 "$dir"
    timeout 60 python3 - "$confine" >"$dir/out" 2>"$dir/why" <<'P'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.execv(sys.argv[1], ["confine", "run", "-q", "--", "sh", "-c", "echo started; read -r word; echo got $word"])
seen = b""
while b"started" not in seen:
    seen += os.read(fd, 4096)
os.write(fd, b"hello\n")
while b"got hello" not in seen:
    seen += os.read(fd, 4096)
pid, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
P
    result $? "somebody else's terminal: it is read, and nobody waits for more"
    chown 0 "$dir/w"
else
    skip "somebody else's terminal" 'only root has one'
fi

finish
