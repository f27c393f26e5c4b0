#!/bin/bash
# check-peer.sh - the battery under somebody else's sandbox: it counts, and claims nothing.
. "$(dirname "$0")/tap.sh"
peer=$here/../../tools/check-peer
holds() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
a = {a["id"]: a["verdict"] for a in d["attempts"]}
if not eval(sys.argv[2]):
    sys.exit("not true: %s; %s" % (sys.argv[2], a))' "$dir/out" "$1" 2>>"$dir/why"
}
left() { find /var/tmp -maxdepth 1 -name 'check-peer-*' -user "$(id -u)" -newer "$dir/begin" 2>/dev/null; }
: >"$dir/begin"

# Nothing at all: what crosses unconfined crosses.
call "$peer" --json --only 'FS-0*' -- env --
[ "$status" -eq 0 ] && holds 'd["schema"] == "confine/check-peer/1" and d["name"] == "env" and set(a.values()) <= {"crossed", "no-control", "skipped"} and a["FS-01"] == "crossed"'
result $? 'no sandbox: everything crosses'
holds 'd["totals"]["crossed"] == sum(s["crossed"] for s in d["surfaces"]) == list(a.values()).count("crossed")'
result $? 'and is counted'
# Our own link is a sandbox as well.
call "$peer" --json --only 'FS-0*' --name link -- "$CONFINE_STAGE/bin/landlock-run" --ro / --rw {} --
if grep -q 'landlock-run: fatal' "$dir/err"; then
    skip 'landlock-run by itself' 'no Landlock here'
else
    [ "$status" -eq 0 ] && holds 'd["name"] == "link" and a["FS-01"] == a["FS-02"] == "blocked" and a["FS-07"] == "crossed"'
    result $? 'landlock-run by itself: files outside are held, a second name of one is not'
fi
call "$peer" --only 'FS-0*' -v -- env --
[ "$status" -eq 0 ] && grep -q '^FS-01 .* crossed' "$dir/out" && grep -q '^env: [0-9]* of [0-9]* attempts' "$dir/out"
result $? 'for people, too'
call "$peer" -- "$dir/nowhere"
[ "$status" -eq 125 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]
result $? 'what cannot be started is one line'
call "$peer" -- false
[ "$status" -eq 125 ] && grep -q 'does not run a command (status 1)' "$dir/err"
result $? 'what runs no command is no wall'
call "$peer" env
[ "$status" -eq 125 ] && grep -q usage "$dir/err"
result $? 'without -- nothing is run'

# A mount below a name that an earlier run planted: known of bubblewrap before 0.12.
plain=(bwrap --ro-bind / / --dev /dev --proc /proc --bind {} {} --unshare-all --die-with-parent)
call "${plain[@]//\{\}/$dir}" -- true
if [ "$status" -ne 0 ]; then
    skip 'bubblewrap' "it does not work here: $(head -c 100 "$dir/err")"
else
    call "$peer" --json --only 'SET-05' -- "${plain[@]}"
    [ "$status" -eq 0 ] && holds 'a == {"SET-05": "blocked"}'
    result $? 'bubblewrap: a planted link is nothing to a plain set-up'
    call "$peer" --json --only 'SET-05' -- "${plain[@]}" --ro-bind /dev/null '{workspace}/.claude/settings.json'
    version=$(bwrap --version | awk '{print $NF}')
    [ "$status" -eq 0 ] && if printf '%s\n' 0.12.0 "$version" | sort -VC; then holds 'a["SET-05"] == "blocked"'; else holds 'a["SET-05"] == "crossed"'; fi
    result $? "bubblewrap $version: a mount below one that does not look crosses"
    call "$peer" --json --only 'SET-22' -- "${plain[@]}"
    holds 'a == {"SET-22": "crossed"}'
    result $? 'and its loader takes what the environment of its caller says'
fi
[ -z "$(left)" ] || why "left: $(left)"
[ ! -s "$dir/why" ]
result $? 'nothing is left'
finish
