#!/bin/bash
# completion.sh - what bash offers for confine is what the program takes.
. "$(dirname "$0")/tap.sh"
. "$here/../../packaging/completion/confine"

# offers NAME EXPECTED WORD...: behind these words, of which the last one is begun, these are offered, sorted
offers() {
    local name=$1 expected=$2
    shift 2
    COMP_WORDS=(confine "$@") COMP_CWORD=$#
    _confine "$confine" 2>>"$dir/why"
    seen=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ,)
    [ "${seen%,}" = "$expected" ] || why "offered: $seen"
    result $? "$name"
}

mkdir "$dir/w/a dir" && : >"$dir/w/a file"
offers "a command" run r
offers "commands of confine" plan,policy,probe p
offers "its own options" --version --v
offers "an option" --workspace run --work
offers "words of an option" host,off,private run --caches ""
offers "words of a letter" listed run -n l
offers "words behind an equals sign" none run --network = no
offers "words right behind it" host,listed,none run --network =
offers "modes" read-only run --mode r
offers "backends" landlock run -b land
offers "directories alone" "a dir" run -w a
offers "files" "a dir,a file" run --read a
offers "a file where it can be something else" "a dir,a file" run --report a
offers "nothing where anything can stand" "" run --timeout 1
offers "what a session can do" allow,end,list,start session ""
offers "a command to ask about" mcp help m
offers "paths to ask about" "a dir,a file" policy -w . a
offers "an option that the command does not take" "" probe --work
offers "a command that there is none of" "" nothing --w
_command_offset() { COMPREPLY=("offset $1"); }
offers "behind the dashes: whoever completes commands" "offset 5" run -w . -- ma
unset -f _command_offset
offers "behind them without bash-completion: files" "a dir,a file" run -w . -- cat a
mkdir "$dir/bin" && printf '#!/bin/sh\n' >"$dir/bin/zzzz-one" && chmod +x "$dir/bin/zzzz-one"
PATH=$dir/bin:$PATH
offers "and commands" zzzz-one run -- zzzz
# Every option that a command has, and no other.
for command in run exec plan probe policy check mcp fence learn; do
    wanted=$({ "$confine" help $command | grep -oE '^  (-[a-zA-Z], |    )--[a-z-]+' | grep -oE -- '--[a-z-]+'
        case $command in run | exec | plan | learn) echo -- ;; esac; } | sort | tr '\n' ,)
    offers "$command: all options" "${wanted%,}" $command --
done
finish
