# SPDX-License-Identifier: MIT
set(triplet arm-linux-gnueabihf)
set(emulator qemu-arm -L /usr/${triplet})
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
