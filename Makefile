# The front door: cmake does the work in build/.
#
#   make             build the libraries, the command and the examples
#   make run         the main job, pawl demo: a million tasks on the real clock, every one accounted for
#   make test        set up what is missing, build everything, run every test
#   make playground  the wheel in the browser: docs/playground/index.html
#   make bench       the benchmark against other structures (BENCH_ARGS=--quick: a minute)
#   make fuzz        fuzz the wheel (FUZZ_SECONDS=60)
#   make mutate      break the source in known ways; the tests must notice each
#   make test-long   the same, and the random tests for longer
#   make install     with PREFIX and DESTDIR
#   make format      clang-format over the source
#   make clean       remove build/ and docs/playground/
#   make help        this list

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH_ARGS ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS)

MAKEFLAGS += --no-print-directory

.PHONY: all run test test-long playground bench fuzz mutate install help format clean

all:
	@cmake -S . -B build/release >/dev/null
	@cmake --build build/release -j $(JOBS)

run: all
	@build/release/pawl demo

test:
	@scripts/bootstrap
	cmake -S . -B build/test -DPAWL_DEV=ON -DPAWL_TESTS=ON -DPAWL_BENCH=ON
	cmake --build build/test -j $(JOBS)
	cmake -S . -B build/sanitize -DPAWL_DEV=ON -DPAWL_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
		-DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DPAWL_SANITIZE=address,undefined
	cmake --build build/sanitize -j $(JOBS)
	cmake -S . -B build/thread -DPAWL_DEV=ON -DPAWL_TESTS=ON -DPAWL_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug \
		-DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DPAWL_SANITIZE=thread
	cmake --build build/thread -j $(JOBS)
	cd build/test && $(CTEST)
	cd build/sanitize && $(CTEST)
	cd build/thread && $(CTEST) -R '^service[.]'

test-long: test
	build/test/tests/test_wheel_model --runs 200000

playground:
	@scripts/bootstrap playground
	@playground/build docs/playground/index.html

bench:
	@cmake -S . -B build/bench -DPAWL_BENCH=ON >/dev/null
	@cmake --build build/bench -j $(JOBS) >/dev/null
	@build/bench/bench/pawl-bench-wheel $(BENCH_ARGS)
	@build/bench/bench/pawl-bench-service $(filter --quick,$(BENCH_ARGS))

fuzz:
	@scripts/bootstrap fuzz
	CC=clang CXX=clang++ cmake -S . -B build/fuzz -DPAWL_FUZZ=ON -DPAWL_EXAMPLES=OFF
	cmake --build build/fuzz -j $(JOBS)
	scripts/fuzz build/fuzz $(FUZZ_SECONDS)

mutate:
	@scripts/bootstrap mutate
	scripts/mutate

# The loader learns of the new library where it may; elsewhere that is the packager's affair.
install: all
	cmake --install build/release --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig || true; fi

help:
	@sed -n 's/^#   make/make/p' Makefile

format:
	git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build docs/playground
