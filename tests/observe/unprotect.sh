#!/bin/bash
# unprotect.sh - what a run offers where something protected was refused is taken up, and it works then.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/../cli/tap.sh"

user=$(id -u)
if [ "$user" -eq 0 ]; then
    apart=(unshare -m) back=
else
    apart=(unshare -Urm) back="unshare -U --map-user=$user --map-group=$(id -g)"
fi
mkdir -p .git/hooks .git/objects .git/refs dir/sub alias
echo 'ref: refs/heads/main' >.git/HEAD
echo old | tee .git/hooks/old >dir/sub/old
chmod +x .git/hooks/old

# tries SCRIPT OPTION...: a run with $mounts made before.
tries() {
    local script=$1
    shift
    rm -f "$dir/report"
    if [ -n "$mounts" ]; then
        call "${apart[@]}" sh -c "$mounts || exit 99; exec $back \"\$@\"" sh \
            "$confine" run -q $backend -w . --report "$dir/report" "$@" -- sh -c "$script"
    else
        call "$confine" run -q $backend -w . --report "$dir/report" "$@" -- sh -c "$script"
    fi
}
# offers NAME PATHS SCRIPT OPTION...: SCRIPT is refused, `--unprotect PATH` for each of the PATHS is offered for it, and with that
# it works. Without PATHS nothing is offered, nor is anything said to be sufficient.
offers() {
    local name=$1 paths=$2 script=$3 options=()
    shift 3
    for path in $paths; do options+=(--unprotect "$path"); done
    tries "$script" "$@"
    { [ "$status" -ne 0 ] || why "it was not refused"; } && valid "$dir/report" &&
        python3 - "$dir/report" "$paths" >>"$dir/why" 2>&1 <<'PYTHON' &&
import json, sys
report, paths = json.load(open(sys.argv[1])), sys.argv[2].split()
items = [item for item in report["denials"]["items"] if item["rule"].startswith("protect ")]
options = ["--unprotect " + path for path in paths]
option = " ".join(options) or None
assert items and all(item["grant_option"] == option for item in items), items
assert all(item["grant"] == ({"unprotect": paths} if paths else None) for item in items), items
assert report["escalation"] == ({"grant": {"unprotect": paths}, "options": options, "sufficient": True} if paths else None), report["escalation"]
PYTHON
        { [ -z "$paths" ] || { tries "$script" "$@" "${options[@]}" &&
            { [ "$status" -eq 0 ] || why "with it: status $status, $(cat "$dir/err")"; }; }; }
    result $? "$name"
}

mounts=
tries true
if [ "$status" -ne 0 ]; then
    skip "what is offered for what is protected" "no namespaces: $(head -n 1 "$dir/err")"
    finish
fi
w=$dir/w
offers "a file that is to be made" "$w/.git/hooks" 'echo x >.git/hooks/post-commit'
rm -f .git/hooks/post-commit
offers "a file that is there" "$w/.git/hooks" 'echo x >.git/hooks/old'
offers "what is written down" "$w/dir" 'echo x >dir/sub/new' --protect dir
offers "a file of it that is there" "$w/dir" 'echo x >dir/sub/old' --protect dir
offers "what two options hold" "$w/dir $w/dir/sub" 'echo x >dir/sub/old' --protect dir --protect dir/sub
offers "what three options hold" "" 'echo x >dir/sub/old' --protect dir --protect dir/sub --protect dir/sub/old
mkdir -p .claude/keep .claude/other
touch .claude/keep/f .claude/other/f
offers "what a set holds around what is written down" "$w/.claude" 'echo x >.claude/other/f' --protect .claude/keep
offers "what is written down in what a set holds" "$w/.claude $w/.claude/keep" 'echo x >.claude/keep/f' --protect .claude/keep
offers "all of it" "$w/.claude $w/.claude/keep" 'mv .claude moved' --protect .claude/keep
echo '{"policy": 1, "protect": ["'"$w/dir"'"], "locked": ["protect"]}' >"$dir/locked.json"
offers "what is locked" "" 'echo x >dir/sub/old' --policy "$dir/locked.json"
if "${apart[@]}" sh -c "mount --bind .git/hooks alias && exec $back true" 2>"$dir/err"; then
    mounts='mount --bind .git/hooks alias'
    offers "by another mount: the original" "$w/.git/hooks" 'echo x >alias/made'
else
    skip "by another mount: the original" "no bind mounts: $(head -n 1 "$dir/err")"
fi
finish
