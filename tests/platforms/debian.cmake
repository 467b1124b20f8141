# SPDX-License-Identifier: MIT
# A toolchain of cmake's: Debian's cross compiler for PAWL_CPU, and an emulator, which runs what it makes.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAWL_CPU)
if(PAWL_CPU STREQUAL i386)
  # An x86-64 machine runs these programs itself, by the loader of their C library. qemu-i386 of Debian 12 hangs when a
  # program ends by a signal such as SIGABRT.
  set(triplet i686-linux-gnu)
  set(emulator /usr/${triplet}/lib/ld-linux.so.2 --library-path /usr/${triplet}/lib)
elseif(PAWL_CPU STREQUAL armhf)
  set(triplet arm-linux-gnueabihf)
  set(emulator qemu-arm -L /usr/${triplet})
else()
  set(triplet ${PAWL_CPU}-linux-gnu)
  set(emulator qemu-${PAWL_CPU} -L /usr/${triplet})
endif()
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${triplet})
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
set(CMAKE_FIND_ROOT_PATH /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
