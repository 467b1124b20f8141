# SPDX-License-Identifier: MIT
set(triplet riscv64-linux-gnu)
set(emulator qemu-riscv64 -L /usr/${triplet})
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
