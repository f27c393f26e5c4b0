#!/bin/bash
# What is mounted outside, and shows or opens there what the view is meant to keep away.
# Root's mounts are made in a mount namespace that ends with this script.
[ "$(id -u)" -ne 0 ] || [ -n "${CONFINE_MOUNTS_APART:-}" ] ||
    CONFINE_MOUNTS_APART=1 exec unshare --mount --propagation private bash "$0" "$@"
. "$(dirname "$0")/../cli/tap.sh"

if [ "$(id -u)" -ne 0 ]; then
    skip 'mounts of procfs besides /proc' 'only root mounts'
    finish
fi
# claim SURFACE: its state and reason in the report
claim() {
    python3 -c 'import json, sys
claims = {c["id"]: c for c in json.load(open(sys.argv[2]))["surfaces"]}
print(claims[sys.argv[1]]["state"], claims[sys.argv[1]]["reason"] or "-")' "$1" "$dir/report"
}

# A directory of root's own that the command's user reaches.
chmod 755 "$dir" "$dir/w"
mkdir -p "$dir/elsewhere" "$dir/w/proc" "$dir/w/sys"
shared=$(mktemp -d /tmp/confine-mounts.XXXXXX) # where a view is private
chmod 755 "$shared"
clear_up() {
    umount "$dir/elsewhere" "$dir/w/proc" "$dir/w/sys" "$shared/system/proc" 2>/dev/null
    rm -rf "$dir"
    rmdir "$shared/system/proc" "$shared/system" "$shared" # never what is mounted
}
mkdir -p "$shared/system/proc"
mount -t proc proc "$dir/elsewhere" && mount -t proc proc "$shared/system/proc" || exit 99
sleep 300 &
stranger=$!

run=("$confine" run -q --report "$dir/report")
for named in namespace bubblewrap; do
    [ "$named" = namespace ] || [ -x /usr/bin/bwrap ] || { skip "$named" 'no bubblewrap here' && continue; }
    call "${run[@]}" -b "$named" --user 65534 -- cat "$dir/elsewhere/$stranger/cmdline"
    [ "$status" -ne 0 ] && [ ! -s "$dir/out" ] || why "it read: $(tr '\0' ' ' <"$dir/out")"
    result $? "$named: another /proc tells of no process outside"
    call "${run[@]}" -b "$named" --user 65534 --read "$shared/system" -- cat "$shared/system/proc/$stranger/cmdline"
    [ "$status" -ne 0 ] && [ ! -s "$dir/out" ] && grep -q 'Permission denied' "$dir/err" || why "it read: $(tr '\0' ' ' <"$dir/out")"
    result $? "$named: nor one in what may be read in /tmp"
done
[ "$(claim proc.visible)" != 'enforced -' ] || why "proc.visible: $(claim proc.visible)"
result $? 'bubblewrap: what is mounted later is seen, and proc.visible is not called enforced'

# Root's own settings, mounted in the workspace as in a tree that a system is built in. The value is what it was.
mount -t proc proc "$dir/w/proc" && mount -t sysfs sys "$dir/w/sys" || exit 99
setting=proc/sys/kernel/core_pattern
call "${run[@]}" -b namespace -w . --user keep -- sh -c "echo \"\$1\" >$setting" sh "$(cat "$setting")"
[ "$status" -ne 0 ] || why 'it was written'
result $? 'namespace: root writes no setting of the kernel by a /proc in the workspace'
call "${run[@]}" -b namespace -w . --user keep -- sh -c "echo \"\$1\" >sys/kernel/profiling" sh "$(cat sys/kernel/profiling 2>/dev/null || echo 0)"
grep -q 'Read-only file system' "$dir/err"
result $? 'nor by a /sys'
call "${run[@]}" -b namespace -w . --user keep -- sh -c "ls proc/$stranger; echo ok >file"
[ "$status" -eq 0 ] && [ "$(cat file)" = ok ] && grep -q 'Permission denied' "$dir/err" && [ "$(claim proc.visible)" = 'enforced -' ]
result $? 'nor sees who is there, and everything else of the workspace can be written'
for named in bubblewrap landlock; do
    [ "$named" = landlock ] || [ -x /usr/bin/bwrap ] || { skip "$named" 'no bubblewrap here' && continue; }
    call "${run[@]}" -b "$named" -w . --user keep -- touch ran
    [ "$status" -eq 125 ] && [ ! -e ran ] && [ "$(field .error.reason "$dir/report")" = kernel-in-writable ] ||
        why "status $status, $(field .error.reason "$dir/report")"
    result $? "$named: root is refused there"
done
kill "$stranger"
finish
