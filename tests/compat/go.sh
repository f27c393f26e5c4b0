#!/bin/bash
# go.sh - go: build, vet and test of a module without dependencies, with HOME read-only and a private cache.
. "$(dirname "$0")/compat.sh"
need go

mkdir -p "$w/cmd/tool" "$w/part"
printf 'module example.org/m\n\ngo 1.18\n' >"$w/go.mod"
cat >"$w/part/part.go" <<'GO'
// Package part is a part.
package part

// Twice returns twice x.
func Twice(x int) int { return 2 * x }
GO
cat >"$w/part/part_test.go" <<'GO'
package part

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestTwice(t *testing.T) {
	if Twice(2) != 4 {
		t.Fatal("not four")
	}
}

func TestTemp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOutside(t *testing.T) {
	home, _ := os.UserHomeDir()
	if err := os.WriteFile(filepath.Join(home, "a"), nil, 0o600); !os.IsPermission(err) && !errors.Is(err, syscall.EROFS) {
		t.Fatal(err)
	}
}

func TestGoroutines(t *testing.T) {
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() { defer group.Done(); Twice(1) }()
	}
	group.Wait()
}
GO
cat >"$w/cmd/tool/main.go" <<'GO'
package main

import (
	"fmt"
	"net"
	"os/exec"

	"example.org/m/part"
)

func main() {
	out, err := exec.Command("echo", "-n", "child").Output()
	_, refused := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println(part.Twice(21), string(out), err, refused != nil)
}
GO
own "$w"
does "go build" 'go build -o tool ./cmd/tool'
is "and the program runs inside, too" "$(confined -q -- ./tool 2>/dev/null)" "42 child <nil> $(if views; then echo false; else echo true; fi)"
does "go vet" 'go vet ./...'
does "go test" 'go test ./part 2>&1 | grep -q ^ok || { go test ./part; exit 1; }'
# A test that asks for TMPDIR is run anew: its name differs from run to run.
does "a second go test comes from the cache" 'go test -run Twice ./part >first && go test -run Twice ./part >second && grep -q "(cached)" second'
does "gofmt, go list, go run, go mod tidy, go generate" 'test -z "$(gofmt -l .)" && go list ./... | grep -q part && go mod tidy && go generate ./... && go run ./cmd/tool | grep -q ^42'
ok "the cache is the private one of this workspace" test -d "$home/.cache/confine/caches"/*/go-build/00
options=(--caches off)
refuses "--caches off: go says which directory it could not make" 'build cache|permission denied|Permission denied' 'go build -o tool ./cmd/tool'
options=(--caches host)
refuses "--caches host without such a cache: the same" 'build cache|permission denied|Permission denied' 'go build -o tool ./cmd/tool'
mkdir -p "$home/.cache/go-build"
own "$home/.cache"
does "--caches host: the user's own cache is used" 'go build -o tool ./cmd/tool'
ok "and filled" test -d "$home/.cache/go-build/00"
rm -rf "$home/.cache/go-build"
options=()
inside=(GOCACHE="$w/.gocache")
does "a GOCACHE of the caller's counts" 'go build -o tool ./cmd/tool && test -d .gocache/00'
inside=()
refuses "a module from the network is not there, and go says so" 'Operation not permitted|operation not permitted|no such host|lookup' \
    'timeout 120 go get golang.org/x/text@v0.3.0'
close
