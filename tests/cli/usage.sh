#!/bin/bash
# usage.sh - words that are wrong: one line with what was meant, status 125, nothing run.
. "$(dirname "$0")/tap.sh"

# usage NAME TEXT WORD...: `confine WORD...` is refused with one line that holds TEXT.
usage() {
    local name=$1 text=$2
    shift 2
    rm -f "$dir/ran"
    call "$confine" "$@"
    { [ "$status" -eq 125 ] || why "status $status, expected 125"; } && has_line "$text" && has_way_out &&
        { [ ! -s "$dir/out" ] || why "something on stdout"; } && { [ ! -e "$dir/ran" ] || why "it ran"; }
    result $? "$name"
}

usage "no command of confine" "confine --help"
usage "unknown command" "did you mean confine plan?" pln
usage "unknown command, nothing near" "see: confine --help" zzzzzz
usage "unknown option of confine" "--verbos" --verbos
usage "a command that no command of ours stands before" "to run a command: confine run -- touch ran;" touch ran
usage "options and a command, and no run" "to run a command: confine run -w . -- touch ran;" -w . -- touch ran
usage "nothing but dashes before the command" "to run a command: confine run -- touch ran;" -- touch ran
usage "options before the command of ours" "options stand behind the command: confine run" --verbose run -- touch "$dir/ran"
usage "a report to stdout, as elsewhere" "(stdout is fd:1; write" run --report - -- touch "$dir/ran"
usage "a temp directory without a slash" "(with a slash in it: ./tmp)" run --tmp tmp -- touch "$dir/ran"
usage "control characters in a command" 'command "\x1b[2J"' $'\x1b[2J'
for name in serve; do
    usage "$name is not in this version" "command $name: it is not in this version" "$name" x -- touch "$dir/ran"
done
usage "help of something unknown" "did you mean confine probe?" help prob
usage "help of something later" "not in this version" help serve

for name in run exec plan; do
    usage "$name: unknown option, nearest" "did you mean --workspace?" $name --worksapce . -- touch "$dir/ran"
    usage "$name: missing dashes, corrected line" "confine $name -w . -- touch ran" $name -w . touch ran
    usage "$name: missing command" "no command stands after" $name -w . --
    usage "$name: nothing at all" "-- COMMAND" $name
    usage "$name: value swallowed" "--timeout: a value must follow" $name --timeout -- touch "$dir/ran"
done
usage "corrected line is quoted" "-- sh -c 'echo \$HOME'" run sh -c 'echo $HOME'
usage "newline in an option" '\x0a' run $'--x\ny' -- touch "$dir/ran"
usage "a port, as elsewhere" "(write --publish PORT for a server inside, --forward PORT" run --port 3000 -- touch "$dir/ran"
printf 'policy: 1\nmode: read-only\n' >"$dir/policy.yaml"
usage "a policy that is no JSON" "policy.yaml:1:1: invalid token at policy (a policy is JSON" run --policy "$dir/policy.yaml" -- touch "$dir/ran"
usage "probe takes no words" "takes no such word" probe x
usage "probe: unknown backend" "there is no backend" probe --backend lndlock
usage "policy: path below a file" "Not a directory" policy /etc/passwd/x
usage "policy: .. behind something that does not exist" "No such file" policy /nowhere/../etc
# Each of these says what to do instead.
usage "empty value" "--mode: the value is empty (write --mode MODE" run --mode= -- touch "$dir/ran"
usage "empty name" "the command's name is empty (confine run" run -- ''
usage "a word missing between commas" "fs.write,,fs.read" run --require fs.write,,fs.read -- touch "$dir/ran"
usage "a variable without a name" "(write --env NAME=VALUE" run --env =x -- touch "$dir/ran"
usage "a fraction without a unit" "(a fraction needs a unit: 0.5s)" run --timeout 0.5 -- touch "$dir/ran"
usage "a fraction of a size without a unit" "(a fraction needs a unit: 1.5G)" run --limit memory=1.5 -- touch "$dir/ran"
usage "a group cannot be opened" "limits is not a surface (name surfaces of that group" run --open limits -- touch "$dir/ran"
usage "a surface like none" "zzzz is not a surface" run --require zzzz -- touch "$dir/ran"
usage "a backend like none: those of this version" "landlock, custom, refuse" run -b zzzz -- touch "$dir/ran"
usage "a set cannot be the workspace" "(name a directory; one of that name is written ./@self)" run -w @self -- touch "$dir/ran"
usage "a policy that is not there" "(make it" run --policy ./nowhere.json -- touch "$dir/ran"
usage "a limit that is required and not set" "(set the limit that is required: --limit memory=VALUE)" run --require limit.memory -- touch "$dir/ran"
usage "all that is required and cannot be held is named at once" "; nor can it hold limit.cpu, later.exec" run --require limit.memory,later.exec,limit.cpu -- touch "$dir/ran"
usage "reading is required to be held and not restricted" "(say what may be read: --readable listed" run --require fs.read -- touch "$dir/ran"
usage "a report in a directory that is not there" "report ./no/where: No such file or directory (name a file" run --report ./no/where -- touch "$dir/ran"
usage "a page in a directory that is not there" "html ./no/where: No such file or directory (name a file" check --html ./no/where --only 'env.*'
usage "nobody listens" "(give one end" run --control unix:./nowhere -- touch "$dir/ran"
usage "an owner that is no number" "(give the number" session start x --owner me
usage "settings that are not there" "(name the file" policy --from-srt ./nowhere.json
for name in mcp check "session list"; do
    usage "$name takes no words" "(see: confine help ${name% *})" $name x
done
echo '{"policy": 1, "limits": {"time": 1.5}}' >"$dir/fraction.json"
usage "a fraction in a file" '(a fraction needs a unit, and so is a text: "1.5m")' run --policy "$dir/fraction.json" -- touch "$dir/ran"
echo '{"policy": 1, "locked": ["zzzz"]}' >"$dir/locked.json"
usage "no key to lock" "(confine-policy(5) lists the keys)" run --policy "$dir/locked.json" -- touch "$dir/ran"
echo '{"policy": 1, "extends": ["nowhere"]}' >"$dir/extends.json"
usage "a base that is not there: who wants it" "extends.json:1:" run --policy "$dir/extends.json" -- touch "$dir/ran"
echo '{"policy": 1, "read": [{"zzzz": 1}]}' >"$dir/item.json"
usage "an item with a key like none" "(it has path, optional and why)" run --policy "$dir/item.json" -- touch "$dir/ran"
usage "two workspaces" "b, after a: there is one workspace (more that is writable: --write b)" run -w a -w b -- touch "$dir/ran"

# What is asked for and not in this version names its surface in the report and what works instead in the line.
refused "network listed without namespaces" 125 no-network-namespace "say --open net.listed" -b landlock -n listed -- touch "$dir/ran"
refused "proxy without a list" 125 no-such-network "--allow RULE" --proxy-env -- touch "$dir/ran"
refused "a list is required and none given" 125 not-listed-mode "--allow RULE" --require net.listed -- touch "$dir/ran"
refused "a rule without a list" 125 no-such-network "leave --network out" -n none --allow example.org -- touch "$dir/ran"
refused "a forwarded port of one's own" 125 no-such-network "leave it out" -n host --forward 80 -- touch "$dir/ran"
refused "control: no such descriptor" 125 control-unusable "not open" --control fd:77 -- touch "$dir/ran"
refused "control: one of the command's" 125 option-value "0 to 2" --control fd:1 -- touch "$dir/ran"
refused "control: neither" 125 option-value "for example --control fd:3" --control x -- touch "$dir/ran"
echo '{"policy": 1, "network": {"mode": "listed"}}' >"$dir/listed.json"
refused "listed network of a file" 125 no-network-namespace "net.listed" -b landlock --policy "$dir/listed.json" -- touch "$dir/ran"
refused "a limit of wrong size is named" 125 bad-value "cpu=much is not a duration" --limit memory=1G,cpu=much -- touch "$dir/ran"
refused "the end of no limit" 125 output-end-alone "(add one: --limit output=16M,output_end=true)" --limit output_end=true -- touch "$dir/ran"
refused "the temp directory has another option" 125 environment-temp "(choose that one: --tmp DIR)" --env TMPDIR=/var/tmp -- touch "$dir/ran"
call "$confine" run -m danger-full-access --env TMPDIR=/nowhere -- sh -c 'echo "$TMPDIR"'
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = /nowhere ]
result $? "but where nothing is confined"
refused "usage error, too" 125 unknown-option "did you mean --mode?" --mdoe x -- touch "$dir/ran"
refused "danger holds nothing" 125 mode-holds-nothing "--require" -m danger-full-access --require full -- touch "$dir/ran"
for words in "--planted quarantine" "--planted report" "--tmp private" "--tmp ./" "--caches private" "--user owner" --wait-all "--denials on"; do
    refused "danger does not do: $words" 125 mode-holds-nothing "option ${words% *}: danger-full-access enforces nothing" -m danger-full-access $words -- touch "$dir/ran"
done
for limit in file_size tmp_size; do
    refused "danger does not hold the limit $limit" 125 mode-holds-nothing "cannot hold limit.$limit" -m danger-full-access --limit $limit=1M -- touch "$dir/ran"
done
echo "{\"policy\": 1, \"user\": $(($(id -u) + 1))}" >"$dir/user.json"
call "$confine" run -m danger-full-access --policy "$dir/user.json" -- touch "$dir/ran"
[ "$status" -eq 125 ] && has_line "user.json:1" && has_way_out && [ ! -e "$dir/ran" ]
result $? "danger runs nothing as root that a file gives to another user"
for allowed in "--caches off" "--user keep" "--denials auto" "-n host" "--readable all" "--clean-env" "--timeout 1m" "--limit output=1M"; do
    call "$confine" run -m danger-full-access $allowed -- true
    [ "$status" -eq 0 ]
    result $? "danger goes with $allowed"
done
refused "a terminal that run does not give" 125 not-in-this-version "use confine exec" --tty inherit -- touch "$dir/ran"
refused "required and opened" 125 require-opened "net.tcp is opened" --open net.tcp --require net.tcp -- touch "$dir/ran"
refused "nothing optional in a workspace" 125 path-missing "(create it first)" -w "$dir/nowhere?" -- touch "$dir/ran"
refused "unknown surface" 125 bad-value "fs.wirte" --require fs.wirte -- touch "$dir/ran"

call "$confine" exec --report "$dir/r" -- touch "$dir/ran"
[ "$status" -eq 125 ] && has_line "option --report: confine exec has no supervisor for a report (use confine run)" &&
    [ ! -e "$dir/ran" ] && [ ! -e "$dir/r" ]
result $? "exec refuses a report and makes no file"
echo '{"policy": 1, "limits": {"time": "1s"}}' >"$dir/time.json"
call "$confine" exec --policy "$dir/time.json" -- touch "$dir/ran"
[ "$status" -eq 125 ] && has_line "time.json" && [ ! -e "$dir/ran" ]
result $? "exec refuses a time limit of a file"

call "$confine" --version
[ "$status" -eq 0 ] && grep -qx 'confine [0-9]*\.[0-9]*\.[0-9]*' "$dir/out" && [ ! -s "$dir/err" ]
result $? "version"
cp "$dir/out" "$dir/version"
call "$confine" -V
[ "$status" -eq 0 ] && cmp -s "$dir/out" "$dir/version"
result $? "-V is --version"
for words in "" run exec plan probe policy; do
    call "$confine" $words --help
    cp "$dir/out" "$dir/help"
    call "$confine" $words -h
    [ "$status" -eq 0 ] && cmp -s "$dir/out" "$dir/help"
    result $? "$words -h is $words --help"
done
"$confine" --version >/dev/full 2>"$dir/err" || [ $? -eq 125 ] && has_line "No space left"
result $? "version on a full disk is not a success"
finish
