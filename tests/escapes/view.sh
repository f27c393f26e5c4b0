#!/bin/bash
# view.sh - what holds a view of its own, tried from within: mounts, pid 1, /proc, names, sockets, the repository's hooks.
#
# As root each way is tried by uid 0, which stays root inside, and by uid 65534, who owns the workspace.
#
# Should:  have a control for every refusal: the same act, outside or in namespaces of its own, has to succeed.
# Mustn't: judge by what the command says alone: files and processes are looked at from outside.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/../cli/tap.sh"

call "$confine" run -q $backend -w . -- true
if [ "$status" -ne 0 ]; then
    skip 'a view of its own' "no namespaces here: $(head -c 200 "$dir/err")"
    finish
fi
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -static -o "$dir/view" "$here/view.c" || exit 99
chmod 755 "$dir"
mkdir -p "$dir/else" "$dir/other" "$HOME/src"
echo hidden >"$dir/else/hidden"
echo canary >"$dir/else/file"
git=$dir/w/sub/.git
repository() {
    rm -rf "${dir:?}/w"/*
    mkdir -p "$git/hooks" "$git/refs" "$git/objects"
    echo 'ref: refs/heads/main' >"$git/HEAD"
    printf '[core]\n\trepositoryformatversion = 0\n' >"$git/config"
    echo 'exit 0' >"$git/hooks/pre-commit"
    [ "$1" != owner ] || chown -R 65534:65534 "$dir/w/sub"
}
repository self
users=self
if [ "$(id -u)" -eq 0 ]; then
    users='keep owner'
    chown -R 65534:65534 "$dir/w" "$dir/else" "$HOME"
fi

# by USER WORD...: WORDs as the command, as that user
by() {
    local words=(run -q $backend --hide "$dir/else/hidden" --protect "$git/hooks" --report "$dir/report")
    [ "$1" = self ] || words+=(--user "$1")
    shift
    call "$confine" "${words[@]}" -w "$dir/w" "$@"
}
# outside USER WORD...: the same without confine
outside() {
    if [ "$1" = owner ]; then
        shift
        setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
    else
        shift
        "$@"
    fi
}
# child COMMAND...: started in the background, ended with this test
children=()
child() {
    "$@" </dev/null >/dev/null 2>&1 &
    children+=($!)
}
clear_up() {
    kill "${children[@]}" 2>/dev/null
    rm -rf "$dir"
}

# hooks DIRECTORY: what would run later there
hooks() { (cd "$1" && find sub/.git/hooks -type f -exec cksum {} + 2>/dev/null | sort); }

server='
import socket, sys, time
made = []
for name in sys.argv[2:]:
    one = socket.socket(socket.AF_UNIX); one.bind("\0" + name[1:] if name[0] == "@" else name); one.listen(64); made.append(one)
open(sys.argv[1], "w").close()
time.sleep(600)'
child python3 -c "$server" "$dir/serving" "@$dir" "$HOME/agent" "$dir/else/socket"
await test -e "$dir/serving"
chmod 666 "$HOME/agent" "$dir/else/socket"

for user in $users; do
    repository "$user"
    [ "$user" = self ] || chown "$([ "$user" = owner ] && echo 65534 || echo 0)" "$dir/w" "$HOME"

    # --- every call that changes a view, and everything of pid 1 and of the kernel's settings
    : >"$dir/w/covered"
    outside "$user" setsid unshare -Ur -m -n -p -i -u -f --mount-proc --propagation private sh -c \
        'mount --bind /dev/null "$1/covered"; cd "$1"; "$0" all "$1/covered" </dev/null & wait' "$dir/view" "$dir/w" \
        >"$dir/controls" 2>"$dir/err" </dev/null
    by "$user" -- "$dir/view" all "$dir/else/hidden"
    cp "$dir/out" "$dir/tried"
    controls=0
    while read -r way control; do
        inside=$(grep -F "$way " "$dir/tried" | cut -d' ' -f2)
        if [ "$control" != open ]; then
            [ "$inside" != open ] || result 1 "$user: $way: refused outside, and open inside"
            continue
        fi
        controls=$((controls + 1))
        [ -n "$inside" ] && [ "$inside" != open ]
        result $? "$user: $way: $inside"
    done <"$dir/controls"
    [ "$controls" -ge 30 ] || why "only $controls ways are open outside"
    result $? "$user: there were ways to close"

    # --- other names of what is hidden
    by "$user" -- cat "$dir/else/hidden"
    [ "$status" -ne 0 ] && [ ! -s "$dir/out" ]
    result $? "$user: what is hidden is not read"
    [ "$(outside "$user" cat "$dir/else/hidden")" = hidden ]
    result $? "$user: outside it is"
    if [ "$(id -u)" -eq 0 ]; then
        again() { unshare --mount --propagation private bash -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$dir/else" "$dir/other" "$@"; }
        [ "$(again cat "$dir/other/hidden")" = hidden ]
        result $? "$user: control: another mount of its directory shows it"
        words=("$confine" run -q $backend --user "$user" --hide "$dir/else/hidden" --report "$dir/report" -w "$dir/w")
        call again "${words[@]}" -- cat "$dir/other/hidden"
        [ "$status" -ne 0 ] && ! grep -q hidden "$dir/out"
        result $? "$user: inside, another mount of its directory does not"
        again "${words[@]}" -- sh -c 'cat "$0/file"' "$dir/other" >"$dir/out" 2>"$dir/err" </dev/null
        [ "$(cat "$dir/out")" = canary ]
        result $? "$user: but everything beside it"
    fi

    # --- processes
    if [ "$user" = owner ]; then
        child setpriv --reuid 65534 --regid 65534 --clear-groups sleep 500
    else
        child sleep 500
    fi
    bystander=$!
    # SIGURG is ignored where nobody waits for it: with the namespace taken away nothing must end by this test.
    rm -f "$dir/hit" "$dir/hit.ready" "$dir/w/hit"
    listen='trap "echo hit >\"$0\"" URG; : >"$0.ready"; for _ in $(seq 1200); do sleep 0.1; done'
    if [ "$user" = owner ]; then
        chmod 777 "$dir"
        child setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "$listen" "$dir/hit"
    else
        child bash -c "$listen" "$dir/hit"
    fi
    listener=$!
    await test -e "$dir/hit.ready"
    by "$user" -- bash -c 'bash -c "$1" "$0" & until [ -e "$0.ready" ]; do sleep 0.05; done
        kill -URG -1; until [ -e "$0" ]; do sleep 0.05; done; echo alive' "$dir/w/hit" "$listen"
    [ "$status" -eq 0 ] && grep -qx alive "$dir/out" && [ -e "$dir/w/hit" ] && [ ! -e "$dir/hit" ]
    result $? "$user: kill(-1) reaches what is inside, and nothing outside"
    outside "$user" kill -URG "$listener"
    await test -e "$dir/hit"
    result $? "$user: control: the same signal is heard outside"
    kill -KILL "$listener"
    rm -f "$dir/w/hit" "$dir/w/hit.ready"
    by "$user" -- sh -c 'kill -TERM 0; exit 9'
    [ "$status" -eq 143 ] && kill -0 "$bystander"
    result $? "$user: kill(0) ends the command, and nothing outside"
    by "$user" -- sh -c 'kill -KILL 1; kill -TERM 1; echo alive'
    [ "$(cat "$dir/out")" = alive ]
    result $? "$user: pid 1 takes no signal"
    by "$user" -- sh -c 'kill -0 "$0"' "$bystander"
    [ "$status" -ne 0 ] && outside "$user" sh -c 'kill -0 "$0"' "$bystander"
    result $? "$user: a process outside has no number inside"
    kill -KILL "$bystander"

    # --- sockets
    for name in "@$dir" "$HOME/agent" "$dir/else/socket"; do
        [ "$(outside "$user" "$dir/view" connect "$name")" = 'connect open' ]
        result $? "$user: control: ${name/$dir/...} is reached outside"
        by "$user" -- "$dir/view" connect "$name"
        grep -qE '^connect E(CONNREFUSED|ACCES|PERM|NOENT|NOTSOCK)$' "$dir/out" || why "$(cat "$dir/out")"
        result $? "$user: ${name/$dir/...} is not reached"
    done

    # --- descriptors
    by "$user" -- sh -c 'echo x >&7; ls -l /proc/self/fd/7; ls /proc/self/fd' 7<"$dir/else" 8>>"$dir/else/file"
    [ "$(grep -cE '^(7|8)$' "$dir/out")" -eq 0 ] && grep -q 'fd/7.: No such file' "$dir/err"
    result $? "$user: an inherited directory is closed"
    echo before >"$dir/else/output"
    chmod 666 "$dir/else/output"
    "$confine" run -q $backend $([ "$user" = self ] || echo "--user $user") -w "$dir/w" -- \
        sh -c 'echo more; : >/proc/self/fd/1; exec 9<>/proc/self/fd/2; echo x >&9' >>"$dir/else/output" 2>>"$dir/else/output" </dev/null
    [ "$(head -n 2 "$dir/else/output" | tr '\n' ' ')" = 'before more ' ]
    result $? "$user: what it opens anew by /proc/self/fd is not the caller's file"

    # --- the repository: nothing that would run later outside is changed, by whatever its directories are called
    while IFS='|' read -r name text; do
        mkdir -p "$dir/control"
        cp -a "$dir/w/sub" "$dir/control/"
        before=$(hooks "$dir/w")
        (cd "$dir/control" && bash -c "$text" "$dir/view") >"$dir/why" 2>&1
        control=$(hooks "$dir/control")
        by "$user" -- bash -c "$text" "$dir/view"
        after=$(hooks "$dir/w")
        [ "$before" != "$control" ] || why "outside this changes nothing"
        [ "$before" = "$after" ] && [ "$before" != "$control" ]
        result $? "$user: hooks: $name: $(cat "$dir/err" "$dir/out" | grep -oE 'busy|Read-only|cross-device|EBUSY|EROFS|EXDEV|not permitted|denied' | sort -u | tr '\n' ' ')"
        rm -rf "$dir/control"
    done <<'ROWS'
written|echo evil >sub/.git/hooks/pre-commit
a new one|echo evil >sub/.git/hooks/post-commit
removed|rm -f sub/.git/hooks/pre-commit
replaced|echo evil >e; mv e sub/.git/hooks/pre-commit
the directory renamed|mv sub/.git/hooks h; mkdir sub/.git/hooks; echo evil >sub/.git/hooks/pre-commit
.git renamed|mv sub/.git g; mkdir -p sub/.git/hooks; echo evil >sub/.git/hooks/pre-commit
its parent renamed|mv sub s; mkdir -p sub/.git/hooks; echo evil >sub/.git/hooks/pre-commit
.git exchanged|mkdir -p g/hooks; echo evil >g/hooks/pre-commit; "$0" exchange g sub/.git; test -e g/HEAD
its parent exchanged|mkdir -p s/.git/hooks; echo evil >s/.git/hooks/pre-commit; "$0" exchange s sub; test -e s/.git/HEAD
a hook linked|ln sub/.git/hooks/pre-commit l; echo evil >l
by its descriptor|exec 9<sub/.git/hooks/pre-commit; echo evil >/proc/self/fd/9
all removed|rm -rf sub; mkdir -p sub/.git/hooks; echo evil >sub/.git/hooks/pre-commit
ROWS
    [ "$(ls "$git/hooks")" = pre-commit ]
    result $? "$user: the hooks are what they were"
done

finish
