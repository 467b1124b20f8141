# SPDX-License-Identifier: MIT
# The front door: cmake does the work in build/.
#
#   make             build the libraries, the command, the module and the examples
#   make run         run pawl demo: a million tasks on the real clock, every one accounted for
#   make check       the C tests, about a minute: needs a C compiler, make and cmake; no root, server, browser or node
#   make test        install what is missing, build and test: 8 minutes on 2 quiet cores (tests/stages.test)
#   make test-all    the rest: browsers, platforms, packages, schedules, mutations (tests/stages.all)
#   make bench       the benchmarks, with other libraries (BENCH_ARGS=--quick: a minute; --help: more)
#   make install     with PREFIX and DESTDIR
#   make uninstall   remove what the last make install from here installed (DESTDIR=)
#   make amalgamation  the library as pawl.c and pawl.h, and the wheel alone as pawl_wheel.c and .h, to copy
#   make dist        build/pawl-VERSION.tar.gz, the release: the files of the commit HEAD; needs git
#   make format      clang-format over the source
#   make clean       remove build/
#
# Each room has more: make -C module help, make -C playground help, make -C verify help

PREFIX ?= /usr/local
BENCH_ARGS ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

MAKEFLAGS += --no-print-directory

.PHONY: all run check test test-all help install uninstall amalgamation dist bench format clean cmake-is-here

all: cmake-is-here
	@cmake -S . -B build/release >/dev/null
	@cmake --build build/release -j $(JOBS)

define NEEDS
make needs cmake 3.20 or later, and gcc or clang:
    Debian, Ubuntu  apt-get install -y gcc libc6-dev make cmake
    Fedora          dnf install gcc make cmake
    Alpine          apk add gcc musl-dev make cmake
    macOS           brew install cmake
    FreeBSD         pkg install cmake
endef
export NEEDS

cmake-is-here:
	@command -v cmake >/dev/null || { printf '%s\n' "$$NEEDS" >&2; exit 1; }

run: all
	@build/release/pawl demo

check: cmake-is-here
	@JOBS=$(JOBS) scripts/test-stages tests/stages.check

test:
	@scripts/bootstrap
	@JOBS=$(JOBS) scripts/test-stages tests/stages.test

test-all:
	@scripts/bootstrap all
	@JOBS=$(JOBS) scripts/test-stages tests/stages.all

# A library that cannot be installed is left out.
bench:
	@scripts/bootstrap bench || echo "bench: going on without it"
	@cmake -S . -B build/bench -DPAWL_BENCH=ON | sed -n 's/^-- \(benchmark: \)/\1/p'
	@cmake --build build/bench -j $(JOBS) >/dev/null
	@scripts/bench build/bench/bench build/bench/results $(BENCH_ARGS)

# ldconfig tells the loader of the new library. A package does that itself.
install: all
	DESTDIR="$(abspath $(DESTDIR))" cmake --install build/release --prefix "$(abspath $(PREFIX))"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then PATH=$$PATH:/sbin ldconfig || true; fi

# cmake's list of installed files; then the directories that only pawl has, if they are empty.
uninstall:
	@test -e build/release/install_manifest.txt || { echo "make uninstall: nothing was installed from here" >&2; exit 1; }
	@while read -r file || [ -n "$$file" ]; do \
		rm -f "$(DESTDIR)$$file"; \
		case $$file in */pawl/*) rmdir "$(DESTDIR)$${file%/*}" 2>/dev/null || true ;; esac; \
	done <build/release/install_manifest.txt
	@rm build/release/install_manifest.txt
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then PATH=$$PATH:/sbin ldconfig || true; fi

amalgamation: cmake-is-here
	@command -v python3 >/dev/null || { echo "make amalgamation needs python3" >&2; exit 1; }
	@cmake -S . -B build/release >/dev/null
	@cmake --build build/release --target amalgamation >/dev/null
	@mkdir -p build/amalgamation
	@cp build/release/amalgamation/*.c build/release/amalgamation/*.h build/amalgamation
	@echo "build/amalgamation/pawl.c and pawl.h: copy both; cc -std=c11 -O2 -c pawl.c; link with -pthread"
	@echo "or the wheel alone, pawl_wheel.c and pawl_wheel.h, which need nothing"

dist:
	@scripts/dist

help:
	@sed -n 's/^#   make/make/p; s/^# Each/Each/p' Makefile

format:
	find . \( -name build -o -name 'build-*' -o -name .git \) -prune -o \( -name '*.[ch]' -o -name '*.cpp' \) -print | \
		xargs clang-format -i

clean:
	rm -rf build
