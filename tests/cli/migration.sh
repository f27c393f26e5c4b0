#!/bin/bash
# migration.sh - docs/migration.md says only what is so: every line shown runs, every option named exists.
CONFINE_BACKEND=namespace # of which the page speaks: what is written outside is not in /tmp then
. "$(dirname "$0")/tap.sh"

# Ours, not the other tools': the column on the right of the tables, and the text.
page=${MIGRATION_PAGE:-$here/../../docs/migration.md}

for word in run exec session policy; do "$confine" help "$word"; done >"$dir/help" || exit 1

# The options of the right column of each table.
sed -n 's/^| .* | \(.*\) |$/\1/p' "$page" | grep -oE -- '--[a-z][a-z-]*' | sort -u >"$dir/options"
[ "$(wc -l <"$dir/options")" -ge 20 ] || why "only $(wc -l <"$dir/options") options found in the tables"
result $? "the tables name options"

bad=0
while read -r option; do
    grep -qE -- "(^|[ ,])$option( |\$)" "$dir/help" || { bad=1 && echo "no such option: $option" >>"$dir/why"; }
done <"$dir/options"
result $bad "every option of the tables exists"

# theirs SECTION WORD...: is every option in the help that WORD... prints on the page, and none in the tables that is not there?
# Newer ones have more options: those of the first column may be missing in an older one.
theirs() {
    local section=$1 bad=0 option
    shift
    sed -n "/^## $section\$/,/^## /p" "$page" >"$dir/section"
    "$@" 2>&1 | sed -n 's/^ *\(--[a-z][a-z0-9-]*\).*/\1/p' | grep -vxE -- '--(help|version)' >"$dir/theirs"
    [ "$(wc -l <"$dir/theirs")" -ge 15 ] || { why "only $(wc -l <"$dir/theirs") options in its help" && return 1; }
    while read -r option; do
        grep -qE -- "$option([^a-z0-9-]|\$)" "$dir/section" || case $option in
        *-try) grep -qF -- "${option%-try}" "$dir/section" && grep -qF -- "the same with \`-try\`" "$dir/section" ;;
        *) false ;;
        esac || { bad=1 && echo "$option is not on the page" >>"$dir/why"; }
    done <"$dir/theirs"
    for option in $(sed -n 's/^| \(.*\) | .* |$/\1/p' "$dir/section" | grep -oE -- '--[a-z][a-z0-9-]*'); do
        grep -qxF -- "$option" "$dir/theirs" || { bad=1 && echo "$option is not one of its options" >>"$dir/why"; }
    done
    return $bad
}
for tool in "bubblewrap bwrap" "landrun landrun"; do
    if command -v "${tool#* }" >/dev/null; then
        theirs "${tool% *}" "${tool#* }" --help
        result $? "its options are those on the page: ${tool% *}"
    else
        skip "its options are those on the page: ${tool% *}" "it is not installed"
    fi
done

# same NAME EXPECTED PROBE BWRAP-OPTION... -- OUR-OPTION...: the probe says the same under both.
same() {
    local name=$1 expected=$2 probe=$3 theirs=()
    shift 3
    while [ "$1" != -- ]; do theirs+=("$1"); shift; done
    shift
    mkdir -p "$dir/w/secret" "$dir/w/held" "$dir/more" && echo x >"$dir/w/secret/file"
    bwrap "${theirs[@]}" sh -c "$probe" >"$dir/out" 2>/dev/null
    [ "$(cat "$dir/out")" = "$expected" ] || why "bubblewrap: $(cat "$dir/out"), expected $expected"
    "$confine" run -q --backend=namespace "$@" -- sh -c "$probe" >"$dir/ours" 2>/dev/null
    [ "$(cat "$dir/ours")" = "$expected" ] || why "confine: $(cat "$dir/ours"), expected $expected"
    [ ! -s "$dir/why" ]
    result $? "beside bubblewrap: $name"
}
export GONE=x OTHER=y
root=(--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind "$dir/w" "$dir/w" --chdir "$dir/w")
if ! bwrap "${root[@]}" --unshare-all true 2>"$dir/err"; then
    skip "beside bubblewrap" "it does not work here: $(head -n 1 "$dir/err")"
elif ! "$confine" run --backend=namespace -- true 2>"$dir/err"; then
    skip "beside bubblewrap" "the backend namespace does not work here"
else
    write='for d in . ../more held /tmp; do if echo x >$d/made; then printf "w "; else printf "r "; fi; done'
    same "what can be written" "w r w w " "$write 2>/dev/null" "${root[@]}" -- -w .
    same "one more" "w w w w " "$write 2>/dev/null" "${root[@]}" --bind "$dir/more" "$dir/more" -- -w . --write "$dir/more"
    same "less in it" "w r r w " "$write 2>/dev/null" "${root[@]}" --ro-bind "$dir/w/held" "$dir/w/held" -- -w . --protect held
    same "something private" "no" "cat secret/file 2>/dev/null || echo no" "${root[@]}" --tmpfs "$dir/w/secret" -- -w . --hide secret
    same "processes" "1" "set -- /proc/[0-9]*; [ \$# -lt 5 ] && echo 1" "${root[@]}" --unshare-pid -- -w .
    same "the network" "1" 'grep -c : /proc/net/dev' "${root[@]}" --unshare-net -- -w .
    same "variables" "b  $HOME" 'echo "$A $GONE $HOME"' "${root[@]}" --setenv A b --unsetenv GONE -- -w . --env A=b --unset-env GONE
    same "a clean environment" "b " 'echo "$A $OTHER"' "${root[@]}" --clearenv --setenv PATH "$PATH" --setenv A b -- -w . --clean-env --env A=b
    same "where it starts" "$dir/w/held" pwd "${root[@]}" --chdir "$dir/w/held" -- -w . --chdir held
    same "descriptors" "gone" "(echo x >&7) 2>/dev/null || echo gone" "${root[@]}" -- -w .
fi

sed -n '/^```sh$/,/^```$/p' "$page" | grep '^confine ' >"$dir/lines"
[ "$(wc -l <"$dir/lines")" -ge 7 ] || why "only $(wc -l <"$dir/lines") lines found"
result $? "the page shows lines"

# The lines name no backend, as a reader's would not; what they say of protected paths needs a view of its own.
if ! "$confine" run --backend=namespace -- true >"$dir/why" 2>&1; then
    skip "the lines run" "the backend namespace does not work here"
    finish
fi
PATH=${confine%/*}:$PATH
while read -r line; do
    call bash -c "$line"
    [ "$status" -eq 0 ] || why "status $status"
    result $? "$line"
done <"$dir/lines"
finish
