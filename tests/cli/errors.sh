#!/bin/bash
# errors.sh - what can go wrong outside of confine: one line each, its own reason, nothing run.
. "$(dirname "$0")/tap.sh"
ran=(touch "$dir/ran")

# The witness itself: with nothing wrong the command runs, so that "it did not run" means something.
mkdir "$dir/out.d"
call "$confine" run $backend -w "$dir/w" --write "$dir/out.d" -- touch "$dir/out.d/ran"
[ "$status" -eq 0 ] && [ -e "$dir/out.d/ran" ] && [ ! -s "$dir/err" ]
result $? "with nothing wrong it runs and says nothing"

# --- the kernel
create_ruleset=444 unshare=272
if cc -o "$dir/deny" "$here/deny.c" 2>"$dir/why"; then
    for row in "38 no-landlock" "95 landlock-not-enabled" "1 landlock-filtered"; do
        set -- $row
        wrapper=("$dir/deny" $create_ruleset "$1")
        refused "Landlock answers errno $1" 125 "$2" "" $backend -w . -- "${ran[@]}"
        [ "$(field .error.code "$dir/report")" = SANDBOX_UNAVAILABLE ] && grep -q '(.*)$' "$dir/err"
        result $? "Landlock answers errno $1: SANDBOX_UNAVAILABLE with a remedy"
        # With the namespaces refused as well; else the mounts of that backend hold the files alone.
        wrapper=("$dir/deny" $create_ruleset "$1" "$dir/deny" $unshare 1)
        refused "Landlock answers errno $1, backend auto" 125 "$2" "" -w . -- "${ran[@]}"
        call "$dir/deny" $create_ruleset "$1" "$confine" exec $backend -w . -- "${ran[@]}"
        [ "$status" -eq 125 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -e "$dir/ran" ]
        result $? "Landlock answers errno $1, exec"
    done
    wrapper=()
else
    skip "kernels without Landlock" "no C compiler"
fi

# What starts there would be process 1 of a namespace that is not ours, and its end would wait for all the others.
apart=(unshare --pid)
[ "$(id -u)" -eq 0 ] || apart=(unshare --user --pid)
if "${apart[@]}" true 2>/dev/null; then
    wrapper=("${apart[@]}")
    refused "children in another process namespace" 125 children-elsewhere "--fork" $backend -w . -- "${ran[@]}"
    refused "the same, unconfined" 125 children-elsewhere "--fork" --mode danger-full-access -- "${ran[@]}"
    wrapper=()
else
    skip "children in another process namespace" "unshare --pid is refused here"
fi

# --- the launcher
mkdir -p "$dir/alone/bin"
cp "$confine" "$dir/alone/bin/confine"
real=$confine confine=$dir/alone/bin/confine
refused "launcher missing" 125 missing-launcher "confine-launch" $backend -w . -- "${ran[@]}"
mkdir -p "$dir/w/stage/bin" "$dir/w/stage/libexec"
cp "$real" "$dir/w/stage/bin/confine"
cp -R "$CONFINE_STAGE/libexec/confine" "$dir/w/stage/libexec/"
confine=$dir/w/stage/bin/confine
refused "launcher in the workspace" 125 launcher-writable "" $backend -w . -- "${ran[@]}"
mkdir -p "$dir/open/bin" "$dir/open/libexec"
cp "$real" "$dir/open/bin/confine"
cp -R "$CONFINE_STAGE/libexec/confine" "$dir/open/libexec/"
chmod 777 "$dir/open/libexec/confine"
confine=$dir/open/bin/confine
refused "launcher that anyone can write" 125 launcher-writable "" $backend -w . -- "${ran[@]}"
confine=$real
rm -rf "$dir/w/stage"
if [ "$(id -u)" -eq 0 ]; then
    skip "no process more" "no number of processes holds root"
else
    # Of this user, who has more than one. Bash itself would try again for seconds: it has none to start.
    wrapper=(bash -c 'ulimit -u 1; exec "$@"' sh)
    refused "no process more" 125 set-up-failed "ulimit -u" $backend -w . -- "${ran[@]}"
    wrapper=()
    # The links behind it start processes as well. In a namespace for users of its own these are counted from none.
    if unshare --user --map-current-user true 2>/dev/null; then
        for number in 1 2 3 4 5 6; do
            call unshare --user --map-current-user bash -c 'ulimit -u $0; exec "$@"' $number "$confine" run $backend -w . -- true
            [ "$status" -eq 0 ] || { [ "$status" -eq 125 ] && has_line "ulimit -u"; } || why "with $number: $status"
            grep -q '"[a-z]*-run: fatal: ' "$dir/err" && linked=$number
        done
        [ ! -s "$dir/why" ] && [ -n "${linked-}" ]
        result $? "nor for a link"
    else
        skip "nor for a link" "user namespaces are refused here"
    fi
fi
for number in $(seq 3 40); do
    call bash -c 'ulimit -n $0; exec "$@"' $number "$confine" run $backend -w . -- true
    [ "$status" -eq 0 ] || { [ "$status" -eq 125 ] && has_line "ulimit -n"; } || why "with $number: $status: $(cat "$dir/err")"
done
[ ! -s "$dir/why" ]
result $? "too few open files, wherever they run out"

# --- grants and policies
refused "missing grant" 125 path-missing "$dir/nowhere" $backend -w . --write "$dir/nowhere" -- "${ran[@]}"
refused "missing workspace" 125 path-missing "$dir/nowhere" $backend -w "$dir/nowhere" -- "${ran[@]}"
refused "workspace too wide" 125 workspace-too-wide "" $backend -w / -- "${ran[@]}"
refused "home as the workspace" 125 workspace-too-wide "" $backend -w "$HOME" -- "${ran[@]}"
mkdir -p "$HOME/.config/confine" "$HOME/.cache/confine"
refused "the policies of the user as the workspace" 125 workspace-too-wide "confine" $backend -w "$HOME/.config/confine" -- "${ran[@]}"
refused "a grant around the policies of the user" 125 workspace-too-wide "it holds" $backend -w . --write "$HOME/.config" -- "${ran[@]}"
refused "the caches of confine" 125 workspace-too-wide "confine" $backend -w . --write "$HOME/.cache/confine" -- "${ran[@]}"
rm -r "$HOME/.config" "$HOME/.cache"
echo '{"policy": 1, "mode": "read-only", "locked": ["mode"]}' >"$dir/p.json"
for words in "-m workspace-write" "-w ." "--approved-mode workspace-write" "--approved-mode danger-full-access"; do
    refused "a mode that is locked: $words" 125 locked "mode is locked by $dir/p.json:1:" --policy "$dir/p.json" $words -- "${ran[@]}"
done
echo '{"policy": 1}' >"$dir/p.json"
chmod 666 "$dir/p.json"
refused "policy that others can write" 125 policy-unsafe "p.json" $backend --policy "$dir/p.json" -w . -- "${ran[@]}"
chmod 000 "$dir/p.json"
if [ "$(id -u)" -eq 0 ]; then
    skip "unreadable policy" "root reads everything"
else
    refused "unreadable policy" 125 policy-unreadable "p.json" $backend --policy "$dir/p.json" -w . -- "${ran[@]}"
fi
chmod 644 "$dir/p.json"
echo '{"policy": 1, "wirte": []}' >"$dir/p.json"
refused "policy with an unknown key" 125 policy-invalid "p.json:1:" $backend --policy "$dir/p.json" -w . -- "${ran[@]}"
refused "missing policy" 125 policy-missing "nowhere.json" $backend --policy "$dir/nowhere.json" -w . -- "${ran[@]}"
echo '{"policy": 1, "write": ["/"]}' >"$dir/w/.confine.json"
refused "workspace policy that widens" 125 not-narrowing "write" $backend -w . -- "${ran[@]}"
echo '{"policy": 1, "hide": ["."]}' >"$dir/w/.confine.json"
refused "workspace policy that hides the workspace, with landlock" 125 contains-grant "stays readable; $dir/w/.confine.json:1:24 asks for it" \
    -b landlock -w . -- "${ran[@]}"
if "$confine" run -q -b namespace -- true 2>/dev/null; then
    refused "the line of the strongest backend that cannot do it" 125 contains-grant \
        "it is granted as well; $dir/w/.confine.json:1:24 asks for it; passed over as well: " -w . -- "${ran[@]}"
else
    skip "the line of the strongest backend that cannot do it" "no backend namespace"
fi
echo "{\"policy\": 1, \"hide\": [\"$dir/shown\"]}" >"$dir/w/.confine.json"
mkdir "$dir/shown" && cp "$(type -P true)" "$dir/shown/program"
for each in landlock namespace; do
    if ! backend_works $each; then
        skip "a command that the workspace's policy hides, $each" "no backend $each"
        continue
    fi
    refused "a command that the workspace's policy hides, $each" 126 hidden \
        "cannot run $dir/shown/program: it is hidden as $dir/shown, from $dir/w/.confine.json:1:24 (take that out, or show it: --show $dir/shown)" \
        -b $each -w . --read "$dir" -- "$dir/shown/program"
    PATH=$PATH:$dir/shown refused "and by PATH, $each" 126 hidden "$dir/w/.confine.json:1:24" -b $each -w . --read "$dir" -- program
    call "$confine" run -q -b $each -w . --read "$dir" --show "$dir/shown" -- "$dir/shown/program"
    result $status "what it says is the way out, $each"
done
rm "$dir/w/.confine.json"
echo '{"policy": 1, "require": ["later.exec"]}' >"$dir/p.json"
refused "what a policy requires and nothing holds" 125 looked-at-when-ended "; $dir/p.json:1:27 asks for it" $backend --policy "$dir/p.json" -w . -- "${ran[@]}"

# --- the command
refused "no such command" 127 command-not-found "nosuchcommand" $backend -w . -- nosuchcommand
mkdir -p "$dir/tools/nosuchcommand"
PATH=$PATH:$dir/tools refused "no such command, but a directory of its name" 127 command-not-found "in no directory of PATH" $backend -w . -- nosuchcommand
call env PATH="$PATH:$dir/tools" "$confine" exec $backend -w . -- nosuchcommand
[ "$status" -eq 127 ] && has_line "cannot run nosuchcommand: No such file or directory ("
result $? "no such command, but a directory of its name, exec"
mkdir -m 0 "$dir/shut"
PATH=$PATH:$dir/shut refused "a directory of PATH that may not be entered" 127 command-not-found "in no directory of PATH" $backend -w . -- nosuchcommand
rmdir "$dir/shut"
printf '#!/no/such/interpreter\n' >"$dir/tools/no-interpreter"
chmod 755 "$dir/tools/no-interpreter"
PATH=$PATH:$dir/tools
refused "found by PATH, with an interpreter that is missing" 126 interpreter-missing "$dir/tools/no-interpreter" -b landlock --user keep -w . -- no-interpreter
PATH=${PATH%:"$dir/tools"}
refused "no such path" 127 command-not-found "$dir/nosuch" $backend -w . -- "$dir/nosuch"
echo data >"$dir/data"
refused "not executable" 126 not-executable "$dir/data" $backend -w . -- "$dir/data"
refused "a directory" 126 is-a-directory "$dir/w" $backend -w . -- "$dir/w"
printf '\177ELF garbage' >"$dir/bad"
chmod 755 "$dir/bad"
refused "bad ELF" 126 bad-format "$dir/bad" $backend -w . -- "$dir/bad"
printf '#!/no/such/interpreter\n' >"$dir/script"
chmod 755 "$dir/script"
refused "no such interpreter" 126 interpreter-missing "$dir/script" $backend -w . -- "$dir/script"
# Each grant takes more room in the chain than on the command line, so that what fits here does not fit there.
mkdir "$dir/many"
cd "$dir/many" && mkdir $(seq 300)
wrapper=("$here/longest")
refused "arguments too long" 125 arguments-too-long "too long" $backend -w 1 $(seq -f --write=%g 300) -- touch 1/x
wrapper=()
[ ! -e 1/x ]
result $? "arguments too long: it did not run"
cd "$dir/w"

# --- descriptors. The report's descriptor is the witness; stdin is /dev/null in call().
closed() { "$confine" run --report fd:9 "$@" 9>"$dir/report"; }
call closed $backend -w . -- "${ran[@]}"
for fd in 0 1 2; do
    rm -f "$dir/ran" "$dir/report"
    status=0
    case $fd in
    0) closed $backend -w . -- "${ran[@]}" <&- >"$dir/out" 2>"$dir/err" || status=$? ;;
    1) closed $backend -w . -- "${ran[@]}" </dev/null >&- 2>"$dir/err" || status=$? ;;
    2) closed $backend -w . -- "${ran[@]}" </dev/null >"$dir/out" 2>&- || status=$?; echo "confine: descriptor 2" >"$dir/err" ;;
    esac
    [ "$status" -eq 125 ] && has_line "descriptor $fd" && [ ! -e "$dir/ran" ] && valid "$dir/report" &&
        [ "$(field .error.reason "$dir/report")" = closed-descriptor ]
    result $? "descriptor $fd is closed"
done

# --- users and homes
if [ "$(id -u)" -eq 0 ]; then
    wrapper=(setpriv --reuid 54321 --regid 54321 --clear-groups)
    chmod 755 "$dir"
    chmod 777 "$dir/w"
    refused "no entry in the password database, a policy by name" 125 no-home "" $backend --policy ci -- true
    wrapper=()
else
    skip "no entry in the password database" "only root can become such a user"
fi
before=$(cd "$HOME" && find .)
chmod 500 "$HOME"
call "$confine" run $backend -w . -- sh -c 'echo x >made && [ -w "$TMPDIR" ]'
[ "$status" -eq 0 ] && [ -s made ] && [ "$(cd "$HOME" && find .)" = "$before" ]
result $? "a read-only home stops nothing and stays as it is"
chmod 700 "$HOME"

# --- set-id
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$dir/setid"
    cp "$confine" "$dir/setid/confine"
    chmod 4755 "$dir/setid/confine"
    call setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/setid/confine" --version
    [ "$status" -eq 125 ] && has_line "set-id" && [ ! -s "$dir/out" ]
    result $? "confine as a set-id program refuses everything"
else
    skip "confine as a set-id program" "only root can make one of another user"
fi
finish
