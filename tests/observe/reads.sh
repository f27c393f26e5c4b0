#!/bin/bash
# reads.sh - where reading is restricted, what may not be read or executed is told of, all of it, with what would allow it.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/../cli/tap.sh"

out=$dir/outside
mkdir "$out" "$out/sub"
echo text >"$out/file"
cp /bin/true "$out/program"
printf '#!/bin/sh\nexit 0\n' >"$out/script"
chmod 755 "$dir" "$out/script"
# denied LIST: the report's refusals, operation and path in order; all were seen.
denied() {
    report "[(i['operation'], i['path']) for i in r['denials']['items']] == $1 and r['denials']['complete'] and r['denials']['unreadable'] == 0" ||
        why "$(cat "$dir/report")"
}
for name in namespace landlock; do
    backend=--backend=$name
    if ! backend_works $name; then
        skip "$name" "it does not work here"
        continue
    fi
    run 0 "$name: what may be read is read, and everything was seen" \
        'r["denials"]["items"] == [] and r["denials"]["complete"] and "fs.read" in r["denials"]["covers"]' \
        --readable listed -- sh -c 'cat /etc/passwd >/dev/null; ls -d . >/dev/null; bash -c true'
    run 0 "$name: reading is looked at where it is restricted, and nowhere else" '"fs.read" not in r["denials"]["covers"]' -- true
    tries="cat $out/file; $out/program; ls $out/sub; :"
    call run_with_report $backend -w . --readable listed -- sh -c "$tries"
    [ "$status" -eq 0 ] && valid "$dir/report" &&
        denied "[('read', '$out/file'), ('execute', '$out/program'), ('read', '$out/sub')]"
    result $? "$name: a file, a program and a directory that may not be read"
    report "all(i['surface'] == 'fs.read' and i['grant_option'] == '--read ' + i['path'] and i['grant'] == {'read': [i['path']]} for i in r['denials']['items'])"
    result $? "$name: each with what would allow it"
    call run_with_report $backend -w . --readable listed --read "$out/file" --read "$out/program" --read "$out/sub" -- sh -ec "$tries"
    [ "$status" -eq 0 ] && denied "[]"
    result $? "$name: which does"
    call run_with_report $backend -w . --readable listed -- sh -c "echo x >$out/file"
    denied "[('write', '$out/file')]"
    result $? "$name: what is written is told of as ever"
    # What is hidden is so by what a view has in its place; and it is looked at for who asks, where all else may be read.
    mkdir -p "$HOME/.ssh" "$HOME/.aws/sso/cache" "$out/named"
    echo key | tee "$HOME/.ssh/id_rsa" "$HOME/.aws/sso/cache/token" >"$out/named/file"
    echo closed >"$HOME/.netrc"
    [ "$(id -u)" -eq 0 ] || chmod 0 "$HOME/.netrc"
    tries='cat ~/.ssh/id_rsa ~/.aws/sso/cache/token "$0"; cat ~/.netrc; :'
    for words in '--denials reads' "--readable listed --read $dir"; do
        call run_with_report $backend -w . --hide "$out/named/file" $words -- sh -c "$tries" "$out/named/file"
        hidden="[(i['operation'], i['path'], i['surface'], i['by_mode']) for i in r['denials']['items']]"
        inside=$([ $name = landlock ] && echo /token)
        own=$([ "$(id -u)" -ne 0 ] || echo "('read', '$HOME/.netrc', 'fs.hidden', False)")
        [ "$status" -eq 0 ] && valid "$dir/report" &&
            report "$hidden == [('read', p, 'fs.hidden', False) for p in ('$HOME/.ssh/id_rsa', '$HOME/.aws/sso/cache$inside', '$out/named/file')] + [$own] and r['denials']['complete'] and 'fs.hidden' in r['denials']['covers']"
        result $? "$name: what is hidden and was to be read: $words"
    done
    # A directory that is hidden: below it where its name is left out as well, and listed where it can be.
    mkdir -p "$out/named/below"
    echo key >"$out/named/below/file"
    call run_with_report $backend -w . --denials reads --hide "$out/named" -- sh -c 'ls "$0"; cat "$0/below/file"' "$out/named"
    inside=$([ $name = landlock ] && echo /below/file)
    [ "$status" -eq 1 ] && [ "$(cat "$dir/out")" = "$([ $name != landlock ] || printf 'below\nfile')" ] &&
        report "[(i['operation'], i['path'], i['surface']) for i in r['denials']['items']] == [('read', '$out/named$inside', 'fs.hidden')] and r['denials']['complete']"
    result $? "$name: what lies below a directory that is hidden"
    rm -r "$out/named/below"
    call run_with_report $backend -w . --denials reads -- sh -c 'cat /etc/passwd >/dev/null'
    report "r['denials']['items'] == [] and 'fs.read' not in r['denials']['covers']"
    result $? "$name: and nothing else"
    rm -rf "$HOME/.ssh" "$HOME/.aws" "$HOME/.netrc"
    # The last link's own execs, which nobody can look into.
    for word in program script; do
        call run_with_report $backend -w . --readable listed -- "$out/$word"
        [ "$status" -eq 126 ] && report 'r["outcome"]["kind"] == "not-started"' && denied "[('execute', '$out/$word')]"
        result $? "$name: the command itself: $word"
    done
    PATH=/nowhere:$out:$PATH call run_with_report $backend -w . --readable listed -- program
    [ "$status" -eq 126 ] && denied "[('execute', '$out/program')]"
    result $? "$name: the command itself, by PATH"
    cp /bin/false "$out/true"
    PATH=$out:$PATH call run_with_report $backend -w . --readable listed -- true
    [ "$status" -eq 0 ] && denied "[('execute', '$out/true')]"
    result $? "$name: and one of that name that was passed over"
    rm "$out/true"
    cp /bin/true program
    call run_with_report $backend -w . --readable listed -- ./program
    [ "$status" -eq 0 ] && denied "[]"
    result $? "$name: a command of the workspace, by a relative name"
    # A command that nobody can look into hides behind none of them.
    if "${CC:-cc}" -static -o hidden -x c - 2>>"$dir/why" <<C; then
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    execl("$out/program", "program", (char *)0);
    return 0;
}
C
        for word in ./hidden hidden; do
            PATH=/nowhere:$PWD:/usr/bin:/bin call run_with_report $backend -w . --readable listed -- $word
            [ "$status" -eq 0 ] && report '(r["denials"]["unreadable"] == 1 and not r["denials"]["complete"]) or r["denials"]["items"]'
            result $? "$name: an exec of one that cannot be looked into is counted: $word"
        done
    else
        skip "$name: an exec of one that cannot be looked into" "no static programs"
    fi
done
finish
