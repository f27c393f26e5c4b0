#!/bin/bash
# hidden.sh - what is hidden stays so: when it is replaced outside, by other mounts of it, around a grant, in
# private places. The kernel decides, so that the command looks at what there is and not at a report.
export CONFINE_BACKEND=namespace
. "$(dirname "$0")/tap.sh"

# inside SCRIPT OPTION...: runs SCRIPT in the workspace; whoever waits sees its end by $status.
inside() {
    local script=$1
    shift
    call "$confine" run -q $backend -w . --hide '!@credentials' --report "$dir/report" "$@" -- sh -c "$script"
}

# claim [SURFACE]: its state and reason in the report; of fs.hidden, where none is named.
claim() {
    python3 -c 'import json, sys
for surface in json.load(open(sys.argv[1]))["surfaces"]:
    if surface["id"] == sys.argv[2]:
        print(surface["state"], surface["reason"])' "$dir/report" "${1:-fs.hidden}"
}

is() {
    [ "$2" = "$3" ] || why "$1: seen \"$2\", expected \"$3\""
}

# Waits for a file, bounded. In the script of the command as well.
wait_for='wait_for() { i=0; while [ ! -e "$1" ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done; [ -e "$1" ]; }'
eval "$wait_for"

# replaced NAME SCRIPT-OUTSIDE OPTION...: the command looks at $HOME/key before and after SCRIPT-OUTSIDE ran.
replaced() {
    local outside=$1
    shift
    rm -f ready go
    inside "$wait_for"'; cat ~/key ~/keys/key >before 2>&1; touch ready; wait_for go; cat ~/key ~/keys/key >after 2>&1; :' \
        "$@" &
    wait_for ready && eval "$outside"
    touch go
    wait $!
}

make_keys() {
    rm -rf "$HOME/key" "$HOME/keys"
    mkdir "$HOME/keys"
    echo first >"$HOME/key"
    echo first >"$HOME/keys/key"
}
as_helpers_do='echo second >"$HOME/new"; mv "$HOME/new" "$HOME/key"
    mv "$HOME/keys" "$HOME/old"; mkdir "$HOME/keys"; echo second >"$HOME/keys/key"; rm -r "$HOME/old"'

# The machine may have none of what this needs.
call "$confine" run -q $backend -w . -- true
if [ "$status" -ne 0 ]; then
    skip "hidden paths in the namespace backend" "$(head -n 1 "$dir/err")"
    finish
fi

make_keys
replaced "$as_helpers_do" --hide "$HOME/key" --hide "$HOME/keys"
is before "$(grep -c 'No such file' before)" 2 && is after "$(grep -c 'No such file' after)" 2 &&
    is outside "$(cat "$HOME/key" "$HOME/keys/key" | tr '\n' ' ')" 'second second '
result $? 'what is named stays hidden when it is replaced outside'

# A set, and what may be left out: masks lie on the objects that were there at the start.
make_keys
replaced "$as_helpers_do" --hide "$HOME/key?" --hide "$HOME/keys?"
is before "$(grep -c 'Permission denied' before)" 2 && is after "$(tr '\n' ' ' <after)" 'second second '
result $? 'what is masked reappears when it is replaced outside'

# The same for the directory that a named one is in: what is laid on it goes with it.
make_keys
replaced "$as_helpers_do" --hide "$HOME/keys/key"
is before "$(tr '\n' ' ' <before | sed 's/cat: .*/gone/')" 'first gone' && is after "$(tr '\n' ' ' <after)" 'second second '
result $? 'a named path reappears with a directory that is replaced as a whole'

make_keys
inside 'ls -A ~' --hide "$HOME/key"
is status "$status" 0 && grep -qx keys "$dir/out" && ! grep -qx key "$dir/out" && is claim "$(claim)" 'enforced None'
result $? 'a named path is not listed, and called enforced'
inside 'cat ~/key' --hide "$HOME/key?"
is status "$status" 1 && is claim "$(claim)" 'partial replaced-reappears' && valid "$dir/report"
result $? 'a masked path is called partial, and the reason says why'
mkdir -p "$HOME/.config/gh"
echo token >"$HOME/.config/gh/hosts.yml"
call "$confine" run -q $backend -w . --report "$dir/report" -- cat "$HOME/.config/gh/hosts.yml"
is status "$status" 1 && is claim "$(claim)" 'partial replaced-reappears'
result $? 'so are those of a set'
inside 'cat ~/.config/gh/hosts.yml' --hide @credentials
is status "$status" 1 && is claim "$(claim)" 'enforced None'
result $? 'unless somebody named the set'
refused 'required, and only masked' 125 replaced-reappears '--hide @credentials' $backend -w . --require fs.hidden \
    -- touch "$dir/ran"
inside : --hide @credentials --require fs.hidden
is status "$status" 0
result $? 'required, and named'
call "$confine" exec -q $backend --hide '!@credentials' --hide "$HOME/key" -- cat "$HOME/key"
is status "$status" 1 && grep -q 'No such file' "$dir/err"
result $? 'an exec hides by name as well'

# Where its directory is written, a name is masked, and the run not refused.
echo first >.env
inside 'cat .env; echo x >.env; rm -f .env; mv .env other; cat .env' --hide "$PWD/.env"
is claim "$(claim)" 'partial replaced-reappears' && ! grep -q first "$dir/out" && is file "$(cat .env)" first
result $? 'a name in the workspace is masked'
for backend in --backend=namespace --backend=landlock; do
    inside 'cat .env' --hide "$PWD/.env?"
    call "$confine" run $backend -w . --hide '!@credentials' --hide "$PWD/.env?" -- cat .env
    said=$(grep -c "not-hidden: $PWD/.env stays readable (inside-writable)" "$dir/err")
    noted=$(grep -c -- "--hide $PWD/.env" "$dir/report")
    is "status, said and noted" "$status $said $noted" "$([ $backend = --backend=landlock ] && echo 0 1 1 || echo 1 0 0)"
    result $? "$backend: what stays readable is said, and nothing else"
done
backend=--backend=namespace

# Several directories, one in another: the kernel lays overlays two deep, and covers have no cover for a layer.
mkdir -p "$HOME/a/b/c"
echo first | tee "$HOME/a/key" "$HOME/a/b/key" "$HOME/a/b/c/key" >"$HOME/a/b/c/seen"
inside 'cat ~/key ~/a/key ~/a/b/key ~/a/b/c/key; cat ~/a/b/c/seen; ls -A ~/a' \
    --hide "$HOME/key" --hide "$HOME/a/key" --hide "$HOME/a/b/key" --hide "$HOME/a/b/c/key"
is status "$status" 0 && is seen "$(tr '\n' ' ' <"$dir/out")" 'first b ' && is claim "$(claim)" 'enforced None'
result $? 'directories in each other'
mkdir -p "$HOME/.cargo/registry"
touch Cargo.toml # which says that the cache is used
cached='cat ~/key ~/a/key; echo new >~/.cargo/registry/new && cat ~/.cargo/registry/new'
if [ "$(stat -f -c %T "$HOME")" = overlayfs ]; then
    skip 'with a private cache in the same directory' 'an overlay carries no writes of another one'
else
    inside "$cached" --hide "$HOME/key" --hide "$HOME/a/key"
    is seen "$(cat "$dir/out")" new && [ ! -e "$HOME/.cargo/registry/new" ] && is claim "$(claim)" 'enforced None'
    result $? 'with a private cache in the same directory'
fi

# With something granted in it, a directory is masked around that.
mkdir -p "$HOME/around/sub" "$HOME/around/other"
echo first | tee "$HOME/around/file" "$HOME/around/other/file" "$HOME/around/shown" >"$HOME/around/sub/file"
look='cat ~/around/file ~/around/other/file; ls -A ~/around; cat ~/around/sub/file'
inside "$look; echo new >~/around/sub/new" --hide "$HOME/around" --write "$HOME/around/sub"
is status "$status" 0 && is seen "$(cat "$dir/out")" first && is written "$(cat "$HOME/around/sub/new")" new
result $? 'around a directory that may be written'
inside "$look; cat ~/around/shown" --hide "$HOME/around" --read "$HOME/around/sub" --show "$HOME/around/shown"
is seen "$(tr '\n' ' ' <"$dir/out")" 'first first '
result $? 'around what may be read, and what is shown'
rm -f ready go
inside "$wait_for; touch ready; wait_for go; cat ~/around/later" --hide "$HOME/around" --write "$HOME/around/sub" &
wait_for ready && echo second >"$HOME/around/later"
touch go
wait $!
! grep -q second "$dir/out" && grep -q 'No such file' "$dir/err"
result $? 'a new name beside what is granted is not seen'
refused 'the same path hidden and granted' 125 contains-grant 'cannot be hidden' $backend -m workspace-write \
    --hide "$HOME/around" --write "$HOME/around" -- touch "$dir/ran"
refused 'what the view has of its own' 125 made-anew 'cannot be hidden' $backend --hide /proc/version -- touch "$dir/ran"

# Private places: what is bound into one is seen, and what is hidden in that is not.
place=$(mktemp -d /tmp/confine-hidden.XXXXXX)
clear_up() { rm -rf "$place" "$dir"; }
mkdir "$place/sub"
echo first | tee "$place/file" "$place/key" >"$place/sub/file"
inside 'cat "$0/file" "$0/key"' --read "$place" --hide "$place/key"
call "$confine" run -q $backend --hide '!@credentials' --read "$place" --hide "$place/key" -- cat "$place/file" "$place/key"
is seen "$(cat "$dir/out")" first && is status "$status" 1
result $? 'in what may be read in /tmp'
(cd "$place/sub" && call "$confine" run -q $backend --hide '!@credentials' --hide "$place" -- cat file; ! grep -q first "$dir/out")
result $? 'the start directory does not bring it back'

# Whoever was told of something there and did not find it is told why, and of the least that shows it.
mkdir -p "$place/ws" "$place/other/sub"
echo first >"$place/other/sub/file"
beside() { # OPTION... -- COMMAND...
    call env -C "$place/ws" "$confine" run $backend --hide '!@credentials' -m workspace-write -w . "$@"
}
hint="confine: warning: private-place: /tmp is the run's own, and $place/other is not there (--read $place/other shows it)"
beside -- sh -c "cat '$place/other/sub/file' ../other/sub/none; exit 1"
is "lines" "$(grep private-place "$dir/err")" "$hint"
result $? 'what is beside a workspace in /tmp is not there, and that is said'
beside -- cat ../other/sub/file
is "lines" "$(grep private-place "$dir/err")" "$hint"
result $? 'by another name as well'
beside --read "$place/other" -- sh -c "cat ../other/sub/file '$place/ws/none'"
is "output" "$(cat "$dir/out")" first && ! grep -q private-place "$dir/err"
result $? 'with that it is there, and nothing is said'
beside -- sh -c "test ! -e '$place/other/sub/file'"
[ "$status" -eq 0 ] && ! grep -q private-place "$dir/err"
result $? 'nothing is said where the command was content'
beside -- sh -c "cat '$place/none' '$place/ws/none' /etc/none /dev/none; exit 7"
[ "$status" -eq 7 ] && ! grep -q private-place "$dir/err"
result $? 'nor of what is nowhere'
beside --report "$dir/report" -- sh -c "cat $place/other/sub/file"
grep -qF "Not there inside, because that place is private: $place/other; ask for --read $place/other." "$dir/report" && valid "$dir/report"
result $? 'a summary says it too'
beside --report "$dir/report" -- make
grep -qF "/tmp is private: what lies beside the workspace is not there inside (ask for --read PATH)." "$dir/report"
result $? 'or, where nothing was named, what may be the reason'

# Somebody who waits on a socket, until NAME.end is there; NAME.reached says that somebody came.
listen_on() {
    python3 - "$1" <<'PY' &
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(1)
open(sys.argv[1] + ".ready", "w")
listener.settimeout(0.1)
for _ in range(1200): # two minutes at most
    if os.path.exists(sys.argv[1] + ".end"):
        break
    try:
        listener.accept()[0].recv(10)
        open(sys.argv[1] + ".reached", "w")
    except socket.timeout:
        pass
PY
    listener=$!
    wait_for "$1.ready"
}
stop_listening() {
    touch "$1.end"
    wait "$listener"
    rm -f "$1"*
}
cat >connect.py <<'PY'
import os, socket, sys
for name in sys.argv[1:]:
    try:
        if name.endswith("fifo"):
            os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK))
        else:
            socket.socket(socket.AF_UNIX).connect(name)
        print("reached")
    except OSError as error:
        print(os.strerror(error.errno))
PY

# Whoever may read a directory in a private place may not speak to the services in it.
listen_on "$place/other/socket"
call python3 connect.py "$place/other/socket"
is outside "$(cat "$dir/out")" reached
result $? 'outside, a service in /tmp is reached'
rm -f "$place/other/socket.reached"
for named in namespace bubblewrap; do
    [ "$named" = namespace ] || [ -x /usr/bin/bwrap ] || { skip "$named: services in /tmp" 'no bubblewrap here' && continue; }
    call "$confine" run -q -b "$named" -w . --read "$place/other" -- python3 connect.py "$place/other/socket"
    grep -qx 'Permission denied\|Connection refused' "$dir/out" && [ ! -e "$place/other/socket.reached" ] || why "$(cat "$dir/out" "$dir/err")"
    result $? "$named: not in a directory there that may be read"
    cp connect.py "$place/other"
    (cd "$place/other" && call "$confine" run -q -b "$named" -m read-only -- python3 connect.py "$place/other/socket"
        grep -qx 'Permission denied\|Connection refused' "$dir/out" && [ ! -e "$place/other/socket.reached" ] || why "$(cat "$dir/out" "$dir/err")")
    result $? "$named: nor beside where the command starts"
    call "$confine" run -q -b "$named" -w . --socket "$place/other/socket" -- python3 connect.py "$place/other/socket"
    is "$named" "$(cat "$dir/out")" reached
    result $? "$named: who has asked for it by name is let through"
    rm -f "$place/other/socket.reached"
done
stop_listening "$place/other/socket"
if [ -x /usr/bin/bwrap ]; then
    listen_on "$PWD/socket"
    call "$confine" run -q -b bubblewrap -w . --report "$dir/report" -- python3 connect.py "$PWD/socket"
    said="$(cat "$dir/out") $(claim unix.path)"
    [ "$said" = 'Permission denied enforced None' ] || is bubblewrap "$said" 'reached partial sockets-in-writable'
    result $? 'bubblewrap: a service in the workspace is not called masked'
    stop_listening "$PWD/socket"
fi

# More services than masks are laid on (Landlock holds them all, from ABI 9 on): said, not passed over.
mkdir "$HOME/many"
inside true
usual=$(claim unix.path)
# unmasked READY POINT: with the job that has just begun, which writes ~/READY when it listens; it is ended.
unmasked() {
    local listener=$!
    wait_for "$HOME/$1"
    inside true
    is unix.path "$usual - $(claim unix.path)" "$usual - ${usual/sockets-of-later/sockets-unmasked}" && [ -n "$usual" ]
    result $? "$2"
    kill "$listener"
}
python3 - "$HOME/many" <<'PY' &
import socket, sys, time
kept = [socket.socket(socket.AF_UNIX) for _ in range(300)]
for number, listener in enumerate(kept):
    listener.bind(f"{sys.argv[1]}/{number}")
    listener.listen(1)
open(sys.argv[1] + ".ready", "w")
time.sleep(120)
PY
unmasked many.ready 'with more services than are masked, the report says so'
rm -rf "$HOME/many"*
for name in 'relative socket' /proc/self/fd/9/socket /dev/fd/9/socket; do
    python3 -c 'import os, socket, sys, time
os.chdir(os.environ["HOME"])
os.dup2(os.open(".", os.O_PATH), 9)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(1)
open("relative.ready", "w")
time.sleep(120)' "$name" &
    unmasked relative.ready "so it does with one whose name is relative to what nobody knows: $name"
    rm -f "$HOME/relative"* "$HOME/socket"
done
mkdir "$place/tmux-1"
beside -- sh -c "cat '$place/tmux-1/default'; exit 1"
! grep -q private-place "$dir/err" || why "$(cat "$dir/err")"
result $? 'nobody is told to show a directory of services'

# Below a cover, sockets and FIFOs are objects of their own: whoever waits outside hears nothing.
mkfifo "$HOME/fifo"
listen_on "$HOME/socket"
# Landlock is left out, which would refuse both by itself: so is the only other wall.
exec 8<>"$HOME/fifo"
call python3 connect.py "$HOME/fifo" "$HOME/socket"
is outside "$(tr '\n' ' ' <"$dir/out")" 'reached reached '
result $? 'outside, somebody waits'
rm -f "$HOME/socket.reached"
if [ "$(id -u)" -eq 0 ]; then # root does not nest, and Landlock refuses the FIFO first
    inside 'python3 connect.py ~/socket' --hide "$HOME/key" --open unix.path
    is inside "$(cat "$dir/out")" 'Connection refused' && [ ! -e "$HOME/socket.reached" ]
    result $? 'a socket beside what is named is another one'
else
    inside 'python3 connect.py ~/fifo ~/socket' --hide "$HOME/key" --open priv.userns,unix.path
    is inside "$(tr '\n' ' ' <"$dir/out")" 'No such device or address Connection refused ' && [ ! -e "$HOME/socket.reached" ]
    result $? 'a FIFO and a socket beside what is named are others'
    inside 'python3 connect.py ~/fifo' --hide "$HOME/key?" --open priv.userns,unix.path
    is inside "$(cat "$dir/out")" reached
    result $? 'beside what is masked they are the same'
fi
exec 8>&-
stop_listening "$HOME/socket"
rm -f "$HOME/fifo"

# --- other mounts: in a mount namespace of this test's own -----------------------------------------------------------

# mount(8) wants to be called by uid 0; who called it comes back afterwards.
if [ "$(id -u)" -eq 0 ]; then
    apart=(unshare -m) back=
else
    apart=(unshare -Urm) back="unshare -U --map-user=$(id -u) --map-group=$(id -g)"
fi
if ! "${apart[@]}" sh -c 'mount --bind "$HOME" "$HOME" && exec '"$back"' "$@"' sh true 2>"$dir/err"; then
    skip 'hidden paths and other mounts' "no bind mounts: $(head -n 1 "$dir/err")"
    finish
fi

# mounted MOUNTS SCRIPT OPTION...: as inside(), with MOUNTS made before.
mounted() {
    local mounts=$1 script=$2
    shift 2
    call "${apart[@]}" sh -c "$mounts"' || exit 99; exec '"$back"' "$@"' sh \
        "$confine" run -q "$backend" -w . --hide '!@credentials' --report "$dir/report" "$@" -- sh -c "$script"
}
mkdir "$dir/seen" mnt
bind='mount --bind "$HOME/keys" "'$dir'/seen"'
for backend in --backend=namespace --backend=landlock; do
    mounted "$bind" "cat ~/keys/key $dir/seen/key" --hide "$HOME/keys/key"
    is status "$status" 1 && ! grep -q second "$dir/out" && ! grep -q first "$dir/out"
    result $? "$backend: a file, by a bind mount of its directory"
    mounted "$bind" "cat ~/keys/key $dir/seen/key" --hide "$HOME/keys?"
    is status "$status" 1 && ! grep -q first "$dir/out"
    result $? "$backend: a directory, by a bind mount of it"
    mounted 'mount --bind "$HOME/a/b" "'$dir'/seen"' "cat $dir/seen/c/seen $dir/seen/key" --hide "$HOME/a"
    is status "$status" 1 && ! grep -q first "$dir/out"
    result $? "$backend: a part of a directory that is mounted elsewhere"
    # A rule of Landlock is the object's: what is granted by one name is readable by the other.
    for granted in "$HOME/keys" "$dir/seen"; do
        mounted "$bind" "cat ~/keys/key $dir/seen/key" --readable listed --read "$granted" --hide "$HOME/keys/key"
        is status "$status" 1 && ! grep -q second "$dir/out" && ! grep -q first "$dir/out"
        result $? "$backend: a file, by the mount that is not granted: $granted"
    done
done
mounted 'mount --bind "$HOME/keys" mnt' 'cat mnt/key' --hide "$HOME/keys/key"
is status "$status" 125 && has_line other-mount
result $? '--backend=landlock: another mount in the workspace is a reason to refuse'
backend=--backend=namespace
mounted 'mount --bind "$HOME/keys" mnt' 'cat mnt/key' --hide "$HOME/keys/key"
is status "$status" 1 && ! grep -q first "$dir/out" && is claim "$(claim)" 'partial replaced-reappears'
result $? '--backend=namespace: it is masked there'
# A cover would not show what is mounted below it.
mounted 'mount --bind "$HOME/keys" "$HOME/a"' 'cat ~/a/key; cat ~/key' --hide "$HOME/key"
is seen "$(cat "$dir/out")" first && is claim "$(claim)" 'partial replaced-reappears'
result $? 'beside a mount a name is masked'

# A home that is an overlay, as in a container; one that lies on an overlay is as deep as the kernel goes, and names are masked.
mkdir "$dir/upper"
overlaid='mount -t tmpfs none "'$dir/upper'"'
for times in 1 2; do
    overlaid+=' && mkdir "'$dir/upper/u$times'" "'$dir/upper/w$times'" && mount -t overlay -o \
        "userxattr,lowerdir=$HOME,upperdir='$dir/upper/u$times',workdir='$dir/upper/w$times'" overlay "$HOME"'
    mounted "$overlaid" 'cat ~/key ~/a/key ~/a/b/key; cat ~/a/b/c/seen' --hide "$HOME/key" --hide "$HOME/a/key" --hide "$HOME/a/b/key"
    if [ "$status" -eq 99 ] || [ "$(stat -f -c %T "$dir")" = overlayfs ]; then
        skip "a home that is an overlay, $times deep" "$(head -n 1 "$dir/err")"
    else
        is status "$status" 0 && is seen "$(cat "$dir/out")" first &&
            is claim "$(claim)" "$([ $times = 1 ] && echo enforced None || echo partial replaced-reappears)"
        result $? "a home that is an overlay, $times deep"
    fi
done
# Nobody can begin an exec again: it says what would do.
overlaid_exec() { call "${apart[@]}" sh -c "$overlaid"' || exit 99; exec '"$back"' "$@"' sh "$confine" exec -q "$backend" --hide '!@credentials' "$@" -- cat "$HOME/a/key"; }
overlaid_exec --hide "$HOME/a/key"
if [ "$status" -eq 99 ] || [ "$(stat -f -c %T "$dir")" = overlayfs ]; then
    skip 'an exec where no name can be left out' "$(head -n 1 "$dir/err")"
else
    is status "$status" 125 && is line "$(cat "$dir/err")" "namespace-run: fatal: $HOME/a: the kernel lays no overlay here, and names in it can only be masked (\`confine run\`, or --hide 'PATH?')"
    result $? 'an exec where no name can be left out'
    overlaid_exec --hide "$HOME/a/key?"
    is status "$status" 1 && grep -q 'Permission denied' "$dir/err"
    result $? 'and what it names as the way out'
fi
# What is written into a cache there cannot lie there: it may have a place of its own, as a volume is.
mkdir -p "$HOME/.cache/confine"
mounted "${overlaid% && mkdir*}"' && mkdir "'$dir/upper/volume'" && mount --bind "'$dir/upper/volume'" "$HOME/.cache/confine"' \
    'cat ~/a/key; echo new >~/.cargo/registry/new && cat ~/.cargo/registry/new; mount' --hide "$HOME/a/key"
if [ "$status" -eq 99 ] || [ "$(stat -f -c %T "$dir")" = overlayfs ]; then
    skip 'a cache in a home that is an overlay' "$(head -n 1 "$dir/err")"
else
    is seen "$(head -n 1 "$dir/out")" new && [ ! -e "$HOME/.cargo/registry/new" ] && is claim "$(claim)" 'enforced None' &&
        grep -q "on $HOME/.cargo/registry type overlay" "$dir/out"
    result $? 'a cache in a home that is an overlay'
fi
rmdir "$HOME/.cache/confine" 2>/dev/null

# What cannot be looked for, because descriptors have run out or a disk does not answer, may be there all the same; so may what is
# to be protected.
if command -v strace >/dev/null; then
    mkdir -p "$HOME/.ssh"
    echo key >"$HOME/.ssh/id_rsa"
    while read -r error way; do
        call strace -o /dev/null -P "$HOME/.ssh/id_rsa" -e trace=openat2,openat -e inject=openat2,openat:error=$error:when=1..3 \
            "$confine" run -q -b namespace -w . -- true
        is status "$status" 125 && has_line 'id_rsa is there: ' && has_line "nor protected: $way"
        result $? "what cannot be looked for is refused: $error"
    done <<'END'
EMFILE allow more open files (ulimit -n)
ENFILE this machine has too many files open
EIO try again
EINTR try again
END
    git init -q .
    call strace -o /dev/null -P "$PWD/.git/hooks" -e trace=openat2,openat -e inject=openat2,openat:error=EIO:when=1..3 \
        "$confine" run -q -b namespace -w . -- true
    is status "$status" 125 && has_line '/.git/hooks is there: '
    result $? 'nor is what is to be protected taken for absent'
    rm -rf .git
fi

# A kernel without overlays: the start that was refused one is made again with masks, by the same backend.
backend=--backend=namespace
if strace -o /dev/null true 2>/dev/null; then
    call strace -f -o /dev/null -e trace=mount -e inject=mount:error=ENODEV:when=3 \
        "$confine" run -q $backend --report "$dir/report" -w "$dir/w" --hide "$HOME/key" -- cat "$HOME/key"
    is status "$status" 1 && ! grep -q first "$dir/out" && is backend "$(field .backend "$dir/report")" namespace &&
        is claim "$(claim)" 'partial replaced-reappears'
    result $? 'without overlays a name is masked'
else
    skip 'without overlays a name is masked' 'strace is not installed'
fi

finish
