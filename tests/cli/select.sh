#!/bin/bash
# select.sh - which backend `auto` ends with: what this machine cannot do is passed over, anything else refuses.
. "$(dirname "$0")/tap.sh"
cc -D_GNU_SOURCE -o "$dir/lie" "$here/../links/lie.c" 2>>"$dir/why" || exit 1
chmod 755 "$dir" "$dir/lie"
# For root: somebody else's workspace, or landlock would be refused for root's metadata.
[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$dir/w"

report() { # EXPRESSION on `r`: true of the report
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
t = [b["name"] for b in r["tried_backends"]]
sys.exit(0 if eval(sys.argv[2]) else "not true: %s: %s %s %s" % (sys.argv[2], r["backend"], r["tried_backends"], r["error"]))' \
        "$dir/report" "$1" 2>>"$dir/why"
}
# runs NAME EXPRESSION WRAPPER...: with auto, the command runs, says nothing, and the report is as it says.
runs() {
    local name=$1 expression=$2
    shift 2
    wrapper=("$@")
    call run_with_report -w . -- sh -c 'exit 7'
    [ "$status" -eq 7 ] && [ ! -s "$dir/err" ] && valid "$dir/report" && report "$expression"
    result $? "$name"
}
# stops NAME EXPRESSION WRAPPER...: refused, without having run.
stops() {
    local name=$1 expression=$2
    shift 2
    wrapper=("$@")
    rm -f ran
    call run_with_report -w . -- touch ran
    [ "$status" -eq 125 ] && [ ! -e ran ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && valid "$dir/report" && report "$expression"
    result $? "$name"
}
lie() { echo "$dir/lie $1"; }

call run_with_report -w . -- true
if ! report 'r["backend"] == "namespace"'; then
    skip "selection" "no namespaces here: $(field .tried_backends "$dir/report" | cut -c1-200)"
    finish
fi
runs "the strongest first, and nothing was tried" 'r["backend"] == "namespace" and t == []' env
bwrap=0
! backend_works bubblewrap || bwrap=1

# Structural: the next candidate, down to landlock, each told with its reason.
# (bubblewrap clones its namespaces, so the mounts are refused as well; so are those that are made ahead, for which then
# the first to be refused is the mount.)
for answer in 1 13 38; do
    runs "unshare answers errno $answer" \
        'r["backend"] == "landlock" and t == ["namespace", "bubblewrap"] and r["tried_backends"][0]["reason"] in ("userns-denied", "mount-denied")' \
        $(lie unshare=$answer,mount=1)
done
runs "mount answers EPERM" 'r["backend"] == "landlock" and r["tried_backends"][0]["reason"] == "mount-denied"' $(lie mount=1)
if [ "$bwrap" -eq 1 ]; then
    runs "mount_setattr is not there: bubblewrap needs none" 'r["backend"] == "bubblewrap" and t == ["namespace"]' \
        $(lie mount_setattr=38)
else
    skip "bubblewrap in the middle" "no bubblewrap"
fi

# Transient: refuses, and nothing weaker is tried.
for answer in 11 12 23 24 28; do
    stops "unshare answers errno $answer" 't == [] and r["error"]["reason"] == "limit-reached"' $(lie unshare=$answer)
done
stops "mount has no memory" 't == [] and r["error"]["reason"] == "limit-reached"' $(lie mount=12)

# A lie is an accident, and no property of a machine.
stops "mount_setattr does nothing and says it did" 't == [] and r["error"]["code"] == "SANDBOX_UNAVAILABLE"' \
    $(lie mount_setattr=0)

# A boundary that is not there: renaming at the edges of the grants seems to work.
stops "a failed attestation refuses, always" 't == [] and r["error"]["code"] == "ATTESTATION_FAILED"' \
    $(lie renameat=0,renameat2=0)

# A backend that was named is the only one.
wrapper=($(lie unshare=1,mount=1))
for named in namespace bubblewrap; do
    rm -f ran
    call run_with_report -b $named -w . -- touch ran
    [ "$status" -eq 125 ] && [ ! -e ran ] && valid "$dir/report" && report 't == [] and r["backend"] == "'$named'"'
    result $? "$named by name is not replaced"
done
[ "$bwrap" -eq 0 ] || report 'r["error"]["reason"] == "userns-denied"'
result $? "and says why"

# A requirement that only the stronger one holds is refused by those that are left, and the line says what came before.
call run_with_report -w . --require fs.metadata -- touch ran
[ "$status" -eq 125 ] && [ ! -e ran ] && { has_line "namespace (userns-denied)" || has_line "namespace (mount-denied)"; } &&
    report 't == ["namespace", "bubblewrap", "landlock"] and r["error"]["surface"] == "fs.metadata"'
result $? "what was required is not given up on the way"

# exec cannot come back from a chain that failed: it asks before.
for answer in 1 38; do
    call $(lie unshare=$answer,mount=1) "$confine" exec -w . -- sh -c 'exit 6'
    [ "$status" -eq 6 ] && [ ! -s "$dir/err" ]
    result $? "exec: unshare answers errno $answer"
done
call $(lie unshare=1,mount=1) "$confine" exec -w . -- sh -c 'read -r x <"/proc/$$/task/$$/children"; echo "<$x>"'
[ "$(cat "$dir/out")" = "<>" ] || [ ! -e "/proc/self/task/$$/children" ]
result $? "exec: the command inherits no child of ours"
for answer in 11 12 28; do
    rm -f ran
    call $(lie unshare=$answer) "$confine" exec -w . -- touch ran
    [ "$status" -eq 125 ] && [ ! -e ran ] && has_line "no room"
    result $? "exec: unshare answers errno $answer"
done
call $(lie unshare=1,mount=1) "$confine" plan -w . --json -- true
python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["backend"] != "landlock")' "$dir/out"
result $? "plan shows what exec would take"

# The second start is as clean as a first one: input, output, a limit, survivors, the temp directory.
wrapper=($(lie unshare=1,mount=1))
rm -f "$dir/report"
status=0
printf 'a\nb\n' | run_with_report -w . --timeout 20s -- sh -c 'cat; echo t >"$TMPDIR/t"; cat "$TMPDIR/t"; sleep 100 & echo e >&2; exit 3' \
    >"$dir/out" 2>"$dir/err" || status=$?
[ "$status" -eq 3 ] && [ "$(cat "$dir/out")" = "$(printf 'a\nb\nt')" ] && [ "$(cat "$dir/err")" = e ] && valid "$dir/report" &&
    report 'r["outcome"]["survivors_killed"] == 1 and r["backend"] == "landlock"'
result $? "a second start: input, output, temp directory, survivors"
report '"/tmp" not in r["ephemeral"] and len(r["ephemeral"]) == 1'
result $? "and what the first one would have made vanish is not told"

# A switch of a user namespace above: networks are off there, and bubblewrap's failure has the same reason.
if [ "$(id -u)" -eq 0 ]; then
    no_networks=(unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' sh)
    chown 0:0 "$dir/w"
    stops "network namespaces are off" \
        'r["tried_backends"][0]["reason"] == "netns-denied" and r["tried_backends"][1]["reason"] == "netns-denied" and t[2:] == ["landlock"]' \
        "${no_networks[@]}"
    call "${no_networks[@]}" "$confine" exec -w . -- true
    [ "$status" -eq 125 ] && has_line "namespace (netns-denied), bubblewrap (netns-denied)"
    result $? "exec: network namespaces are off"
    chown 65534:65534 "$dir/w"
fi

if [ "$(id -u)" -eq 0 ]; then
    runs "a masked /proc" 'r["backend"] == "landlock" and r["tried_backends"][0]["reason"] == "proc-masked"' \
        unshare -m sh -c 'mount -t tmpfs none /proc/sys && exec "$@"' sh
    # Root's own workspace: nothing is left, and one line says all of it.
    chown 0:0 "$dir/w"
    stops "nothing is left for root" \
        't == ["namespace", "bubblewrap", "landlock"] and r["error"]["reason"] == "root-metadata" and "namespace (userns-denied)" in r["error"]["message"]' \
        $(lie unshare=1,mount=1)
fi
finish
