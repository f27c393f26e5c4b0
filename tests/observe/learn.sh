#!/bin/bash
# learn.sh - what `confine learn` proposes, that it holds, and that it stays narrow.
. "$(dirname "$0")/../cli/tap.sh"

out=$(mktemp -d /var/tmp/confine-learn.XXXXXX)
setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"' sh $$ "$out" </dev/null >/dev/null 2>&1 &
mkdir -p "$out"/{w,home/sub,there}
user=()
if [ "$(id -u)" -eq 0 ]; then
    chown -R 65534:65534 "$out"
    user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
export HOME=$out/home
cd "$out/w" || exit 99
learn() { status=0; "${user[@]}" "$confine" learn -w "$out/w" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?; }
said() { python3 -c "import json, sys; d = json.load(open('$dir/out')); sys.exit(not ($1))" || why "$(cat "$dir/out" "$dir/err")"; }
lines() { python3 -c "import json; d = json.load(open('$dir/out')); print(sum(len(v) for v in d.values() if isinstance(v, list)) + len(d.get('network', {}).get('allow', [])))"; }
check() { # NAME STATUS CONDITION
    { [ "$status" -eq "$2" ] || why "status $status, not $2"; } && said "$3"
    result $? "$1"
}

for backend in namespace landlock; do
    learn -b $backend -- sh -c 'echo x >in'
    check "$backend: what needs nothing" 0 '"write" not in d and d["mode"] == "workspace-write"'
    learn -b $backend -- touch "$out/there/one"
    check "$backend: one file, its directory" 0 "d['write'][0]['path'] == '$out/there' and 'touch' in d['write'][0]['why']"
    [ ! -e "$out/there/one" ]
    result $? "$backend: nothing is put into force"
    learn -b $backend --verify -- sh -c "set -e; mkdir -p $out/there/a/b/c; for i in 1 2 3 4; do mkdir -p $out/there/d\$i/e; echo x >$out/there/d\$i/e/f; done"
    check "$backend: it holds" 0 "[w['path'] for w in d['write']] == ['$out/there']"
    grep -q 'the proposal holds' "$dir/err"
    result $? "$backend: and that is said"
    rm -rf "$out"/there/*
    cat "$dir/out" >"$out/policy.json"
    "${user[@]}" "$confine" run -q -b $backend --policy "$out/policy.json" -- mkdir "$out/there/again" 2>"$dir/err"
    result $? "$backend: it is a policy"
    rm -rf "$out"/there/*
    learn -b $backend --verify -- sh -c 'touch ~/.profile ~/.bashrc ~/.zshrc; touch ~/x/y'
    check "$backend: never a home" 1 '"write" not in d'
    learn -b $backend -- sh -c 'touch /a /b /c /usr/d /usr/e /usr/f'
    check "$backend: nor what is at the top" 0 '"write" not in d'
    # More than a person reads in one look become fewer.
    mkdir -p "$out"/there/{a,b,c,d}/{1,2,3,4,5}
    [ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$out/there"
    learn -b $backend --verify -- sh -c "for a in a b c d; do for b in 1 2 3 4 5; do echo x >$out/there/\$a/\$b/f || :; done; done"
    check "$backend: many places" 0 "$(lines) <= 10"
    rm -rf "$out"/there/*
    mkdir "$out/there/mine"
    [ "$(id -u)" -ne 0 ] || chown 65534:65534 "$out/there/mine"
    learn -b $backend --verify --write "$out/there/mine" -- rmdir "$out/there/mine"
    check "$backend: the name of what is granted lies in what is not" 0 "[w['path'] for w in d['write']] == ['$out/there']"
    learn -b $backend --verify -- rmdir "$out/w"
    check "$backend: and that of the workspace, in a home's directory" 1 '"write" not in d'
    # What a run would refuse is no proposal: the user's policies lie in ~/.config.
    mkdir -p "$HOME"/.config/{a,b,c}
    [ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$HOME/.config"
    learn -b $backend --verify -- sh -c 'touch ~/.config/a/x ~/.config/b/x ~/.config/c/x'
    check "$backend: three directories beside what is never granted stay three" 0 "[w['path'] for w in d['write']] == ['$HOME/.config/a', '$HOME/.config/b', '$HOME/.config/c']"
    learn -b $backend --verify -- touch "$HOME/.config/x"
    check "$backend: and what would need all of it is said" 1 '"write" not in d'
    rm -rf "$HOME/.config"
    # Nor what would hand over the account; and the next run of --verify does not have it either.
    mkdir -p "$HOME/.ssh" "$HOME/.config/systemd/user" .git/hooks
    touch "$HOME/.bashrc"
    [ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$HOME" .git
    learn -b $backend --verify -- sh -c 'echo x >~/.ssh/authorized_keys; echo x >~/.bashrc; touch ~/.config/systemd/user/x; touch .git/hooks/x'
    check "$backend: nor what is run later outside" 1 '"write" not in d and "unprotect" not in d and "mode" in d'
    grep -qF "not proposed: create $HOME/.ssh/authorized_keys by" "$dir/err" && grep -q 'bashrc.* by .*: it would hand over ~/.bashrc' "$dir/err" &&
        [ ! -e "$HOME/.ssh/authorized_keys" ] && [ ! -s "$HOME/.bashrc" ]
    result $? "$backend: which is said, and not tried"
    rm -rf "$HOME"/.ssh "$HOME"/.config "$HOME"/.bashrc .git
    learn -b $backend --verify -- sh -c 'echo x >/etc/own'
    [ "$(grep -c 'no policy allows' "$dir/err")" -eq 0 ] && grep -q 'its mode or owner refuses it as well.*/etc/own' "$dir/err"
    result $? "$backend: what a mode refuses as well is said as that"
    learn -b $backend -q -- touch "$out/there/one"
    check "$backend: quiet, it proposes the same" 0 "d['write'][0]['path'] == '$out/there'"
    ! grep -q '^confine:' "$dir/err"
    result $? "$backend: and says nothing else"
    learn -b $backend --denials off -- touch "$out/ran"
    [ "$status" -eq 125 ] && [ ! -s "$dir/out" ] && has_line "without the observer nothing is learnt (leave it out)"
    result $? "$backend: blind, it learns nothing"
    echo '{"policy": 1, "denials": "off"}' >"$out/blind.json"
    learn -b $backend --policy "$out/blind.json" -- touch "$out/ran"
    [ "$status" -eq 125 ] && [ ! -s "$dir/out" ] && has_line "blind.json:1:26: without the observer nothing is learnt (say --denials auto)"
    result $? "$backend: nor where a policy file has it so"
    learn -b $backend --policy "$out/blind.json" --denials auto -- touch "$out/there/one"
    check "$backend: but where an option is stronger" 0 "d['write'][0]['path'] == '$out/there'"
    learn -b $backend -- nosuchcommand
    [ "$status" -eq 127 ] && [ ! -s "$dir/out" ]
    result $? "$backend: of a command that is not there neither"
    # What is read: of a directory and what is in it, the directory is one line; and the policy lists by itself.
    mkdir -p "$out/there/in" "$out/else"
    echo x | tee "$out/there/one" "$out/there/in/two" >"$out/else/three"
    reads="cat $out/there/one $out/there/in/two && ls $out/there"
    learn -b $backend --readable listed --verify -- sh -c "$reads"
    check "$backend: a directory that is read, and what is in it" 0 "[r['path'] for r in d['read']] == ['$out/there'] and d['readable'] == 'listed'"
    cat "$dir/out" >"$out/policy.json"
    "${user[@]}" "$confine" run -q -b $backend --policy "$out/policy.json" -- sh -c "$reads && ! cat $out/else/three" >"$dir/out" 2>"$dir/err"
    result $? "$backend: by itself it reads that, and nothing beside it"
    rm -rf "$out"/there/* "$out/else"
    learn -b $backend -- sh -c 'exit 7'
    check "$backend: a command's own failure is no refusal" 0 '"write" not in d'
    tail -n 1 "$dir/err" | grep -q 'the command ended with 7'
    result $? "$backend: the last line has it"
    learn -b $backend --verify -- sh -c 'exit 7'
    check "$backend: nor with --verify" 0 '"write" not in d'
    grep -q 'no refused access was observed, but the command ended with 7' "$dir/err" && ! grep -q 'holds' "$dir/err"
    result $? "$backend: but it does not read as success"
    warned=$(grep -c '^confine: warning: no-loopback: .* --network host' "$dir/err")
    [ "$warned" = "$([ $backend = landlock ] && echo 1 || echo 0)" ]
    result $? "$backend: and what is refused unseen is said"
done
# The start directory is shown in a private place, and can be read there.
shown=$(mktemp -d /tmp/confine-learn.XXXXXX)
[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$shown"
(cd "$shown" && status=0 && "${user[@]}" "$confine" learn -b namespace -- sh -c 'echo x >one; echo y >/tmp/own' >"$dir/out" 2>"$dir/err" </dev/null)
check "what lies in a private place and is shown there" 0 "(d['mode'], d['workspace']) == ('workspace-write', '$shown') and 'write' not in d"
(cd "$shown" && cat "$dir/out" >"$out/policy.json" && "${user[@]}" "$confine" run -q -b namespace --policy "$out/policy.json" -- sh -c 'echo x >one' 2>"$dir/err")
result $? "and that is a policy that works"
rm -rf "$shown"
# When it is killed, the run is as well.
mark=600.${RANDOM}$$
"${user[@]}" "$confine" learn -w "$out/w" -- sh -c "echo x >started; sleep $mark" >"$dir/out" 2>"$dir/err" </dev/null &
victim=$!
await test -e started
kill -KILL "$victim"
wait "$victim" 2>/dev/null
over() { ! pgrep -f "sleep $mark" >/dev/null; }
await over
[ -e started ] && ! pgrep -fa "sleep $mark" >>"$dir/why"
result $? "SIGKILL of learn: nothing of the run is left"
rm -f started
learn --mode danger-full-access -- sh -c 'exit 0'
{ [ "$status" -eq 0 ] && ! grep -q 'option --network' "$dir/err"; } || why "$(cat "$dir/err")"
result $? "where nothing is enforced no network is tried that would be"
learn -- /no/such/command
[ "$status" -eq 127 ]
result $? "a command that is not there"
learn -b namespace -- sh -c 'getent hosts example.org || curl -s -m 5 http://example.org/'
if command -v curl >/dev/null; then
    check "a name that was asked for" 0 'd["network"]["allow"][0]["rule"].startswith("example.org")'
fi
cd / && rm -rf "$out"
finish
