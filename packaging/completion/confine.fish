# confine - completion for fish. What can be typed is read from `confine help`, so it is that of the program at hand.
#
# Should:  complete commands, options, their words and paths, and behind `--` the command that is to run.
# Mustn't: run anything but `confine help` and `confine session list`.

# The options of a command, one a line: -x or nothing, --name, the form of its value or nothing, what it is for.
function __confine_options --argument-names program command
    $program help $command 2>/dev/null | awk '
        function tell() { if (name != "") printf "%s\t%s\t%s\t%s\n", short, name, form, what; name = "" }
        /^  (-[a-zA-Z], |    )--[a-z]/ {
            tell()
            short = substr($0, 3, 2); sub(/^ +/, "", short)
            rest = substr($0, 7); name = rest; sub(/ .*/, "", name)
            what = substr(rest, length(name) + 1); form = ""
            if (what ~ /^ [^ ]/) { form = substr(what, 2); sub(/ .*/, "", form); what = substr(what, length(form) + 2) }
            sub(/^ +/, "", what)
            next
        }
        /^ {20}/ && name != "" && what == "" { what = $0; sub(/^ +/, "", what) }
        END { tell() }'
end

# One of the words more, behind those that stand there already.
function __confine_many --argument-names word
    set -l before (string match -r '^.*,' -- $word)
    printf "$before%s\n" $argv[2..]
end

# The names that --open and --require take, for the form of the value.
function __confine_surfaces --argument-names program form
    set -l help ($program help surfaces 2>/dev/null)
    string replace -r -f '^  ([a-z_]+\.[a-z_]+) .*' '$1' -- $help
    if string match -q 'full*' -- $form
        echo full
        string replace -r -f '^([a-z]+):$' '$1' -- $help
    end
end

# What stands for a value in the help: `private|host|off`, `DIR`, `FILE|fd:N`.
function __confine_value --argument-names program form word
    switch $form
        case MODE
            set form 'read-only|workspace-write|danger-full-access'
        case NAME
            set form 'auto|namespace|bubblewrap|landlock|custom|refuse'
    end
    if string match -q '*SURFACE*' -- $form
        __confine_many "$word" (__confine_surfaces $program $form)
    else if string match -q 'KEY=*' -- $form
        __confine_many "$word" time= memory= processes= output= file_size= tmp_size= cpu=
    else if string match -q 'FILE|NAME|*' -- $form
        __fish_complete_path "$word" ''
        path basename ~/.config/confine/*.json | string replace -r '\.json$' ''
    else if test "$form" = DIR
        __fish_complete_directories "$word" ''
    else if string match -q -r '^PATH$|FILE|DIR' -- "$form"
        __fish_complete_path "$word" ''
    else if not string match -q -r '[A-Z]' -- "$form" # else a number, a rule, a name: nobody knows which
        string split '|' -- "$form"
    end
end

function __confine_sessions --argument-names program
    $program session list 2>/dev/null | string replace -r -f '^([^ :]*): .*' '$1'
end

function __confine_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program $words[1]
    if set -l dashes (contains -i -- -- $words)
        set -l rest $words[(math $dashes + 1)..] $word
        complete -C (string join ' ' -- (string escape -- $rest[1..-2]) $rest[-1])
        return
    end
    if test (count $words) -eq 1
        $program --help 2>/dev/null | string replace -r -f '^  confine (?:-., )?([a-z-]+) *([^|]*)$' '$1\t$2'
        return
    end
    if test "$words[2]" = help
        $program --help 2>/dev/null | string replace -r -f '^  confine ([a-z]+) +([^|]*)$' '$1\t$2'
        $program --help 2>/dev/null | string replace -r -f '^  confine help (.*\|.*)' '$1' | string split '|'
        return
    end
    set -l options (__confine_options $program $words[2])
    set -l before $words[-1]
    if set -l parts (string match -r '^(--[a-z-]+)=(.*)' -- $word)
        for value in (__confine_value $program (string match -r -g "^[^\t]*\t$parts[2]\t([^\t]*)" -- $options) $parts[3])
            echo "$parts[2]=$value"
        end
        return
    end
    for option in $options
        set -l column (string split \t -- $option)
        contains -- $before $column[1] $column[2]; and test -n "$column[3]"; or continue
        if test "$before" = --session
            __confine_sessions $program
        else
            __confine_value $program $column[3] $word
        end
        return
    end
    if string match -q -- '-*' $word
        for option in $options
            set -l column (string split \t -- $option)
            printf '%s\t%s\n' $column[2] $column[4]
        end
    end
    switch $words[2]
        case session
            if test (count $words) -eq 2
                $program help session 2>/dev/null | string replace -r -f '^usage: confine session (.*)' '$1' | string split ' | ' | string replace -r ' .*' ''
            else if test (count $words) -eq 3; and not contains -- $before start list
                __confine_sessions $program
            end
        case policy
            __fish_complete_path "$word" ''
        case run exec plan learn
            echo --
    end
end
complete -c confine -f -a '(__confine_complete)'
