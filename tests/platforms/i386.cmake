# SPDX-License-Identifier: MIT
# An x86-64 machine runs these programs itself, by the loader of their C library. qemu-i386 of Debian 12 hangs when a
# program ends by a signal such as SIGABRT.
set(triplet i686-linux-gnu)
set(emulator /usr/${triplet}/lib/ld-linux.so.2 --library-path /usr/${triplet}/lib)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
