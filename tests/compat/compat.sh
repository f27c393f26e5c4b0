# compat.sh - real tools, confined: what the tests of this directory share. For bash; source it first.
#
#   $w           the workspace, owned by the command's user; every command starts there
#   $home        its HOME, where nothing may appear but the documented cache directory
#   $workspace   instead of $w as the workspace, for what follows; $from: where commands start
#   $backend     what enforces: the first argument, $CONFINE_BACKEND, else landlock
#   $options     array: more options of `confine run`, for what follows
#   $inside      array: more NAME=VALUE of the caller's environment
#   need TOOL    ends the file with one skip if TOOL is not there for the command's user
#   confined [OPTION...] -- CMD...   `confine run -w $w ... -- CMD...`, with a report in $report
#   does NAME TEXT                   passes when the shell text TEXT, confined, succeeds
#   refuses NAME PATTERN TEXT        passes when it fails and what it said matches PATTERN (of grep -E)
#   views        succeeds when the backend gives the command a view and namespaces of its own
#   field KEY    a value of the last report, `outcome.status`
#   close        looks for what was left behind, checks every report, finishes
#
# As root the workspace and HOME belong to uid 65534 and confine runs the command as that user; otherwise
# everything belongs to the caller. The caller's own environment does not get in.
#
# Should:  look at the result from outside, not at what the tool says.
# Mustn't: use the network, the machine's caches, or a HOME that is somebody's.
#
# In a view of its own /tmp, /run and /dev/shm are private ones: what the tests name must be seen from within.
case ${TMPDIR:-/tmp}/ in
/tmp/* | /run/* | /dev/shm/*) export TMPDIR=/var/tmp ;;
esac
backend=${1:-${CONFINE_BACKEND:-landlock}}
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
confine=${CONFINE_STAGE:?directory with bin/confine}/bin/confine
test_dir=$(cd "$test_dir" && pwd -P)
w=$test_dir/w home=$test_dir/home tmp=$test_dir/tmp reports=$test_dir/reports
export report=
path=${CONFINE_TEST_PATH:+$CONFINE_TEST_PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir "$w" "$home" "$tmp" "$reports"
chmod 1777 "$tmp"
options=() inside=() workspace=
if [ "$(id -u)" = 0 ]; then
    chown 65534:65534 "$w" "$home"
    user=nobody
else
    user=self
fi

# own PATH...: gives it to the command's user
own() { [ "$user" = self ] || chown -Rh 65534:65534 "$@"; }

# outside CMD...: the same user and environment, not confined
outside() {
    as "$user" env -i PATH="$path" HOME="$home" LC_ALL=C TMPDIR="$tmp" CONFINE_MARK="$test_dir" "$@"
}

# An account without a passwd entry, or one whose home is closed, has no business with the tool.
need() {
    local tool
    for tool in "$@"; do
        outside sh -c 'command -v "$1"' sh "$tool" >"$test_dir/.need" 2>&1 && continue
        skip "$(basename "$0" .sh)" "$tool is not installed for this user"
        finish
    done
}

confined() {
    report=$(mktemp "$reports/XXXXXX")
    echo "$report" >"$test_dir/.report"
    (
        cd "${from:-$w}" || exit 99
        exec env -i PATH="$path" HOME="$home" LC_ALL=C TMPDIR="$tmp" CONFINE_MARK="$test_dir" "${inside[@]}" \
            "$confine" run --backend "$backend" -w "${workspace:-$w}" --report "$report" "${options[@]}" "$@"
    )
}

does() { ok "$1" confined -- bash -euo pipefail -c "$2" </dev/null; }

refuses() {
    run confined -- bash -euo pipefail -c "$3"
    if [ "$status" != 0 ] && grep -qE -- "$2" "$test_dir/.out" "$test_dir/.err"; then
        report 0 "$1"
    else
        report 1 "$1" "status $status
$out
$err"
    fi
}

views() { [ "$backend" = namespace ]; }

field() {
    /usr/bin/python3 - "$1" "$(cat "$test_dir/.report")" <<'PYTHON'
import json, sys
value = json.load(open(sys.argv[2]))
for key in sys.argv[1].split('.'):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value if isinstance(value, str) else json.dumps(value))
PYTHON
}

# The processes that carry our mark, but for those of this test itself.
marked() {
    local file
    for file in /proc/[0-9]*/environ; do
        tr '\0' '\n' 2>/dev/null <"$file" | grep -qxF "CONFINE_MARK=$test_dir" || continue
        tr '\0' ' ' <"${file%environ}cmdline" 2>/dev/null
        echo
    done
}

# In HOME: .cache/confine/caches and what the test itself put there ($kept: a pattern of find -path).
left_in_home() {
    find "$home" -mindepth 1 ! -path "$home/.cache" ! -path "$home/.cache/confine" \
        ! -path "$home/.cache/confine/caches" ! -path "$home/.cache/confine/caches/*" ! -path "$home/${kept:-.}" \
        ! -path "$home/${kept:-.}/*"
}

close() {
    is "no process is left" "$(marked)" ""
    is "the temp directory is empty" "$(ls -A "$tmp")" ""
    is "nothing is left in HOME but the cache directory" "$(left_in_home)" ""
    find "$reports" -type f -size 0 -delete
    if [ -z "$(ls "$reports")" ]; then
        finish
    elif /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
        ok "every report is what the schema says" "$here/../cli/validate" "$here/../../docs/report.schema.json" \
            "$reports"/*
    else
        skip "every report is what the schema says" "python3 has no jsonschema"
    fi
    finish
}

echo "TAP version 13"
# Where the kernel refuses namespaces there is nothing to look at.
if [ "$backend" != landlock ] && ! "$confine" run -q --backend "$backend" -w "$w" -- true 2>"$test_dir/.need" </dev/null; then
    skip "$(basename "$0" .sh)" "$(head -n 1 "$test_dir/.need")"
    finish
fi
