#!/bin/sh
# The numbers of seccomp_calls.h against the kernel headers of this machine: a call that the headers know must
# have the number that they give. The groups of the rules against the manual page. And what the chains choose by
# themselves against the filters that are built for just that.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
calls=$here/../../links/seccomp_calls.h
number=0
failed=0

# compare ARCH HEADER-TEXT COLUMN: prints a TAP line
compare() {
    number=$((number + 1))
    result=$(sed -n 's/^    {"\([a-z0-9_]*\)", {\([^}]*\)}, {\([^}]*\)}},$/\1|\2|\3/p' "$calls" |
        awk -F'|' -v column="$3" -v header="$2" '
            BEGIN {
                while ((getline line < header) > 0)
                    if (split(line, word, " ") >= 3 && word[2] ~ /^__NR(3264)?_/ && word[3] ~ /^[0-9]+$/) {
                        name = word[2]
                        sub(/^__NR(3264)?_/, "", name)
                        known[name] = word[3]
                    }
            }
            {
                split($column, range, ", ")
                ours = range[1] == "ABSENT" ? "absent" : range[1]
                rows++
                if ($1 in known && ours != known[$1])
                    print "# " $1 ": ours " ours ", header " known[$1]
                compared += $1 in known
            }
            END { print "rows " rows " compared " compared + 0 }')
    case $result in
    '#'* | 'rows '*' compared 0')
        failed=1
        printf '%s\nnot ok %d - numbers of %s\n' "$result" "$number" "$1"
        ;;
    *) printf '# %s: %s\nok %d - numbers of %s\n' "$1" "$result" "$number" "$1" ;;
    esac
}

# find_header FILE: the first that exists below the usual places
find_header() {
    for place in /usr/include/x86_64-linux-gnu /usr/include /usr/aarch64-linux-gnu/include; do
        [ ! -r "$place/$1" ] || { echo "$place/$1"; return; }
    done
}

skip() {
    number=$((number + 1))
    echo "ok $number - numbers of $1 # SKIP no $2 on this machine"
}

echo 'TAP version 13'
echo '1..4'
header=$(find_header asm/unistd_64.h)
if [ -n "$header" ]; then compare x86_64 "$header" 2; else skip x86_64 asm/unistd_64.h; fi
header=$(find_header asm-generic/unistd.h)
if [ -n "$header" ]; then compare aarch64 "$header" 3; else skip aarch64 asm-generic/unistd.h; fi

number=$((number + 1))
missing=
groups=$(sed -n 's/^    \[SECCOMP_GROUP_[A-Z_]*\] = "\(.*\)",$/\1/p' "$here/../../links/seccomp_rules.h")
for group in $groups; do
    [ "$group" = base ] || grep -q "^\.\(It \)*Cm.*$group" "$here/../../docs/man/seccomp-run.1" || missing="$missing $group"
done
if [ -n "$groups" ] && [ -z "$missing" ]; then
    echo "ok $number - the manual names every group"
else
    failed=1
    echo "not ok $number - the manual names every group: missing:$missing"
fi

# One line per choice: the set and the groups, sorted.
number=$((number + 1))
exact=$(sed -n '/^#define NETWORK/d; s/NETWORK/GROUP(NET_INET) GROUP(NET_NETLINK)/
        s/^    {"\([a-z]*\)", SET_[A-Z]*, true, \([^}]*\)}.*/\1 \2/p' "$here/../../links/seccomp_rules.h" |
    while read -r set groups; do
        echo "$set" $(echo "$groups" | grep -o '([A-Z_]*)' | tr -d '()' | tr 'A-Z_' 'a-z.' | sort)
    done)
missing=
for plan in "$here"/../golden/*.txt; do
    choice=$(grep -o 'seccomp-run --set.*--sentinel' "$plan" | tr ' ' '\n' | grep -v -e '^--' -e seccomp-run) || continue
    choice=$(echo "$choice" | head -n 1; echo "$choice" | tail -n +2 | sort)
    # shellcheck disable=SC2086 # one line
    choice=$(echo $choice)
    case $(basename "$plan") in
    open-* | *-opened.txt) ;; # what somebody asked for
    *) echo "$exact" | grep -qxF "$choice" || missing="$missing $(basename "$plan")" ;;
    esac
done
if [ -n "$exact" ] && [ -z "$missing" ]; then
    echo "ok $number - an exact filter for what the chains choose by themselves"
else
    failed=1
    echo "not ok $number - an exact filter for what the chains choose by themselves: missing for:$missing"
fi
exit "$failed"
