#compdef confine
# confine - completion for zsh. What can be typed is read from `confine help`, so it is that of the program at hand.
#
# Should:  complete commands, options, their words and paths, and behind `--` the command that is to run.
# Mustn't: run anything but `confine help` and `confine session list`.

# Sets action to what _arguments does for a value: the form of it in the help is `private|host|off`, `DIR`, `FILE|fd:N`.
_confine_action() {
    case $1 in
    MODE) action='(read-only workspace-write danger-full-access)' ;;
    NAME) action='(auto namespace bubblewrap landlock custom refuse)' ;;
    *SURFACE*) action="_sequence _confine_surfaces ${1%%\|*}" ;;
    KEY=*) action='_confine_limits' ;;
    'FILE|NAME|'*) action='_confine_policies' ;;
    DIR) action='_directories' ;;
    PATH | *FILE* | *DIR*) action='_files' ;;
    *[A-Z]*) action=' ' ;; # a number, a rule, a name: nobody knows which
    *) action="(${1//|/ })" ;;
    esac
}

# The names that --open and --require take; the first word is `full` where a group does as well.
_confine_surfaces() {
    local wide=$1 help
    shift
    local -a names
    help=$($confine_program help surfaces 2>/dev/null)
    names=(${(f)"$(sed -n 's/^  \([a-z_]*\.[a-z_]*\) .*/\1/p' <<<$help)"})
    [[ $wide != full ]] || names+=(full ${(f)"$(sed -n 's/^\([a-z]*\):$/\1/p' <<<$help)"})
    compadd "$@" -a names
}

_confine_limits() {
    compset -P '*,'
    compadd -S '' -- time= memory= processes= output= file_size= tmp_size= cpu=
}

# A file, or one of the policies of the user that have a name.
_confine_policies() {
    local -a names=(~/.config/confine/*.json(N:t:r))
    compadd -a names
    _files
}

_confine_sessions() {
    local -a names=(${(f)"$($words[1] session list 2>/dev/null | sed -n 's/^\([^ :]*\): .*/\1/p')"})
    compadd -a names
}

# Sets specs to the options of a command, for _arguments.
_confine_options() {
    local short name form what action line
    local -a names
    while IFS=$'\t' read -r short name form what; do
        what=${${what//\[/\(}//\]/\)}
        action=
        if [[ $form != . ]]; then
            if [[ $name == --session ]]; then action=_confine_sessions; else _confine_action $form; fi
            action=":${form//:/\\:}:$action"
            specs+=("*${name}=[$what]$action")
            [[ $short == . ]] || specs+=("*${short}+[$what]$action")
        else
            specs+=("*${name}[$what]")
            [[ $short == . ]] || specs+=("*${short}[$what]")
        fi
    done < <($1 help $2 2>/dev/null | awk '
        function tell() { if (name != "") printf "%s\t%s\t%s\t%s\n", short, name, form, what; name = "" }
        /^  (-[a-zA-Z], |    )--[a-z]/ {
            tell()
            short = substr($0, 3, 2); if (short == "  ") short = "."
            rest = substr($0, 7); name = rest; sub(/ .*/, "", name)
            what = substr(rest, length(name) + 1); form = "."
            if (what ~ /^ [^ ]/) { form = substr(what, 2); sub(/ .*/, "", form); what = substr(what, length(form) + 2) }
            sub(/^ +/, "", what)
            next
        }
        /^                    / && name != "" && what == "" { what = $0; sub(/^ +/, "", what) }
        END { tell() }')
}

_confine() {
    local program=$words[1] confine_program=$words[1] command=$words[2] dashes=${words[(i)--]}
    local -a specs commands
    if ((dashes < CURRENT)); then
        words=("${(@)words[dashes + 1,-1]}")
        ((CURRENT -= dashes))
        _normal
        return
    fi
    if ((CURRENT == 2)) || [[ $command == help ]]; then
        commands=(${(f)"$($program --help 2>/dev/null | sed -n 's/^  confine \(-., \)\{0,1\}\([a-z-]*\) *\(.*\)/\2:\3/p')"})
        commands=(${commands:#help:*\|*})
        ((CURRENT == 2)) || commands=(${commands:#-*} ${(s:|:)"$($program --help 2>/dev/null | sed -n 's/^  confine help \(.*|.*\)/\1/p')"})
        _describe -t commands command commands
        return
    fi
    _confine_options $program $command
    case $command in
    session)
        commands=(${(f)"$($program help session 2>/dev/null | sed -n '1{s/^usage: confine session //; s/ | /\n/g; p}' | sed 's/ .*//')"})
        specs+=("1:what to do:($commands)" '2:session:_confine_sessions')
        ;;
    policy) specs+=('*:path:_files') ;;
    run | exec | plan | learn) specs+=('*: :(--)') ;;
    esac
    words=($program "${(@)words[3,-1]}")
    ((CURRENT -= 1))
    _arguments -s $specs
}

_confine "$@"
