#!/bin/sh
# drop-run: no capability is left, and no exec gives one back.
. "$(dirname "$0")/../lib.sh"
dp=$links/drop-run

run "$dp" true
is 'no --' "$status|$err" '125|drop-run: fatal: true: usage: unknown option (and `--` must stand before the command)'
run "$dp" --
is 'no command' "$status|$err" '125|drop-run: fatal: usage: no command after `--`'
none='CapInh 0000000000000000 CapPrm 0000000000000000 CapEff 0000000000000000'
for user in $users; do
    run as "$user" "$dp" -- sh -c 'exit 6'
    is "$user: status" "$status" 6
    run as "$user" "$dp" -- sh -c 'sh -c "grep -h ^Cap.*[a-z]:\\\\\|^NoNew /proc/self/status"'
    is "$user: after two execs" "$(printf '%s\n' "$out" | grep -v CapBnd | tr -d ':' | tr '\t\n' '  ')" \
        "$none CapAmb 0000000000000000 NoNewPrivs 1 "
done
if [ "$(id -u)" = 0 ]; then
    run "$dp" -- grep CapBnd /proc/self/status
    is 'root: the bounding set is empty' "$(echo $out)" 'CapBnd: 0000000000000000'
    run grep CapEff /proc/self/status
    no 'root: control: there were capabilities' test "$(echo $out)" = 'CapEff: 0000000000000000'
    run "$dp" -- setpriv --dump
    is 'root: securebits' "$(printf '%s\n' "$out" | sed -n 's/^Securebits: //p' | sed 's/,no_cap_ambient_raise,no_cap_ambient_raise_locked$/,0xc0/')" \
        'noroot,noroot_locked,no_setuid_fixup,no_setuid_fixup_locked,keep_caps_locked,0xc0'
    mkdir -m 700 "$test_dir/owned"
    chown 65534 "$test_dir/owned"
    ok 'root: control: file modes do not hold root' ls "$test_dir/owned"
    no 'root: they do now' "$dp" -- ls "$test_dir/owned"
    ok 'root: again, on top of itself' "$dp" -- "$dp" -- true
    run setpriv --inh-caps +kill --ambient-caps +kill "$dp" -- grep CapAmb /proc/self/status
    is 'root: ambient capabilities go' "$(echo $out)" 'CapAmb: 0000000000000000'
    run setpriv --reuid 65534 --inh-caps +kill --ambient-caps +kill --clear-groups "$dp" -- grep 'CapEff' /proc/self/status
    is 'another user with ambient capabilities' "$(echo $out)" 'CapEff: 0000000000000000'
    run setpriv --bounding-set -setpcap "$dp" -- true
    is 'root that cannot set securebits' "$status|$err" \
        '125|drop-run: fatal: securebits: cannot be set without CAP_SETPCAP, and an exec by uid 0 could regain capabilities'
else
    skip 'root' 'needs root'
fi
finish
