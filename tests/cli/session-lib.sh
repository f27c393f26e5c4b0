# session-lib.sh - sourced by the tests of sessions, behind tap.sh: a directory for them, and who is in them.
#
#   in_session NAME [OPTION]... -- COMMAND   confine run --session, quietly
#   names          the sessions whose files are there
#   keeper NAME    the process that keeps it (NAME: a pattern): started with `--owner`, this shell or $owner, because others of this
#                  user have sessions of the same names
#   inside N       the processes `sleep N` in sessions, as seen outside; there N, gone N: is one, is none left?
mkdir -m 0700 "$dir/runtime"
export XDG_RUNTIME_DIR=$dir/runtime
place=$XDG_RUNTIME_DIR/confine
# Sessions that a failed test leaves end with this shell, and are waited for.
clear_up() {
    for s in $(names); do "$confine" session end "$s"; done
    chmod -R u+rwx "$dir" 2>/dev/null
    rm -rf "$dir"
}

names() { [ ! -d "$place" ] || (cd "$place" && ls | sed -n 's/\.socket$//p'); }
keeper() { pgrep -fx "$confine session start $1 --owner ($$|${owner:-$$})( .*)?" | while read -r pid; do [ "$(stat -c %u "/proc/$pid")" != "$(id -u)" ] || echo "$pid"; done; }
in_session() { "$confine" run -q --session "$@"; }

"$confine" session start probe --owner $$ >"$dir/out" 2>"$dir/err"
if [ $? -ne 0 ] && grep -Eq 'userns|user namespace|proc-masked|namespaces of a session' "$dir/err"; then
    skip 'sessions' "$(head -c 200 "$dir/err")"
    finish
fi
"$confine" session end probe

inside() { # a sleep of so many seconds in the session, by its number outside
    "$confine" session list --json | python3 -c 'import json, sys
for session in json.load(sys.stdin)["sessions"]:
    for process in session["processes"]:
        try:
            words = open("/proc/%d/cmdline" % process["pid"]).read().split("\0")
        except OSError:
            continue
        if words[:2] == ["sleep", sys.argv[1]]:
            print(process["pid"])' "$1"
}
gone() { [ -z "$(inside "$1")" ]; }
there() { [ -n "$(inside "$1")" ]; }
