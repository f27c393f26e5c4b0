#!/bin/bash
# caches-overlay.sh - an overlay on the user's own cache: what is seen of it, what changes, and for whom.
. "$(dirname "$0")/caches-lib.sh"
backend=${backends[-1]}
if ! has_overlays; then
    skip "overlays" "no backend that mounts works here, or the home is an overlay itself"
    close
fi
as "$user" mkdir -p "$home/.npm/d" "$home/.ccache"
signs=(package.json Makefile) # of npm and ccache
as "$user" touch "${signs[@]/#/$w/}"
echo mine | as "$user" tee "$home/.npm/d/kept" "$home/.npm/d/removed" "$home/.npm/d/changed" >"$test_dir/.said"
begin
overlays=$home/.cache/confine/overlays

does "the user's own files are there, and can be changed and removed" \
    'cd ~/.npm/d && test "$(cat kept)" = mine && echo new >>changed && rm removed && mkdir e && echo x >e/new && mv e f && mv kept moved'
unchanged
does "the next run finds it as it was left" \
    'cd ~/.npm/d && test "$(cat changed f/new moved)" = "$(printf "mine\nnew\nx\nmine")" && test ! -e removed && test ! -e kept'
refuses "beside the overlay HOME is read-only" 'Read-only|Permission denied' 'touch ~/.npmrc'
refuses "what is below the overlay is out of reach" 'Read-only|Permission denied' \
    "cd $overlays/*/0/npm/upper/d && touch x"
refuses "nor can another set be made" 'Read-only|Permission denied' "cd $overlays/* && mkdir 1"
is "the variable names the place" "$(confined -q -- printenv npm_config_cache)" "$home/.npm"
is "a tool without a cache of its own has its variable" \
    "$(confined -q -- printenv UV_CACHE_DIR)" "$home/.cache/confine/caches/$(ls "$home/.cache/confine/caches")/uv"

# Another workspace has nothing of it.
mkdir "$test_dir/w2"
touch "${signs[@]/#/$test_dir/w2/}"
own "$test_dir/w2"
workspace=$test_dir/w2 from=$test_dir/w2
does "another workspace has the user's own files and nothing else" \
    'cd ~/.npm/d && test "$(cat kept removed changed)" = "$(printf "mine\nmine\nmine")" && test ! -e f'
unset workspace from

# Two at once: both copy up the same directory, which one upper would not survive.
mkfifo "$test_dir/end"
confined -q -- sh -c 'cd ~/.npm/d && echo first >first && touch "$OLDPWD/ready" && cat && echo first >later' \
    <"$test_dir/end" >"$test_dir/.first" 2>&1 &
first=$!
exec 8>"$test_dir/end"
for ((i = 0; i < 600; i++)); do [ ! -e "$w/ready" ] || break; sleep 0.1; done
ok "one is at work" test -e "$w/ready"
does "a second at the same time sees the user's own files and can write" \
    'cd ~/.npm/d && test "$(cat removed)" = mine && echo second >first && echo second >later && test "$(cat first)" = second'
is "in a directory of its own" "$(ls "$overlays"/*-w | tr '\n' ' ')" "0 1 "
exec 8>&-
wait "$first"
is "and the first is not disturbed" "$? $(cat "$test_dir/.first")" "0 "
does "the next run has what the first left" 'cd ~/.npm/d && test "$(cat first later f/new)" = "$(printf "first\nfirst\nx")"'
unchanged

# Where an overlay would show or cover what the policy says, the variable has to do.
echo secret | as "$user" tee "$home/.npm/token" >"$test_dir/.said"
begin
options=(--hide "$home/.npm/token")
does "with something hidden in it there is no overlay, and the cache is elsewhere" \
    'case $npm_config_cache in */.cache/confine/caches/*) ;; *) exit 1 ;; esac'
refuses "and what is hidden stays so" 'Permission denied|No such file' 'cat ~/.npm/token'
options=()
inside=(npm_config_cache="$w/npm")
is "the caller's own variable counts" "$(confined -q -- printenv npm_config_cache)" "$w/npm"
refuses "and the usual place is read-only then" 'Read-only|Permission denied' 'touch ~/.npm/d/x'
inside=(CCACHE_DIR="$home/.ccache")
does "unless it says the usual" 'test $CCACHE_DIR = ~/.ccache && touch ~/.ccache/x'
inside=()
rm "$w/package.json"
does "a tool that once had an overlay keeps it" 'touch ~/.npm/d/x'
begin
does "a tool that the workspace shows no sign of has its variable" \
    'case $npm_config_cache in */.cache/confine/caches/*) mkdir $npm_config_cache ;; *) exit 1 ;; esac'
as "$user" touch "$w/package.json"
does "and keeps that, too" 'case $npm_config_cache in */.cache/confine/caches/*) ;; *) exit 1 ;; esac'
begin
options=(--mode read-only)
refuses "in read-only mode there is none" 'Read-only|Permission denied' 'touch ~/.npm/d/x'
options=(--caches off)
refuses "nor with --caches off" 'Read-only|Permission denied' 'touch ~/.npm/d/x'
options=()
unchanged
close
