#!/bin/bash
# same.sh - the release made once more, from a copy of the source in another folder, built elsewhere: the same bytes.
. "$(dirname "$0")/../cli/tap.sh"
source=$(cd "$here/../.." && pwd)
: "${CONFINE_RELEASE:?directory of the release}" "${SOURCE_DATE_EPOCH:?that of the release}"
mkdir -p "$dir/another/deeper/tree" "$dir/made/deps/cross"
(cd "$source" && tar --exclude='./build*' --exclude=./.git -cf - .) | tar -C "$dir/another/deeper/tree" -xf -
# What was downloaded, and nothing that was built.
deps=${DEPS:-${CONFINE_BUILD:?}/deps}
cp -R "$deps/src" "$dir/made/deps/"
cp -R "$deps/cross/packages" "$dir/made/deps/cross/"
mkdir -p "$dir/made/deps/cross/arm64"
cp -R "$deps/cross/arm64/src" "$dir/made/deps/cross/arm64/"
if ! (unset DEPS && umask 027 && BUILD=$dir/made "$dir/another/deeper/tree/tools/release" --untested) >"$dir/out" 2>"$dir/err"; then
    why "$(tail -n 5 "$dir/out")"
fi
[ ! -s "$dir/why" ]
result $? 'it is made again elsewhere'
diff "$CONFINE_RELEASE/SHA256SUMS" "$dir/made/release/SHA256SUMS" >>"$dir/why"
result $? 'the same bytes'
finish
