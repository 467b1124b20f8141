# SPDX-License-Identifier: MIT
# What runs it is the loader of its C library: a CPU and a kernel for x86-64 run it themselves. qemu-i386 of Debian 12 would do, but
# for programs that end by a signal such as SIGABRT: there it waits for ever.
set(triplet i686-linux-gnu)
set(emulator /usr/${triplet}/lib/ld-linux.so.2 --library-path /usr/${triplet}/lib)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
