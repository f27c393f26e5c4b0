#!/bin/bash
# caches-cargo.sh - cargo with dependencies, always offline: from a directory, from the user's own registry, and
# from one that a run with a network filled.
. "$(dirname "$0")/caches-lib.sh"
need cargo rustc
crates=/usr/share/cargo/registry
itoa=$(cd "$crates" 2>/dev/null && ls -d itoa-* | head -1)
cfg_if=$(cd "$crates" 2>/dev/null && ls -d cfg-if-* | head -1)
if [ -z "$itoa" ] || [ -z "$cfg_if" ] || ! outside sh -c 'command -v git' >"$test_dir/.need"; then
    skip "crates" "no sources of itoa and cfg-if, or no git"
    close
fi

mkdir -p "$w/src" "$w/.cargo"
cat >"$w/Cargo.toml" <<TOML
[package]
name = "app"
version = "0.1.0"
edition = "2018"

[dependencies]
itoa = "${itoa#itoa-}"
cfg-if = "${cfg_if#cfg-if-}"
TOML
cat >"$w/src/main.rs" <<'RS'
fn text() -> String {
    let number;
    cfg_if::cfg_if! {
        if #[cfg(unix)] {
            number = 42;
        } else {
            number = 0;
        }
    }
    itoa::Buffer::new().format(number).to_string()
}

fn main() {
    println!("{}", text());
}

#[test]
fn prints() {
    assert_eq!(text(), "42");
}
RS

# The same crates as a registry: an index in git and the archives beside it.
registry=$test_dir/registry
mkdir -p "$registry/index/it/oa" "$registry/index/cf/g-"
/usr/bin/python3 - "$crates" "$registry" "$itoa" "$cfg_if" <<'PY'
import hashlib, json, os, sys, tarfile
crates, registry = sys.argv[1:3]
open(registry + '/index/config.json', 'w').write(json.dumps({'dl': 'file://' + registry + '/{crate}-{version}.crate'}))
for crate in sys.argv[3:]:
    name, version = crate.rsplit('-', 1)
    archive = '%s/%s.crate' % (registry, crate)
    with tarfile.open(archive, 'w:gz') as tar:
        tar.add(os.path.join(crates, crate), crate, filter=lambda i: None if i.name.endswith('checksum.json') else i)
    line = {'name': name, 'vers': version, 'deps': [], 'features': {}, 'yanked': False,
            'cksum': hashlib.sha256(open(archive, 'rb').read()).hexdigest()}
    open('%s/index/%s/%s/%s' % (registry, name[:2], name[2:4], name), 'w').write(json.dumps(line) + '\n')
PY
git -C "$registry/index" init -q -b master
git -C "$registry/index" add .
git -C "$registry/index" -c user.name=a -c user.email=a@example.org commit -q -m crates
own "$w" "$registry"

# sources directory|registry: where the workspace's settings say that crates come from
sources() {
    if [ "$1" = directory ]; then
        printf '[source.crates-io]\nreplace-with = "mine"\n[source.mine]\ndirectory = "%s"\n' "$crates"
    else
        printf '[source.crates-io]\nreplace-with = "mine"\n[source.mine]\nregistry = "file://%s/index"\n' "$registry"
    fi >"$w/.cargo/config.toml"
    rm -rf "$w/target" "$w/Cargo.lock"
    own "$w"
}
works='cargo build --offline && test "$(target/debug/app)" = 42 && cargo test --offline >log && grep -q "1 passed" log'

for backend in "${backends[@]}"; do
    sources directory
    begin
    does "$backend: cold, from a directory of crates: build, run, test" "$works"
    does "$backend: again, and nothing is compiled twice" "cargo build --offline 2>log && ! grep -q Compiling log"
    unchanged
    sources registry
    begin
    refuses "$backend: cold, from a registry, offline: nobody has the crates" 'no matching package|offline' "$works"
    options=(--network host)
    does "$backend: cold, from a registry, with a network: fetch" 'cargo fetch'
    options=()
    filled cargo
    does "$backend: and then offline" "$works"
    unchanged
done

# The user's own, filled outside.
sources registry
ok "outside: the same crates" outside env -C "$w" cargo fetch
for backend in "${backends[@]}"; do
    rm -rf "$w/target"
    begin
    does "$backend: warm, offline, from the user's own registry" "$works"
    unchanged
done
# Archives that nobody unpacked yet.
rm -rf "$home/.cargo/registry/src" "$w/target"
for backend in "${backends[@]}"; do
    begin
    if has_overlays; then
        does "$backend: what is fetched and not unpacked is unpacked into the private one" "$works"
        filled cargo
    else
        refuses "$backend: what is fetched and not unpacked has no place to go, and cargo says so" \
            'Permission denied|Read-only' "$works"
    fi
    unchanged
done
close
