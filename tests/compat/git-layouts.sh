#!/bin/bash
# git-layouts.sh - git's everyday commands do inside what they do outside, wherever the repository stands.
#
# Each layout is made twice, with the same contents and dates. Every command runs once in each: `in` confined,
# `out` not. Status, what was said and the state afterwards must be the same but for the name.
#
# Should:  compare with what git does here and now, not with what it once did.
. "$(dirname "$0")/compat.sh"
need git

printf '[user]\n\tname = Somebody\n\temail = somebody@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n' >"$home/.gitconfig"
own "$home/.gitconfig"
kept=.gitconfig
dates=(GIT_AUTHOR_DATE="2026-01-02T03:04:05Z" GIT_COMMITTER_DATE="2026-01-02T03:04:05Z")
part=$test_dir/part
dates+=(PART="$part")
inside=("${dates[@]}")
plain() { outside env "${dates[@]}" "$@"; }

# as_text FILE...: what was said, without the name of the copy.
as_text() { sed -E "s#$test_dir/(layouts|owned)/[a-z]+/(in|out)#TOP#g; s#/(layouts|owned)/[a-z]+/(in|out)/#/TOP/#g" "$@"; }

# The state that a person would look at.
state='git for-each-ref; git stash list; git worktree list; git status --porcelain --branch; git log --all --graph --format="%H %an %s"
    git config --list --local; git symbolic-ref -q HEAD; git ls-files -s; git submodule status; ls -A . "$(git rev-parse --git-common-dir)"'

# pair NAME TEXT: the same text in both, then the state of both.
pair() {
    from=$base/in/$top workspace=$base/in/$top options=(--write "$base/in/$(dirname "$top")/far.git")
    confined -- bash -c "$2" >"$test_dir/.in" 2>&1 </dev/null
    echo "status $?" >>"$test_dir/.in"
    (cd "$base/out/$top" && plain bash -c "$2" >"$test_dir/.out-side" 2>&1 </dev/null; echo "status $?" >>"$test_dir/.out-side")
    (cd "$base/in/$top" && plain bash -c "$state" >>"$test_dir/.in" 2>&1 </dev/null)
    (cd "$base/out/$top" && plain bash -c "$state" >>"$test_dir/.out-side" 2>&1 </dev/null)
    as_text "$test_dir/.in" >"$test_dir/.in.text"
    as_text "$test_dir/.out-side" >"$test_dir/.out.text"
    grep -q '^status 0$' "$test_dir/.out.text" || echo "outside it fails as well" >>"$test_dir/.in.text"
    ok "$layout: $1" diff "$test_dir/.out.text" "$test_dir/.in.text"
}

# make_layout COMMANDS: runs them in both directories; the first is one that COMMANDS may assume to be empty.
make_layout() {
    local copy
    for copy in in out; do
        mkdir -p "$base/$copy"
        own "$base" "$base/$copy"
        (cd "$base/$copy" && plain bash -euc "$1") >"$test_dir/.why" 2>&1 && continue
        ok "$layout: the layout can be made" cat "$test_dir/.why" false
    done
}

seed='seed() { git init -q "$1" && cd "$1" && seq 20 >numbers && mkdir src && echo a >src/a && echo t >tool && git add . && git commit -qm first && cd ..; }
    git init -q --bare far.git;'

commands() {
    pair "commit" 'echo one >one && git add one && git commit -m one'
    pair "branch" 'git branch topic && git branch -v'
    pair "remote add" 'git remote add far ../far.git && git remote -v'
    pair "push -u" 'git push -u far HEAD:refs/heads/pushed && git push far topic'
    pair "checkout -b, tracking" 'git fetch far && git checkout -b tracked far/topic && git status -sb'
    pair "config" 'git config core.pager cat && git config --get core.pager && git config --unset core.pager'
    pair "branch -u" 'git branch -u far/pushed && git rev-parse --abbrev-ref @{u}'
    pair "stash" 'echo more >>numbers && git stash && git stash list && git stash pop'
    pair "reset" 'git add -A && git reset --hard && git reset --soft HEAD'
    pair "merge" 'git checkout -qb side && sed -i s/5/five/ numbers && git commit -qam side && git checkout -q tracked &&
        echo two >two && git add two && git commit -qm two && git merge --no-edit side'
    pair "tag" 'git tag -am v1 v1 && git tag light && git describe'
    pair "cherry-pick" 'git checkout -qb picks v1~1 && echo c >c && git add c && git commit -qm c && git checkout -q tracked && git cherry-pick picks'
    pair "rebase" 'git checkout -qb series v1~1 && echo s >s && git add s && git commit -qm s && git rebase tracked'
    pair "branch -m" 'git branch -m series renamed && git branch -v'
    pair "worktree add" 'git worktree add -b other wt HEAD && cd wt && echo w >w && git add w && git commit -qm w && cd .. && git worktree remove wt'
    pair "submodule add, update" 'git submodule add "$PART" mod 2>/dev/null && git commit -qm mod && git submodule deinit -f mod && git submodule update --init &&
        cd mod && git checkout -qb inmod && echo m >m && git add m && git commit -qm m'
    pair "sparse-checkout" 'git sparse-checkout set --no-cone src/ && git ls-files -t && git sparse-checkout disable'
    pair "after sparse-checkout: commit" 'echo last >last && git add last && git commit -m last'
    pair "gc" 'git gc --quiet --prune=now && git fsck --strict'
}

repository() {
    layout=repository top=app base=$1/repository
    make_layout "$seed seed app"
    commands
}
linked() {
    layout="linked worktree" top=tree base=$1/linked
    make_layout "$seed seed app; cd app; git worktree add -q ../tree"
    commands
    is "$layout: the grant and who asked for it" "$(granted "$base/in/app/.git")" \
        "write, the common git directory of the workspace, from --workspace"
    refuses "$layout: the files of the main worktree are not writable" 'Permission denied|Read-only' 'echo x >../app/src/a'
}

# granted PATH: how the last report grants it.
granted() {
    /usr/bin/python3 - "$1" "$(cat "$test_dir/.report")" <<'PYTHON'
import json, sys
print("; ".join(g["grant"] + ", " + g["from"] for g in json.load(open(sys.argv[2]))["grants"] if g["path"] == sys.argv[1]))
PYTHON
}

mkdir "$test_dir/layouts" "$part"
own "$test_dir/layouts" "$part"
plain sh -ec 'cd "$PART" && git init -q . && echo p >p && git add p && git commit -qm part'
repository "$test_dir/layouts"
linked "$test_dir/layouts"

# What would run later outside is held where mounts can, also where the repository stands elsewhere.
if [ "$backend" = namespace ]; then
    from=$test_dir/layouts/linked/in/tree workspace=$from options=()
    refuses "linked worktree: hooks of the repository are held" 'Read-only file system' 'echo x >../app/.git/hooks/pre-commit'
    refuses "linked worktree: the name of the repository is held" 'Read-only file system' 'echo "gitdir: /" >.git'
    refuses "linked worktree: the directory of the hooks stays where it is" 'Device or resource busy' 'mv ../app/.git/hooks ../app/.git/hooks2'
    from=$test_dir/layouts/repository/in/app workspace=$from
    refuses "repository: the git directory stays where it is" 'Device or resource busy' 'mv .git .git2'
    refuses "repository: hooks are held" 'Read-only file system' 'echo x >.git/hooks/pre-commit'
    options=(--unprotect .git/hooks)
    does "repository: unless they are unprotected" 'echo x >.git/hooks/made && rm .git/hooks/made'
    options=()
fi

layout=submodule top=super/sub base=$test_dir/layouts/submodule
make_layout "$seed seed lib; git init -q super; cd super; git submodule --quiet add ../lib sub 2>/dev/null; git commit -qm sub; cp -R ../far.git ."
commands
is "$layout: the grant and who asked for it" "$(granted "$base/in/super/.git/modules/sub")" \
    "write, the git directory of the workspace, from --workspace"
refuses "$layout: the repository around it is not writable" 'Permission denied|Read-only' 'echo x >../.git/planted'

layout="a link" top=app base=$test_dir/layouts/link
make_layout "$seed seed app; mkdir store; mv app/.git store/app.git; ln -s ../store/app.git app/.git; git -C app config core.worktree \"\$PWD/app\""
commands
is "$layout: the grant and who asked for it" "$(granted "$base/in/store/app.git")" \
    "write, the git directory of the workspace, from --workspace"

layout=alternates top=app base=$test_dir/layouts/alternates
make_layout "$seed seed base; git clone -q --reference base --no-local \"file://\$PWD/base\" app; cd app; git remote rename origin base"
commands
is "$layout: it borrows" "$(wc -l <"$base/in/app/.git/objects/info/alternates")" 1
ok "$layout: what was borrowed is as it was" outside git -C "$base/in/base" fsck --strict
close
