#!/bin/bash
# cargo.sh - cargo: new, build, test, run, doc tests, all without the network.
. "$(dirname "$0")/compat.sh"
need cargo rustc

does "cargo new" 'cargo new --quiet --vcs none app && cargo new --quiet --vcs none --lib part'
printf '[dependencies]\npart = { path = "../part" }\n' >>"$w/app/Cargo.toml"
cat >"$w/app/src/main.rs" <<'RS'
use std::{fs, net, process, thread};

fn main() {
    let sum: u64 = (0..4).map(|i| thread::spawn(move || part::add(i, 1))).map(|t| t.join().unwrap()).sum();
    let name = std::env::temp_dir().join("a");
    fs::write(&name, b"x").unwrap();
    let out = process::Command::new("cat").arg(&name).output().unwrap().stdout;
    println!("{} {} {}", sum, String::from_utf8(out).unwrap(), net::TcpListener::bind("127.0.0.1:0").is_err());
}
RS
cat >"$w/part/src/lib.rs" <<'RS'
/// ```
/// assert_eq!(part::add(1, 2), 3);
/// ```
pub fn add(a: u64, b: u64) -> u64 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(2, 2), 4);
    }
    #[test]
    fn outside() {
        assert!(std::fs::write("/etc/confine-test", "").is_err());
    }
}
RS
# cargo new of some versions ends the file with [dependencies] already.
/usr/bin/python3 - "$w/app/Cargo.toml" <<'PY'
import sys
text = open(sys.argv[1]).read()
open(sys.argv[1], 'w').write(text.replace('[dependencies]\n[dependencies]', '[dependencies]').replace('[dependencies]\n\n[dependencies]', '[dependencies]'))
PY
own "$w"
does "cargo build --offline, with a dependency by path" 'cd app && cargo build --quiet --offline'
is "the program: threads, a temp file, a child, a listener on loopback where there is one" \
    "$(confined -q -- app/target/debug/app 2>/dev/null)" "10 x $(if views; then echo false; else echo true; fi)"
does "cargo test, with documentation tests" 'cd part && cargo test --quiet --offline >log 2>&1 || { cat log; exit 1; }; grep -q "2 passed" log && grep -q "1 passed" log'
does "cargo run --release, and nothing built twice" 'cd app && cargo run --quiet --offline --release | grep -q ^10 && cargo build --offline --release 2>&1 | grep -q Finished'
does "cargo metadata, tree, clean" 'cd app && cargo metadata --offline --format-version 1 >/dev/null && cargo tree --offline | grep -q part && cargo clean --quiet'
refuses "a crate from the network is not there, and cargo says so" 'Operation not permitted|Could not resolve|offline|network|failed to (get|query|fetch|download)|Permission denied' \
    'cd app && timeout 120 cargo add --quiet itoa && timeout 120 cargo build'
close
