#!/bin/bash
# passed.sh - descriptors that programs hand to their children: make's jobserver, the channel of Node.
. "$(dirname "$0")/compat.sh"

call() { printf '%s run -q --backend %s -w %s' "$confine" "$backend" "$w"; }
# as in confined(), without confine: it is called from within.
caller() { (cd "$w" && env -i PATH="$path" HOME="$home" LC_ALL=C TMPDIR="$tmp" CONFINE_MARK="$test_dir" "$@"); }

if outside sh -c 'command -v make' >/dev/null 2>&1; then
    # Four jobs inside that wait for each other: with fewer at a time they would wait for good.
    outside sh -c 'cd "$1" && printf "%s\n" "all: a b c d" "a b c d:" "	@: >\$@; for i in \$\$(seq 600); do [ -e a ] && [ -e b ] && [ -e c ] && [ -e d ] && exit 0; sleep 0.1; done; exit 1" >inner.mk' sh "$w"
    # A space and a tab: what a rule begins with is taken away from each line.
    cat >"$test_dir/outer.mk" <<MAKE
with:
	+@$(call) \$\$(echo "\$\$MAKEFLAGS" | sed -n 's/.*--jobserver-auth=\([0-9]*\),\([0-9]*\).*/--pass-fd \1 --pass-fd \2/p') -- make -f inner.mk
without:
	+@$(call) -- make -f inner.mk a
MAKE
    run caller make -s -j4 -f "$test_dir/outer.mk" with
    case $(make --version | head -1) in
    "GNU Make 4."[0-3]*)
        is "make's jobserver works through confine" "$status $err" "0 "
        outside rm -f "$w"/{a,b,c,d}
        outside sh -c 'cd "$1" && touch a b c d' sh "$w"
        run caller make -s -j4 -f "$test_dir/outer.mk" without
        ok "without --pass-fd make says that it has none" grep -q jobserver <<<"$err$out"
        ;;
    *) skip "make's jobserver works through confine" "this make has a jobserver with a name" ;;
    esac
else
    skip "make's jobserver works through confine" "make is not installed for this user"
fi

if outside sh -c 'command -v node' >/dev/null 2>&1; then
    outside sh -c 'cat >"$1/child.js"' sh "$w" <<'JS'
process.on('message', text => { process.send('heard ' + text, () => process.disconnect()); });
JS
    cat >"$test_dir/parent.js" <<'JS'
const {spawn} = require('child_process');
const [confine, ...words] = process.argv.slice(2);
const child = spawn(confine, [...words, '--pass-fd', '3', '--', 'node', 'child.js'], {stdio: ['pipe', 'pipe', 'inherit', 'ipc']});
child.on('message', text => console.log(text));
child.on('exit', (code, signal) => console.log('exit', code, signal));
child.send('hello');
JS
    # shellcheck disable=SC2046 # words
    run caller node "$test_dir/parent.js" $(call)
    is "the channel of a Node child works through confine" "$out" "heard hello
exit 0 null"
else
    skip "the channel of a Node child works through confine" "node is not installed for this user"
fi
close
