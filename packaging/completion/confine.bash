# confine - completion for bash. What can be typed is read from `confine help`, so it is that of the program at hand.
#
# Should:  complete commands, options, their words and paths, and behind `--` the command that is to run.
# Mustn't: run anything but `confine help` and `confine session list`.

# _confine_many WORD WORDS: one of these more, behind those that stand there already
_confine_many() {
    local before=
    [[ $1 != *,* ]] || before=${1%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${1##*,}")
}

# The names that --open and --require take, for the form of the value.
_confine_surfaces() {
    "$program" help surfaces 2>/dev/null | sed -n 's/^  \([a-z_]*\.[a-z_]*\) .*/\1/p'
    [[ $1 != full* ]] || { echo full; "$program" help surfaces 2>/dev/null | sed -n 's/^\([a-z]*\):$/\1/p'; }
}

# The policies of the user that have a name.
_confine_policies() {
    local file
    for file in ~/.config/confine/*.json; do
        file=${file##*/} file=${file%.json}
        [[ $file == '*' ]] || echo "$file"
    done
}

# _confine_value FORM WORD: what stands for a value in the help, `private|host|off`, `DIR`, `FILE|fd:N`
_confine_value() {
    local form=$1 word=$2
    case $form in
    MODE) form='read-only|workspace-write|danger-full-access' ;;
    NAME) form='auto|namespace|bubblewrap|landlock|custom|refuse' ;;
    esac
    compopt -o filenames 2>/dev/null
    case $form in
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    'FILE|NAME|'*) mapfile -t COMPREPLY < <(compgen -f -- "$word"; compgen -W "$(_confine_policies)" -- "$word") ;;
    PATH | *FILE* | *DIR*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *SURFACE*) _confine_many "$word" "$(_confine_surfaces "$form")" ;;
    KEY=*)
        compopt -o nospace 2>/dev/null
        _confine_many "$word" 'time= memory= processes= output= file_size= tmp_size= cpu='
        ;;
    *[A-Z]*) ;; # a number, a rule, a name: nobody knows which
    *) mapfile -t COMPREPLY < <(compgen -W "${form//|/ }" -- "$word") ;;
    esac
}

_confine() {
    local program=$1 word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i help form
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif ((i + 1 == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        else
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        return
    done
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | sed -n 's/^  confine \(-., \)\{0,1\}\([a-z-]*\).*/\2/p')" -- "$word")
        return
    fi
    if [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | sed -n 's/^  confine help \(.*|.*\)/\1/; t topics; s/^  confine \([a-z]*\) .*/\1/p; b; :topics; s/|/ /gp')" -- "$word")
        return
    fi
    help=$("$program" help "${COMP_WORDS[1]}" 2>/dev/null) || return
    # bash makes three words of --network=none.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $before =~ ^--?[a-zA-Z][a-z-]*$ ]]; then
        form=$(sed -n "s/^  \(-., \|    \)$before \([^ ]\{1,\}\).*/\2/p; s/^  $before, --[a-z-]* \([^ ]\{1,\}\).*/\1/p" <<<"$help")
        case $before:$form in
        --session:*)
            mapfile -t COMPREPLY < <(compgen -W "$("$program" session list 2>/dev/null | sed -n 's/^\([^ :]*\): .*/\1/p')" -- "$word")
            return
            ;;
        *:?*)
            _confine_value "$form" "$word"
            return
            ;;
        esac
    fi
    if [[ ${COMP_WORDS[1]} == session && $word != -* ]]; then
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "$(sed -n '1{s/^usage: confine session //; s/ | /\n/g; p}' <<<"$help" | sed 's/ .*//')" -- "$word")
        elif ((COMP_CWORD == 3)) && [[ $before != start && $before != list ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" session list 2>/dev/null | sed -n 's/^\([^ :]*\): .*/\1/p')" -- "$word")
        fi
        return
    fi
    if [[ ${COMP_WORDS[1]} == policy && $word != -* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p' <<<"$help") $(grep -q -- '-- COMMAND' <<<"$help" && echo --)" -- "$word")
}
complete -F _confine confine
