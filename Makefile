# SPDX-License-Identifier: MIT
# The front door: cmake does the work in build/.
#
#   make             build the libraries, the command, the module and the examples
#   make run         run pawl demo: a million tasks on the real clock, every one accounted for
#   make check       the C tests, about a minute: needs a C compiler, make and cmake; no root, server, browser or node
#   make test        install what is missing, build everything, run every test; tests/stages has the stages
#   make help        this list
#
#   make install     with PREFIX and DESTDIR
#   make amalgamation  the library as pawl.c and pawl.h, and the wheel alone as pawl_wheel.c and .h, to copy
#   make dist        build/pawl-VERSION.tar.gz, the release: the files of the commit HEAD; needs git
#   make module      the Redis and Valkey module alone, build/module/pawl.so: needs a C compiler, make and cmake
#   make install-module  install it into PREFIX/lib/pawl, and its manual page into PREFIX/share/man
#   make playground  the wheel in the browser: docs/playground/index.html
#   make redis       a throw-away Redis with the module, and what to type (PAWL_SERVER=, REDIS_PORT=)
#
#   make bench       the benchmarks beside other libraries (BENCH_ARGS=--quick: a minute; --help: more)
#   make bench-docs  the same in full, and docs/benchmarks.md with its figures
#   make bench-redis the longest calls of the module, and the module beside Lua, Sidekiq and BullMQ (BENCH_ARGS=--quick)
#
#   make test-redis  the module's tests on one server (PAWL_SERVER=/path/to/redis-server, PAWL_CLI=, PAWL_MODULE=)
#   make test-redis-long  the same for longer, and the random test of its queue
#   make test-platforms  the C library and its tests for other systems, CPUs and compilers (PLATFORMS="musl i386")
#   make test-package  build the Debian packages and the release, check them, and use them
#   make test-long   make test, and the wheel's random test for longer
#   make fuzz        fuzz the wheel and the calendar (FUZZ_SECONDS=60 each)
#   make mutate      break the source in known ways; the tests must notice each
#   make schedules   explore schedules of the service and the purgatory, until Ctrl-C (PART=service, ROUNDS=1)
#   make analyse     cppcheck and clang-tidy, which must find nothing, and the tests' coverage by lcov
#
#   make format      clang-format over the source
#   make clean       remove build/ and docs/playground/

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH_ARGS ?=
PART ?= service purgatory
ROUNDS ?= 0
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

MAKEFLAGS += --no-print-directory

.PHONY: all run check test help install amalgamation dist module install-module playground redis \
	bench bench-docs bench-redis test-redis test-redis-long test-platforms test-package test-long \
	fuzz mutate schedules analyse format clean cmake-is-here

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
	@JOBS=$(JOBS) scripts/test-stages

schedules: cmake-is-here
	@cmake -S . -B build/schedules -DPAWL_TESTS=ON -DPAWL_COMMAND=OFF -DPAWL_EXAMPLES=OFF >/dev/null
	@cmake --build build/schedules -j $(JOBS) --target $(PART:%=explore-%) >/dev/null
	@scripts/schedules build/schedules/tests/schedules $(ROUNDS) $(PART)

test-long: test
	build/test/tests/test_wheel_model --runs 200000

test-platforms:
	@scripts/bootstrap platforms
	@JOBS=$(JOBS) scripts/test-platforms $(PLATFORMS)

playground:
	@scripts/bootstrap playground
	@playground/build docs/playground/index.html

# A library that cannot be installed is left out.
bench:
	@scripts/bootstrap bench || echo "bench: going on without it"
	@cmake -S . -B build/bench -DPAWL_BENCH=ON | sed -n 's/^-- \(benchmark: \)/\1/p'
	@cmake --build build/bench -j $(JOBS) >/dev/null
	@scripts/bench build/bench/bench build/bench/results $(BENCH_ARGS)

# On a quiet machine: the figures are published.
bench-docs: bench
	@scripts/bench-docs build/bench/results

module: cmake-is-here
	@cmake -S . -B build/module -DPAWL_COMMAND=OFF -DPAWL_EXAMPLES=OFF -DPAWL_LIBUV=OFF -DPAWL_LIBEVENT=OFF >/dev/null
	@cmake --build build/module -j $(JOBS) --target pawl_module >/dev/null
	@echo "build/module/pawl.so"

install-module: module
	@DESTDIR="$(abspath $(DESTDIR))" cmake --install build/module --prefix "$(abspath $(PREFIX))" --component module

redis:
	@scripts/bootstrap redis
	@$(MAKE) all
	@scripts/try-redis build/release/pawl.so $(REDIS_PORT)

test-redis:
	@JOBS=$(JOBS) scripts/test-redis

test-redis-long: export PAWL_LONG = 1
test-redis-long: test-redis
	@cmake -S . -B build/test -DPAWL_DEV=ON -DPAWL_TESTS=ON >/dev/null
	@cmake --build build/test -j $(JOBS) --target test_redis_queue >/dev/null
	build/test/tests/redis/test_redis_queue --runs 20000

bench-redis:
	@scripts/bootstrap redis
	@$(MAKE) all
	@cmake -S . -B build/bench -DPAWL_BENCH=ON >/dev/null
	@cmake --build build/bench -j $(JOBS) --target pawl-bench-queue >/dev/null
	@LD_PRELOAD=$$(PATH=$$PATH:/sbin ldconfig -p | sed -n '/libjemalloc\.so\.2/{s/.* //p;q;}') \
		build/bench/bench/pawl-bench-queue
	@PAWL_MODULE=$(CURDIR)/build/release/pawl.so python3 -B bench/redis/server.py $(BENCH_ARGS)

fuzz:
	@scripts/bootstrap fuzz
	CC=clang CXX=clang++ cmake -S . -B build/fuzz -DPAWL_FUZZ=ON -DPAWL_EXAMPLES=OFF
	cmake --build build/fuzz -j $(JOBS)
	scripts/fuzz build/fuzz $(FUZZ_SECONDS)

analyse:
	@scripts/bootstrap analyse
	@JOBS=$(JOBS) scripts/analyse

mutate:
	@scripts/bootstrap mutate
	scripts/mutate
	scripts/mutate --schedules

# ldconfig tells the loader of the new library. A package does that itself.
install: all
	DESTDIR="$(abspath $(DESTDIR))" cmake --install build/release --prefix "$(abspath $(PREFIX))"
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

test-package:
	@scripts/bootstrap package
	scripts/test-package

help:
	@sed -n 's/^#   make/make/p; s/^#$$//p' Makefile

format:
	find . \( -name build -o -name 'build-*' -o -name .git \) -prune -o \( -name '*.[ch]' -o -name '*.cpp' \) -print | \
		xargs clang-format -i

clean:
	rm -rf build docs/playground
