#!/bin/bash
# sockets.sh - sockets of others that go while a run behind bubblewrap starts. Not beside other tests: the sockets
# are theirs as well, and a runner of the backend custom is not started twice.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/tap.sh"
backend='--backend=bubblewrap'
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/w" "$HOME"
chmod 755 "$dir"

if ! backend_works bubblewrap; then
    skip "sockets" "bubblewrap cannot be used here"
    finish
fi

# Sockets of others are masked by name, and their owners take them away when they like.
cat >"$dir/come.py" <<'P'
import os, socket, sys, time
while os.path.exists(sys.argv[1]):
    for i in range(40):
        name = "%s/come.%d" % (sys.argv[2], i)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        listener.listen()
        time.sleep(0.0005)
        os.unlink(name)
        listener.close()
P
mkdir "$dir/come"
: >"$dir/coming"
python3 "$dir/come.py" "$dir/coming" "$dir/come" &
coming=$!
wrong=0
for i in $(seq 60); do
    call "$confine" run -q $backend -w . -- true
    [ "$status" -eq 0 ] || { wrong=$((wrong + 1)); cat "$dir/err" >>"$dir/why"; }
done
rm -f "$dir/coming"
wait "$coming"
[ "$wrong" -eq 0 ]
result $? "sockets of others may go while a run starts"
finish
