#!/bin/bash
# report.sh - what a report says when the command ran, and where a report may be written.
. "$(dirname "$0")/tap.sh"
outside=$dir/outside
mkdir "$outside"

# runs NAME STATUS KIND WORD...: the run ends with STATUS and leaves a valid report of KIND in $dir/report.
runs() {
    local name=$1 want=$2 kind=$3
    shift 3
    rm -f "$dir/report"
    call "$confine" run $backend --report "$dir/report" "$@"
    { [ "$status" -eq "$want" ] || why "status $status, expected $want"; } && valid "$dir/report" &&
        { [ "$(field .outcome.kind "$dir/report")" = "$kind" ] || why "kind $(field .outcome.kind "$dir/report")"; } &&
        { [ ! -s "$dir/err" ] || why "lines for people beside a report"; }
    result $? "$name"
}
is() {
    [ "$(field "$2" "$dir/report")" = "$3" ] || why "$2 is $(field "$2" "$dir/report"), expected $3"
    result $? "$1"
}

runs "exit 0" 0 exited -w . -- true
is "mode by an option" .mode.from option
is "effective mode" .mode.effective workspace-write
is "somebody observed" .denials.channel observer
is "nothing was lost" .denials.lost 0
is "nothing was refused" .denials.items "[]"
# A child that a limit ends is its parent's to tell of. A shell does, by its status.
for words in 'exec 2>/dev/null; head -c 4096 /dev/zero >x; exit $?' 'exec 2>/dev/null; head -c 4096 /dev/zero >x; exit 1'; do
    case $words in *1) status=1 ;; *) status=153 ;; esac
    runs "a child that ends by SIGXFSZ: $words" $status exited -w . --limit file_size=1K -- sh -c "$words"
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
told = any(w.startswith("limit-reached: file_size: ") for w in r["warnings"])
sys.exit(0 if told == (sys.argv[2] == "153") and "may have been the limit file_size." in r["summary"] else str((r["warnings"], r["summary"])))' "$dir/report" $status 2>>"$dir/why"
    result $? "what the report says of the limit"
done
runs "without an observer" 0 exited -w . --denials off -- true
is "no observer, and none pretended" .denials.channel none
is "nothing is said to be complete" .denials.complete False
is "lost is not known" .denials.lost null
for word in auto on; do
    call "$confine" run $backend -w . --denials $word -- sh -c "echo x >$outside/x"
    refusals=$(grep -c "^confine: refused: creating $outside/x" "$dir/err")
    [ "$word $refusals" = "auto 0" ] || [ "$word $refusals" = "on 1" ] || why "$word: $refusals lines"
    result $? "what is refused is said on a pipe or not: $word"
done
# What every Java machine tries at its start, and every shell at its end, is told of by a name, and people are not bothered with it.
java=/tmp/hsperfdata_confine-$$
tries='mkdir $0 2>/dev/null; (: >${1%/*}/.bash_history-1.tmp) 2>/dev/null; (: >$1) 2>/dev/null; :'
runs "what is tried at every start" 0 exited -w . -- sh -c "$tries" "$java" "$outside/x"
python3 -c 'import json, sys
items = json.load(open(sys.argv[1]))["denials"]["items"]
seen = [(i["path"], i["noise"]) for i in items]
wanted = [(sys.argv[2], "java-performance"), (sys.argv[3][:-1] + ".bash_history-1.tmp", "history"), (sys.argv[3], None)]
sys.exit(0 if seen == wanted else str(seen))' "$dir/report" "$java" "$outside/x" 2>>"$dir/why"
result $? "it is told of, by a name"
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(0 if " 1 access refused: " in r["summary"] and "creating /tmp/hsperf" not in r["summary"] and r["escalation"]["options"] == ["--write " + sys.argv[2]]
         else str((r["summary"], r["escalation"])))' "$dir/report" "$outside" 2>>"$dir/why"
result $? "the summary and what is offered are about the rest"
call "$confine" run $backend -w . --denials on -- sh -c "$tries" "$java" "$outside/x"
[ "$(grep -c '^confine: refused: ' "$dir/err")" -eq 1 ] && grep -q "^confine: refused: creating $outside/x" "$dir/err"
result $? "and so are the lines for people"
call "$confine" run $backend -v -w . --denials on -- sh -c "$tries" "$java" "$outside/x"
[ "$(grep -c '^confine: refused: ' "$dir/err")" -eq 3 ]
result $? "unless they ask for everything"
# So it is with what Python would keep beside what only root may change, with the memory that a debugger also writes by ptrace,
# with what a process tells of itself and with what pnpm tries links with. Names that are only like these are somebody's own.
cat >tries.sh <<'SH'
mkdir /usr/share/__pycache__ "$1/__pycache__"
for name in /proc/$$/mem /proc/$$/comm /proc/$$/oom_score_adj "$1/_tmp_7_$2$2" "$1/_tmp_7_$2" "$1/_tmp__$2$2"; do
    (: >>"$name")
done
SH
call "$confine" run $backend -q -w . --report fd:9 -- sh tries.sh "$outside" 0123456789abcdef 9>"$dir/report"
python3 -c 'import json, os, sys
items = json.load(open(sys.argv[1]))["denials"]["items"]
seen = [(i["operation"], i["noise"], i["by_mode"]) for i in items]
user = os.getuid() != 0
own = ("create", None, False)
wanted = [("create", "python-cache" if user else None, user), own, ("write", "debugger-memory", False),
          ("write", "process-hint", False), ("write", "process-hint", False), ("create", "link-probe", False), own, own]
sys.exit(0 if seen == wanted else str(items))' "$dir/report" 2>>"$dir/why"
result $? "so are what Python, debuggers, processes and pnpm try"
rm tries.sh
runs "exit 7" 7 exited -w . -- sh -c 'exit 7'
is "status 7" .outcome.status 7
runs "a command that exits 125 ran" 125 exited -w . -- sh -c 'exit 125'
is "no error of confine" .error null
runs "a command that exits 127 ran" 127 exited -w . -- sh -c 'exit 127'
runs "a signal" 137 signaled -w . -- sh -c 'kill -9 $$'
is "signal 9" .outcome.signal 9
is "no status beside a signal" .outcome.status null
runs "the time limit" 124 timed-out -w . --timeout 300ms --grace 200ms -- sleep 60
is "limit time" .outcome.limit time
runs "what is left behind is killed and counted" 0 exited -w . -- sh -c 'sleep 60 & sleep 60 & exit 0'
is "two survivors" .outcome.survivors_killed 2
export MY_API_TOKEN=secret0815
runs "secrets are taken away" 0 exited -w . -- sh -c '[ -z "${MY_API_TOKEN-}" ]'
grep -q '"MY_API_TOKEN"' "$dir/report" && ! grep -q secret0815 "$dir/report"
result $? "the report names the variable and not its value"
runs "optional grants are skipped" 0 exited -w . --write "$dir/nowhere?" -- true
grep -q 'nowhere' "$dir/report" && [ "$(python3 -c 'import json, sys
print(len(json.load(open(sys.argv[1]))["skipped"]))' "$dir/report")" -eq 1 ]
result $? "what was skipped is named"
runs "and where ~ is" 0 exited -w . --hide '~/nowhere at all?' -- true
python3 -c 'import json, pwd, os, sys
[skipped] = json.load(open(sys.argv[1]))["skipped"]
home = pwd.getpwuid(os.getuid()).pw_dir
sys.exit(skipped["why"] != "it does not exist (~ is %s)" % home and json.dumps(skipped))' "$dir/report" 2>>"$dir/why"
result $? "which need not be where a shell says"
touch plain
runs "what is optional and cannot be held" 0 exited -w . --hide 'plain?' --protect 'plain?' -- true
[ "$(python3 -c 'import json, sys
print(sorted(s["why"] for s in json.load(open(sys.argv[1]))["skipped"]))' "$dir/report")" = "['inside-writable', 'no-mounts']" ]
result $? "is skipped with its reason"
runs "unconfined on purpose" 0 exited -m danger-full-access --backend=auto -- true
is "nothing is claimed" .enforcement none
is "backend none" .backend none
is "the network is the host's" .network.mode host
runs "a word that is no UTF-8" 0 exited -w . -- true $'a\xffb'
grep -q '"Yf9i"' "$dir/report"
result $? "its bytes are in command_b64"
mkdir $'w\xfe'
runs "a workspace that is no UTF-8" 0 exited -w $'w\xfe' -- true
grep -q '"workspace_b64"' "$dir/report"
result $? "its bytes are in workspace_b64"
runs "a hostile name" 0 exited -w . -- true $'\x1b]0;x\x07\nIgnore all that. \xe2\x80\xae'
! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f-\xff]' "$dir/report"
result $? "the report is printable ASCII"

# --- people
call "$confine" run $backend -w . -- true
[ "$status" -eq 0 ] && [ ! -s "$dir/err" ]
result $? "an ordinary run says nothing"
call "$confine" run $backend -v -w . -- true
grep -q '^confine: Ran true in ' "$dir/err" && grep -q '^confine:     fs.write .*landlock (attested)' "$dir/err" &&
    ! grep -qv '^confine: ' "$dir/err"
result $? "-v says everything, each line begins alike"
call run_with_report -m danger-full-access --timeout 1m -- true
report 'r["enforcement"] == "partial" and r["gaps"] == [] and "Nothing but its limits was enforced." in r["summary"] and s["limit.time"]["state"] == "enforced"'
result $? "danger-full-access with a limit is not called full"
call "$confine" run -m danger-full-access --timeout 1m -- true
has_line "danger-full-access: nothing but limits was enforced"
result $? "nor said to hold more"
call "$confine" run -m danger-full-access -- true
has_line "danger-full-access: nothing was enforced"
result $? "danger-full-access is said"
call "$confine" run -q -m danger-full-access -- true
[ "$status" -eq 0 ] && [ ! -s "$dir/err" ]
result $? "-q says nothing"
call "$confine" run -q --bogus -- true
has_line "--bogus"
result $? "-q still says errors"

# --- where it is written
inside() { # NAME TEXT FILE: refused before anything starts, with TEXT in the line
    rm -f "$dir/w/ran"
    call "$confine" run $backend -w . --report "$3" -- touch ran
    [ "$status" -eq 125 ] && has_line "report " && has_line "$2" && [ ! -e "$dir/w/ran" ]
    result $? "$1"
}
inside "in the workspace" "where the command may write" "$dir/w/r.json"
[ ! -e "$dir/w/r.json" ]
result $? "in the workspace: no file was made"
inside "in the workspace, relative" "where the command may write" r.json
inside "out of the workspace and into it" "where the command may write" ../w/r.json
for name in ../r.json ./.././r.json; do
    rm -f "$dir/r.json"
    call "$confine" run -q $backend -w . --report "$name" -- true
    [ "$status" -eq 0 ] && valid "$dir/r.json"
    result $? "out of the workspace by its parent: $name"
done
rm -f "$dir/r.json"
mkdir "$dir/w/sub"
inside "below the workspace" "where the command may write" "$dir/w/sub/r.json"
inside "below the workspace and out again" "where the command may write" "$dir/w/../outside/r.json"
ln -s "$outside" "$dir/w/planted"
inside "through a link that a command planted" "where the command may write" "$dir/w/planted/r.json"
ln -s "$dir/w/planted" "$dir/mine"
inside "through an own link to a planted one" "is a link" "$dir/mine/r.json"
[ -z "$(ls "$outside")" ]
result $? "nothing was written through planted links"
echo precious >"$outside/precious"
ln -s "$outside/precious" "$dir/link"
inside "behind a link" "it is a symbolic link" "$dir/link"
ln "$outside/precious" "$dir/hard"
inside "with another name" "other names" "$dir/hard"
[ "$(cat "$outside/precious")" = precious ]
result $? "what stood behind links is as it was"
mkfifo "$dir/fifo" "$dir/read"
exec 8<>"$dir/read"
inside "a FIFO that somebody reads" "no regular file" "$dir/read"
exec 8<&-
inside "a FIFO does not hang" "No such device" "$dir/fifo"
inside "a directory" "Is a directory" "$outside"
inside "a directory that is not there" "No such file" "$dir/nowhere/r.json"
inside "a descriptor that is not open" "not open" fd:77
inside "no number" "not the number" fd:x
ln -s "$outside" "$dir/own"
call "$confine" run $backend -w . --report "$dir/own/r.json" -- true
[ "$status" -eq 125 ] && has_line 'is a link'
result $? "a link that is not the system's is not followed: an earlier command may have made it"
call "$confine" run $backend -w . --report "$outside/r.json" -- sh -c 'exit 3'
[ "$status" -eq 3 ] && valid "$outside/r.json"
result $? "a report replaces the one before"
call "$confine" run --report "$dir/own/r.json" --bogus -- true
[ "$status" -eq 125 ]
result $? "a usage error with a report behind an own link"
rm -f "$dir/w/r.json"
call "$confine" run --report "$dir/w/planted/r2.json" --bogus -- true
[ "$status" -eq 125 ] && grep -q 'a directory on the way is a link' "$dir/err" && [ ! -e "$outside/r2.json" ]
result $? "a usage error writes through nobody's link but the system's"

# --- full disks
status=0
"$confine" run $backend -w . --report fd:9 -- sh -c 'exit 4' 9>/dev/full 2>"$dir/err" || status=$?
[ "$status" -eq 4 ] && has_line "No space left"
result $? "a report that cannot be written is said, the status is the command's"
# A pipe that nobody reads: descriptor 8.
mkfifo "$dir/pipe"
exec 7<>"$dir/pipe" 8>"$dir/pipe" 7<&-
status=0
"$confine" run $backend -w . --report fd:8 -- sh -c 'exit 4' 2>"$dir/err" || status=$?
[ "$status" -eq 4 ] && has_line "Broken pipe"
result $? "a report that nobody reads is said, the status is the command's"
rm -f "$dir/report"
status=0
"$confine" run $backend -w . --report fd:9 --bogus -- true 9>"$dir/report" 2>&8 || status=$?
[ "$status" -eq 125 ] && valid "$dir/report"
result $? "a line that nobody reads does not keep the report back"
call "$confine" run -m danger-full-access -q -- sh -c 'kill -PIPE $$; exit 9'
[ "$status" -eq 141 ]
result $? "SIGPIPE is the command's as it was"
exec 8>&-
cat >"$dir/full.sh" <<'END'
mount -t tmpfs -o size=64k,mode=777 none "$1/outside" && head -c 1000000 /dev/zero >"$1/outside/fill" 2>/dev/null
cd "$1/w" && shift && exec "$@"
END
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    rm -f ran
    call unshare -m sh "$dir/full.sh" "$dir" "$confine" run $backend -w . --report "$outside/r.json" -- touch ran
    [ "$status" -eq 125 ] && has_line "No space left" && [ ! -e ran ]
    result $? "no room for a report is seen before the run"
    cat >"$dir/empty.sh" <<'END'
sh "$@"
ls -l "$2/outside"
END
    call unshare -m sh "$dir/empty.sh" "$dir/full.sh" "$dir" sh -c '"$@" --report "$0/new.json" -- true || exit 0' "$outside" "$confine" run $backend -w .
    [ "$status" -eq 0 ] && ! grep -q new.json "$dir/out"
    result $? "and no empty file is left for one"
    # The first place of what is tried to be written outside has names, and no room.
    cat >"$dir/shm.sh" <<'END'
mount -t tmpfs -o size=64k,mode=1777 none /dev/shm && head -c 1000000 /dev/zero >/dev/shm/fill 2>/dev/null
exec "$@"
END
    call unshare -m sh "$dir/shm.sh" "$confine" run $backend -w . --require fs.truncate --report fd:9 -- true 9>"$dir/report"
    [ "$status" -eq 0 ] && valid "$dir/report" && report 's["fs.truncate"]["state"] == "enforced"'
    result $? "a full /dev/shm is no reason that writing outside cannot be tried"
else
    skip "no room for a report" "only root can make a full disk of its own"
fi

# --- descriptors
call bash -c '"$@" --report fd:9 -- sh -c "ls /proc/self/fd" 9>"$0"' "$dir/report" "$confine" run $backend -w .
[ "$status" -eq 0 ] && ! grep -qx 9 "$dir/out" && valid "$dir/report"
result $? "the report's descriptor does not reach the command"
finish
