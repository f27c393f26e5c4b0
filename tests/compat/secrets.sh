#!/bin/bash
# secrets.sh - the environment: what looks like a secret is gone and named; what is asked for by name is passed.
. "$(dirname "$0")/compat.sh"

inside=(GITHUB_TOKEN=s3cret AWS_SECRET_ACCESS_KEY=s3cret NPM_TOKEN=s3cret DB_PASSWORD=s3cret EDITOR=vi SSH_AUTH_SOCK=/nowhere)
run confined -- env
is "no secret is inside" "$(grep -c s3cret <<<"$out")" 0
is "EDITOR is" "$(grep -c '^EDITOR=vi$' <<<"$out")" 1
is "the report names what was taken, and no value" \
    "$(field environment.unset | tr -d '[]",' | tr ' ' '\n' | sort | tr '\n' ' ')$(grep -c s3cret "$(cat "$test_dir/.report")")" \
    "AWS_SECRET_ACCESS_KEY DB_PASSWORD GITHUB_TOKEN NPM_TOKEN 0"
run confined -- sh -c 'tr "\0" "\n" </proc/self/environ; tr "\0" "\n" </proc/$PPID/environ'
is "nor in what /proc shows" "$(grep -c s3cret <<<"$out")" 0
run confined --env GITHUB_TOKEN -- env
is "--env GITHUB_TOKEN passes this one" "$(grep s3cret <<<"$out")" "GITHUB_TOKEN=s3cret"
no "and the report does not hold its value" grep -q s3cret "$(cat "$test_dir/.report")"
run confined --env NEW=value --unset-env EDITOR -- env
is "--env NAME=VALUE and --unset-env" "$(grep -cx NEW=value <<<"$out") $(grep -c EDITOR <<<"$out")" "1 0"
run confined --clean-env -- env
is "--clean-env" "$(grep -cE 'EDITOR|s3cret|MARK' <<<"$out")" 0
run confined -- sh -c 'test "$HOME" = "$1" && test -n "$PATH"' sh "$home"
is "HOME and PATH are there" "$status" 0

# Files: private keys cannot be read, what tools need besides can.
mkdir -p "$home/.ssh"
echo key >"$home/.ssh/id_ed25519"
echo public >"$home/.ssh/id_ed25519.pub"
echo known >"$home/.ssh/known_hosts"
echo registry=x >"$home/.npmrc"
own "$home/.ssh" "$home/.npmrc"
run confined -- sh -c 'cat ~/.ssh/id_ed25519.pub ~/.ssh/known_hosts ~/.npmrc; cat ~/.ssh/id_ed25519'
is "a private key is not readable, its neighbours are" "$(tr '\n' ' ' <<<"$out")$(grep -c 'id_ed25519: Permission denied' <<<"$err")" \
    "public known registry=x 1"
run confined --show "$home/.ssh/id_ed25519" -- cat "$home/.ssh/id_ed25519"
is "--show takes it out of the hidden set" "$out" key
echo secret >"$w/.env"
own "$w/.env"
run confined --hide "$w/.env" -- cat .env
if views; then
    is "--hide of a file in the workspace" "$status $out$(grep -cE 'No such file|Permission denied' <<<"$err")" "1 1"
else
    is "--hide of a file in the workspace cannot be held without mounts: refused, not ignored" \
        "$status $out$(field error.reason)" "125 inside-writable"
fi
mkdir "$test_dir/else"
echo secret >"$test_dir/else/a"
echo known >"$test_dir/else/b"
run confined --hide "$test_dir/else/a" -- sh -c 'cat "$1/b"; cat "$1/a"; echo new >new && mv new newer && cat newer' sh "$test_dir/else"
is "--hide of a file elsewhere: it alone is not readable" "$(tr '\n' ' ' <<<"$out")$(grep -cE 'else/a: (Permission denied|No such file)' <<<"$err")" "known new 1"
kept=.ssh
rm -f "$home/.npmrc"
close
