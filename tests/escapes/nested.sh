#!/bin/bash
# nested.sh - a sandbox inside, with --open priv.userns: it can be made, and its capabilities undo nothing outside.
. "$(dirname "$0")/../cli/tap.sh"

# /tmp is private inside: what is tried by name has to lie elsewhere.
place=$(mktemp -d /var/tmp/confine-nested.XXXXXX) || exit 99
clear_up() {
    chmod -R u+rwx "$dir" "$place" 2>/dev/null
    rm -rf "$dir" "$place"
}
mkdir "$place/ws" "$place/home"
echo key >"$place/key"
as=()
if [ "$(id -u)" -eq 0 ]; then
    chown -R 65534:65534 "$place"
    chmod 755 "$place"
fi
export HOME=$place/home
cd "$place/ws" || exit 99
run=("$confine" run -q -b namespace -w . --hide "$place/key" --open priv.userns --report "$dir/report")

# Does this machine allow it at all, and has it the tools?
call "$confine" run -q -b namespace -w . -- true
if [ "$status" -ne 0 ]; then
    skip 'a sandbox inside' "no namespaces here: $(head -c 200 "$dir/err")"
    finish
fi

call "$confine" run -q -b namespace -w . -- unshare -Ur true
[ "$status" -ne 0 ]
result $? 'without the option no user namespace can be made'

call "${run[@]}" -- unshare -Ur id -u
[ "$status" -eq 0 ] && [ "$(cat "$dir/out")" = 0 ]
result $? 'with it one can, and its id maps can be written'
python3 - "$dir/report" <<'P' 2>"$dir/why"
import json, sys
report = json.load(open(sys.argv[1]))
claims = {c["id"]: c for c in report["surfaces"]}
assert claims["priv.userns"]["state"] == "open", claims["priv.userns"]
assert claims["fs.special"] == {**claims["fs.special"], "state": "open"}, claims["fs.special"]
for surface in "fs.write", "fs.truncate", "fs.metadata", "fs.hidden":
    assert claims[surface]["state"] == "enforced", claims[surface]
    assert [by["mechanism"] for by in claims[surface]["by"]] == ["mount"], claims[surface]
assert "landlock-run" not in report["chain"], report["chain"]
P
result $? 'the report: open, and mounts alone hold the files'

if command -v bwrap >/dev/null; then
    call "${run[@]}" -- bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all \
        --bind "$place/ws" "$place/ws" sh -c 'echo made >made; ! echo x >/etc/confine-nested'
    [ "$status" -eq 0 ] && [ "$(cat made)" = made ]
    result $? 'bubblewrap runs inside'
else
    skip 'bubblewrap runs inside' 'bwrap is not installed'
fi

# Inside a user namespace without a number for root, as another sandbox makes one: root's files are nobody's there.
apart=(unshare --user --map-user=1234 --map-group=1234)
[ "$(id -u)" -ne 0 ] || apart=(setpriv --reuid 65534 --regid 65534 --clear-groups "${apart[@]}")
call "${apart[@]}" "$confine" run -q -b landlock -w . -- sh -c 'id -u; touch "$1/crossed"' sh "$place"
[ "$(head -n 1 "$dir/out")" = 1234 ] && [ ! -e "$place/crossed" ]
result $? 'confine runs where root has no number'

# Each with all capabilities of the inner namespace; the text says what it tried, the files say what it did.
# NAME TEXT
while read -r name text; do
    call "${run[@]}" -- unshare -Urm --propagation unchanged bash -c "$text" bash "$place"
    [ ! -e "$place/crossed" ] && [ "$(cat "$place/key")" = key ] && ! grep -q '^key$' "$dir/out"
    result $? "with capabilities inside: $name is no way out"
done <<'ROWS'
remount mount -o remount,rw /; mount -o remount,rw,bind /; mount -o remount,rw,bind /var; touch "$1/crossed"
bind mount --bind / /mnt; mount -o remount,rw,bind /mnt; touch "/mnt$1/crossed"; cat "/mnt$1/key"
rbind mount --rbind / /mnt; mount -o remount,rw,bind /mnt; touch "/mnt$1/crossed"; cat "/mnt$1/key"
unmask umount "$1/key"; umount -l "$1/key"; cat "$1/key"
unmount umount /tmp /run /dev/shm /proc; umount -l /; touch "$1/crossed"; cat "$1/key"
move mount --move / /mnt; mount --make-rshared /; touch "$1/crossed"; cat "$1/key"
overlay mkdir -p u w; mount -t overlay -o "lowerdir=$1,upperdir=u,workdir=w" o "$1"; mount -t overlay -o "lowerdir=$1" o /mnt; touch "/mnt/crossed"; cat "/mnt/key" "$1/key"
proc mount -t proc proc /mnt; cat "/mnt/1/root$1/key"; touch "/proc/1/root$1/crossed"; touch "/proc/1/cwd$1/crossed"
sysctl echo x >/proc/sys/kernel/core_pattern && touch ../crossed; echo 1 >/proc/sys/net/ipv4/ip_forward; true
init kill -9 1; nsenter -t 1 -m touch "$1/crossed"; nsenter -t 1 -U -m cat "$1/key"
chroot chroot /proc/1/root touch "$1/crossed"; cd /proc/1/cwd && touch "..$1/crossed"; true
ROWS

# A confine inside: the filter around it refuses what its own view would be made with, and it passes over to what works.
if [ "$(id -u)" -ne 0 ]; then
    for more in '' '--caches off'; do
        call "${run[@]}" --read "$CONFINE_STAGE" -- "$confine" run -w . $more --report fd:1 -- sh -c 'exit 6'
        [ "$status" -eq 6 ] && grep -q '"backend": *"landlock"' "$dir/out" && grep -q '"reason": *"mount-denied"' "$dir/out"
        result $? "a confine inside passes over to landlock ${more%% *}"
    done
fi

# The run as a whole still ends with everything in it.
mark=123.$RANDOM$$
call "${run[@]}" -- unshare -Urpf --mount-proc bash -c 'sleep "$0" & sleep "$0" & disown -a; exit 5' "$mark"
[ "$status" -eq 5 ] && ! pgrep -f "sleep $mark" >/dev/null
result $? 'a pid namespace inside ends with the run'

call "$confine" run -q -b namespace -w . --caches off --user keep --open priv.userns -- true
if [ "$(id -u)" -eq 0 ]; then
    [ "$status" -eq 125 ] && grep -q 'as root' "$dir/err"
    result $? 'root may not: it could write the settings of the machine'
else
    [ "$status" -eq 0 ]
    result $? 'an ordinary user may keep its number'
fi
finish
