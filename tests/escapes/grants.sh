#!/bin/bash
# What is asked for twice and differently, and what a poor caller leaves to hold it with.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/../cli/tap.sh"

call "$confine" run -q -b namespace -w . -- true
if [ "$status" -ne 0 ]; then
    skip 'a view of its own' "no namespaces here: $(head -c 200 "$dir/err")"
    finish
fi
mkdir -p .vscode a
[ "$(id -u)" -ne 0 ] || { chmod 755 "$dir" && chown -R 65534:65534 "$dir/w" "$HOME"; }

# The workspace itself is protected by name.
run=("$confine" run -q --report "$dir/report")
call "${run[@]}" -b namespace -w . --protect . -- sh -c 'echo x >file; mkdir a/b; mv a c'
[ ! -e file ] && [ ! -e a/b ] && [ ! -e c ] || why "changed: $(ls -A . a)"
result $? 'what is named as protected is, although it is the workspace'
for named in bubblewrap landlock; do
    [ "$named" = landlock ] || [ -x /usr/bin/bwrap ] || { skip "$named" 'no bubblewrap here' && continue; }
    call "${run[@]}" -b "$named" -w . --protect . -- touch file
    [ "$status" -eq 125 ] && [ ! -e file ] && [ "$(field .error.surface "$dir/report")" = fs.protected ]
    result $? "where that cannot be held the run is refused: $named"
done
call "${run[@]}" -b namespace -w .vscode -- touch tasks.json
[ "$status" -eq 0 ]
result $? 'a set gives way to a grant of just what it names'

# A link is no place for a mount: another thing can be put where it stands.
mkdir -p real sub/.git && ln -s ../real sub/.claude && ln -s /usr sub/.git/hooks
[ "$(id -u)" -ne 0 ] || chown -hR 65534:65534 .
call "${run[@]}" -b namespace -w sub -- sh -c 'rm .claude .git/hooks && mkdir .claude .git/hooks && touch .git/hooks/x'
[ "$status" -eq 0 ] && [ "$(python3 -c 'import json, sys
print(*[(c["state"], c["reason"]) for c in json.load(open(sys.argv[1]))["surfaces"] if c["id"] == "fs.protected"][0])' \
    "$dir/report")" = 'partial symbolic-link' ] || why "status $status"
result $? 'a protected name that is a link can be replaced, and fs.protected is partial for that'
rm -rf sub/.claude && ln -s ../real sub/.claude
call "${run[@]}" -b namespace -w sub --protect sub/.claude -- rm sub/.claude
[ "$status" -eq 125 ] && [ -L sub/.claude ] && [ "$(field .error.reason "$dir/report")" = link-in-writable ]
result $? 'one that is named is refused'

# Nor does one lie on the other names of a file.
mkdir hard && echo before >hard/.envrc && ln hard/.envrc hard/other
[ "$(id -u)" -ne 0 ] || chown -hR 65534:65534 hard
call "${run[@]}" -b namespace -w hard -- sh -c '! echo x >.envrc && echo after >other'
[ "$status" -eq 0 ] && [ "$(cat hard/.envrc)" = after ] && [ "$(python3 -c 'import json, sys
print(*[(c["state"], c["reason"]) for c in json.load(open(sys.argv[1]))["surfaces"] if c["id"] == "fs.protected"][0])' \
    "$dir/report")" = 'partial hard-links' ] || why "status $status, $(cat hard/.envrc)"
result $? 'a protected file with another name is changed by that, and fs.protected is partial for that'
call "${run[@]}" -b namespace -w hard --protect hard/.envrc -- true
[ "$status" -eq 125 ] && [ "$(field .error.reason "$dir/report")" = hard-links ]
result $? 'one that is named is refused'

# One socket is asked for: it is reached, the one beside it is not, and nobody has to open them all for that.
python3 -c '
import socket, sys, time
made = []
for name in sys.argv[1:]:
    one = socket.socket(socket.AF_UNIX); one.bind(name); one.listen(8); made.append(one)
open(name + ".listens", "w")
time.sleep(600)' "$dir/asked" "$dir/other" </dev/null >/dev/null 2>&1 &
server=$!
await test -e "$dir/other.listens" && chmod 666 "$dir/asked" "$dir/other"
connect='import socket, sys
for name in sys.argv[1:]:
    try: socket.socket(socket.AF_UNIX).connect(name); print("connected")
    except OSError: print("not")'
for named in namespace bubblewrap; do
    [ "$named" = namespace ] || [ -x /usr/bin/bwrap ] || { skip "$named" 'no bubblewrap here' && continue; }
    call "${run[@]}" -b "$named" -w . --socket "$dir/asked" -- /usr/bin/python3 -c "$connect" "$dir/asked" "$dir/other"
    [ "$(paste -sd ' ' "$dir/out")" = 'connected not' ] || why "$(cat "$dir/out")"
    result $? "$named: the socket that is asked for is reached, and no other"
done
call "${run[@]}" -b landlock -w . --socket "$dir/asked" -- true
[ "$status" -eq 125 ] && [ "$(field .error.reason "$dir/report")" = socket-refused ] || [ "$status" -eq 0 ]
result $? 'where all are refused that is said before the run'
kill "$server"

for named in namespace bubblewrap landlock; do
    [ "$named" != bubblewrap ] || [ -x /usr/bin/bwrap ] || { skip "$named" 'no bubblewrap here' && continue; }
    call "${run[@]}" -b "$named" -w . --device /dev/full -- test -c /dev/full
    [ "$status" -eq 0 ]
    result $? "$named: nor does a device ask for a wall around others"
done

# A thousand names to hide: minutes, once, while each of them asked all others about all others.
mkdir -p "$dir/many" && (cd "$dir/many" && touch $(seq 1000)) && hides=$(seq -f "--hide $dir/many/%.0f" 1000)
call timeout 120 "${run[@]}" -b namespace -w . $hides -- sh -c 'ls "$1"' sh "$dir/many"
[ "$status" -eq 0 ] && [ ! -s "$dir/out" ] || why "status $status, $(wc -l <"$dir/out") names"
result $? 'a thousand hidden names are hidden'

# Few open files: the canary among them must not be one of the chain's own.
for limit in 40 44 48 56 60; do
    call sh -c "ulimit -n $limit && exec \"\$@\"" sh "${run[@]}" -b namespace -w . -- true
    [ "$status" -eq 0 ] || [ "$(field .error.code "$dir/report")" != ATTESTATION_FAILED ]
    result $? "with $limit open files nothing is taken for a boundary that is missing"
done
finish
