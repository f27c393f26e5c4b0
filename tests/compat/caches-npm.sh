#!/bin/bash
# caches-npm.sh - npm, and pnpm and yarn where they are: packages from a registry on loopback, then offline, from
# what that left and from the user's own cache.
. "$(dirname "$0")/caches-lib.sh"
need node npm
packages=$(dirname "$(readlink -f "$(outside sh -c 'command -v npm')")")/../node_modules
if [ ! -d "$packages/debug" ] || [ ! -d "$packages/ms" ]; then
    skip "packages" "npm brings no copy of debug and ms"
    close
fi

# A registry of what npm itself uses. It ends with its standard input.
mkdir "$test_dir/served"
for package in debug ms; do
    ok "outside: pack $package" npm pack --silent --ignore-scripts --cache "$test_dir/.npm" \
        --pack-destination "$test_dir/served" "$(readlink -f "$packages/$package")"
done
rm -rf "$test_dir/.npm"
cat >"$test_dir/registry.js" <<'JS'
const fs = require('fs'), http = require('http'), crypto = require('crypto'), path = require('path');
const [packages, served, port] = process.argv.slice(2), all = {};
for (const file of fs.readdirSync(served)) {
  const name = file.replace(/-\d.*/, ''), bytes = fs.readFileSync(path.join(served, file));
  const { scripts, devDependencies, ...facts } = JSON.parse(fs.readFileSync(path.join(packages, name, 'package.json')));
  all['/' + name] = { facts, file }; all['/' + file] = { bytes };
}
const server = http.createServer((request, response) => {
  const url = 'http://' + request.headers.host, one = all[request.url];
  if (!one) { response.writeHead(404).end('{}'); return; }
  if (one.bytes) { response.end(one.bytes); return; }
  const hash = (kind, form) => crypto.createHash(kind).update(all['/' + one.file].bytes).digest(form), { facts } = one;
  facts.dist = { tarball: url + '/' + one.file, shasum: hash('sha1', 'hex'), integrity: 'sha512-' + hash('sha512', 'base64') };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: facts.name, 'dist-tags': { latest: facts.version }, versions: { [facts.version]: facts } }));
});
server.listen(0, '127.0.0.1', () => { fs.writeFileSync(port + '.new', '' + server.address().port); fs.renameSync(port + '.new', port); });
process.stdin.resume().on('end', () => process.exit());
JS
mkdir "$test_dir/port"
chmod 755 "$test_dir/served" && chmod 644 "$test_dir"/served/* "$test_dir/registry.js"
[ "$user" = self ] || chown 65534 "$test_dir/port"
mkfifo "$test_dir/end"
outside node "$test_dir/registry.js" "$packages" "$test_dir/served" "$test_dir/port/port" <"$test_dir/end" >"$test_dir/said" 2>&1 &
registry=$!
exec 9>"$test_dir/end"
for ((i = 0; i < 600; i++)); do [ ! -e "$test_dir/port/port" ] || break; sleep 0.1; done
port=$(cat "$test_dir/port/port") || { cat "$test_dir/said"; exit 1; }

printf '{"name": "app", "version": "1.0.0", "dependencies": {"debug": "^4.0.0"}}\n' >"$w/package.json"
printf 'registry=http://127.0.0.1:%s/\naudit=false\nfund=false\nupdate-notifier=false\n' "$port" >"$w/.npmrc"
own "$w"
works='node -e "process.exit(require(\"debug\")(\"app\").namespace === \"app\" ? 0 : 1)"'

# tool NAME CACHE INSTALL OFFLINE: everything for one tool; INSTALL makes the lock file, OFFLINE uses it
tool() {
    local name=$1 cache=$2 install=$3 offline=$4
    for backend in "${backends[@]}"; do
        rm -rf "$w/node_modules" "$w"/*lock*
        begin
        options=(--network host)
        does "$backend: $name, cold, from a registry" "$install && $works"
        options=()
        does "$backend: $name, offline, from what that left" "rm -rf node_modules && $offline && $works"
        filled "$cache"
        unchanged
    done
    rm -rf "$w/node_modules"
    ok "outside: $name, the same packages" outside env -C "$w" sh -c "$offline_outside"
    for backend in "${backends[@]}"; do
        rm -rf "$w/node_modules"
        begin
        if has_overlays; then
            does "$backend: $name, offline, from the user's own cache" "$offline && $works"
        else
            refuses "$backend: $name, offline, and the private cache is empty" 'ENOTCACHED|NO_OFFLINE|offline' "$offline"
        fi
        unchanged
    done
    # pnpm looks whether it may link into its home, which holds more than the store, and else goes elsewhere.
    [ "$name" != pnpm ] || return 0
    backend=landlock
    options=(--caches host)
    does "$backend: $name, --caches host: the user's own is used" "rm -rf node_modules && $offline && $works"
    options=()
}

offline_outside='npm ci >/dev/null'
tool npm npm 'npm install >/dev/null' 'npm ci --offline >/dev/null'
if outside sh -c 'command -v pnpm' >"$test_dir/.need"; then
    offline_outside='pnpm install --frozen-lockfile >/dev/null'
    tool pnpm pnpm 'pnpm install >log || { cat log; exit 1; }' 'pnpm install --offline --frozen-lockfile >log || { cat log; exit 1; }'
else
    skip "pnpm" "pnpm is not installed for this user"
fi
if outside sh -c 'command -v yarn' >"$test_dir/.need"; then
    offline_outside='DISABLE_V8_COMPILE_CACHE=1 yarn install --frozen-lockfile >/dev/null'
    tool yarn yarn 'yarn install >log 2>&1 || { cat log; exit 1; }' 'yarn install --offline --frozen-lockfile >log 2>&1 || { cat log; exit 1; }'
else
    skip "yarn" "yarn is not installed for this user"
fi
exec 9>&-
wait "$registry"
close
