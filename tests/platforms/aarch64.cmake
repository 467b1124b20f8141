# SPDX-License-Identifier: MIT
set(triplet aarch64-linux-gnu)
set(emulator qemu-aarch64 -L /usr/${triplet})
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
