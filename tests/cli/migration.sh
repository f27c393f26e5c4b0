#!/bin/bash
# migration.sh - docs/migration.md says only what is so: every line shown runs, every option named exists.
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
