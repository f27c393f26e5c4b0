#!/bin/bash
# Devices that were not granted: by every way of opening, and by every name.
. "$(dirname "$0")/../cli/tap.sh"
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -static -o "$dir/act" "$here/act.c" || exit 99

# Without mounts, nothing holds a node that root made on a disk.
if [ "${CONFINE_BACKEND:-landlock}" = landlock ]; then held='partial nodes-on-disk'; else held='enforced -'; fi
views() { [ "${CONFINE_BACKEND:-landlock}" = namespace ]; }
claim() {
    python3 -c 'import json, sys
claims = {c["id"]: c for c in json.load(open(sys.argv[2]))["surfaces"]}
print(claims[sys.argv[1]]["state"], claims[sys.argv[1]]["reason"] or "-")' "$1" "$dir/report"
}

# Flags: 0 reading, 1 writing, 2 both, 3 neither (for which Landlock asks no right).
for flags in 0 1 2 3; do
    if ! "$dir/act" open $flags /dev/ptmx >"$dir/out" 2>&1; then
        skip "flags $flags" "not to be opened outside either: $(cat "$dir/out")"
        continue
    fi
    # In a view of its own it makes terminals of that view, and nothing else of the host's /dev/pts is there.
    expected=EACCES
    if views && [ $flags -ne 3 ]; then expected=open; fi
    call "$confine" run -q $backend -w . -- "$dir/act" open $flags /dev/ptmx
    [ "$(cat "$dir/out")" = "/dev/ptmx $expected" ]
    result $? "/dev/ptmx with the flags $flags: $expected"
done
if views; then
    call "$confine" run -q $backend -w . -- python3 -c 'import os, pty
print(os.ttyname(pty.openpty()[1]), *sorted(os.listdir("/dev/pts")))'
    [ "$(cat "$dir/out")" = '/dev/pts/0 0 ptmx' ]
    result $? 'its terminals are a name space of their own'
fi
call "$confine" run -q $backend -w . -- "$dir/act" open 3 /etc/passwd /dev/null
[ "$(cat "$dir/out")" = '/etc/passwd EACCES
/dev/null EACCES' ]
result $? 'nothing is opened for neither reading nor writing'

# A second mount of /dev, as containers have that got the host's.
if [ "$(id -u)" -ne 0 ]; then
    skip 'devices that are mounted elsewhere' 'only root mounts'
    finish
fi
mkdir -p "$dir/host/dev" "$dir/w/dev" "$dir/many" "$dir/mask"
: >"$dir/mask/file"
chmod 755 "$dir"

# mounted WHERE WORD...: confine with WORDs, and a mount of /dev at WHERE that nobody else sees
mounted() {
    call unshare --mount --propagation private bash -c 'mount --rbind "$0" "$1" && shift && exec "$@"' "$what" "$@"
}
what=/dev
mounted "$dir/host/dev" "$dir/act" open 0 "$dir/host/dev/ptmx"
[ "$(cat "$dir/out")" = "$dir/host/dev/ptmx open" ]
result $? 'control: a second mount of /dev can be opened'
mounted "$dir/host/dev" "$confine" run -q $backend -w . --report "$dir/report" -- "$dir/act" open 0 "$dir/host/dev/ptmx"
[ "$(cat "$dir/out")" = "$dir/host/dev/ptmx EACCES" ] && [ "$(claim fs.device)" = "$held" ]
result $? 'it is held like /dev'
mounted "$dir/host/dev" "$confine" run -q $backend -w . -- sh -c 'mkdir -p a b && echo x >a/x && mv a/x b/ && cat b/x /etc/passwd'
[ "$status" -eq 0 ]
result $? 'and everything beside it stays as it is'
mounted "$dir/host/dev" "$confine" run -q $backend -w . --device "$dir/host/dev/full" -- "$dir/act" open 2 "$dir/host/dev/full"
if views; then
    [ "$status" -eq 125 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q 'not a device below /dev' "$dir/err"
    result $? 'a device of it that is granted: refused, devices are granted below /dev'
else
    [ "$(cat "$dir/out")" = "$dir/host/dev/full open" ]
    result $? 'a device of it that is granted is opened'
fi
what=/dev/pts
mkfifo "$dir/fifo"
python3 -c 'import os, pty, time
print(os.path.basename(os.ttyname(pty.openpty()[1])), flush=True)
time.sleep(60)' >"$dir/fifo" &
holder=$!
read -r terminal <"$dir/fifo"
for words in "$dir/act" "$confine run -q $backend -w . --report $dir/report -- $dir/act"; do
    mounted "$dir/host/dev" $words open 0 "$dir/host/dev/$terminal"
    expected=open
    [ "$words" = "$dir/act" ] || expected=EACCES
    [ "$(cat "$dir/out")" = "$dir/host/dev/$terminal $expected" ]
    result $? "a terminal, mounted elsewhere: $expected"
done
[ "$(claim tty.read)" = 'enforced -' ]
result $? 'and tty.read is enforced'
kill "$holder"

# Where a level cannot be made, the report says so.
what=/dev
mounted "$dir/w/dev" "$confine" run -q $backend -w . --report "$dir/report" -- true
[ "$(claim fs.device)" = 'partial devices-elsewhere' ] && [ "$(claim tty.read)" = 'partial devices-elsewhere' ]
result $? 'devices in the workspace: the claims are lowered'
mounted "$dir/w/dev" "$confine" run -q $backend -w . --require fs.device -- true
[ "$status" -eq 125 ]
result $? 'and a run that requires them is refused'
(cd "$dir/many" && mkdir $(seq 600))
mounted "$dir/many/1" "$confine" run -q $backend -w . --report "$dir/report" -- cat "$dir/many/../mask/file"
[ "$status" -eq 0 ] && [ "$(claim fs.device)" = 'partial devices-elsewhere' ]
result $? 'devices beside too many names: the claims are lowered, the names stay readable'

# A file that is masked by the null device is no device elsewhere.
what=/dev/null
mounted "$dir/mask/file" "$confine" run -q $backend -w . --report "$dir/report" -- true
[ "$(claim fs.device)" = "$held" ]
result $? 'a file that is masked by the null device changes nothing'

finish
