# The front door: cmake does the work in build/.
#
#   make             build the libraries and examples
#   make run         the main job: a million timers on the real clock, every one accounted for
#   make test        set up what is missing, build everything, run every test
#   make fuzz        fuzz the wheel (FUZZ_SECONDS=60)
#   make install     with PREFIX and DESTDIR
#   make format      clang-format over the source

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS)

MAKEFLAGS += --no-print-directory

.PHONY: all run test test-long fuzz install format clean

all:
	@cmake -S . -B build/release >/dev/null
	@cmake --build build/release -j $(JOBS)

run: all
	@build/release/examples/million-timers

test:
	@scripts/bootstrap
	cmake -S . -B build/test -DPAWL_DEV=ON -DPAWL_TESTS=ON
	cmake --build build/test -j $(JOBS)
	cmake -S . -B build/sanitize -DPAWL_DEV=ON -DPAWL_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
		-DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DPAWL_SANITIZE=address,undefined
	cmake --build build/sanitize -j $(JOBS)
	cd build/test && $(CTEST)
	cd build/sanitize && $(CTEST)

test-long: test
	build/test/tests/test_wheel_model --runs 200000

fuzz:
	@scripts/bootstrap
	CC=clang CXX=clang++ cmake -S . -B build/fuzz -DPAWL_FUZZ=ON -DPAWL_EXAMPLES=OFF
	cmake --build build/fuzz -j $(JOBS)
	scripts/fuzz build/fuzz $(FUZZ_SECONDS)

install: all
	cmake --install build/release --prefix $(PREFIX)

format:
	git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build
