#!/bin/bash
# A link that an earlier run may have planted must not lead a grant of a later one outside.
. "$(dirname "$0")/../cli/tap.sh"
mkdir -p "$dir/secret" "$HOME/src"
echo canary >"$dir/secret/file"

# The first run plants, confined to the workspace; each later one names what it believes to be in there.
call "$confine" run -q $backend -w . -- ln -s "$dir/secret" sub
[ "$status" -eq 0 ] || exit 99
ln -s "$dir/w/sub" "$HOME/src/way"
while read -r name words; do
    # shellcheck disable=SC2086 # several words
    call "$confine" run $backend $words -- sh -c 'echo crossed >"$0"' "$dir/secret/file"
    [ "$status" -eq 125 ] && has_line 'leads through the symbolic link' && [ "$(cat "$dir/secret/file")" = canary ]
    result $? "a planted link: $name"
done <<ROWS
workspace -w sub
workspace-absolute -w $dir/w/sub
workspace-behind-another-link -w $HOME/src/way
write -m workspace-write --write sub
write-below -m workspace-write --write sub/file
temp --tmp $dir/w/sub
show --show sub/file
read-where-listed --readable listed --read sub
ROWS

# Neither does one lead the report anywhere.
echo canary >"$dir/secret/report"
call "$confine" run $backend --report sub/report -- true
[ "$status" -eq 125 ] && has_line 'a directory on the way is a link' && [ "$(cat "$dir/secret/report")" = canary ]
result $? 'a planted link: report'

# What is no plant goes on: a link in the home itself, a link of root's, a start directory behind a link.
ln -s "$dir/w" "$HOME/project"
call "$confine" run -q $backend -w "$HOME/project" -- pwd
[ "$(cat "$dir/out")" = "$dir/w" ]
result $? 'a link in the home is followed'
call "$confine" run -q $backend --read /proc/self/cwd -- true
[ "$status" -eq 0 ]
result $? "the kernel's own links are followed"
(cd sub && call "$confine" run -q $backend -w . -- pwd; [ "$(cat "$dir/out")" = "$dir/secret" ])
result $? 'whoever stands in the directory has chosen it'

# A hidden file with a second name can be read by that: the report says so.
echo canary >"$HOME/hidden"
ln "$HOME/hidden" "$HOME/src/second"
call "$confine" run $backend --hide "$HOME/hidden" --report "$dir/report" -- cat "$HOME/src/second"
if [ "$status" -eq 0 ]; then
    grep -q hidden-hard-link "$dir/report"
    result $? 'a hidden file with another name: the report warns'
else
    result 0 'a hidden file with another name: not to be read by it'
fi
call "$confine" run -q $backend --hide "$HOME/hidden" -- cat "$HOME/hidden"
[ "$status" -ne 0 ] && ! grep -q canary "$dir/out"
result $? 'by the hidden name it is not read'

finish
