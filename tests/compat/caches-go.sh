#!/bin/bash
# caches-go.sh - go, two modules deep: from files with nothing in HOME, then again from what that left, then
# from the user's own modules and build cache.
. "$(dirname "$0")/caches-lib.sh"
need go
sources=/usr/share/gocode/src
for module in github.com/google/uuid golang.org/x/text; do
    [ ! -d "$sources/$module" ] || continue
    skip "modules" "$module is not installed"
    close
done

# A proxy of files, as the protocol of go modules has it.
proxy=$test_dir/proxy
/usr/bin/python3 - "$sources" "$proxy" <<'PY'
import os, sys, zipfile
source, proxy = sys.argv[1:]
for module, version, skip in ('github.com/google/uuid', 'v1.3.0', ()), ('golang.org/x/text', 'v0.7.0', ('testdata', 'cmd')):
    top = os.path.join(source, module)
    to = os.path.join(proxy, module, '@v')
    os.makedirs(to)
    text = 'module %s\n' % module
    open(os.path.join(to, 'list'), 'w').write(version + '\n')
    open(os.path.join(to, version + '.info'), 'w').write('{"Version": "%s", "Time": "2023-01-01T00:00:00Z"}' % version)
    open(os.path.join(to, version + '.mod'), 'w').write(text)
    with zipfile.ZipFile(os.path.join(to, version + '.zip'), 'w') as archive:
        archive.writestr('%s@%s/go.mod' % (module, version), text)
        for directory, names, files in os.walk(top):
            names[:] = [n for n in names if n not in skip and not os.path.exists(os.path.join(directory, n, 'go.mod'))]
            for name in files:
                if name.endswith('.go') and not name.endswith('_test.go'):
                    path = os.path.join(directory, name)
                    archive.write(path, '%s@%s/%s' % (module, version, os.path.relpath(path, top)))
PY
cat >"$w/go.mod" <<'MOD'
module example.org/app

go 1.18

require (
	github.com/google/uuid v1.3.0
	golang.org/x/text v0.7.0
)
MOD
cat >"$w/main.go" <<'GO'
package main

import (
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

func text() string {
	id := uuid.NewMD5(uuid.NameSpaceDNS, []byte("example.org"))
	return fmt.Sprint(id.Version(), " ", display.English.Tags().Name(language.German))
}

func main() { fmt.Println(text()) }
GO
cat >"$w/main_test.go" <<'GO'
package main

import "testing"

func TestText(t *testing.T) {
	if text() != "VERSION_3 German" {
		t.Fatal(text())
	}
}
GO
own "$w"
# The checksum database is on the network; go.sum is written without it. Modules stay writable for the clean-up.
plain=(GOFLAGS=-modcacherw GONOSUMDB=* GONOSUMCHECK=1 GOSUMDB=off)
from_files=("${plain[@]}" GOPROXY="file://$proxy")
from_nowhere=("${plain[@]}" GOPROXY=off)
compiled='/compile .*golang.org/x/text'
works='go build -o app . && test "$(./app)" = "VERSION_3 German" && go vet . && go test . >log && grep -q ^ok log'

for backend in "${backends[@]}"; do
    begin
    inside=("${from_files[@]}")
    does "$backend: cold, from a proxy of files: tidy, build, run, vet, test" \
        "go mod tidy && go build -x -o app . 2>log && grep -q '$compiled' log && $works"
    inside=("${from_nowhere[@]}")
    does "$backend: again without the proxy, from the private modules" "rm -f app && $works"
    does "$backend: and nothing is compiled twice" \
        "go build -x -o app . 2>log && ! grep -q '$compiled' log"
    filled go-mod
    filled go-build
    unchanged
done

# The user's own, filled outside.
ok "outside: the same modules" outside env -C "$w" "${from_files[@]}" go build -o app .
for backend in "${backends[@]}"; do
    begin
    inside=("${from_nowhere[@]}")
    does "$backend: warm, from the user's own modules" "rm -f app && $works"
    if has_overlays; then
        begin
        does "$backend: and the user's own build cache" \
            "go build -x -o app . 2>log && ! grep -q '$compiled' log"
        does "$backend: a package that is new goes to the private one" \
            'printf "package b\n" >b.go.new && mkdir -p b && mv b.go.new b/b.go && go build ./b'
        filled go-build
    fi
    refuses "$backend: a module that nobody has" 'module lookup disabled' 'go get golang.org/x/sync@v0.1.0'
    unchanged
done
close
