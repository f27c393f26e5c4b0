#!/bin/sh
# namespace-run: what is there to see, what can be written, what is held, and how it ends.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
BUILD_FLAGS='-static -pthread' build ns "$here/namespace.c"
build act "$here/act.c"
build ahead "$here/ahead.c"
cd / || exit 99 # a directory below /tmp is not there in the view
ns=$test_dir/bin/ns
act=$test_dir/bin/act
nr=$links/namespace-run

fatal() {
    fatal_name=$1 fatal_text=$2
    shift 2
    run "$@"
    is "$fatal_name" "$status|$out|$err" "125||namespace-run: fatal: $fatal_text"
}

if ! run "$nr" -- true || [ "$status" = 125 ]; then
    case $err in
    *'user namespace: '* | *proc-masked*)
        skip 'namespace-run' "$err"
        finish
        ;;
    esac
fi

fatal 'no --' 'usage: missing `--` and a command' "$nr"
fatal 'unknown option' '--rwx: usage: unknown option (and `--` must stand before the command)' "$nr" --rwx / -- true
fatal '--map' '--map: usage: own or all' "$nr" --map root -- true
fatal '--tmp-size' '--tmp-size: usage: not a number of bytes' "$nr" --tmp-size 1M -- true
fatal '--process-numbers' '--process-numbers: usage: at least 301' "$nr" --process-numbers 300 -- true
if [ "$(id -u)" = 0 ]; then
    fatal '--process-numbers of root' "--process-numbers: usage: not for root, who could change the machine's" \
        "$nr" --process-numbers 310 -- true
fi
numbers=$(cat /proc/sys/kernel/pid_max)
fatal '--liveness' '--liveness: this descriptor is not open, or one of 0, 1 and 2' "$nr" --liveness 77 -- true
fatal '--hold without its sockets' '--hold: usage: needs --liveness and --channel, and shows nothing' "$nr" --hold
fatal '--hold with a command' '--: usage: with --hold or --serve there is no command' "$nr" --hold -- true
fatal '--join of nothing' '--join-user: this descriptor is not open, or one of 0, 1 and 2' "$nr" --join-user 77 -- true
exec 7</proc/self/ns/user
fatal '--join of a part' '--join-ipc: usage: a session has this one as well' "$nr" --join-user 7 -- true
fatal '--join and new ones' '--join-user: usage: not with --hold, --net, --map all or --wait-all' \
    "$nr" --join-user 7 --join-ipc 7 --join-uts 7 --join-pid 7 --net -- true
fatal '--join without a supervisor' '--join-user: usage: needs --liveness' \
    "$nr" --join-user 7 --join-ipc 7 --join-uts 7 --join-pid 7 -- true
fatal '--join of one that was not left' '--join-user: Invalid argument' \
    "$nr" --join-user 7 --join-ipc 7 --join-uts 7 --join-pid 7 --liveness 7 -- true
exec 7<&-
fatal '--ahead' '--ahead: this descriptor is not open, or one of 0, 1 and 2' "$nr" --ahead 77 -- true
exec 7</dev/null
fatal '--ahead alone' '--ahead: usage: needs --ahead-ready, which needs it' "$nr" --ahead 7 -- true
if [ "$(id -u)" = 0 ]; then
    fatal '--ahead of root' '--ahead: usage: not for root' "$nr" --ahead 7 --ahead-ready 7 -- true
fi
exec 7<&-
fatal 'a relative path' 'x: usage: not an absolute name' "$nr" --rw x -- true
fatal 'a missing path' "$test_dir/none: No such file or directory" "$nr" --rw "$test_dir/none" -- true
fatal 'the whole tree' '/: usage: not on the root of the whole tree' "$nr" --rw / -- true
fatal '--cover without --name' '--cover: usage: needs --name' "$nr" --cover "$test_dir" -- true
fatal '--overlay without --upper' '--overlay: usage: needs --upper' "$nr" --overlay "$test_dir" -- true
fatal '--name with a slash' '--name: usage: one name in the directory' "$nr" --cover "$test_dir" --name a/b -- true
fatal 'a missing command' '/nonesuch: No such file or directory' "$nr" -- /nonesuch
fatal '--copy of a directory' "$test_dir: usage: only a regular file is copied" "$nr" --copy "$test_dir" -- true

# The places that tests work in: on disk, not below what is private.
disk=$(mktemp -d /var/tmp/confine-test.XXXXXX) || exit 99
shm=$(mktemp -d /dev/shm/confine-test.XXXXXX) || exit 99
chmod 755 "$disk" "$shm"
warden() { setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2" "$3"' sh $$ "$disk" "$shm"; }
trap 'rm -rf "$test_dir" "$disk" "$shm"; kill "$test_warden" 2>/dev/null' EXIT
warden </dev/null >/dev/null 2>&1 &
mkdir "$disk/links"
cp "$links"/* "$disk/links/" # to be there in the view as well
cp "$ns" "$act" "$disk/"
ns=$disk/ns
act=$disk/act


for user in $users; do
    ws=$disk/ws-$user
    as "$user" true
    mkdir "$ws"
    if [ "$user" = nobody ]; then chown 65534:65534 "$ws"; fi
    inside() { run as "$user" "$nr" "$@"; }

    # --- what is there to see
    inside --net --rw "$ws" -- sh -c 'echo $$ $(ls -A /tmp /dev/shm /run | tr -d "\n"); ls /dev | tr "\n" " "'
    is "$user: private places are empty" "$out" "2 /dev/shm:/run:/tmp:
fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "
    inside --rw "$ws" -- sh -c 'ps ax -o pid= | tr -dc "0-9\n" | head -2 | tr "\n" " "'
    is "$user: own processes only" "$out" '1 2 '
    inside --rw "$ws" -- sh -c 'cat /proc/1/environ; tr "\0" " " </proc/1/cmdline | tr -d " "; readlink /proc/1/exe /proc/1/cwd /proc/1/root; cat /proc/1/mem; readlink /proc/1/fd/*; :'
    is "$user: nothing to learn from pid 1" "$out" ''
    inside --rw "$ws" -- sh -c 'kill -9 1; kill -TERM 1; sleep 0.05; echo here'
    is "$user: pid 1 does not die from inside" "$status|$out" '0|here'
    for place in /rename-x "/rename $disk $disk" "/mkdir $disk/new" "/create $disk/new" "/mkdir /run/new" "/create /dev/new" "/mkdir /usr/new" "/mkdir /proc/new"; do
        case $place in
        /rename-x) inside --rw "$ws" -- "$act" rename /usr /usr ;;
        *) inside --rw "$ws" -- "$act" ${place#/} ;;
        esac
        case $place in
        */proc/*) is "$user: $place" "$out" "$out" ;;
        *) is "$user: read-only: ${place#/}" "$status|$out" '0|30' ;;
        esac
    done
    for place in "mkdir $ws/new" 'mkdir /tmp/new' 'create /dev/shm/new' 'write /dev/null' 'rdwr /dev/full'; do
        inside --rw "$ws" -- "$act" $place
        is "$user: possible: $place" "$out" 0
    done
    [ ! -e /tmp/new ] && [ ! -e /dev/shm/new ] && [ -d "$ws/new" ]
    is "$user: and it was done only there" $? 0
    inside -- touch /dev/null
    is "$user: the times of a device stay" "$status" 1
    inside -- sh -c 'grep -h "^Cap\|^NoNewPrivs" /proc/self/status | tr -d "\t\n"'
    is "$user: no capability" "$out" 'CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000CapAmb:0000000000000000NoNewPrivs:1'
    inside -- sh -c 'echo 0 >/proc/self/oom_score_adj; umount /proc || mount -o remount,rw / || hostname x || echo no'
    is "$user: nothing can be undone" "$out" 'no'
    inside --net -- sh -c 'ls /proc/self/net/dev >/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " \n"'
    is "$user: loopback only" "$out" lo
    inside --tmp-size 65536 -- sh -c 'head -c 60000 /dev/zero >/tmp/a && head -c 60000 /dev/zero >/dev/shm/b'
    is "$user: --tmp-size is for all of it" "$status" 1
    inside --tmp-size 1048576 -- sh -c 'head -c 60000 /dev/zero >/tmp/a && head -c 60000 /dev/zero >/dev/shm/b'
    is "$user: control: a larger one" "$status" 0
    # Since Linux 6.14 the numbers are a namespace's own.
    case $user:$(uname -r) in
    root:* | *:[1-5].* | *:6.[0-9].* | *:6.1[0-3].*) ;;
    *)
        inside --process-numbers 310 -- sh -c 'cat /proc/sys/kernel/pid_max; echo 400 >/proc/sys/kernel/pid_max || echo no'
        is "$user: so many numbers" "$out" '310
no'
        inside --process-numbers 310 -- sh -c 'i=0; while [ $i -lt 400 ]; do sleep 300 & i=$((i + 1)); done'
        is "$user: no more processes than numbers" "$status" 2
        inside -- sh -c 'i=0; while [ $i -lt 400 ]; do sleep 300 & i=$((i + 1)); done'
        is "$user: control: as many as there may be" "$status" 0
        is "$user: the machine's number is what it was" "$(cat /proc/sys/kernel/pid_max)" "$numbers"
        ;;
    esac
    run as "$user" "$links/confine-launch" namespace-run --net --rw "$ws" -- landlock-run --ro / --rw "$ws" --rw /dev --rw /tmp -- \
        scope-run --signal --abstract -- drop-run -- "$ns" ordinary "$ws"
    is "$user: eleven ordinary actions, the network cut" "$status|$out" '0|11'
    run as "$user" env PATH="$disk/links:$PATH" namespace-run --net --rw "$ws" -- landlock-run --ro / --rw "$ws" --rw /dev --rw /tmp -- \
        scope-run --signal --abstract -- drop-run -- "$ns" ordinary "$ws"
    is "$user: the same unfused" "$status|$out" '0|11'

    # --- the current directory
    run as "$user" sh -c 'cd "$2" && exec "$1" --rw "$2" -- sh -c "pwd; echo x >here"' sh "$nr" "$ws"
    is "$user: current directory" "$status|$out|$(cat "$ws/here")" "0|$ws|x"
    run as "$user" sh -c 'cd "$2" && exec "$1" -- "$3" create here-too' sh "$nr" "$ws" "$act"
    is "$user: it is the view's, not the old mount's" "$status|$out" "0|30"
    run as "$user" sh -c 'cd "$2" && exec "$1" -- true' sh "$nr" "$test_dir/links"
    case $test_dir in
    /tmp/*) is "$user: a current directory that is not there" "$status|$err" "125|namespace-run: fatal: $test_dir/links: this directory, the current one, is not there in the view" ;;
    *) skip "$user: a current directory that is not there" 'not in /tmp' ;;
    esac

    # --- roots
    mkdir -p "$ws/inner/deep" "$ws/a/b"
    [ "$user" != nobody ] || chown -R 65534 "$ws"
    inside --rw "$ws/inner/deep" --rw "$ws" --rw "$ws/inner" -- sh -c 'cd "$1" && echo x >one && ln one inner/deep/two && mv one inner/deep/three && echo done' sh "$ws"
    is "$user: nested roots are one" "$status|$out|$err" '0|done|'
    rm -f "$ws"/inner/deep/*
    inside --rw "$ws/inner" --rw "$ws/a" -- sh -c 'cd "$1" && echo x >inner/one && echo y >a/one && ! ln inner/one a/two 2>/dev/null && ! echo z >one' sh "$ws"
    is "$user: siblings are two" "$status" 0
    run as "$user" sh -c 'exec 9<"$2" && exec "$1" --rw /proc/self/fd/9 -- sh -c "ls -d /proc/self/fd/9/. && echo x >\"\$1/by-fd\"" sh "$2"' sh "$nr" "$ws"
    is "$user: a root by its descriptor, which stays open" "$status|$out" '0|/proc/self/fd/9/.'
    odd=$ws/$(printf 'new\nline \377\376, : \\')
    as "$user" mkdir "$odd" "$odd/prot"
    inside --rw "$odd" --protect "$odd/prot" --hide "$ws/a" -- sh -c 'cd "$1" && echo x >file && ! echo x 2>/dev/null >prot/x' sh "$odd"
    is "$user: names with newlines, invalid UTF-8, commas and colons" "$status|$(cat "$odd/file")" '0|x'
    inside --rw "$ws" --cover "$odd" --name prot -- sh -c 'ls "$1"' sh "$odd"
    is "$user: such a directory covered" "$status|$out|$err" '0|file|'
    for place in "$test_dir" "$shm"; do
        as "$user" true
        mkdir -p "$place/w-$user/x"
        [ "$user" != nobody ] || chown -R 65534 "$place/w-$user"
        inside --rw "$place/w-$user" -- sh -c 'cd "$1" && echo x >file; ls -A "$1/.."' sh "$place/w-$user"
        is "$user: a workspace in ${place%/*}: only the way to it" "$status|$out|$(cat "$place/w-$user/file")" "0|w-$user|x"
        inside --ro "$place/w-$user" -- sh -c 'cat "$1/file"; echo y >"$1/file"' sh "$place/w-$user"
        is "$user: --ro in ${place%/*}" "$out|$(cat "$place/w-$user/file")" 'x|x'
    done
    [ "$user" = nobody ] || {
        mkdir -p "/run/confine-test.$$"
        inside --rw "/run/confine-test.$$" -- sh -c 'echo x >"$1/file"; ls /run' sh "/run/confine-test.$$"
        is "$user: a workspace in /run" "$out|$(cat "/run/confine-test.$$/file")" "confine-test.$$|x"
        rm -rf "/run/confine-test.$$"
    }

    # --- hidden
    mkdir -p "$ws/home/dir" "$disk/out-$user"
    echo secret >"$ws/home/file"
    echo secret >"$ws/home/dir/file"
    echo secret >"$disk/out-$user/file"
    [ "$user" != nobody ] || chown -R 65534 "$ws" "$disk/out-$user"
    for path in "$ws/home/file" "$ws/home/dir" "$disk/out-$user/file" "$disk/out-$user"; do
        inside --rw "$ws" --hide "$path" -- "$act" read "$path"
        is "$user: hidden: ${path#"$disk"}" "$status|$out" '0|13'
        inside --rw "$ws" --hide "$path" -- chmod 755 "$path"
        is "$user: and its mode stays" "$status" 1
    done
    inside --rw "$ws" --hide "$ws/home/file" -- sh -c 'mv "$1/home/file" "$1/home/x" 2>/dev/null || rm -f "$1/home/file" 2>/dev/null || { mv "$1/home" "$1/moved" && "$2" read "$1/moved/file"; mv "$1/moved" "$1/home"; }' sh "$ws" "$act"
    is "$user: a mask goes along with its directory" "$out" 13
    inside --rw "$disk/out-$user" --hide "$disk" --ro "$ns" --ro "$act" -- sh -c 'ls "$1" 2>/dev/null; "$3" create "$2/new" && "$3" read "$1/ws-root"' sh "$disk" "$disk/out-$user" "$act"
    is "$user: what is granted below a hidden directory" "$out" '0
2'
    inside --hide "$disk" --hide "$disk/out-$user" --hide "$disk/out-$user/file" -- cat "$disk/out-$user/file"
    is "$user: hidden in hidden" "$status" 1
    # Replaced outside: a mask goes (known, said), a cover holds.
    for way in hide cover; do
        if [ $way = hide ]; then set -- --hide "$ws/home/file"; else set -- --cover "$ws/home" --name file; fi
        rm -f "$ws/fifo"
        mkfifo "$ws/fifo"
        chmod 666 "$ws/fifo"
        as "$user" "$nr" "$@" -- sh -c 'echo ready; cat "$1/fifo"; cat "$1/home/file"; ls "$1/home"' sh "$ws" >"$ws/seen" 2>&1 &
        waited=$!
        until grep -q ready "$ws/seen"; do kill -0 $waited || break; sleep 0.02; done
        echo new >"$ws/home/.new"
        mv "$ws/home/.new" "$ws/home/file"
        chmod 644 "$ws/home/file"
        echo go >"$ws/fifo"
        wait $waited
        if [ $way = hide ]; then
            is "$user: a mask goes when the name is replaced outside" "$(sed 's/:.*//' "$ws/seen" | tr '\n' ' ')" 'ready go new dir file '
        else
            is "$user: a cover stays" "$(sed 's/:.*//' "$ws/seen" | tr '\n' ' ')" 'ready go cat dir '
        fi
    done
    inside --cover "$ws/home" --name file --hide "$ws/home/file" --hide "$ws/home/dir" -- sh -c 'cat "$1/file"; cat "$1/dir/file"; touch "$1/x"' sh "$ws/home"
    is "$user: masks in a cover" "$status|$out" '1|'
    inside --cover "$ws" --name a --rw "$ws/inner" -- sh -c 'ls -d "$1/a"; echo x >"$1/inner/covered"' sh "$ws"
    is "$user: a root below a cover" "$out|$(cat "$ws/inner/covered")" '|x'

    # --- held
    mkdir -p "$ws/repo/.git/hooks" "$ws/repo/sub/.git/hooks" "$ws/repo/.git/x"
    echo hook >"$ws/repo/.git/hooks/one"
    [ "$user" != nobody ] || chown -R 65534 "$ws"
    set -- --rw "$ws" --protect "$ws/repo/.git/hooks" --protect "$ws/repo/sub/.git/hooks" --protect "$ws/repo/.git/hooks/one"
    for what in "create $ws/repo/.git/hooks/new 30" "rename $ws/repo/.git/hooks $ws/repo/.git/h 16" \
        "rename $ws/repo/.git $ws/repo/.g 16" "rename $ws/repo $ws/r 16" "rename $ws/repo/sub $ws/repo/s 16" \
        "rename $ws/repo/sub/.git $ws/repo/sub/g 16" "rmdir $ws/repo/sub/.git/hooks 16" \
        "rename $ws/repo/.git/x $ws/repo/x 0" "rename $ws/repo/x $ws/repo/.git/x 0" "create $ws/repo/.git/lock 0" \
        "rename $ws/repo/.git/lock $ws/repo/.git/config 0" "link $ws/repo/.git/config $ws/repo/linked 0" "unlink $ws/repo/linked 0"; do
        inside "$@" -- "$act" ${what% *}
        is "$user: held: $(echo "${what% *}" | sed "s|$ws/||g")" "$out" "${what##* }"
    done
    inside "$@" -- "$ns" exchange "$ws/repo/.git" "$ws/repo/.git/../sub"
    is "$user: exchanged" "$out" 16
    ln -s hooks "$ws/repo/.git/link"
    inside --rw "$ws" --protect "$ws/repo/.git/link" -- true
    is "$user: a link cannot be held" "$status" 125
    rm "$ws/repo/.git/link"
    inside --rw "$ws" -- "$act" rename "$ws/repo/.git" "$ws/repo/.g"
    is "$user: control: not held" "$out" 0
    inside --rw "$ws" -- "$act" rename "$ws/repo/.g" "$ws/repo/.git"
    if command -v git >/dev/null; then
        inside --rw "$ws" -- sh -c 'cd "$1" && HOME=$1 git init -q tree && cd tree && echo x >f && HOME=$1 git -c user.name=n -c user.email=e add f && HOME=$1 git -c user.name=n -c user.email=e commit -qm one' sh "$ws"
        inside --rw "$ws" --protect "$ws/tree/.git/hooks" --protect "$ws/tree/.git/info/exclude" -- sh -c 'cd "$1/tree" && export HOME=$1 && echo y >>f && git -c user.name=n -c user.email=e commit -qam two && git gc -q && git branch other && git checkout -q other && git config a.b c && git log --oneline | wc -l' sh "$ws"
        is "$user: git in a tree with held places" "$status|$out|$err" '0|2|'
    else
        skip "$user: git" 'no git'
    fi

    # --- sockets, devices, copies, overlays
    run as "$user" "$ns" listen "$shm/w-$user/s" "$nr" --socket "$shm/w-$user/s" -- "$ns" connect "$shm/w-$user/s"
    is "$user: a socket bound back" "$out" 0
    run as "$user" "$ns" listen "$shm/w-$user/s" "$nr" -- "$ns" connect "$shm/w-$user/s"
    is "$user: control: not bound back" "$out" 2
    mkdir -p "$disk/closed"
    touch "$disk/closed/file"
    chmod 700 "$disk/closed"
    run as "$user" "$nr" --hide "$ws/none" --hide "$disk/closed/file" -- sh -c '! cat "$1" 2>/dev/null || test "$(id -u)" = 0' sh "$disk/closed/file"
    is "$user: nothing to hide, and what is out of reach" "$status|$err" "0|"
    run as "$user" "$ns" listen "$ws/s" "$nr" --hide "$ws/s" -- "$ns" connect "$ws/s"
    is "$user: a socket masked" "$out" 13
    # Sockets of others come and go, also between two steps of a start that is to mask them.
    : >"$disk/coming"
    python3 -c 'import os, sys
while os.path.exists(sys.argv[1]):
    os.close(os.open(sys.argv[2], os.O_CREAT, 0o644))
    os.unlink(sys.argv[2])' "$disk/coming" "$disk/goes" &
    churn=$! failed=0 why=
    for i in $(seq 100); do
        run as "$user" "$nr" --hide "$disk/goes" -- true
        [ "$status" -eq 0 ] || failed=$((failed + 1)) why=$err
    done
    rm "$disk/coming"
    wait "$churn"
    is "$user: what comes and goes while it is to be hidden" "$failed${why:+: $why}" 0
    for device in /dev/kmsg /dev/fuse /dev/net/tun; do
        [ -c $device ] || continue
        inside --device $device -- sh -c 'ls -l "$1" | cut -c1' sh $device
        is "$user: --device $device" "$out" c
        inside -- ls $device
        is "$user: control: without --device $device" "$status" 2
    done
    echo copied >"$disk/copied"
    inside --copy "$disk/copied" -- sh -c 'stat -c %u "$1"; cat "$1"; echo x >"$1" || echo no' sh "$disk/copied"
    if [ "$user" = nobody ]; then
        is "$user: a copy belongs to the caller" "$out" '65534
copied
no'
    else
        is "$user: a copy can be read only" "$(echo "$out" | tail -2)" 'copied
no'
    fi
    head -c 1048577 /dev/zero >"$disk/large"
    inside --copy "$disk/large" -- true
    is "$user: a large file is not copied" "$status|$err" "125|namespace-run: fatal: $disk/large: is larger than 1 MiB"
    mkdir -p "$disk/cache" "$ws/upper"
    echo lower >"$disk/cache/file"
    [ "$user" != nobody ] || chown -R 65534:65534 "$ws/upper" "$disk/cache"
    for round in 1 2; do
        inside --overlay "$disk/cache" --upper "$ws/upper" -- sh -c 'cat "$1/file"; echo upper >"$1/file"; cat "$1/file"; echo more >"$1/more"' sh "$disk/cache"
        [ $round = 1 ] && first=$out
    done
    is "$user: an overlay takes writes" "$first|$(ls "$disk/cache")|$(cat "$disk/cache/file" "$ws/upper/upper/file" | tr '\n' ' ')" 'lower
upper|file|lower upper '
    is "$user: and keeps them" "$out" 'upper
upper'
    # The kernel lays overlays two deep; ours have none of ours for a layer.
    nest=$disk/nest-$user
    mkdir -p "$nest/a/b/cache" "$ws/nest-$user"
    echo first | tee "$nest/key" "$nest/a/key" "$nest/a/b/key" >"$nest/a/b/cache/file"
    [ "$user" != nobody ] || chown -R 65534:65534 "$ws/nest-$user" "$nest"
    inside --cover "$nest" --name key --cover "$nest/a" --name key --cover "$nest/a/b" --name key \
        --overlay "$nest/a/b/cache" --upper "$ws/nest-$user" -- sh -c 'cat "$1/key" "$1/a/key" "$1/a/b/key" 2>/dev/null; cd "$1/a/b/cache" && cat file && echo new >new && find "$1" -type f' sh "$nest"
    is "$user: covers in each other, and an overlay in them" "$out|$(ls "$nest/a/b/cache")" "first
$nest/a/b/cache/file
$nest/a/b/cache/new|file"

    # --- made ahead: what the helper made and what the command has are equal numbers
    ahead="$test_dir/bin/ahead"
    made='for name in user ipc uts net; do stat -Lc %i /proc/self/ns/$name; done'
    if [ "$user" != root ]; then
        for mode in all local; do
            run as "$user" sh -c '"$@" 2>&1' sh "$ahead" $mode "$nr" --net --ahead 33 --ahead-ready 34 -- sh -c "$made; tail -n +3 /proc/net/dev | tr -d ' ' | cut -d: -f1; ls -l /proc/self/fd | grep -c 'anon_inode\|pidfd\|socket:'"
            is "$user: namespaces made ahead: $mode" "$(echo "$out" | sort | uniq -d | grep -c .) $(echo "$out" | tail -2 | tr '\n' ' ')" \
                "$([ $mode = all ] && echo 4 || echo 3) lo 0 "
        done
        run as "$user" "$ahead" all "$nr" --net --ahead 33 --ahead-ready 34 -- sh -c '[ "$(stat -Lc %i /proc/self/ns/mnt)" != "$1" ] && [ "$(stat -Lc %i /proc/self/ns/pid)" != "$2" ]' \
            sh "$(stat -Lc %i /proc/self/ns/mnt)" "$(stat -Lc %i /proc/self/ns/pid)"
        is "$user: and the others are made" "$status" 0
        for mode in 'silent --ahead: who was to make the namespaces ended without a word' \
            'garbage --ahead-ready: no such number' 'own --ahead: Invalid argument'; do
            run as "$user" "$ahead" "${mode%% *}" "$nr" --net --ahead 33 --ahead-ready 34 -- true
            is "$user: made ahead: ${mode%% *}" "$status|$(echo "$err" | tail -1)" "125|namespace-run: fatal: ${mode#* }"
        done
        run as "$user" "$ahead" cannot "$ns" supervise cannot "$nr" --net --ahead 33 --ahead-ready 34 --channel 31 -- true
        is "$user: made ahead: the step that was refused" "$out" 'cannot 4 Operation not permitted'
    fi

    # --- how it ends
    for code in 0 7 125 255; do
        inside -- sh -c "exit $code"
        is "$user: status $code" "$status" "$code"
    done
    for signal in 15 9 11 2; do
        run as "$user" sh -c '"$0" -- sh -c "kill -$1 \$\$"; echo $?' "$nr" $signal
        is "$user: signal $signal" "$out" "$((128 + signal))"
    done
    run as "$user" sh -c '"$0" -- sh -c "trap \"echo got; exit 4\" USR1; echo ready; while :; do sleep 0.05; done" >"$1/said" & pid=$!; until grep -q ready "$1/said"; do sleep 0.02; done; kill -USR1 $pid; wait $pid; echo $?; cat "$1/said"' "$nr" "$ws"
    is "$user: a signal is passed on" "$out" '4
ready
got'
    run as "$user" sh -c '"$0" -- sh -c "echo ready; kill -STOP \$\$; exit 6" >"$1/said" & pid=$!; until [ "$(cut -d" " -f3 /proc/$pid/stat)" = T ]; do sleep 0.02; done; kill -CONT $pid; wait $pid; echo $?' "$nr" "$ws"
    is "$user: stopped and continued" "$out" 6
    inside -- "$ns" traced
    is "$user: a command that asks to be traced goes on" "$status|$err" '0|'
    run as "$user" "$ns" supervise count "$nr" --liveness 30 --rw "$ws" -- sh -c 'sleep 1000 & setsid sleep 1000 & (sleep 1000 & : >"$1/all"; exec sleep 1000) & until [ -e "$1/all" ]; do sleep 0.02; done; exit 5' sh "$ws"
    is "$user: survivors are counted and gone" "$out" 'exit 5, 4 left, all gone'
    run as "$user" "$ns" supervise count "$nr" --liveness 30 -- sh -c 'kill -TERM $$'
    is "$user: nobody is left" "$out" 'signal 15, 0 left, all gone'
    run as "$user" "$ns" supervise count "$nr" --liveness 30 --rw "$disk" -- /nonesuch
    is "$user: a failed start counts nothing" "$out" 'exit 125, 0 left, all gone'
    run as "$user" "$ns" supervise die "$nr" --liveness 30 -- sh -c 'sleep 1000 & setsid sleep 1000 & echo; sleep 1000'
    is "$user: the supervisor ends: all gone" "$err" 'all gone'
    run as "$user" "$ns" storm 60 "$nr" --net --rw "$ws" -- sh -c 'sleep 1000 & setsid sleep 1000 & sleep 1000'
    is "$user: killed at any moment" "$out" '0 left'
    run as "$user" "$ns" supervise count "$nr" --liveness 30 --channel 31 --rw "$ws" -- sh -c 'ls /proc/self/fd | tr "\n" " " >"$1/fds"' sh "$ws"
    is "$user: the liveness descriptor ends before the command" "$(grep -c '\<30\>' "$ws/fds")" 0

    if command -v python3 >/dev/null && command -v bash >/dev/null; then
        run as "$user" timeout 280 python3 "$here/job.py" "$nr" "$ws"
        is "$user: a job on the caller's terminal" "$status|$out|$err" "0|Ctrl-Z stops it, and the shell has its terminal
fg continues it, with the terminal
Ctrl-C ends it: 130
a read in the background stops it
fg lets it read
kill %1 ends it: 143
a pipeline
a shell inside has jobs of its own|"
    else
        skip "$user: a job on the caller's terminal" 'no python3 or no bash'
    fi
    run as "$user" "$nr" --terminal -- sh -c 'read -r _ _ _ _ group _ </proc/self/stat; echo $$ $group'
    is "$user: --terminal without one: a group of its own" "$status|$out" '0|2 2'

    # --- swapped while many start: a writable root never lands on what it was swapped with
    mkdir -p "$ws/race/real/r" "$ws/race/decoy/r" "$disk/race-$user/r"
    ln -s "$disk/race-$user" "$ws/race/link"
    [ "$user" != nobody ] || chown -R -h 65534 "$ws/race"
    chmod 777 "$disk/race-$user" "$disk/race-$user/r"
    touch "$ws/race/real/r/real"
    for with in link decoy; do
        exec 9<"$ws/race/real/r"
        as "$user" sh -c 'echo $$ >"$2/swapper"; exec "$1" swap "$2/race/real" "$2/race/$3"' sh "$ns" "$ws" $with 9>&- &
        swapping=$!
        until [ -s "$ws/swapper" ]; do sleep 0.02; done
        run as "$user" "$ns" times 300 "$nr" --rw /proc/self/fd/9 -- sh -c 'for d; do echo x >"$d/r/hit"; done; exit 0' sh \
            "$disk/race-$user" "$ws/race/decoy" "$ws/race/real"
        kill "$(cat "$ws/swapper")"
        wait $swapping 2>/dev/null
        rm -f "$ws/swapper"
        exec 9>&-
        is "$user: swapped with a $with: every start works or is refused: $out" "$(echo "$out" | awk '{ print $1 + $2 == 300 && $3 == 0 }')" 1
        is "$user: swapped with a $with: no other is written" "$(ls "$disk/race-$user/r")" ''
        hits=0
        for d in "$ws/race/real/r" "$ws/race/decoy/r"; do [ ! -e "$d/hit" ] || [ -e "$d/real" ] || hits=$((hits + 1)); done
        is "$user: swapped with a $with: the decoy neither" $hits 0
        [ ! -d "$ws/race/link/r/." ] || [ ! -L "$ws/race/real" ] || "$ns" exchange "$ws/race/real" "$ws/race/link" >/dev/null
    done
done

# --- root
if [ "$(id -u)" = 0 ]; then
    touch "$disk/root-only" "$disk/others"
    chmod 600 "$disk/root-only"
    chown 1234:1234 "$disk/others"
    run "$nr" --map all --rw "$disk" -- sh -c 'stat -c "%u:%g" "$1/others"; touch "$1/mine"; cat /proc/self/uid_map | tr -s " "' sh "$disk"
    is '--map all: owners are true' "$status|$out|$(stat -c %u "$disk/mine")" '0|1234:1234
 0 0 4294967295|0'
    run "$nr" --map own --rw "$disk" -- sh -c 'stat -c "%u:%g" "$1/others"; cat /proc/self/uid_map | tr -s " "' sh "$disk"
    is '--map own: others are nobody' "$status|$out" '0|65534:65534
 0 0 1'
    run setpriv --reuid 65534 --regid 65534 --clear-groups "$ns" supervise cannot "$nr" --channel 31 --map all -- true
    is '--map all for another than root' "$out" 'cannot 2 Operation not permitted'
    # A machine that cannot: told apart from an accident.
    if unshare -Um true 2>/dev/null; then
        run unshare -m sh -c 'mount -t tmpfs none /proc/sys && exec "$1" supervise cannot "$2" --channel 31 -- true' sh "$ns" "$nr"
        is 'a masked /proc' "$out" 'cannot 5 Operation not permitted'
        run unshare -m sh -c 'mount -t tmpfs none /proc/sys && exec "$1" -- true' sh "$nr"
        is 'a masked /proc, said' "$status|$err" '125|namespace-run: fatal: proc-masked: Operation not permitted'
        run unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$1" supervise cannot "$2" --channel 31 -- true' sh "$ns" "$nr"
        is 'no user namespace' "$out" 'cannot 1 No space left on device'
        run unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$1" supervise cannot "$2" --channel 31 --net -- true' sh "$ns" "$nr"
        is 'no network namespace' "$out" 'cannot 4 No space left on device'
    fi
    # A refused getpid answers -1, and a signal to -1 would be for everybody. In a pid namespace of this test's own.
    if unshare -pf --mount-proc true 2>/dev/null && strace -o /dev/null true 2>/dev/null; then
        for link in "$nr" "$links/detach-run --session"; do
            run timeout 120 unshare -pf --mount-proc bash -c 'sleep 600 & sleep 0.1
                setsid -w strace -f -o /dev/null -e inject=getpid:error=EPERM $1 -- sh -c "kill -KILL \$\$" 2>/dev/null
                kill -0 $! && echo alive' bash "$link"
            is "${link##*/}: a refused getpid, and the command killed: nobody else is" "$out" alive
        done
    else
        skip 'a refused getpid' 'no strace, or no pid namespace'
    fi
fi
finish
