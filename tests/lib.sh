# lib.sh - TAP for shell tests. Source it: . "$(dirname "$0")/../lib.sh"
#
#   $test_dir        a private directory, removed at the end, also when this shell is killed
#   $links           copies of the built links (from $CONFINE_LINKS), reachable by every user
#   $users           the users to test as: "root nobody" for root, else "self"
#   run CMD...       runs it; sets $status, $out and $err (both whole)
#   as USER CMD...   runs CMD as one of $users
#   ok NAME CMD...   passes when CMD succeeds
#   no NAME CMD...   passes when CMD fails
#   is NAME SEEN EXPECTED
#   skip NAME REASON
#   build NAME FILE  compiles a helper of the tests into $test_dir/bin
#   finish           prints the plan; ends with 1 if anything failed. Without it the plan is missing: a failure.
#
# Should:  pass only what was looked at. A helper that does not compile fails the whole file.
# Mustn't: touch anything outside $test_dir, or end a process that it did not start.

set -u
umask 022
ulimit -Sn 1024 # open files, as a login has them
test_number=0
test_failed=0
unset POSIXLY_CORRECT

test_dir=$(mktemp -d "${TMPDIR:-/tmp}/confine-test.XXXXXX") || exit 99
chmod 755 "$test_dir"
# A killed shell runs no trap: somebody else looks after the directory.
setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"' sh $$ "$test_dir" \
    </dev/null >/dev/null 2>&1 &
test_warden=$!
# A child that is ended before it has put the traps aside runs them, and no command has a status there (cli/tap.sh): only this shell
# takes the directory away, which no status decides.
trap 'case ${BASHPID:-$$} in $$) rm -rf "$test_dir"; kill "$test_warden" 2>/dev/null ;; esac' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

if [ -n "${CONFINE_LINKS:-}" ]; then
    links=$test_dir/links
    mkdir "$links" "$test_dir/bin"
    for test_link in "$CONFINE_LINKS"/*-run "$CONFINE_LINKS"/confine-launch "$CONFINE_LINKS"/../../bin/landlock-run; do
        [ ! -f "$test_link" ] || cp "$test_link" "$links/"
    done
else
    echo 'Bail out! CONFINE_LINKS does not name the directory of the built links'
    exit 99
fi

if [ "$(id -u)" = 0 ]; then users='root nobody'; else users=self; fi

as() {
    test_user=$1
    shift
    case $test_user in
    nobody) setpriv --reuid 65534 --regid 65534 --clear-groups "$@" ;;
    *) "$@" ;;
    esac
}

run() {
    "$@" >"$test_dir/.out" 2>"$test_dir/.err" </dev/null
    status=$?
    out=$(cat "$test_dir/.out")
    err=$(cat "$test_dir/.err")
}

report() {
    test_number=$((test_number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $test_number - $2"
    else
        test_failed=1
        echo "not ok $test_number - $2"
        [ -z "${3:-}" ] || printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

ok() {
    test_name=$1
    shift
    test_said=$("$@" 2>&1)
    report $? "$test_name" "$test_said"
}

no() {
    test_name=$1
    shift
    test_said=$("$@" 2>&1)
    if [ $? = 0 ]; then report 1 "$test_name" "succeeded: $test_said"; else report 0 "$test_name"; fi
}

is() {
    if [ "$2" = "$3" ]; then report 0 "$1"; else report 1 "$1" "seen:     $2
expected: $3"; fi
}

skip() {
    test_number=$((test_number + 1))
    echo "ok $test_number - $1 # SKIP $2"
}

build() {
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra ${BUILD_FLAGS:--static} -o "$test_dir/bin/$1" "$2" && return
    echo "Bail out! cannot compile $2"
    exit 99
}

finish() {
    echo "1..$test_number"
    exit "$test_failed"
}
