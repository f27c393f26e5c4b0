#!/bin/bash
# places.sh - odd workspaces and grants: each works as it looks, or is one clear line.
[ $# -eq 0 ] || export CONFINE_BACKEND=$1
. "$(dirname "$0")/tap.sh"
if [ $# -gt 0 ] && ! "$confine" run -q $backend -w . -- true 2>"$dir/why"; then
    skip "places, $1" "$(head -n 1 "$dir/why")"
    finish
fi
ran=(touch "$dir/ran")
mkdir -p "$dir/real/sub" "$dir/other"
ln -s real "$dir/link"
ln -s real/sub "$dir/deep"
touch "$dir/file"
cd "$dir" || exit 1

# works NAME WORKSPACE WORD...: `confine run -w WORD...` ends with 0 and the report names WORKSPACE.
works() {
    local name=$1 workspace=$2
    shift 2
    rm -f "$dir/report"
    call "$confine" run $backend --report "$dir/report" -w "$@"
    { [ "$status" -eq 0 ] || why "status $status: $(cat "$dir/err")"; } && valid "$dir/report" &&
        { [ "$(field .workspace "$dir/report")" = "$workspace" ] || why "workspace $(field .workspace "$dir/report")"; }
    result $? "$name"
}

# --- names that lead elsewhere
here_is='[ "$(pwd -P)" = "$0" ] && touch made && rm made'
works "a link" "$dir/real" link -- sh -c "$here_is" "$dir/real"
works "a link with a slash" "$dir/real" link/ -- sh -c "$here_is" "$dir/real"
works "a directory and .." "$dir/real" real/sub/.. -- sh -c "$here_is" "$dir/real"
works "a link and ..: the directory above what it leads to" "$dir/real" deep/.. -- sh -c "$here_is" "$dir/real"
works "dots and slashes" "$dir/real/sub" .//real/./sub/// -- sh -c "$here_is" "$dir/real/sub"
call "$confine" run $backend -w deep/.. -- touch "$dir/beside"
[ "$status" -ne 0 ] && [ ! -e "$dir/beside" ]
result $? "a link and ..: not the directory of the link"

ln -s ../../other "$dir/real/sub/planted"
refused "a link that an earlier command may have made" 125 link-in-grant "may have made" $backend -w real/sub/planted -- "${ran[@]}"
rm real/sub/planted

# --- nothing to work in
refused "it does not exist" 125 path-missing "it does not exist" $backend -w nowhere -- "${ran[@]}"
refused "it does not exist, and .." 125 path-missing "it does not exist" $backend -w nowhere/.. -- "${ran[@]}"
mkdir -p "$dir/kept"
echo '{"policy": 1, "protect": ["sub"]}' >"$dir/kept/policy.json"
refused "a name that starts elsewhere" 125 path-missing "protect sub, which starts at $dir/kept: it does not exist" $backend \
    --policy kept/policy.json -w real -- "${ran[@]}"
echo '{"policy": 1, "protect": ["sub?"]}' >"$dir/kept/policy.json"
call "$confine" run $backend --policy kept/policy.json -w real -- true
[ "$status" -eq 0 ] && grep -q "protect sub\": it does not exist (it starts at $dir/kept)" "$dir/err"
result $? "one that was left out as well"
refused "a file" 125 not-a-directory "not a directory" $backend -w file -- "${ran[@]}"
refused "below a file" 125 path-missing "is not a directory" $backend -w file/x -- "${ran[@]}"
refused "a file and .." 125 path-missing "is not a directory" $backend -w file/.. -- "${ran[@]}"
refused "an unknown set" 125 bad-value "@git2" $backend -w @git2 -- "${ran[@]}"
refused "no repository" 125 no-repository "holds a .git" $backend -w @git -- "${ran[@]}"
ln -s loop "$dir/loop"
refused "a link to itself" 125 link-loop "symbolic links" $backend -w loop -- "${ran[@]}"
long=$(printf 'x%.0s' $(seq 300))
mkdir -p "$dir/dark/below"
refused "a start directory that is hidden" 125 cwd-unreadable "--chdir $dir/dark/below: the command may not read" $backend --hide "$dir/dark" -C "$dir/dark/below" -- "${ran[@]}"
call "$confine" run $backend --hide "$dir/dark" --read "$dir/dark/below" -C "$dir/dark/below" -- pwd
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = "$dir/dark/below" ]
result $? "and shown again"
refused "everything hidden" 125 hide-too-wide "(--readable listed" $backend --hide / -- "${ran[@]}"
refused "a device that no command gets" 125 device-refused "(leave it out" $backend --device /dev/kmsg -- "${ran[@]}"
refused "a name that is too long" 125 path-unreachable "too long" $backend -w "$long" -- "${ran[@]}"
mkdir gone
wrapper=(sh -c 'cd gone && rmdir ../gone && exec "$@"' sh)
refused "a directory that is gone" 125 cwd-missing "does not exist any more" $backend -w . -- "${ran[@]}"
wrapper=()
if [ "$(id -u)" -eq 0 ]; then
    skip "one that may not be entered" "root enters everything"
else
    mkdir -p closed/in && chmod 000 closed
    refused "one that may not be entered" 125 path-unreachable "may not be entered" $backend -w closed/in -- "${ran[@]}"
    chmod 700 closed
fi
mkdir read-only && chmod 555 read-only
call "$confine" run $backend -w read-only -- touch read-only/x x
[ "$status" -eq 1 ] && [ ! -e read-only/x ] && grep -q 'warning: workspace-read-only: .* its mode does not allow it' "$dir/err"
result $? "one that cannot be written is warned of"
chmod 755 read-only

# --- names that are no text
newline=$'new\nline' bytes=$'bad\xff\xfe'
mkdir "$newline" "$bytes" "$bytes/$newline"
works "a newline" "$dir/$newline" "$newline" -- sh -c 'touch x && [ -e "$0/x" ]' "$dir/$newline"
call "$confine" run $backend --report "$dir/report" -w "$bytes" -- touch x
[ "$status" -eq 0 ] && [ -e "$bytes/x" ] && valid "$dir/report" &&
    [ "$(python3 -c 'import base64, json, sys
sys.stdout.buffer.write(base64.b64decode(json.load(open(sys.argv[1]))["workspace_b64"]))' "$dir/report" | od -An -tx1)" = \
        "$(printf %s "$dir/$bytes" | od -An -tx1)" ]
result $? "bytes that are no UTF-8, and the report has them"
call "$confine" run $backend -w "$bytes/$newline" --write "$newline" -- sh -c 'touch x "../../$0/y"' "$newline"
[ "$status" -eq 0 ] && [ -e "$bytes/$newline/x" ] && [ -e "$newline/y" ] && [ ! -s "$dir/err" ]
result $? "both, and a grant"
refused "a line about them stays one line" 125 path-missing '"bad\xff\xfe/new\x0aline/nowhere"' $backend \
    -w "$bytes/$newline/nowhere" -- "${ran[@]}"
call "$confine" policy $backend -w "$newline" "$newline/x"
[ "$status" -eq 0 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q '\\x0aline/x": read, write: ' "$dir/out"
result $? "policy of them is one line"

# --- overlapping
works "grants within each other, twice, and in any order" "$dir/real" real --write real/sub --read real --write real \
    --write real/sub --read real/sub -- sh -c 'touch sub/x && mv sub/x y && ln y sub/z && rm y sub/z'
works "the workspace within a grant" "$dir/real/sub" real/sub --write real -- sh -c 'touch ../x && mv ../x x && rm x'
works "to be read within what is writable stays writable" "$dir/real" real --read real/sub -- touch sub/x
mkdir hidden hidden/app hidden/other
echo key >hidden/key
echo key >hidden/other/key
works "a workspace below a hidden path" "$dir/hidden/app" hidden/app --hide hidden -- \
    sh -c 'echo x >x && cat x && ! cat ../key 2>/dev/null && ! cat ../other/key 2>/dev/null'
works "the same, hidden by the file of the workspace's parent" "$dir/hidden/app" hidden/app --hide hidden/ --show hidden/other -- \
    sh -c '! cat ../key 2>/dev/null && cat ../other/key'
# Two roots are two mounts, where there are mounts: nothing is linked or renamed across, and the report says so.
case $backend in
*=landlock) across='ln x ../other/two && mv ../other/two y && [ ! -e ../other/two ]' said='not said' ;;
*) across='! ln x ../other/two 2>said && grep -q "Invalid cross-device link" said && mv x ../other/two && [ -e ../other/two ]'
    said='[s for s in said if "'"$dir/real, $dir/other"'" in s and "EXDEV" in s]' ;;
esac
said() { python3 -c 'import json, sys
said = [w for w in json.load(open(sys.argv[1]))["warnings"] if w.startswith("separate-mounts: ")]
sys.exit(0 if eval(sys.argv[2]) else "not true: %s: %s" % (sys.argv[2], said))' "$dir/report" "$1" 2>>"$dir/why"; }
works "two writable directories" "$dir/real" real --write other -- sh -c "echo x >x && $across"
said "$said"
result $? "what cannot be linked or renamed is said"
rm -f real/x real/y real/said other/two
works "one within the other" "$dir/real" real --write real/sub -- sh -c 'echo x >x && ln x sub/two && mv sub/two y'
said 'not said'
result $? "one within the other is one, and nothing is said"
mkdir many
(cd many && mkdir $(seq 1000))
call "$confine" run $backend -w real $(seq -f "--write=many/%g" 1000) -- sh -c 'cd ../many && for i in $(seq 1000); do
    echo x >$i/x || exit 1; done; ! echo x >x 2>/dev/null'
[ "$status" -eq 0 ] && [ ! -e many/x ] && [ "$(ls many/*/x | wc -l)" -eq 1000 ]
result $? "1,000 grants, and not what is around them"

# --- a policy that the command could write
echo '{"policy": 1}' >real/policy.json
[ "$(id -u)" -ne 0 ] || chown 0 real/policy.json
call "$confine" run $backend --policy real/policy.json -w real -- sh -c 'echo >policy.json'
[ "$(cat real/policy.json)" = '{"policy": 1}' ] || [ "$backend" = --backend=landlock ]
result $? "a policy file in the workspace is held where mounts can"
grep -q 'warning: policy-writable: .*/real/policy.json' "$dir/err"
result $? "and warned of"
rm real/policy.json

# --- names that change while runs start
if cc -O1 -o "$dir/swap" "$here/swap.c" 2>"$dir/why"; then
    : >"$dir/why"
    mkdir -p s/sub/x s/outside/x h/sub h/empty
    ln -s outside s/swap
    echo swapped-key >h/sub/key
    "$dir/swap" -n "$dir/count" s/sub s/swap h/sub h/empty 2>>"$dir/why" &
    swapper=$!
    granted=0 refusals=0 hid=0 leaks=0 i=0 least=150 # of two starts
    [ -z "${CONFINE_LONG:-}" ] || least=5000
    until [ $i -ge $least ] && [ $granted -ge 5 ] && [ $refusals -ge 5 ] && [ $hid -ge 5 ] || [ $i -ge $((20 * least)) ]; do
        i=$((i + 1))
        how=run
        [ $((i % 2)) -eq 0 ] || how=exec
        call "$confine" $how $backend -w other --write s/sub/x -- sh -c 'for d in sub swap outside; do echo x >"../s/$d/x/made" && exit 0; done 2>/dev/null; exit 3'
        case $status in 0 | 3) granted=$((granted + 1)) ;; 125) refusals=$((refusals + 1)) ;; *) why "$how: status $status: $(cat "$dir/err")" ;; esac
        call "$confine" $how $backend -w other --hide h/sub/key -- cat ../h/sub/key ../h/empty/key
        case $status in 125) refusals=$((refusals + 1)) ;; *) hid=$((hid + 1)) ;; esac
        ! grep -q swapped-key "$dir/out" || leaks=$((leaks + 1))
    done
    kill $swapper 2>/dev/null
    wait $swapper 2>/dev/null
    [ -s "$dir/count" ] && [ $granted -ge 5 ] && [ $refusals -ge 5 ] && [ $hid -ge 5 ] ||
        why "$i rounds: $granted granted, $refusals refused, $hid hidden"
    [ ! -s "$dir/why" ]
    result $? "names were swapped while runs started"
    [ -z "$(ls -A s/outside/x)" ]
    result $? "and nothing outside was granted"
    { [ -d s/sub/x ] && [ -d s/swap/x ]; } || why "$(ls -lR s)"
    [ ! -s "$dir/why" ]
    result $? "and nothing was moved"
    [ $leaks -eq 0 ] || why "$leaks of $hid"
    [ ! -s "$dir/why" ]
    result $? "and nothing hidden was read"
else
    skip "names that change while runs start" "no C compiler"
fi
finish
