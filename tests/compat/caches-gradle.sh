#!/bin/bash
# caches-gradle.sh - gradle: a jar with a dependency from a repository on loopback, then offline, from what that
# left and from the user's own. Gradle talks to itself by loopback: without one (landlock) it gets the network.
. "$(dirname "$0")/caches-lib.sh"
need gradle javac
debian=/usr/share/maven-repo
lang3=$(cd "$debian/org/apache/commons/commons-lang3" 2>/dev/null && ls -d [0-9]*.*.[0-9] | tail -1)
if [ -z "$lang3" ]; then
    skip "artifacts" "$debian has no commons-lang3"
    close
fi

# A repository, which ends with its standard input.
mkdir "$test_dir/port"
[ "$user" = self ] || chown 65534 "$test_dir/port"
mkfifo "$test_dir/end"
outside python3 -c '
import functools, http.server, os, sys, threading
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
open(sys.argv[2] + ".new", "w").write(str(server.server_port))
os.rename(sys.argv[2] + ".new", sys.argv[2])
sys.stdin.read()' "$debian" "$test_dir/port/port" <"$test_dir/end" >"$test_dir/said" 2>&1 &
server=$!
exec 9>"$test_dir/end"
for ((i = 0; i < 600; i++)); do [ ! -e "$test_dir/port/port" ] || break; sleep 0.1; done
port=$(cat "$test_dir/port/port") || { cat "$test_dir/said"; exit 1; }

mkdir -p "$w/src/main/java"
cat >"$w/build.gradle" <<GRADLE
apply plugin: 'java'
repositories { maven { url "http://127.0.0.1:$port/" } }
dependencies { compile 'org.apache.commons:commons-lang3:$lang3' }
GRADLE
cat >"$w/src/main/java/A.java" <<'JAVA'
import org.apache.commons.lang3.StringUtils;

public class A {
    public static String name() { return StringUtils.capitalize("app"); }
}
JAVA
own "$w"
build='rm -rf build .gradle; gradle --no-daemon -q'
ends='build >log 2>&1 || { tail log; exit 1; }; test -s build/libs/w.jar'

for backend in "${backends[@]}"; do
    begin
    options=(--network host)
    does "$backend: cold, from a repository: compile, jar" "$build $ends"
    has_overlays && options=()
    does "$backend: offline, from what that left" "$build --offline $ends"
    filled gradle
    unchanged
done
# Its home is the account's, whatever HOME says.
ok "outside: the same" outside env -C "$w" GRADLE_USER_HOME="$home/.gradle" bash -c "$build $ends"
exec 9>&-
wait "$server"
options=()
for backend in "${backends[@]}"; do
    begin
    if has_overlays; then
        does "$backend: offline, from the user's own" "$build --offline $ends"
    else
        refuses "$backend: without a network there is no loopback, and gradle says so" 'socket|address|IP|network' \
            "$build --offline build"
    fi
    unchanged
done
rm -rf "$tmp"/hsperfdata_* "$tmp"/gradle*
close
