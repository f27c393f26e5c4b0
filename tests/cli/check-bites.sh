#!/bin/bash
# check-bites.sh - a confinement that lacks something is found by confine check.
#
# The same stage with a filter that lacks some rules. The attestation cannot see that: its sentinel is in place, and these
# rules are tried by no act of its own.
. "$(dirname "$0")/tap.sh"
work=$(mktemp -d /var/tmp/confine-cli.XXXXXX) && chmod 755 "$work"
clear_up() {
    chmod -R u+rwx "$dir" 2>/dev/null
    rm -rf "$dir" "$work"
}
links=$here/../../links
cp -r "$CONFINE_STAGE/." "$work/stage" && cp -r "$links" "$work/links"

# holds EXPRESSION: of the result in $dir/out
holds() {
    python3 -c 'import json, sys
b = json.load(open(sys.argv[1]))["backends"][0]
over = {a["id"] for a in b["attempts"] if a["judgement"] == "over-claim"}
if not eval(sys.argv[2]):
    sys.exit("not true: %s; over-claims %s; %s" % (sys.argv[2], sorted(over), b["message"]))' "$dir/out" "$1" 2>>"$dir/why"
}

# without RULE: a row of one line or two
without() {
    python3 -c 'import re, sys
text = open(sys.argv[1]).read()
less, count = re.subn(r"(?m)^    RULE\(.%s.,(?:[^\n]|\n {9})*\n" % sys.argv[2], "", text)
open(sys.argv[1], "w").write(less)
sys.exit(count != 1)' "$work/links/seccomp_rules.h" "$1"
}
for rule in other-family personality unshare handle-name; do
    without $rule || why "$rule is not one row"
done
(cd "$work/links" && cc -D_GNU_SOURCE -o gen seccomp-gen.c && ./gen >seccomp_sets.h &&
    cc -std=c11 -D_GNU_SOURCE -O1 -static -DCONFINE_FUSED -o "$work/stage/libexec/confine/confine-launch" launch.c ./*-run.c namespace_*.c) >>"$dir/why" 2>&1 &&
    ! grep -q 'not one row' "$dir/why"
result $? "a launcher without some rules can be built"
# What each of them lets through.
crossing='{"NET-19", "KERN-05", "KERN-06", "PROC-22"}'
for name in landlock namespace; do
    backend_works $name || { skip "$name without these rules" "it does not work here"; continue; }
    call "$confine" check -b $name --json --only '[KNP]*'
    [ "$status" -eq 0 ] && holds "{a['id'] for a in b['attempts'] if a['verdict'] == 'blocked'} >= $crossing"
    result $? "$name: control: with them, these attempts are blocked"
    call "$work/stage/bin/confine" check -b $name --json --only '[KNP]*'
    [ "$status" -eq 1 ] && holds "over == $crossing and b['totals']['over_claims'] == 3"
    result $? "$name: without them, exactly these are over-claims"
    call "$work/stage/bin/confine" check -b $name --only KERN-06
    [ "$status" -eq 1 ] && grep -q '^OVER-CLAIM: .*KERN-06' "$dir/out" && grep -q 'personality(' "$dir/out"
    result $? "$name: and said to people, with the call"
done

# What is opened on purpose lets through what it held: so it was that which held it. As an ordinary user, who may open more.
user=()
[ "$(id -u)" -ne 0 ] || user=(--user 65534)
for name in landlock namespace; do
    case $name in
    landlock) opened='ipc.sysv ipc.keyring proc.adjust proc.signal net.tcp net.udp net.other unix.path unix.abstract priv.userns kernel.syscalls fs.metadata proc.visible' ;;
    namespace) opened='unix.path net.other priv.userns kernel.syscalls ipc.keyring fs.hidden' ;;
    esac
    backend_works $name || { skip "$name opened" "it does not work here"; continue; }
    call "$confine" check -b $name "${user[@]}" --open "${opened// /,}" --json
    [ "$status" -eq 0 ] && holds "not over and {s['id'] for s in b['surfaces'] if s['crossed']} >= set('$opened'.split())"
    result $? "$name: each surface that is opened is crossed, and declared"
done
finish
