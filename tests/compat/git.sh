#!/bin/bash
# git.sh - git's everyday commands, each a run of its own, in a repository, a linked worktree and a subdirectory.
. "$(dirname "$0")/compat.sh"
need git

printf '[user]\n\tname = Somebody\n\temail = somebody@example.org\n[init]\n\tdefaultBranch = main\n' >"$home/.gitconfig"
own "$home/.gitconfig"
kept=.gitconfig

does "init" 'git init -q .'
does "add and commit, with the user's own configuration" \
    'seq 100 >numbers; mkdir -p src/deep; echo a >src/deep/a; git add . && git commit -qm first'
is "the commit is there, by that user" "$(outside git -C "$w" log --format='%an %s')" "Somebody first"
does "branch and checkout" 'git checkout -qb topic && sed -i s/50/fifty/ numbers && git commit -qam topic'
does "a file with a mode, a link" \
    'printf "#!/bin/sh\n" >tool && chmod +x tool && ln -s tool link && git add . && git commit -qm tool'
is "mode and link are in the index" "$(outside git -C "$w" ls-files -s tool link | cut -c1-6 | sort | tr '\n' ' ')" \
    "100755 120000 "
does "merge with a conflict, resolved" 'git checkout -q main && sed -i s/50/FIFTY/ numbers && git commit -qam main
    if git merge -q topic >/dev/null 2>&1; then exit 1; fi
    git diff --name-only --diff-filter=U | grep -qx numbers
    git checkout -q --theirs numbers && git add numbers && git commit -qm merged'
is "the merge has two parents" "$(outside git -C "$w" log -1 --format=%P | wc -w)" 2
does "rebase, also with a list" 'git checkout -qb series main~1 && for i in 1 2 3; do echo $i >s$i; git add s$i; git commit -qm s$i; done
    git rebase -q main
    GIT_SEQUENCE_EDITOR="sed -i 2s/pick/squash/" GIT_EDITOR=true git rebase -q -i main'
is "the series was rebased" "$(outside git -C "$w" log --oneline main..series | wc -l)" 2
does "cherry-pick, revert, reset, tag, describe" 'git checkout -q main && git cherry-pick series >/dev/null && git revert --no-edit HEAD >/dev/null
    git tag -am v1 v1 && git describe | grep -qx v1 && git reset -q --hard HEAD~2'
does "stash and pop" 'echo more >>numbers && echo new >new && git stash -qu && test ! -e new && git stash pop -q && test -e new && rm new && git checkout -q .'
does "remote, push, fetch and pull with a bare repository" 'git init -q --bare far.git && git remote add origin ./far.git && git push -qu origin main topic
    git fetch -q && git pull -q && git branch -vv | grep -q origin/main'
is "the remote has the branch" "$(outside git -C "$w/far.git" rev-parse main)" "$(outside git -C "$w" rev-parse main)"
does "clone --local, and its hard links" 'git clone -q --local . copy && git -C copy fsck --strict 2>/dev/null'
does "clone --depth through a pack" 'git clone -q --depth 1 "file://$PWD/far.git" shallow && test $(git -C shallow log --oneline | wc -l) = 1'
does "submodule add, update, foreach, a recursive clone" 'git init -q part && (cd part && echo p >p && git add p && git commit -qm p)
    git init -q super && cd super && git config protocol.file.allow always
    git -c protocol.file.allow=always submodule --quiet add "$PWD/../part" sub && git commit -qm sub
    git -c protocol.file.allow=always submodule --quiet update --init && git submodule --quiet foreach "git status -s"
    cd .. && git -c protocol.file.allow=always clone -q --recurse-submodules super whole
    test -e whole/sub/p && test -f whole/sub/.git && rm -rf part super'
does "worktree add, list, remove" 'git worktree add -q ../w/tree topic && (cd tree && echo t >t && git add t && git commit -qm t) && git worktree remove tree'
does "gc, repack, prune, fsck" 'git gc -q --prune=now && git fsck --strict 2>/dev/null && git count-objects -v | grep -qx "count: 0"'
does "a commit that starts a gc by itself leaves a sound repository" 'for i in $(seq 40); do echo $i >loose$i; done; git add . && git -c gc.auto=1 commit -qm loose && git fsck --strict 2>/dev/null'
ok "and outside it is sound as well" outside git -C "$w" fsck --strict
does "bisect with a script" 'git bisect start HEAD HEAD~1 >out.bisect 2>&1 && git bisect run sh -c "test ! -e loose1" >>out.bisect
    grep -q "is the first bad commit" out.bisect && git bisect reset >out.bisect 2>&1 && rm out.bisect'
does "grep, blame, archive, apply, am" 'git grep -q 99 && git blame numbers >/dev/null && git archive HEAD | tar -t >/dev/null
    echo z >>numbers && git diff >z.patch && git checkout -q numbers && git apply z.patch && git checkout -q numbers
    git format-patch -q -1 -o out && git reset -q --hard HEAD~1 && git am -q out/*.patch'
does "configuration of the repository can be written" 'git config test.key value && git config --get test.key | grep -qx value'
does "mv, rm, notes" 'git mv tool tool2 && git rm -q link && git notes add -m n && git reset -q --hard'
does "sparse-checkout" 'git clone -q . thin && cd thin && git sparse-checkout set --no-cone src/ && test ! -e tool && test -e src/deep/a && git sparse-checkout disable && test -e tool && cd .. && rm -rf thin'
does "status and diff leave the index usable" 'touch numbers && git status --short >/dev/null && git diff --quiet'
refuses "the user's global configuration cannot be written" 'could not lock config file|Permission denied|Read-only' \
    'git config --global core.pager x'
run outside git config --global core.pager
is "and was not" "$status" 1
refuses "a network remote fails at once, by name" 'Could not resolve|unable to access|not permitted' \
    'timeout 60 git ls-remote https://example.org/x.git'

# A linked worktree as the workspace: its repository lies elsewhere and is granted with it (git-layouts.sh).
main=$test_dir/main tree=$test_dir/tree
mkdir "$main"
own "$main"
mkdir "$tree"
own "$tree"
outside sh -c 'cd "$1" && git init -q . && echo a >a && git add a && git commit -qm a && git worktree add -q "$2"' sh "$main" "$tree"
workspace=$tree from=$tree
does "a linked worktree: add and commit" 'echo b >b && git add b && git commit -qm b'
is "the commit is in the repository" "$(outside git -C "$main" log --format=%s -1 tree)" b
does "a linked worktree: branch, stash, gc" 'git checkout -qb other && echo c >>b && git stash -q && git stash pop -q && git commit -qam c && git gc -q'
refuses "the main worktree's files are not writable" 'Permission denied|Read-only' "echo x >$main/a"
workspace= from=

# @git from a subdirectory.
mkdir "$w/src/sub" && own "$w/src/sub"
from=$w/src/sub workspace=@git
does "-w @git from a subdirectory" 'test "$(git rev-parse --show-prefix)" = src/sub/ && echo x >../../top && git add ../../top && git commit -qm top'
is "the workspace is the top" "$(field workspace)" "$w"
ok "the file at the top is there" test -e "$w/top"
close
