#!/bin/sh
# hide-run: contents are hidden, names stay; everything else works as before.
case ${TMPDIR:-/tmp} in /*/*) export TMPDIR=/tmp ;; esac # it says every directory of the way there, which is one
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build act "$here/act.c"
act=$test_dir/bin/act
hr=$links/hide-run

fatal() {
    fatal_name=$1 fatal_text=$2
    shift 2
    run "$@"
    is "$fatal_name" "$status|$out|$err" "125||hide-run: fatal: $fatal_text"
}

fatal 'no level' '--level: usage: at least one is needed' "$hr" -- true
fatal 'no --' 'usage: missing `--` and a command' "$hr" --level /
fatal 'exception before a level' '--except: usage: must follow its --level' "$hr" --except x --level / -- true
for name in a/b . .. ''; do
    fatal "exception '$name'" "$name: usage: --except takes the name of one entry, not a path" "$hr" --level / --except "$name" -- true
done
fatal 'missing level' "$test_dir/none: No such file or directory" "$hr" --level "$test_dir/none" -- true
fatal 'level that is a file' "/etc/passwd: Not a directory" "$hr" --level /etc/passwd -- true
fatal 'missing shown path' "$test_dir/none: No such file or directory" "$hr" --level / --show "$test_dir/none" -- true
mkdir "$test_dir/many"
(cd "$test_dir/many" && seq 1 4097 | xargs touch)
fatal 'more than 4096 entries' "$test_dir/many: more than 4096 entries beside what is hidden" "$hr" --level "$test_dir/many" -- true

# home is below the test's directory: every ancestor is an exception of its level, as the planner gives them.
home=$test_dir/home
top=$(echo "$test_dir" | cut -d/ -f2)
base=$(basename "$test_dir")
parent=$(dirname "$test_dir")
hide() { # hide USER WORDS...: hides .secret and .keys in home
    hide_user=$1
    shift
    if [ "$parent" = "/$top" ]; then
        as "$hide_user" "$hr" --level / --except "$top" --level "$parent" --except "$base" --level "$test_dir" --except home \
            --level "$home" --except .secret --except .keys -- "$@"
    else
        echo 'the temporary directory is not directly below a top directory' >&2
        return 99
    fi
}

for user in $users; do
    rm -rf "$home"
    mkdir -p "$home/.keys/deep" "$home/ws/a" "$home/ws/b"
    echo secret >"$home/.secret"
    echo key >"$home/.keys/deep/key"
    echo open >"$home/open"
    echo data >"$home/ws/a/f"
    ln -s .secret "$home/link"
    ln "$home/.secret" "$home/other-name"
    ln -s ws "$home/dirlink"
    [ "$user" != nobody ] || chown -hR 65534:65534 "$home"

    for file in .secret .keys/deep/key open other-name link; do
        run as "$user" "$act" read "$home/$file"
        is "$user: control: $file" "$out" 0
    done
    for row in .secret:13 .keys/deep/key:13 link:13 other-name:13 open:0 ws/a/f:0 dirlink/a/f:0; do
        run hide "$user" "$act" read "$home/${row%:*}"
        is "$user: ${row%:*}" "$status|$out" "0|${row#*:}"
    done
    run hide "$user" "$act" read /etc/passwd
    is "$user: the system is readable" "$status|$out" '0|0'
    run hide "$user" sh -c "ls -A $home | tr '\n' ' '; ls $home/.keys/deep"
    is "$user: names stay visible" "$out" ".keys .secret dirlink link open other-name ws key"
    run hide "$user" sh -c "echo new >$home/later; cat $home/later 2>/dev/null || echo unreadable"
    is "$user: a name that comes later is unreadable" "$out" unreadable
    run hide "$user" sh -c "cp $home/.secret $home/ws/copy 2>/dev/null || mv $home/.secret $home/ws/moved; cat $home/ws/moved 2>/dev/null || echo unreadable"
    is "$user: moving a hidden file among the open ones" "$out" unreadable
    run hide "$user" sh -c "ln $home/.secret $home/ws/linked; cat $home/ws/linked 2>/dev/null || echo unreadable"
    is "$user: linking it there" "$out" unreadable

    for row in .keys/deep/key:0 .secret:13; do
        run as "$user" "$hr" --level / --except "$top" --level "$parent" --except "$base" --level "$test_dir" --except home \
            --level "$home" --except .secret --except .keys --show "$home/.keys/deep" -- "$act" read "$home/${row%:*}"
        is "$user: --show: ${row%:*}" "$status|$out" "0|${row#*:}"
    done

    # Behind landlock-run, everyday moves between directories of the writable tree.
    behind() { as "$user" "$links/landlock-run" --ro / --rw "$home/ws" --rw /dev/null -- "$hr" --level / --except "$top" \
        --level "$parent" --except "$base" --level "$test_dir" --except home --level "$home" --except .secret --except .keys -- "$@"; }
    run behind "$act" rename "$home/ws/a/f" "$home/ws/b/f"
    is "$user: rename across directories" "$status|$out" '0|0'
    run behind "$act" link "$home/ws/b/f" "$home/ws/a/g"
    is "$user: link across directories" "$status|$out" '0|0'
    run behind sh -c "cd $home/ws && mkdir -p tmp/pkg node_modules && echo 1 >tmp/pkg/x && mv tmp/pkg node_modules/pkg && cat node_modules/pkg/x"
    is "$user: a directory moves, as npm does" "$status|$out" '0|1'
    if command -v git >/dev/null; then
        run behind env HOME="$home/ws" TMPDIR="$home/ws" GIT_CONFIG_NOSYSTEM=1 sh -c "cd $home/ws && mkdir repo && cd repo && git init -q . && echo 1 >f && git add f && git -c user.name=n -c user.email=e commit -qm one && git mv f g && git -c user.name=n -c user.email=e commit -qm two && git gc -q && git log --oneline | wc -l"
        is "$user: git" "$status|$out" '0|2'
    else
        skip "$user: git" 'no git'
    fi
done
finish
