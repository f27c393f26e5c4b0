#!/bin/bash
# session.sh - what lives on behind a run of a session is answered as long as it asks, and seen while the run lasts.
. "$(dirname "$0")/../cli/tap.sh"

out=$(mktemp -d /var/tmp/confine-observed.XXXXXX)
setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"' sh $$ "$out" </dev/null >/dev/null 2>&1 &
mkdir -m 700 "$out"/{w,home,runtime}
user=()
if [ "$(id -u)" -eq 0 ]; then
    chown 65534:65534 "$out"/*
    user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
chmod 755 "$out"
export HOME=$out/home XDG_RUNTIME_DIR=$out/runtime
cd "$out/w" || exit 99
if ! "${user[@]}" "$confine" session start observed --owner $$ >"$dir/out" 2>"$dir/err"; then
    echo "ok 1 - a session # SKIP $(head -1 "$dir/err")"
    echo 1..1
    exit 0
fi
"${user[@]}" "$confine" run -q --session observed -w "$out/w" --report fd:5 -- \
    sh -c "touch $out/refused; (while [ ! -e go ]; do sleep 0.1; done; echo late >later; mkdir sub && echo \$? >done) >/dev/null 2>&1 &" \
    5>"$dir/report" 2>"$dir/err"
result $? "a run that leaves somebody behind"
python3 -c "
import json, sys
d = json.load(open('$dir/report'))['denials']
sys.exit(not (d['channel'] == 'observer' and d['complete'] and [i['path'] for i in d['items']] == ['$out/refused']))" || cat "$dir/report" >>"$dir/why"
result $? "what it was refused has been seen"
"${user[@]}" touch go
for _ in $(seq 600); do [ ! -s done ] || break; sleep 0.1; done
[ "$(cat later done 2>&1)" = "$(printf 'late\n0')" ] || why "$(ls -l; cat later done 2>&1)"
result $? "whoever was left behind is answered still"
"${user[@]}" "$confine" session end observed >"$dir/out" 2>"$dir/err"
result $? "the session ends"
cd / && rm -rf "$out"
finish
