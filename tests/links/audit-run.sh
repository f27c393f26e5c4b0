#!/bin/sh
# audit-run: one more layer with the same grants. It refuses what is not granted, and nothing else; what the kernel's audit
# has of that, tests/observe/audit.sh looks at where audit is on.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
link=$links/audit-run

run "$link" true
is 'no --' "$status|$err" '125|audit-run: fatal: true: usage: unknown option (and `--` must stand before the command)'
run "$link" --ro /
is 'nothing behind the options' "$status|$err" '125|audit-run: fatal: usage: missing `--` and a command'
run "$link" --ro / --
is 'no command' "$status|$err" '125|audit-run: fatal: usage: no command after `--`'
run "$link" --ro "$test_dir/none" -- true
case $err in
*'no such right') skip 'audit-run' 'this kernel has no Landlock ABI 7'; finish ;;
esac
is 'a path that is missing' "$status|$err" "125|audit-run: fatal: $test_dir/none: No such file or directory"
for user in $users; do
    mkdir "$test_dir/$user" "$test_dir/$user/in"
    echo kept >"$test_dir/$user/file"
    [ "$user" != nobody ] || chown -R 65534:65534 "$test_dir/$user"
    run as "$user" "$link" --ro / --rw "$test_dir/$user/in" --rw /dev/null -- sh -c "cd $test_dir/$user; echo x >in/new; (echo x >file) 2>/dev/null; cat file; exit 7"
    is "$user: what is granted, and nothing else" "$status|$out|$(cat "$test_dir/$user/in/new")|$(cat "$test_dir/$user/file")" '7|kept|x|kept'
    # Not before the attempts of the link that comes last: those are no refusals of the command's.
    run as "$user" "$links/confine-launch" audit-run --ro / -- landlock-run --ro / --rw "$test_dir/$user" -- \
        sh -c "(echo x >$test_dir/$user/file) 2>/dev/null; echo \$?"
    is "$user: fused, the layer is laid before the command starts" "$out|$(cat "$test_dir/$user/file")" '2|kept'
done
finish
