#!/bin/bash
# silent.sh - what confine-run(1) says of refusals that leave no denial: that they leave none, what a program says of them, and
# that what is given as the way out is one.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$dir/w" "$HOME"
chmod 755 "$dir"
page=$here/../../docs/man/confine-run.1
section=$(sed -n '/^\.Sh REFUSED WITHOUT A DENIAL/,/^\.Sh EXIT STATUS/p' "$page" | sed -n 's/^\.It Cm //p' | tr -d ' ' | tr ',\n' '  ')

cat >"$dir/calls.py" <<'P'
import ctypes, os, platform, socket, sys
numbers = {"keyctl": (250, 219), "io_uring_setup": (425, 425)}
what = sys.argv[1]
if what in numbers:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(numbers[what][platform.machine() == "aarch64"], *([0, -2, 1] if what == "keyctl" else [0, 0, 0]))
    error = ctypes.get_errno()
    # Let through, the kernel has another answer to these words.
    sys.exit(os.strerror(error) if result < 0 and error in (1, 38) else 0)
if what == "NETLINK_GENERIC": # the interfaces beside that of addresses
    sys.exit(0 if socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) else 1)
socket.socket(getattr(socket, what), socket.SOCK_STREAM if what in ("AF_UNIX", "AF_VSOCK") else socket.SOCK_DGRAM)
P
chmod 644 "$dir/calls.py"

# silent BACKEND SURFACE TEXT COMMAND [WAY]: what goes bare is refused with TEXT and without a denial; with the option WAY it is not.
silent() {
    local name="$1: ${4##*/}: $2"
    call sh -c "$4"
    [ "$status" -eq 0 ] || { skip "$name" "fails without confine, too"; return; }
    call run_with_report -b "$1" -w . --denials on -- sh -c "$4"
    [ "$status" -ne 0 ] && grep -q "$3" "$dir/err" && valid "$dir/report" &&
        report 'r["denials"]["complete"] and r["denials"]["items"] == []' && report "s['$2']['state'] in ('enforced', 'partial')" &&
        { [[ " $section " == *" $2 "* ]] || why "not in the manual: $section"; }
    result $? "$name"
    [ -n "${5:-}" ] || return 0
    # shellcheck disable=SC2086 # an option and its value
    call "$confine" run -q -b "$1" -w . $5 -- sh -c "$4"
    [ "$status" -eq 0 ]
    result $? "$name, with $5"
}

call_of() { echo "python3 $dir/calls.py $1"; }
not='Operation not permitted'
touch w-s && chmod 666 w-s
[ "$(id -u)" -ne 0 ] || chown 65534 w-s
tried=0
for one in namespace landlock; do
    if ! backend_works $one; then
        skip $one "it does not work here"
        continue
    fi
    tried=$((tried + 1))
    way=
    [ $one = landlock ] || way='--open priv.userns'
    silent $one priv.userns "$not" 'unshare -Ur true' "$way"
    silent $one priv.setuid "$not" 'chmod u+s w-s'
    silent $one ipc.keyring "$not" "$(call_of keyctl)" '--open ipc.keyring'
    silent $one kernel.syscalls "Function not implemented" "$(call_of io_uring_setup)"
    silent $one net.other "$not" "$(call_of AF_VSOCK)" '--open net.other'
    silent $one net.other "$not" "$(call_of NETLINK_GENERIC)" '--open net.other'
done
if backend_works landlock; then
    silent landlock net.tcp "$not" "python3 -c 'import socket; socket.socket()'" '-n host'
    silent landlock net.udp "$not" "$(call_of AF_INET)" '--open net.udp'
    silent landlock net.other "$not" "$(call_of AF_NETLINK)" '--open net.other'
    call "$confine" run -q -b landlock -- python3 -c 'import socket; socket.socket(socket.AF_UNIX)'
    [ "$status" -eq 0 ] || silent landlock unix.path "$not" "$(call_of AF_UNIX)" '--open unix.path'
fi
if [ $tried -gt 0 ] && command -v gdb >/dev/null; then
    for one in namespace landlock; do
        backend_works $one || continue
        call "$confine" run -q -b $one -w . -- gdb -q -batch -ex run -ex quit --args sh -c 'exit 7'
        grep -q 'exited with code 07' "$dir/out"
        result $? "$one: a debugger of what is started inside"
    done
fi
finish
