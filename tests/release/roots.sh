#!/bin/bash
# roots.sh - the tarball and the .deb on clean Debians: 12 with nothing added, and 13 with AppArmor 4. Installed, used, purged.
#
# The roots are made once by debootstrap; everything happens in an overlay of this test's own, entered as a machine is.
if [ "$(id -u)" -eq 0 ] && [ -z "${CONFINE_ROOTS:-}" ] && unshare -m true 2>/dev/null; then
    CONFINE_ROOTS=1 exec unshare -m --propagation private bash "$0"
fi
. "$(dirname "$0")/../cli/tap.sh"
source=$(cd "$here/../.." && pwd)
: "${CONFINE_RELEASE:?directory of the release}"
version=$("$source/tools/version")
deps=${DEPS:-${CONFINE_BUILD:?}/deps}
if [ -z "${CONFINE_ROOTS:-}" ]; then
    skip 'clean roots' 'only root can make them'
    finish
fi
mkdir "$dir/bin"
cc -static -O1 -D_GNU_SOURCE -o "$dir/bin/alone" "$here/alone.c" || { echo 'Bail out! cannot compile alone.c'; exit 99; }

# enter SUITE PACKAGE...: $root is a fresh one of it. Status 1: there is none here, and a point says why.
enter() {
    local lower
    lower=$("$source/tools/fetch-root" "$deps/roots" "$@" 2>"$dir/err") || { skip "$1" "$(tail -n 1 "$dir/err")"; return 1; }
    root=$dir/$1/root
    mkdir -p "$root" "$dir/$1/up" "$dir/$1/work"
    mount -t overlay -o "lowerdir=$lower,upperdir=$dir/$1/up,workdir=$dir/$1/work" overlay "$root" 2>"$dir/err" ||
        { skip "$1" "no overlay here: $(head -c 200 "$dir/err")"; return 1; }
    mkdir -p "$root/release"
    cp "$CONFINE_RELEASE"/confine*"$version"*amd64.deb "$CONFINE_RELEASE"/confine-"$version"-linux-x86_64.tar.gz "$root/release/"
}
# in_root TEXT: a shell's words there, all its output in $dir/out
in_root() {
    call "$dir/bin/alone" in "$root" /bin/sh -c "PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH; exec 2>&1; $1"
}
# holds CONFINE NAME: a run of it there as root and as a user writes the workspace and nothing else
holds() {
    local who
    for who in 0 1000; do
        rm -rf "$root/srv/tree" "$root/srv/beside"
        mkdir -p "$root/srv/tree"
        chmod 777 "$root/srv"
        chown "$who:$who" "$root/srv/tree"
        in_root "cd /srv/tree && setpriv --reuid $who --regid $who --clear-groups $1 run -w . -- sh -c 'echo x >made; echo x >../beside; id -u'"
        [ "$status" -eq 0 ] && [ -e "$root/srv/tree/made" ] && [ ! -e "$root/srv/beside" ] && grep -qx "$who" "$dir/out" ||
            why "status $status: $(cat "$dir/out")"
        [ ! -s "$dir/why" ]
        result $? "$2, as uid $who: the workspace is written and nothing beside it"
    done
    rm -rf "$root/srv/tree"
    chmod 755 "$root/srv"
}
# listing FILE: what there is, but for the package manager's own books and the home's cache of runs
listing() {
    (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./release -o -path ./root/.cache \
        -o -path ./.cache -o -path ./proc -o -path ./dev -o -path ./tmp \) -prune -o -printf '%p %m %u %l\n') | sort >"$1"
}

if enter bookworm; then
    in_root 'for tool in bwrap python3 perl6 strace; do ! command -v $tool || exit 1; done'
    [ "$status" -eq 0 ]
    result $? 'Debian 12 with nothing added: no bwrap, no python'
    in_root 'mkdir /opt/t && tar -C /opt/t --strip-components=1 -xf /release/*.tar.gz && /opt/t/bin/confine --version'
    [ "$status" -eq 0 ]
    result $? 'the tarball is unpacked and run'
    holds /opt/t/bin/confine 'the tarball'
    rm -rf "$root/opt/t"

    listing "$dir/before"
    in_root 'dpkg -i /release/*.deb && dpkg -V confine && confine --version'
    [ "$status" -eq 0 ] && grep -qF "$version" "$dir/out" || why "$(cat "$dir/out")"
    [ ! -s "$dir/why" ]
    result $? 'the .deb is installed'
    holds confine 'the .deb'
    [ -f "$root/etc/apparmor.d/confine" ] && [ ! -e "$root/etc/apparmor.d/disable" ]
    result $? "without AppArmor its profile lies there, and nothing else"

    # AppArmor 3, which cannot read it: the package's own files, as an installation of it would bring them.
    old=$("$source/tools/fetch-package" "$deps/roots/packages" amd64 bookworm=apparmor 2>"$dir/err")
    if [ -n "$old" ]; then
        tar -C "${old#* }" -cf - . | tar -C "$root" --keep-directory-symlink -xf -
        in_root 'dpkg-trigger --by-package=base-files /etc/apparmor.d/abi && dpkg --triggers-only --pending'
        [ "$status" -eq 0 ] && [ "$(readlink "$root/etc/apparmor.d/disable/confine")" = ../confine ]
        result $? "AppArmor 3 comes: the profile is switched off"
        in_root 'apparmor_parser -QKT /etc/apparmor.d/confine; echo $?; mv /etc/apparmor.d/disable /off; apparmor_parser -QKT /etc/apparmor.d/confine; echo $?; mv /off /etc/apparmor.d/disable'
        [ "$(grep -x '[0-9]*' "$dir/out" | tr '\n' ' ')" = '0 1 ' ] || why "$(cat "$dir/out")"
        [ ! -s "$dir/why" ]
        result $? "it passes the profile by, which it could not read"
        touch "$root/etc/apparmor.d/abi/4.0"
        in_root 'dpkg-trigger --by-package=base-files /etc/apparmor.d/abi && dpkg --triggers-only --pending'
        [ "$status" -eq 0 ] && [ ! -L "$root/etc/apparmor.d/disable/confine" ]
        result $? "AppArmor 4 comes: it is switched on"
        ln -s /etc/apparmor.d/confine "$root/etc/apparmor.d/disable/confine"
        in_root 'dpkg -i /release/*.deb'
        [ "$status" -eq 0 ] && [ -L "$root/etc/apparmor.d/disable/confine" ]
        result $? "what an administrator has switched off stays so"
        rm "$root/etc/apparmor.d/disable/confine"
        (cd "${old#* }" && find . -depth ! -type d -print) | while read -r file; do rm -f "$root/$file"; done
        rm "$root/etc/apparmor.d/abi/4.0"
        (cd "${old#* }" && find . -depth -mindepth 1 -type d -print) | while read -r file; do
            grep -qF "$file " "$dir/before" || rmdir --ignore-fail-on-non-empty "$root/$file" 2>/dev/null
        done
    else
        skip 'AppArmor 3' "$(tail -n 1 "$dir/err")"
    fi
    echo '# mine' >>"$root/etc/apparmor.d/confine"
    in_root 'dpkg -i /release/*.deb && tail -n 1 /etc/apparmor.d/confine'
    [ "$status" -eq 0 ] && grep -qx '# mine' "$dir/out"
    result $? "a profile that was changed is kept"
    in_root 'dpkg -r confine && ls /etc/apparmor.d'
    [ "$status" -eq 0 ] && [ ! -e "$root/usr/bin/confine" ] && grep -qx confine "$dir/out"
    result $? "removed, it leaves its configuration file"
    in_root 'dpkg -P confine'
    listing "$dir/after"
    [ "$status" -eq 0 ] && diff "$dir/before" "$dir/after" >>"$dir/why"
    result $? "purged, it leaves nothing"
    umount "$root"
fi

if enter trixie apparmor; then
    in_root 'dpkg -i /release/*.deb && confine --version'
    [ "$status" -eq 0 ] && [ ! -e "$root/etc/apparmor.d/disable/confine" ]
    result $? 'Debian 13 with AppArmor 4: the .deb is installed, its profile on'
    in_root 'apparmor_parser -QKT --debug /etc/apparmor.d/confine'
    [ "$status" -eq 0 ] && grep -q '^Name:.*confine$' "$dir/out" && grep -q '^userns,' "$dir/out" || why "$(cat "$dir/out")"
    [ ! -s "$dir/why" ]
    result $? "AppArmor 4 reads it: namespaces are allowed"
    holds confine 'the .deb on Debian 13'
    in_root 'dpkg -P confine && ! ls /etc/apparmor.d/confine'
    [ "$status" -eq 0 ]
    result $? "purged"
    umount "$root"
fi
finish
