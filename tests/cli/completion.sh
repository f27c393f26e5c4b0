#!/bin/bash
# completion.sh - what bash, fish and zsh offer for confine is what the program takes.
. "$(dirname "$0")/tap.sh"
completion=$here/../../packaging/completion/confine
. "$completion.bash"

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
offers "a surface" ipc.keyring,ipc.mqueue,ipc.sysv run --open ipc.
offers "a group" ipc,ipc.keyring,ipc.mqueue,ipc.sysv run --require ipc
offers "one more of them" net.tcp,fs.read run --require net.tcp,fs.rea
offers "and behind an equals sign" full run --require = fu
offers "a limit" file_size= run --limit fi
offers "one more limit" time=1s,cpu= run --limit time=1s,cp
# What is offered is taken, and every key that the help names is offered.
COMP_WORDS=(confine run --limit "") COMP_CWORD=3
_confine "$confine"
for key in "${COMPREPLY[@]}"; do
    call "$confine" policy --limit "${key}1"
    [ "$status" -eq 0 ] || why "$key"
    "$confine" help run | grep -q "[ ]${key%=}\b" || why "$key is not in the help"
done
[ ! -s "$dir/why" ] && [ ${#COMPREPLY[@]} -eq "$("$confine" policy --json | grep -cE '"limits.(time|memory|processes|output|file_size|tmp_size|cpu)"')" ]
result $? "the keys of --limit"
mkdir -p "$HOME/.config/confine" && echo '{"policy": 1}' >"$HOME/.config/confine/agent.json"
offers "a policy by name, and files" "a dir,a file,agent" run --policy a
offers "a topic" limits help li
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
options() { "$confine" help "$1" | grep -oE '^  (-[a-zA-Z], |    )--[a-z-]+' | grep -oE -- '--[a-z-]+'; }
for command in run exec plan probe policy check mcp fence learn; do
    wanted=$({ options $command
        case $command in run | exec | plan | learn) echo -- ;; esac; } | sort | tr '\n' ,)
    offers "$command: all options" "${wanted%,}" $command --
done

# The other shells, asked as a person asks them: a line, and the key.
in_fish() { fish --no-config -c "source '$completion.fish'; complete -C '$1'" | sed 's/\t.*//'; }
in_zsh() { timeout 120 zsh -f "$here/completion.zsh" "$dir/zsh" "$1"; }
mkdir "$dir/zsh" && cp "$completion.zsh" "$dir/zsh/_confine"
PATH=$CONFINE_STAGE/bin:$PATH

# in_shell NAME EXPECTED LINE: likewise, in $shell
in_shell() {
    seen=$(in_$shell "$3" 2>>"$dir/why" | sed 's|/$||; s/^--[a-z]*=//' | sort | tr '\n' ,)
    [ "${seen%,}" = "$2" ] || why "offered: $seen"
    result $? "$shell: $1"
}
for shell in fish zsh; do
    if ! command -v $shell >/dev/null; then
        skip $shell "$shell is not installed"
        continue
    fi
    in_shell "commands of confine" plan,policy,probe "confine p"
    in_shell "an option" --workspace "confine run --work"
    in_shell "words of an option" host,off,private "confine run --caches "
    in_shell "words of a letter" listed "confine run -n l"
    in_shell "words behind an equals sign" host,listed,none "confine run --network="
    in_shell "modes" read-only "confine run --mode r"
    in_shell "directories alone" "a dir" "confine run -w a"
    in_shell "files" "a dir,a file" "confine run --read a"
    in_shell "nothing where anything can stand" "" "confine run --timeout 1"
    in_shell "a surface" ipc.keyring,ipc.mqueue,ipc.sysv "confine run --open ipc."
    in_shell "a group" ipc,ipc.keyring,ipc.mqueue,ipc.sysv "confine run --require ipc"
    in_shell "a limit" file_size= "confine run --limit fi"
    [ $shell = zsh ] || in_shell "one more limit" time=1s,cpu= "confine run --limit time=1s,cp" # zsh shows the last one alone
    [ $shell != zsh ] || in_shell "one more limit" cpu= "confine run --limit time=1s,cp"
    in_shell "one more of them" $([ $shell = zsh ] || echo net.tcp,)fs.read "confine run --require net.tcp,fs.rea"
    in_shell "a policy by name, and files" "a dir,a file,agent" "confine run --policy a"
    in_shell "a topic" limits "confine help li"
    in_shell "what a session can do" allow,end,list,start "confine session "
    in_shell "a command to ask about" mcp "confine help m"
    in_shell "paths to ask about" "a dir,a file" "confine policy -w . a"
    in_shell "an option that the command does not take" "" "confine probe --work"
    in_shell "behind the dashes: what completes that command" "a dir,a file" "confine run -w . -- cat a"
    [ $shell = zsh ] || in_shell "and commands" zzzz-one "confine run -- zzzz" # zsh adds these as keys, which a hook is not shown
    for command in run session check; do
        # What stands there already fish does not offer.
        wanted=$({ options $command; [ $command$shell != runzsh ] || echo --; } | sort | tr '\n' ,)
        in_shell "$command: all options" "${wanted%,}" "confine $command --"
    done
done
finish
