# The front door: two commands are all the set-up. The build itself is meson's.
#
#   make try     build, then confine a real build and show what was refused
#   make check   all tests that fit into some minutes
#   make help    the rest
#
# BUILD=dir builds elsewhere, LIBC=glibc without musl, PREFIX and DESTDIR say where to install.

BUILD  ?= build
PREFIX ?= /usr/local
DESTDIR ?=
LIBC   ?= musl
# As it was typed: a `$` of the command is the shell's, not make's.
override CMD := $(value CMD)
export BUILD LIBC CMD

build: ; @tools/build

# What is missing is installed for root; anybody else is told what to install.
try: ; @tools/install-needed try && tools/build && tools/try

check: ; @tools/install-needed check && tools/check

check-all: ; @tools/install-needed check-all && tools/check --all

check-peers: build ; @tools/peers

check-kernels: ; @tools/install-needed check-kernels && tools/kernels/check

check-mutations: build ; @tools/check-mutations

fuzz: ; @tools/install-needed check && tools/fuzz 600

fuzz-coverage: ; @tools/install-needed check-all && tools/fuzz-coverage 60

bench: build ; @tests/bench/run "$(BUILD)"

release: ; @tools/install-needed release && tools/release

install: build ; @tools/install "$(BUILD)/stage" "$(PREFIX)" "$(DESTDIR)"

uninstall: ; @tools/uninstall "$(BUILD)/stage" "$(PREFIX)" "$(DESTDIR)"

clean: ; rm -rf "$(BUILD)"

help:
	@sed -n 's/^#   make/make/p' Makefile
	@echo 'make           build only, into $(BUILD)/stage'
	@echo 'make check-all check, the fault matrix, other kernels, long fuzzing'
	@echo 'make check-peers    the battery of confine check under other sandboxes: writes docs/peers.md (as root)'
	@echo 'make check-kernels  only those: Debian kernels from 5.10 on, amd64 and arm64, by emulation'
	@echo 'make check-mutations  what is claimed is taken out of the source, piece by piece: who notices?'
	@echo 'make bench     start-up and per-call times against bare exec and others'
	@echo 'make fuzz      ten minutes of each fuzzer'
	@echo 'make fuzz-coverage  how much of the gateway'"'"'s readers the fuzzers reach'
	@echo 'make release   tarballs and packages for others, in $(BUILD)/release, each tried in a clean root'
	@echo 'make install   PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make uninstall what that has installed, by the same words'
	@echo 'make clean     remove $(BUILD)'
	@echo "make try CMD='...'  run your own command in a private workspace"

.PHONY: build try check check-all check-kernels check-mutations check-peers fuzz fuzz-coverage bench release install uninstall clean help
