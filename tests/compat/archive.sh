#!/bin/bash
# archive.sh - tar, gzip, xz, zip, cpio: modes, times, links.
. "$(dirname "$0")/compat.sh"
need tar gzip

outside sh -c 'cd "$1" && mkdir -p tree/sub && echo a >tree/a && echo b >tree/sub/b && ln -s a tree/link && ln tree/a tree/hard &&
    chmod 640 tree/a && chmod 750 tree/sub && touch -d "2001-02-03 04:05:06 UTC" tree/a tree/sub/b && touch -hd "2002-02-03 UTC" tree/link && mkfifo tree/fifo &&
    touch -d "2003-02-03 UTC" tree/sub tree' sh "$w"
list='find . ! -name fifo -printf "%P %y %m %Ts %n %l\n" | sort'
want=$(cd "$w/tree" && eval "$list")
for way in "tar -cf - tree | tar -xf - -C out" "tar -czf t.tgz tree && tar -xzf t.tgz -C out" \
    "tar -cJf t.txz tree && tar -xJf t.txz -C out" "cp -a tree out/" "tar --format=posix -cf t.tar tree && tar -xpf t.tar -C out"; do
    does "$way" "rm -rf out && mkdir out && $way"
    is "modes, times, links are the same" "$(cd "$w/out/tree" 2>/dev/null && eval "$list")" "$want"
done
does "tar --delete, -r, -u, -t, -d" 'tar -cf u.tar tree/a && tar -rf u.tar tree/sub && tar --delete -f u.tar tree/a && test "$(tar -tf u.tar | wc -l)" = 2 && tar -df u.tar'
refuses "tar cannot unpack outside" 'Cannot open|Cannot mkdir|Permission denied|Read-only' 'tar -cf - tree | tar -xf - -C /var/tmp'
ok "and did not" test ! -e /var/tmp/tree
# The filter refuses set-id bits: tar says so for each and goes on with the rest.
outside chmod 4755 "$w/tree/a"
does "a set-id bit is not restored; all the rest is" 'rm -rf out && mkdir out; tar -cf - tree | tar -xpf - -C out 2>log || true; test -e out/tree/sub/b && test ! -u out/tree/a'
outside chmod 640 "$w/tree/a"
for tool in "zip" "cpio" "rsync" "zstd"; do
    outside sh -c 'command -v "$1"' sh "$tool" >/dev/null 2>&1 || { skip "$tool" "$tool is not installed"; continue; }
    case $tool in
    zip) does "zip and unzip" 'zip -qry t.zip tree && rm -rf out && mkdir out && cd out && python3 -m zipfile -e ../t.zip . && test -e tree/sub/b' ;;
    cpio) does "cpio" 'rm -rf out && mkdir out && find tree | cpio -o --quiet >t.cpio && cd out && cpio -idm --quiet <../t.cpio && test -e tree/sub/b' ;;
    rsync) does "rsync, local" 'rm -rf out && rsync -aH tree/ out/ && test "$(rsync -aHin tree/ out/ | wc -l)" = 0' ;;
    zstd) does "tar through zstd" 'tar --zstd -cf t.tzst tree && tar --zstd -tf t.tzst >/dev/null' ;;
    esac
done
close
