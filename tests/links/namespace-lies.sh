#!/bin/sh
# namespace-run on kernels that lie (success without effect) or refuse: 125, and nothing has run.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build lie "$here/lie.c"
build act "$here/act.c"
build ahead "$here/ahead.c"
cd / || exit 99 # a directory below /tmp is not there in the view
disk=$(mktemp -d /var/tmp/confine-test.XXXXXX) || exit 99
chmod 755 "$disk"
trap 'rm -rf "$test_dir" "$disk"; kill "$test_warden" 2>/dev/null' EXIT
setsid sh -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"' sh $$ "$disk" </dev/null >/dev/null 2>&1 &
cp "$test_dir/bin/act" "$disk/"
act=$disk/act
lie=$test_dir/bin/lie
nr=$links/namespace-run


run "$nr" -- "$act" read /
if [ "$status" != 0 ]; then
    case $err in
    *'user namespace: '* | *proc-masked*)
        skip 'namespace-run' "$err"
        finish
        ;;
    esac
fi

# stopped NAME WORDS...: 125 and no mark. (What faults in pid 1 or pid 2 can leave more than one line.)
stopped() {
    stopped_name=$1
    shift
    rm -f "$ws/ran"
    cd "$ws" || exit 99
    run "$@" -- "$act" create "$ws/ran"
    is "$stopped_name" "$status|$out|$([ -e "$ws/ran" ] && echo ran)" '125||'
}

for user in $users; do
    ws=$disk/ws-$user
    mkdir -p "$ws/home/dir" "$ws/.git/hooks" "$disk/cache-$user" "$ws/upper"
    echo secret >"$ws/home/file"
    [ "$user" != nobody ] || chown -R 65534:65534 "$ws" "$disk/cache-$user"
    for set in '' "--net --rw $ws --hide $ws/home/file --hide $ws/home/dir" "--rw $ws --protect $ws/.git/hooks" \
        "--rw $ws --cover $ws/home --name file" "--rw $ws --overlay $disk/cache-$user --upper $ws/upper"; do
        rm -f "$ws/ran"
        run as "$user" "$nr" --rw "$ws" $set -- "$act" create "$ws/ran"
        is "$user: control: ${set%% "$ws"*}" "$status|$out|$([ -e "$ws/ran" ] && echo ran)" '0|0|ran'
        for call in unshare mount mount_setattr open_tree move_mount open_tree=0,move_mount \
            mount_setattr=0,move_mount=0,open_tree capset capget prctl openat2 write=0,unshare chdir; do
            stopped "$user: ${set##* --}: $call answers 0" as "$user" timeout -s KILL 20 "$lie" "$call=0" "$nr" --rw "$ws" $set
        done
    done
    stopped "$user: clone answers 0" as "$user" timeout -s KILL 20 "$lie" clone=0 "$nr" --rw "$ws"
    stopped "$user: clone answers 0, fully mapped" as "$user" timeout -s KILL 20 "$lie" clone=0 "$nr" --map all --rw "$ws"
    stopped "$user: mkdirat answers 0" as "$user" timeout -s KILL 20 "$lie" mkdirat=0 "$nr" --rw "$ws"
    stopped "$user: ioctl answers 0" as "$user" timeout -s KILL 20 "$lie" ioctl=0 "$nr" --net --rw "$ws"
    stopped "$user: close_range answers 0" as "$user" timeout -s KILL 20 "$lie" close_range=0 "$nr" --rw "$ws" 
    [ "$user" = root ] || stopped "$user: write answers 0, numbers" as "$user" timeout -s KILL 20 "$lie" write=0 "$nr" --process-numbers 310
    for call in setns=0 unshare=0 read=0 setns=1 setns=22; do
        [ "$user" != root ] || continue # who has no --ahead
        stopped "$user: made ahead: $call" as "$user" timeout -s KILL 20 "$test_dir/bin/ahead" all "$lie" "$call" "$nr" --net --ahead 33 --ahead-ready 34 --rw "$ws"
    done
    for call in unshare=1 unshare=28 mount=1 mount_setattr=1 open_tree=1 move_mount=22 openat2=38 capset=1 prctl=22 clone=11; do
        stopped "$user: $call is refused" as "$user" timeout -s KILL 20 "$lie" "$call" "$nr" --net --rw "$ws"
    done
done

# One call of a kind at a time, so that no check hides behind an earlier one: what it answers 0 to never happens.
if strace -o /dev/null true 2>/dev/null; then
    for user in $users; do
        ws=$disk/ws-$user
        for call in mount:1 mount:2 mount_setattr:1 mount_setattr:2 mount_setattr:3 mount_setattr:4 mount_setattr:5 \
            move_mount:2 move_mount:3 move_mount:9 move_mount:10 move_mount:11 move_mount:12 move_mount:13 move_mount:14; do
            stopped "$user: strace: ${call%:*} ${call#*:} answers 0" as "$user" timeout -s KILL 20 strace -f -o /dev/null \
                -e "inject=${call%:*}:retval=0:when=${call#*:}" "$nr" --net --rw "$ws" --protect "$ws/.git/hooks" --hide "$ws/home/file"
        done
    done
else
    skip 'strace' 'cannot trace here'
fi
finish
