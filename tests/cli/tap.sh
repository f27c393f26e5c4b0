# tap.sh - sourced by the tests of the command: TAP, a private directory, one look at one run of confine.
#
# CONFINE_STAGE names the installed tree (bin/confine, libexec/confine). Everything happens in $dir, which is
# removed at the end, also when the test is told to end.
set -u
export LC_ALL=C
ulimit -Sn 1024 # open files, as a login has them
here=$(cd "$(dirname "$0")" && pwd)
: "${CONFINE_STAGE:?directory with bin/confine}"
confine=$CONFINE_STAGE/bin/confine
schema=$here/../../docs/report.schema.json
validate=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/validate
# Where a view is private, /tmp is not the one of outside.
case ${CONFINE_BACKEND:-landlock}:${TMPDIR:-/tmp} in
landlock:*) ;;
*:/tmp* | *:/run* | *:/dev/shm*) export TMPDIR=/var/tmp ;;
esac
dir=$(mktemp -d "${CONFINE_PLACES:-${TMPDIR:-/tmp}}/confine-cli.XXXXXX") || exit 1
dir=$(cd "$dir" && pwd -P)
# What is done at the end, by this shell alone. A child that a signal ends before it has put the traps aside runs them, and there
# no command has a status of its own ("wait_for: No record of process"): no condition holds it back, an expansion does.
at_end=([$$]=clear_up)
clear_up() {
    chmod -R u+rwx "$dir" 2>/dev/null
    rm -rf "$dir"
}
trap '${at_end[BASHPID]-:}' EXIT
trap 'exit 143' HUP INT TERM
count=0 failed=0

# The policy of this machine's user must not change a test: a home that is not theirs holds nothing.
export HOME=$dir/home
mkdir -p "$HOME" "$dir/w"
cd "$dir/w" || exit 1

# auto refuses landlock for a root caller; named, it runs.
backend=--backend=${CONFINE_BACKEND:-landlock}

# result STATUS NAME: one test point.
result() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        [ ! -s "$dir/err" ] || sed 's/^/# stderr: /' "$dir/err" | cut -c1-400
        [ ! -s "$dir/why" ] || tail -n 5 "$dir/why" | cut -c1-300 | sed 's/^/# /'
    fi
    : >"$dir/why"
}

# skip NAME REASON
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

why() {
    echo "$*" >>"$dir/why"
    return 1
}

# call WORD...: run, keep stdout, stderr and the status. Again where bubblewrap did not start because a socket of another test's that it
# was to mask had gone meanwhile: a run begins anew by itself; an exec is not there any more, and nobody knows what a runner has done.
call() {
    for _ in 1 2 3 4 5; do
        status=0
        "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
        grep "bwrap: Can't create file at /.*: Read-only" "$dir/err" 2>/dev/null | grep -qvF "file at $dir/" || break
    done
}

# await WORD...: until it succeeds, for a minute at most.
await() {
    for _ in $(seq "${CONFINE_AWAIT:-1200}"); do # of 50 ms
        ! "$@" || return 0
        sleep 0.05
    done
    why "waited in vain: $*"
}

# backend_works BACKEND: does it, on this machine?
backend_works() {
    call "$confine" probe -b "$1" --json
    grep -q '"usable": true' "$dir/out"
}

# has_line TEXT: stderr is exactly one line that begins `confine: ` and holds TEXT.
has_line() {
    [ "$(wc -l <"$dir/err")" -eq 1 ] || why "stderr is not one line" || return 1
    grep -q '^confine: ' "$dir/err" || why "the line does not begin confine:" || return 1
    grep -qF -- "$1" "$dir/err" || why "the line does not hold: $1" || return 1
}

# has_way_out: that line says what to do: behind the reason, in brackets, or because it says what is wanted instead.
has_way_out() {
    grep -qE '\)$| is not (a|an|one of|the|NAME|PORT|COLUMNSxROWS|KEY|private|owner|http)| must be ' "$dir/err" || why "the line has no way out"
}

# ask QUESTION WORD...: one of `validate --serve`, which the first question starts and our end ends; its answer goes to the
# standard output. A subshell that does not have it starts one of its own.
ask() {
    local code text
    if [ -z "${reader_PID:-}" ] || ! { : >&"${reader[1]}"; } 2>/dev/null; then
        coproc reader { exec "$validate" --serve "$schema" 2>>"$dir/why"; }
        disown "$reader_PID" # nobody waits for it
    fi
    printf '%s\0' "$@" >&"${reader[1]}" && IFS= read -r -d '' -u "${reader[0]}" code &&
        IFS= read -r -d '' -u "${reader[0]}" text || { echo "no answer to: $*"; return 1; }
    [ -z "$text" ] || printf '%s\n' "$text"
    return "$code"
}

# field KEY FILE: a value of a report, as `.error.reason`.
field() { ask field "$1" "$2"; }

# valid FILE: a report is what the schema says.
valid() { ask valid "$1" >>"$dir/why" 2>&1; }

# refused NAME STATUS REASON TEXT WORD...: `confine run WORD...` with a report on descriptor 9 ends with STATUS,
# one line that holds TEXT, a valid report with REASON, and without having run anything. In WORD... the command
# is `touch $dir/ran` where one is needed.
refused() {
    local name=$1 want=$2 reason=$3 text=$4
    shift 4
    rm -f "$dir/ran" "$dir/report"
    call run_with_report "$@"
    {
        { [ "$status" -eq "$want" ] || why "status $status, expected $want"; } &&
            has_line "$text" && has_way_out &&
            { [ ! -e "$dir/ran" ] || why "the command ran"; } &&
            valid "$dir/report" &&
            { [ "$(field .error.reason "$dir/report")" = "$reason" ] ||
                why "reason $(field .error.reason "$dir/report"), expected $reason"; } &&
            { [ "$(field .outcome.kind "$dir/report")" = not-started ] || why "outcome is not not-started"; }
    }
    result $? "$name"
}

# The wrapper in front of confine, for refused(): a machine that is different.
wrapper=()
run_with_report() { "${wrapper[@]}" "$confine" run --report fd:9 "$@" 9>"$dir/report"; }

# report EXPRESSION: does it hold of the report `r`, and its surfaces `s` by name?
report() { ask report "$1" "$dir/report" 2>&1 >>"$dir/why"; }

# run STATUS NAME EXPRESSION WORD...: with the workspace, the backend of this test, and a report of which that holds.
run() {
    local want=$1 name=$2 expression=$3
    shift 3
    call run_with_report $backend -w . "$@"
    { [ "$status" -eq "$want" ] || why "status $status"; } && valid "$dir/report" && report "$expression"
    result $? "$name"
}

finish() {
    echo "1..$count"
    [ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
    exit
}
echo "TAP version 13"
