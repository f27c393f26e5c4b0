#!/bin/bash
# tarball.sh - the release's tarball, made of the installed tree: the same bytes from anywhere, and confine on a machine with
# nothing else.
. "$(dirname "$0")/../cli/tap.sh"
alone=$here/alone.c here=$here/../cli
source=$(cd "$here/../.." && pwd)
export SOURCE_DATE_EPOCH=1600000000
name=confine-$("$source/tools/version")-linux-$(uname -m)

# From a copy in another place, made in another order, at another time, by somebody with another umask.
call "$source/tools/package-tar" "$CONFINE_STAGE" "$(uname -m)" "$dir/one.tar.gz"
result "$status" "it is made of the installed tree"
mkdir -p "$dir/another/place"
(
    umask 002
    cd "$CONFINE_STAGE" && find . | sort -r | while read -r file; do
        if [ -d "$file" ]; then mkdir -p "$dir/another/place/$file"; else
            mkdir -p "$dir/another/place/${file%/*}" && cp "$file" "$dir/another/place/$file"
        fi
    done
    TZ=Pacific/Auckland "$source/tools/package-tar" "$dir/another/place" "$(uname -m)" "$dir/two.tar.gz"
) >"$dir/out" 2>"$dir/err"
cmp "$dir/one.tar.gz" "$dir/two.tar.gz" >>"$dir/why"
result $? "the same bytes from a copy elsewhere, of another time, umask and order"

tar -tvf "$dir/one.tar.gz" --numeric-owner >"$dir/list" 2>"$dir/err"
[ -s "$dir/list" ] && ! grep -v " $name/" "$dir/list" >>"$dir/why"
result $? "everything lies in one directory, $name"
! grep -v '^[d-]rwxr-xr-x 0/0 \|^-rw-r--r-- 0/0 ' "$dir/list" >>"$dir/why"
result $? "root's, for everyone to read, for nobody else to write; no links"
! grep -E '/lib/|/include/|\.so|\.a$|man3' "$dir/list" >>"$dir/why"
result $? "nothing of the library, which belongs to one place"
for file in bin/confine bin/landlock-run libexec/confine/confine-launch share/man/man1/confine.1 LICENSE README.md; do
    grep -q " $name/$file$" "$dir/list" || why "no $file"
done
[ ! -s "$dir/why" ]
result $? "programs, links, manual pages, licence and README"

# A machine with nothing else: no shell, no library, no file but the program that is to be confined.
root=$dir/root
mkdir -p "$root/tree" "$root/opt"
mkdir -m 1777 "$root/tmp"
tar -C "$root/opt" -xf "$dir/one.tar.gz"
cc -static -O1 -D_GNU_SOURCE -o "$root/alone" "$alone" 2>>"$dir/why" || { echo 'Bail out! cannot compile alone.c'; exit 99; }
! find "$root" -type f ! -name alone ! -path "$root/opt/$name/*" | grep . >>"$dir/why"
result $? "the root has nothing but the tarball and one static program"
"$source/tools/check-elf" "$root/opt/$name" >>"$dir/why"
result $? "every program of it is static"

inside() { call "$root/alone" in "$root" "$@"; }
act() { # WORD...: the program writes into the workspace and beside it
    rm -f "$root/tree/made" "$root/made"
    inside "/opt/$name/bin/confine" run --report fd:9 -w /tree "$@" -- /alone act /tree/made /made 9>"$dir/report"
}
inside /alone act /tree/made /made
if [ "$status" -ne 0 ]; then
    skip 'a machine with nothing but the tarball' "no root of one's own here: $(head -c 200 "$dir/err")"
    finish
fi
[ -e "$root/tree/made" ] && [ -e "$root/made" ]
result $? "control: unconfined, both files are made"
inside "/opt/$name/bin/confine" --version
[ "$status" -eq 0 ] && grep -q "$("$source/tools/version")" "$dir/out"
result $? "there confine says its version"
for backend in namespace landlock; do
    act --backend=$backend
    if [ "$status" -eq 125 ] && [ "$(field .error.code "$dir/report")" = SANDBOX_UNAVAILABLE ] && ! "$confine" run -q -b $backend -- true 2>/dev/null; then
        skip "confine run with $backend" 'it does not work on this machine either'
        continue
    fi
    [ "$status" -eq 3 ] && [ -e "$root/tree/made" ] && [ ! -e "$root/made" ]
    result $? "$backend: the workspace is written, the file beside it is not"
    valid "$dir/report" && python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
write = [s for s in report["surfaces"] if s["id"] == "fs.write"][0]
sys.exit(report["backend"] != sys.argv[2] or write["state"] != "enforced" or report["outcome"]["kind"] != "exited")' "$dir/report" $backend
    result $? "$backend: and the report says what held"
done
mv "$root/opt/$name" "$root/moved"
rm -f "$root/tree/made"
inside /moved/bin/confine run -w /tree -b namespace -- /alone act /tree/made /made
if [ "$status" -eq 125 ] && ! "$confine" run -q -b namespace -- true 2>/dev/null; then
    skip 'moved elsewhere' 'no namespaces here'
else
    [ "$status" -eq 3 ] && [ -e "$root/tree/made" ]
    result $? "moved elsewhere, it works as before"
fi
rm "$root/moved/libexec/confine/confine-launch"
inside /moved/bin/confine run -w /tree -- /alone act /tree/made /made
[ "$status" -eq 125 ] && grep -q 'confine-launch.*belong together' "$dir/err"
result $? "a part of it missing: nothing runs, and it says which"
finish
