#!/bin/sh
# confine-launch does what the links do as programs: same status, same output, same lines.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build act "$here/act.c"
act=$test_dir/bin/act
cl=$links/confine-launch

# same NAME WORDS...: a word that names a link is its program in one run, and confine-launch's in the other
same() {
    same_name=$1
    shift
    run as "$user" "$cl" "$@"
    fused="$status|$out|$err"
    run as "$user" env PATH="$links:$PATH" "$@"
    is "$user: $same_name" "$fused" "$status|$out|$err"
    same_seen=$fused
}

state='grep -h "^NoNew\|^Cap\|^Sig[PBIC]\|^Shd\|^Uid\|^Groups\|^Umask" /proc/self/status; ls -l /proc/self/fd | sed "s/.* //; s/[0-9][0-9]*//g"; ulimit -a'
for user in $users; do
    same 'the whole chain' detach-run --session -- landlock-run --ro / --rw /dev/null -- scope-run --signal --abstract --tcp -- \
        drop-run -- sh -c "$state"
    is "$user: it ran" "${same_seen%%|*}" 0
    same "every link" detach-run -- landlock-run --ro / -- hide-run --level / -- scope-run --signal -- drop-run -- "$act" read /
    is "$user: every link ran" "$same_seen" "0|0|"
    same 'a status' landlock-run --ro / -- drop-run -- sh -c 'exit 7'
    same 'an error in the first' landlock-run --bogus
    same 'an error in the second' landlock-run --ro / -- drop-run --bogus -- true
    is "$user: the line names it" "${same_seen%%:*}" '125||drop-run'
    same 'an error in the third' landlock-run --ro / -- drop-run -- scope-run -- true
    same 'a command that is missing' landlock-run --ro / -- drop-run -- /nonesuch
    same 'what is refused' landlock-run --ro / -- scope-run --tcp -- "$act" loopback
    run as "$user" "$cl"
    is "$user: no link" "$status|$out|$err" '125||confine-launch: fatal: usage: no link named'
    run as "$user" "$cl" true
    is "$user: no link of that name" "$status|$out|$err" '125||confine-launch: fatal: true: usage: no such link'
done
finish
