#!/bin/bash
# inferred.sh - where somebody around has the observer's place: words are looked at, apart, and arrive as they were.
. "$(dirname "$0")/../cli/tap.sh"
cc -D_GNU_SOURCE -o "$dir/taken" "$here/../observe/taken.c" 2>>"$dir/why" || exit 1
chmod 755 "$dir" "$dir/taken"
chmod 777 "$dir/w"
work=$(mktemp -d /var/tmp/confine-inferred.XXXXXX) # a view has a /tmp of its own
clear_up() {
    chmod -R u+rwx "$dir"
    rm -rf "$dir" "$work"
}
mkdir "$work/w" && chmod 755 "$work" && chmod 777 "$work/w"
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# holds EXPRESSION on the denials `d` of the report
holds() {
    "$validate" "$schema" "$dir/report" >>"$dir/why" && python3 - "$dir/report" "$1" 2>>"$dir/why" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["denials"]
lines = [(i["line"].strip('"').split(": ")[0], i["signature"], i["count"]) for i in (d["inferred"] or {"items": []})["items"]]
sys.exit(0 if eval("(" + sys.argv[2] + ")") else "not true: %s: %s" % (sys.argv[2], d))
END
}
# nested WORD...: inside somebody who has the place; what it writes to 1 and 2 goes where ours goes
nested() { "${user[@]}" "$dir/taken" "$confine" run -q -b "$which" -w "$work/w" -C "$work/w" --report fd:7 -- "$@" 7>"$dir/report"; }

for which in landlock namespace bubblewrap; do
    nested true >"$dir/said" 2>"$dir/err" </dev/null
    if [ $? -ne 0 ]; then
        skip "$which" "$(head -n 1 "$dir/err" | tr '#' ' ')"
        continue
    fi
    words="Permission denied"
    [ $which = landlock ] || words="Read-only file system"
    # A pipe for each, read by somebody else.
    { nested sh -c "echo x >$work/out; rm -rf $work/w/none; printf 'fact: Permission denied here and there\n' >&2; exit 3" 2>&1 >&3 3>&- |
        cat >"$dir/heard"; } 3>"$dir/said" </dev/null
    holds "d['channel'] == 'inferred' and d['reason'] == 'another-observer' and not d['complete'] and d['items'] == [] and
        lines == [('sh', '$words', 1)]" && [ ! -e "$work/out" ]
    result $? "$which: a line that reads like a refusal is inferred, and no more than that"

    cat >"$dir/denials" <<'END'
a: Permission denied
b: Operation not permitted
c: Read-only file system
PermissionError: [Errno 13] Permission denied: '/x'
END
    nested sh -c 'cat >&2; exit 0' <"$dir/denials" 2>&1 >"$dir/said" | cat >"$dir/heard"
    holds "d['channel'] == 'inferred' and d['inferred'] == {'lost': 0, 'items': []}" && cmp -s "$dir/heard" "$dir/denials"
    result $? "$which: every such line and a status of 0: nothing is inferred"

    [ $which = landlock ] || continue # who copies is the same for all
    nested sh -c 'echo "x: Permission denied" >&2; exit 1' 2>/dev/null >"$dir/said" </dev/null
    holds "d['channel'] == 'none' and d['reason'] == 'another-observer' and d['inferred'] is None"
    result $? "$which: where a device takes the errors, nobody says that they were looked at"
    # One pipe for both, and whatever bytes.
    nested python3 -c "
import os
for i in range(2000):
    os.write(1 + i % 2, b'%d\n' % i if i % 7 else bytes(range(256)) * 16)
os._exit(1)" 2>&1 </dev/null | cat >"$dir/heard"
    python3 -c "
import sys
seen = open('$dir/heard', 'rb').read()
sys.exit(seen != b''.join(b'%d\n' % i if i % 7 else bytes(range(256)) * 16 for i in range(2000)))" && holds "d['channel'] == 'inferred' and lines == []"
    result $? "$which: output and errors on one pipe keep their order and their bytes"

    # Whoever does not read holds up the command, as without us; and nobody who holds on to the end holds up the caller.
    mkfifo "$dir/slow"
    nested sh -c 'head -c 400000 /dev/zero >&2; echo >done; exit 1' 2>"$dir/slow" >"$dir/said" </dev/null &
    exec 8<"$dir/slow"
    head -c 1000 <&8 >"$dir/heard"
    sleep 0.5
    [ ! -e "$work/w/done" ] || why "it did not wait"
    held=$?
    cat <&8 >>"$dir/heard"
    exec 8<&-
    wait $!
    [ $? -eq 1 ] && [ $held -eq 0 ] && [ -e "$work/w/done" ] && [ "$(wc -c <"$dir/heard")" -eq 400000 ]
    result $? "$which: a slow reader stops the command, and gets all of it"
    rm -f "$dir/slow" "$work/w/done"
    nested sh -c '(sleep 100; echo late) >&2 & echo x: Permission denied >&2; exit 1' 2>&1 >"$dir/said" </dev/null | cat >"$dir/heard"
    [ "$(cat "$dir/heard")" = 'x: Permission denied' ] && holds "lines == [('x', 'Permission denied', 1)]"
    result $? "$which: somebody left behind with the errors does not hold up who reads them"
done
finish
