# SPDX-License-Identifier: MIT
set(triplet s390x-linux-gnu)
set(emulator qemu-s390x -L /usr/${triplet})
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
