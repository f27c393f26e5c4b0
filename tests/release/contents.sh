#!/bin/bash
# contents.sh - what lies in the release in $CONFINE_RELEASE: sums, the same programs in every package, licences, lintian, arm64.
. "$(dirname "$0")/../cli/tap.sh"
source=$(cd "$here/../.." && pwd)
: "${CONFINE_RELEASE:?directory of the release}"
version=$("$source/tools/version")
cd "$CONFINE_RELEASE" || exit 99

sha256sum --quiet --strict -c SHA256SUMS >>"$dir/why" 2>&1 && [ "$(wc -l <SHA256SUMS)" -eq 7 ] && [ "$(ls | wc -l)" -eq 8 ]
result $? "seven files, and their sums"
while read -r machine arch cpu elf; do
    mkdir -p "$dir/$arch"/{tar,deb,npm}
    tar -C "$dir/$arch/tar" -xf "confine-$version-linux-$machine.tar.gz" --strip-components=1 &&
        dpkg-deb -x "confine_${version}_$arch.deb" "$dir/$arch/deb" &&
        tar -C "$dir/$arch/npm" -xf "confine-linux-$cpu-$version.tgz" --strip-components=1
    result $? "$arch: all are unpacked"
    [ "$(find "$dir/$arch/tar/libexec" -type f | wc -l)" -gt 10 ] &&
        for part in bin libexec; do
            diff -r "$dir/$arch/tar/$part" "$dir/$arch/deb/usr/$part" && diff -r "$dir/$arch/tar/$part" "$dir/$arch/npm/$part" || exit 1
        done >>"$dir/why"
    result $? "$arch: the same programs in each"
    "$source/tools/check-elf" "$dir/$arch/tar" >>"$dir/why" &&
        ! find "$dir/$arch/tar/bin" "$dir/$arch/tar/libexec" -type f -exec readelf -h {} + | grep Machine: | grep -v "$elf" >>"$dir/why"
    result $? "$arch: all static, all for $elf"
    for file in "$dir/$arch/tar/share/doc/confine/NOTICES" "$dir/$arch/deb/usr/share/doc/confine/NOTICES" "$dir/$arch/npm/NOTICES"; do
        for name in musl jansson libuv; do
            grep -qi "^===== $name" "$file" || why "$file says nothing of $name"
        done
    done
    [ ! -s "$dir/why" ]
    result $? "$arch: the licences of what is linked in go with each"
    [ "$(dpkg-deb -f "confine_${version}_$arch.deb" Architecture)" = "$arch" ] &&
        [ "$(dpkg-deb -f "confine_${version}_$arch.deb" Depends)" = '' ] &&
        sed 's,PREFIX,/usr,' "$source/packaging/apparmor" | cmp - "$dir/$arch/deb/etc/apparmor.d/confine" >>"$dir/why"
    result $? "$arch: the .deb is of it, needs nothing, and has AppArmor's profile"
    if command -v lintian >/dev/null; then
        # Whoever builds says who maintains (MAINTAINER): the name that stands there otherwise is nobody's.
        call lintian --allow-root --suppress-tags bogus-mail-host "confine_${version}_$arch.deb"
        cat "$dir/out" >>"$dir/why"
        [ "$status" -eq 0 ] && [ ! -s "$dir/out" ]
        result $? "$arch: lintian says nothing"
    else
        skip "$arch: lintian" 'lintian is not installed'
    fi
done <<'END'
x86_64 amd64 x64 X86-64
aarch64 arm64 arm64 AArch64
END

# An emulator that knows no Landlock and no filter is a machine that cannot confine.
if command -v qemu-aarch64-static >/dev/null; then
    arm="$dir/arm64/tar/bin/confine"
    call qemu-aarch64-static "$arm" --version
    [ "$status" -eq 0 ] && grep -qF "$version" "$dir/out"
    result $? "arm64: it says its version under an emulator"
    mkdir "$dir/ws"
    call qemu-aarch64-static "$arm" run -w "$dir/ws" -- /bin/sh -c "touch $dir/ws/ran"
    [ "$status" -eq 125 ] && grep -q '^confine: ' "$dir/err" && [ ! -e "$dir/ws/ran" ]
    result $? "arm64: and where nothing can be confined nothing runs"
else
    skip 'arm64 under an emulator' 'qemu-aarch64-static is not installed'
fi
finish
