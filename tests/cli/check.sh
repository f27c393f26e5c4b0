#!/bin/bash
# check.sh - the battery of confine check: what is claimed is held, on each backend.
. "$(dirname "$0")/tap.sh"
schema=$here/../../docs/check.schema.json

# holds EXPRESSION: of the result in $dir/out, with `b` its backends by name
holds() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
b = {b["name"]: b for b in d["backends"]}
usable = [b for b in d["backends"] if b["usable"]]
attempts = [a for b in usable for a in b["attempts"]]
over = [(b["name"], a["id"]) for b in usable for a in b["attempts"] if a["judgement"] == "over-claim"]
if not eval(sys.argv[2]):
    sys.exit("not true: %s; over-claims %s; errors %s" % (sys.argv[2], over, [a for a in attempts if a["verdict"] == "error"][:3]))' "$dir/out" "$1" 2>>"$dir/why"
}

# left: what a battery would leave behind, this one or another that runs at the same time
left() { find /var/tmp /tmp /dev/shm -maxdepth 1 -name 'confine-check-*' -user "$(id -u)" 2>/dev/null | sort; }
# gone NAME...: wait until none of them is there; what others have goes as well
gone() {
    local name
    for ((i = 0; i < 1200; i++)); do
        for name; do [ ! -e "$name" ] || { sleep 0.1; continue 2; }; done
        return 0
    done
    why "still there: $*"
}

# Every backend, every attempt.
call "$confine" check --all --json
[ "$status" -eq 0 ] || why "status $status"
holds 'not over' && [ "$status" -eq 0 ]
result $? "no backend claims what it does not hold"
valid "$dir/out"
result $? "the JSON is what the schema says"
holds 'not [a for a in attempts if a["verdict"] == "error"]'
result $? "nothing went wrong"
holds 'usable and all(len([a for a in b["attempts"] if a["verdict"] in ("blocked", "crossed")]) >= 190 for b in usable)'
result $? "at least 190 attempts prove something, on each backend"
holds 'all(len({a["id"] for a in b["attempts"]}) == len(b["attempts"]) for b in usable)'
result $? "no attempt is made twice"
holds 'all(b["totals"]["blocked"] + b["totals"]["crossed"] + b["totals"]["no_control"] + b["totals"]["skipped"] + b["totals"]["errors"] == len(b["attempts"]) for b in usable)'
result $? "each attempt is counted once"
# A landlock without pathname sockets in its reach refuses them all, and so whatever a helper might hand out.
holds 'not [(b["name"], s["id"]) for b in usable for s in b["surfaces"] if s["judgement"] == "under-claim" and (b["name"], s["id"]) != ("landlock", "fd.passed")]'
result $? "what is called open can be crossed"
cp "$dir/out" "$dir/whole"
# shellcheck disable=SC2046 # names without spaces
gone $(left)
result $? "nothing is left outside"
[ -z "$(find "$HOME/.cache/confine/caches" -name '*check*' 2>/dev/null)" ] || why "$(ls "$HOME/.cache/confine/caches")"
[ ! -s "$dir/why" ]
result $? "no caches of the private workspace are left in the home"

# A list of hosts: one of their own, where the options have none; and the rules of the options.
listed() { echo "[a for a in attempts if a['surface'] == 'net.listed' and a['verdict'] == 'blocked' and a['claim'] == 'enforced']"; }
if backend_works namespace && [ -e /etc/resolv.conf ]; then
    cp "$dir/whole" "$dir/out"
    holds "{s['state'] for s in b['namespace']['surfaces'] if s['id'] == 'net.listed'} == {'enforced'} and len([a for a in b['namespace']['attempts'] if a in $(listed)]) >= 40"
    result $? "what is not on a list is out of reach"
    call "$confine" check -b namespace --allow '*.example.org:8443' --only 'net.listed' --json
    [ "$status" -eq 0 ] && holds "not over and len($(listed)) >= 40 and [a for a in attempts if a['id'] == 'NET-68' and 'all that is below' in a['reason']]"
    result $? "nor with the rules of the options, and what they allow is not tried"
    call "$confine" check -b namespace --allow 10.0.0.0/8:5432 --only 'NET-5[27]' --json
    [ "$status" -eq 0 ] && holds "[a['id'] for a in $(listed)] == ['NET-52'] and [a for a in attempts if a['reason'] == 'no rule is of a name']"
    result $? "nor with a rule of addresses, and what is of names is skipped"
else
    skip 'what is not on a list' 'namespace does not work here'
fi

# The first terminal of a machine has the name that the command's own has inside: that one may be read.
if [ "$(id -u)" -eq 0 ]; then
    pts='mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx && exec "$@"'
    call unshare -m --propagation private sh -c "$pts" sh "$confine" check --all --only 'tty.*' --json
    { [ "$status" -eq 0 ] || why "status $status"; } &&
        holds '[a for a in attempts if a["id"] == "TTY-12" and a["verdict"] == "blocked"] and not over'
    result $? "a terminal of the same name is not the caller's"
else
    skip "a terminal of the same name is not the caller's" "only root can make it"
fi

# A workspace of the caller's own.
mkdir -p "$dir/own/.git/hooks"
echo precious >"$dir/own/file"
(cd "$dir/own" && find . -exec stat -c '%n %a %Y %s' {} + | sort) >"$dir/before"
call "$confine" check "$backend" -w "$dir/own" --only 'fs.*' --json
[ "$status" -eq 0 ] || why "status $status"
(cd "$dir/own" && find . -exec stat -c '%n %a %Y %s' {} + | sort) >"$dir/after"
diff <(grep -v '^\. ' "$dir/before") <(grep -v '^\. ' "$dir/after") >>"$dir/why" && [ "$status" -eq 0 ]
result $? "in a workspace of the caller's nothing is changed or left"
holds '[a for a in attempts if a["id"] == "FS-05" and a["verdict"] == "blocked"] and [a for a in attempts if a["id"] == "FS-47" and a["verdict"] == "skipped"]'
result $? "what would change names at its root is skipped, the rest is tried"

# What is opened is seen to be open, and what is not claimed is no over-claim.
call "$confine" check "$backend" -n host --only 'net.*' --json
holds 'not over and [a for a in attempts if a["id"] == "NET-01" and a["verdict"] == "crossed" and a["judgement"] == "declared"]'
result $? "with the network of the host, TCP is seen to cross, and declared"
call "$confine" check "$backend" -m read-only --only 'FS-0*' --json
holds '[a for a in attempts if a["id"] == "FS-01" and a["verdict"] == "blocked"] and [a for a in attempts if a["id"] == "FS-05" and a["verdict"] == "skipped"]'
result $? "a read-only run has no workspace to try from"
call "$confine" check -m danger-full-access --only 'FS-0*' --json
holds 'not over and all(a["verdict"] in ("crossed", "skipped") for a in attempts) and [a for a in attempts if a["verdict"] == "crossed"]'
result $? "where nothing is held, everything crosses and nothing is claimed"

# A page of its own.
call "$confine" check --all --only 'FS-[01]*' -q --html "$dir/page.html"
[ "$status" -eq 0 ] && python3 -c 'import html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    open, seen, void = [], set(), {"meta"}
    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag not in self.void: self.open.append(tag)
        assert not [a for a in attributes if a[0] in ("src", "href") or a[0].startswith("on")], attributes
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
page = Page()
page.feed(text)
assert not page.open and "script" not in page.seen and "link" not in page.seen
assert "http" not in text.replace("http-equiv", "") and "@import" not in text and "url(" not in text
for word in ("FS-01", "fs.write", "viewport", "blocked", "landlock"):
    assert word in text, word
rows = [row.count("<td") for row in re.findall("<tr>.*", text)]
assert len(rows) > 50 and len(set(rows[1:])) <= 2, set(rows)' "$dir/page.html" 2>>"$dir/why"
result $? "--html is a page without script, link or address"
mkdir -p "$dir/own"
call "$confine" check "$backend" -w "$dir/own" --only 'FS-0*' --html "$dir/own/page.html"
[ "$status" -eq 125 ] && [ ! -e "$dir/own/page.html" ]
result $? "not where the command may write"

# The words of the command.
call "$confine" check --list
[ "$status" -eq 0 ] && grep -q '^FS-01 ' "$dir/out" && grep -q '^TTY-01 ' "$dir/out"
result $? "--list explains the attempts"
call "$confine" check --list --json --only 'TTY-*'
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not (d["attempts"] and all(a["id"].startswith("TTY-") and a["what"] and a["why"] and a["call"] for a in d["attempts"])))' "$dir/out"
result $? "--list --json as well"
call "$confine" check "$backend" --only 'no-such-thing'
[ "$status" -eq 125 ] && has_line "no attempt matches"
result $? "nothing tried is no success"
if backend_works landlock; then
    call "$confine" check -b landlock --only net.listed
    [ "$status" -eq 125 ] && has_line "attempts: it was refused: no-network-namespace"
    result $? "what was chosen and could not be tried says why"
    call "$confine" check --all --only net.listed
    grep -q "landlock: nothing was tried that proves anything: [0-9]* attempts: it was refused: " "$dir/out" && ! grep -q "none of 0" "$dir/out"
    result $? "and so does each backend that could try none"
else
    skip "what was chosen and could not be tried says why" "no landlock here"
fi
call "$confine" check --all --json --only 'no-such-thing'
[ "$status" -eq 125 ] && has_line "nothing was tried" && valid "$dir/out"
result $? "nor with all backends, and that is one object"
call "$confine" check -b none-such --json
[ "$status" -eq 125 ] && grep -q '"error"' "$dir/out"
result $? "an unknown backend is an error, in JSON too"
call "$confine" check --all -b landlock --only 'env.*'
[ "$status" -eq 125 ] && has_line "option --all: it is every backend, and --backend names one (leave one of the two out)" && [ ! -s "$dir/out" ]
result $? "all of them, and one by name"
call "$confine" check "$backend" -- true
[ "$status" -eq 125 ] && has_line "takes no such word"
result $? "it takes no command"
call "$confine" check "$backend" -q --only 'FS-0*'
[ "$status" -eq 0 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && [ ! -s "$dir/err" ]
result $? "-q is one sentence"

# Killed, it leaves nothing.
"$confine" check "$backend" --only 'fs.*' >/dev/null 2>&1 &
check=$!
base=
while [ ! -d "$base/outside" ] && kill -0 $check 2>/dev/null; do
    battery=$(cat /proc/$check/task/$check/children 2>/dev/null)
    base=$(tr '\0' '\n' <"/proc/${battery% }/cmdline" 2>/dev/null | sed -n 's/^base=//p')
done
[ -d "$base/outside" ] || why "it had ended before it could be killed"
kill -KILL $check $battery
wait $check 2>/dev/null
[ ! -s "$dir/why" ] && gone "$base"
result $? "killed, it leaves nothing outside"
finish
