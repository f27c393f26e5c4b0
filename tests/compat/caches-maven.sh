#!/bin/bash
# caches-maven.sh - maven: a jar with a dependency and tests, from the distribution's repository with nothing in
# HOME, then offline from what that left, then from the user's own repository.
. "$(dirname "$0")/caches-lib.sh"
need mvn javac
debian=/usr/share/maven-repo
version() {
    local pom
    for pom in "$debian/$1"/*/*.jar; do basename "$(dirname "$pom")"; done | grep '^[0-9]' | sort -V | tail -1
}
declare -A have
for artifact in org/apache/commons/commons-lang3 junit/junit \
    org/apache/maven/plugins/maven-{resources,compiler,surefire,jar}-plugin org/apache/maven/surefire/surefire-junit4; do
    have[${artifact##*/}]=$(version "$artifact")
    [ -z "${have[${artifact##*/}]}" ] || continue
    skip "artifacts" "$debian has no ${artifact##*/}"
    close
done

mkdir -p "$w/src/main/java/org/example" "$w/src/test/java/org/example"
plugins=
for plugin in maven-{resources,compiler,surefire,jar}-plugin; do
    plugins+="<plugin><artifactId>$plugin</artifactId><version>${have[$plugin]}</version></plugin>"
done
cat >"$w/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>app</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId><version>${have[commons-lang3]}</version>
    </dependency>
    <dependency>
      <groupId>junit</groupId><artifactId>junit</artifactId><version>${have[junit]}</version><scope>test</scope>
    </dependency>
  </dependencies>
  <build><plugins>$plugins</plugins></build>
</project>
XML
cat >"$w/src/main/java/org/example/App.java" <<'JAVA'
package org.example;

import org.apache.commons.lang3.StringUtils;

public class App {
    public static String name() { return StringUtils.capitalize("app"); }
}
JAVA
cat >"$w/src/test/java/org/example/AppTest.java" <<'JAVA'
package org.example;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class AppTest {
    @Test
    public void name() { assertEquals("App", App.name()); }
}
JAVA
# Offline, the same repository by name, and nothing where it was.
for place in "$debian" "$test_dir/nowhere"; do
    printf '<settings><mirrors><mirror><id>files</id><mirrorOf>*</mirrorOf><url>file://%s</url></mirror></mirrors></settings>\n' \
        "$place" >"$w/$(basename "$place").xml"
done
# The JVM takes the home of the password database, and this account's is not the one of this test.
echo 'MAVEN_OPTS="$MAVEN_OPTS -Duser.home=$HOME -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"' >"$home/.mavenrc"
own "$w" "$home/.mavenrc"
# maven_does NAME ARGUMENT...: the package, with its test having run
maven_does() {
    local name=$1
    shift
    rm -rf "$w/target"
    does "$name" "mvn -B $* package >log 2>&1 || { grep ERROR log; exit 1; }
        test -s target/app-1.jar && grep -q 'Tests run: 1, Failures: 0, Errors: 0, Skipped: 0' log"
}

for backend in "${backends[@]}"; do
    begin
    maven_does "$backend: cold, from a repository of files: compile, test, jar" -s maven-repo.xml
    filled maven
    maven_does "$backend: offline, from what that left" -o -s nowhere.xml
    unchanged
done
# The user's own: the last private one, as if fetched outside.
as "$user" mkdir "$home/.m2"
as "$user" cp -a "$(find "$home/.cache/confine" -path '*/maven/org' -prune -printf '%h')" "$home/.m2/repository"
for backend in "${backends[@]}"; do
    begin
    maven_does "$backend: offline, from the user's own repository" -o -s nowhere.xml
    unchanged
done
rm -rf "$home/.m2/repository/org/apache/commons"
for backend in "${backends[@]}"; do
    begin
    refuses "$backend: offline, and nobody has the dependency" 'commons-lang3.*(not been downloaded|offline)' \
        'mvn -B -o -s nowhere.xml package'
done
close
