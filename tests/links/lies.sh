#!/bin/sh
# Kernels that lie (success without effect) and kernels that refuse: 125, one line, and nothing has run.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
build lie "$here/lie.c"
build act "$here/act.c"
lie=$test_dir/bin/lie
act=$test_dir/bin/act
ran=$test_dir/open/ran
mkdir -m 1777 "$test_dir/open"

# The command of every test here leaves a mark, by a static program: nothing but the wall could stop it.
# stopped NAME WORDS...: 125, exactly one line of the link, no mark
stopped() {
    stopped_name=$1
    shift
    rm -f "$ran"
    run "$@" -- "$act" create "$ran"
    mark=no
    [ ! -e "$ran" ] || mark=yes
    is "$stopped_name" "$status|$out|$(printf '%s\n' "$err" | grep -c '^[a-z]*-run: fatal: ..*: ..*')|$(printf '%s\n' "$err" | wc -l)|ran $mark" '125||1|1|ran no'
}
stopped_silent() { # a fault that reaches the link's own child code: 125 without a line is all it can say
    stopped_name=$1
    shift
    rm -f "$ran"
    run "$@" -- "$act" create "$ran"
    is "$stopped_name" "$status|$out|$([ -e "$ran" ] && echo ran)" '125||'
}

for user in $users; do
    for grant in '--ro /' '--rw /' "--ro / --rw $test_dir/open"; do
        # The control of all of these: without a lie the command runs.
        run as "$user" "$links/landlock-run" --rw / -- "$act" read /
        is "$user: control: landlock-run runs it" "$status|$out" '0|0'
        for call in landlock_create_ruleset landlock_restrict_self prctl get_robust_list \
            landlock_restrict_self=0,prctl; do
            stopped "$user: landlock-run $grant: $call answers 0" as "$user" "$lie" "$call=0" "$links/landlock-run" $grant
        done
        stopped_silent "$user: landlock-run $grant: clone answers 0" as "$user" "$lie" clone=0 "$links/landlock-run" $grant
    done
    stopped "$user: landlock-run --ro /: landlock_add_rule answers 0" as "$user" "$lie" landlock_add_rule=0 "$links/landlock-run" --ro /
    for errnum in 38:none 95:off 1:refused; do
        run as "$user" "$lie" "landlock_create_ruleset=${errnum%:*}" "$links/landlock-run" --rw / -- "$act" read /
        case $errnum in
        38:*) text='this kernel has none (Linux 5.13 with CONFIG_SECURITY_LANDLOCK has it), or a system call filter hides it' ;;
        95:*) text='built into this kernel but switched off: `landlock` is missing in the boot option lsm=' ;;
        *) text="a system call filter refuses it (an older container engine's, for instance)" ;;
        esac
        is "$user: Landlock ${errnum#*:}" "$status|$out|$err" "125||landlock-run: fatal: Landlock: $text"
    done
    for link in 'landlock-run --rw /' 'hide-run --level /' 'scope-run --signal --abstract --tcp'; do
        stopped "$user: ${link%% *}: landlock_restrict_self answers 0" as "$user" "$lie" landlock_restrict_self=0 "$links"/$link
        stopped "$user: ${link%% *}: landlock_create_ruleset refused" as "$user" "$lie" landlock_create_ruleset=1 "$links"/$link
        stopped "$user: ${link%% *}: get_robust_list refused" as "$user" "$lie" get_robust_list=1 "$links"/$link
    done
    stopped "$user: scope-run: kill answers 0" as "$user" "$lie" kill=0 "$links/scope-run" --signal
    stopped "$user: hide-run: getdents64 answers 0" as "$user" "$lie" getdents64=0 "$links/hide-run" --level /
    stopped "$user: drop-run: capset answers 0" as "$user" "$lie" capset=0 "$links/drop-run"
    stopped "$user: drop-run: capget answers 0" as "$user" "$lie" capget=0 "$links/drop-run"
    stopped "$user: drop-run: prctl answers 0" as "$user" "$lie" prctl=0 "$links/drop-run"
    stopped "$user: detach-run: close_range answers 0" as "$user" "$lie" close_range=0 "$links/detach-run"
    stopped "$user: detach-run: setsid answers 0" as "$user" "$lie" setsid=0 "$links/detach-run" --session
    stopped "$user: detach-run: prlimit64 answers 0" as "$user" "$lie" prlimit64=0 "$links/detach-run" --file-size 4096
    stopped "$user: detach-run: prlimit64 answers 0, processor time" as "$user" "$lie" prlimit64=0 "$links/detach-run" --cpu-time 5
    run as "$user" "$lie" landlock_restrict_self=0 "$links/landlock-run" --probe
    is "$user: probe: landlock_restrict_self answers 0" "$status|$out|$err" '125||landlock-run: fatal: control pair: the kernel reported success but nothing is restricted'
    run as "$user" "$lie" landlock_create_ruleset=0 "$links/landlock-run" --probe
    is "$user: probe: ABI 0" "$status|$out|$err" '125||landlock-run: fatal: Landlock: the kernel reports ABI 0, which does not exist'
    run as "$user" "$lie" clone=0 "$links/landlock-run" --probe
    is "$user: probe: clone answers 0" "$status|$out" '125|'
done
if [ "$(id -u)" = 0 ]; then
    for call in setresuid setresgid; do
        stopped "detach-run --user: $call answers 0" "$lie" "$call=0" "$links/detach-run" --user 65534:65534
    done
    stopped 'detach-run --user: setgroups answers 0' setpriv --groups 1,2 "$lie" setgroups=0 "$links/detach-run" --user 65534:65534
else
    skip 'detach-run --user: set-calls answer 0' 'needs root'
fi

# Without /proc nothing of it can be read back from there, and nothing is.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    bare='umount -l /proc && [ ! -e /proc/self ] || exit 99
        [ "$0" != nobody ] || exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
        exec "$@"'
    for user in $users; do
        for grant in '--ro /' '--rw /'; do
            run unshare -m sh -c "$bare" "$user" "$links/landlock-run" $grant --rw "$test_dir/open" -- "$act" create "$ran"
            is "$user: control: without /proc landlock-run $grant runs it" "$status|$out" '0|0'
            for call in landlock_create_ruleset landlock_restrict_self prctl get_robust_list landlock_restrict_self=0,prctl; do
                stopped "$user: without /proc: landlock-run $grant: $call answers 0" \
                    unshare -m sh -c "$bare" "$user" "$lie" "$call=0" "$links/landlock-run" $grant --rw "$test_dir/open"
            done
        done
    done
else
    skip 'lies without /proc' 'needs root and mount namespaces'
fi

# strace: the call never happens, and any value is answered. Each value is one that could pass for real.
if strace -o /dev/null true 2>/dev/null; then
    for user in $users; do
        # One prctl at a time, so that no check hides behind an earlier one: undumpable, dumpable for the pair,
        # no_new_privs, undumpable. (The calls between them read back.)
        for nth in 1 3 5 7; do
            rm -f "$ran"
            run as "$user" timeout -s KILL 10 strace -o /dev/null -e "inject=prctl:retval=0:when=$nth" "$links/landlock-run" --rw / -- "$act" create "$ran"
            is "$user: strace: landlock-run: prctl $nth answers 0" "$status|$out|$([ -e "$ran" ] && echo ran)" '125||'
        done
        for call in landlock_restrict_self landlock_create_ruleset prctl clone get_robust_list wait4 openat fcntl; do
            for value in 0 1 3 24; do
                for grant in '--ro /' '--rw /'; do
                    rm -f "$ran"
                    run as "$user" timeout -s KILL 10 strace -o /dev/null -e "inject=$call:retval=$value" "$links/landlock-run" $grant -- "$act" create "$ran"
                    is "$user: strace: landlock-run $grant: $call answers $value" "$status|$out|$([ -e "$ran" ] && echo ran)" '125||'
                done
            done
        done
    done
else
    skip 'strace' 'cannot trace here'
fi
finish
