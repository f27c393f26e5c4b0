#!/bin/bash
# java.sh - javac, jar, java: threads, temp files, memory maps, children, the refusal of sockets.
. "$(dirname "$0")/compat.sh"
need java javac jar

mkdir -p "$w/src/org/example"
cat >"$w/src/org/example/Main.java" <<'JAVA'
package org.example;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Main {
    static void check(boolean good, String what) {
        if (!good) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) { int n = i; all.add(pool.submit(() -> n * n)); }
        int sum = 0;
        for (Future<Integer> one : all) sum += one.get();
        pool.shutdown();
        check(sum == 328350 && IntStream.range(0, 1000).parallel().sum() == 499500, "threads");
        Path temp = Files.createTempFile("x", ".tmp");
        check(temp.startsWith(System.getenv("TMPDIR")), "the temp directory");
        Files.createTempDirectory("y");
        Files.write(temp, "hello".getBytes());
        try (FileChannel channel = FileChannel.open(temp, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.map(FileChannel.MapMode.READ_WRITE, 0, 5).put(0, (byte) 'j');
            check(channel.tryLock() != null, "a lock");
        }
        check(Files.readString(temp).equals("jello"), "a map");
        Process child = new ProcessBuilder("cat").redirectErrorStream(true).start();
        child.getOutputStream().write("in".getBytes());
        child.getOutputStream().close();
        check(new String(child.getInputStream().readAllBytes()).equals("in") && child.waitFor() == 0, "a child");
        check(((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory
            .getOperatingSystemMXBean()).getTotalMemorySize() > 0, "the size of the machine, by its cgroups");
        Files.copy(temp, Path.of("copy"), StandardCopyOption.REPLACE_EXISTING);
        try { Files.writeString(Path.of(System.getProperty("user.home"), "a"), ""); check(false, "outside"); }
        catch (AccessDeniedException | NoSuchFileException expected) { }
        catch (FileSystemException expected) { check(expected.getReason().contains("Read-only"), expected.getMessage()); }
        boolean loopback = System.getenv("LOOPBACK") != null;
        try { new java.net.ServerSocket(0).close(); check(loopback, "a socket"); }
        catch (java.net.SocketException expected) { check(!loopback && expected.getMessage().contains("not permitted"), expected.getMessage()); }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("good")));
    }
}
JAVA
own "$w"
common=()
if views; then common=(LOOPBACK=1); fi
inside=("${common[@]}")
does "javac" 'javac -d classes src/org/example/Main.java 2>log || { cat log; exit 1; }'
does "jar, and java -jar: threads, temp files, maps, locks, children, refusals" \
    'jar --create --file main.jar --main-class org.example.Main -C classes . 2>/dev/null && java -jar main.jar 2>/dev/null | grep -qx good || java -jar main.jar'
does "one file without compiling" 'java src/org/example/Main.java 2>/dev/null | grep -qx good'
does "with little memory, another collector, and a dump" 'java -Xmx64m -XX:+UseSerialGC -jar main.jar 2>/dev/null | grep -qx good'
# The JVM has /tmp built in.
if views; then
    does "no JAVA_TOOL_OPTIONS where /tmp is private" 'test -z "${JAVA_TOOL_OPTIONS:-}"'
else
    does "JAVA_TOOL_OPTIONS leads its temp files to TMPDIR" 'test -n "$JAVA_TOOL_OPTIONS"'
fi
inside=("${common[@]}" JAVA_TOOL_OPTIONS=-Dmine=1)
is "the caller's own JAVA_TOOL_OPTIONS count" "$(confined -q -- printenv JAVA_TOOL_OPTIONS)" "-Dmine=1"
if views; then
    does "and its temp files still go to the private /tmp" 'java src/org/example/Main.java'
else
    refuses "and then its temp files go to /tmp, where they are refused by name" 'AccessDenied|Permission denied' \
        'java src/org/example/Main.java'
fi
inside=()
close
