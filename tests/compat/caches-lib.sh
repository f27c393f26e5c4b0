# caches-lib.sh - what the tests of caches share. For bash; source it instead of compat.sh.
#
#   backends          array: the backends that work here, landlock first
#   backend           the one in use
#   begin             nothing private is left of earlier runs; remembers what the user's own caches look like
#   unchanged         the user's own caches are as they were: names, sizes, modes, owners, times, links
#   filled DIR        passes when something is in DIR of the private caches, by whichever way the backend has
#   has_overlays      does the backend lay overlays, and does the home carry their writes?
#
# Should:  run each tool as somebody would who has never heard of caches: no option, no variable of ours.
# Mustn't: use the network. What is fetched comes from files, or from a server of this test on loopback.
#
# Not in /tmp: nothing there is seen from within a view of its own, a HOME least of all.
export TMPDIR=/var/tmp
. "$(dirname "${BASH_SOURCE[0]}")/compat.sh"

backends=(landlock)
for backend in namespace; do
    if confined -q -- true >"$test_dir/.backend" 2>&1; then backends+=("$backend"); fi
done
backend=landlock

has_overlays() { [ "$backend" = namespace ] && [ "$(stat -f -c %T "$home")" != overlayfs ]; }

begin() {
    rm -rf "$home/.cache/confine"
    as "$user" mkdir -p -m 700 "$home/.cache" "$home/.cache/confine"
    own_caches >"$test_dir/.own"
}

own_caches() {
    find "$home" -path "$home/.cache/confine" -prune -o -printf '%P %y %m %U %s %T@ %C@ %l\n' | sort
}

unchanged() {
    own_caches >"$test_dir/.now"
    ok "$backend: the user's own caches are unchanged" diff "$test_dir/.own" "$test_dir/.now"
}

filled() {
    local found
    found=$(find "$home/.cache/confine" -name work -prune -o -path "*/$1/*" -type f -print -quit)
    ok "$backend: $1 of the private caches is filled" test -n "$found"
}

# The user's own caches belong there.
left_in_home() { :; }
