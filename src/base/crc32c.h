/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli), as of iSCSI, ext4 and SSE 4.2: it finds every burst of up to 32 flipped bits. */
#ifndef PAWL_BASE_CRC32C_H
#define PAWL_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of these bytes after those that gave `crc`; 0 at the beginning. */
uint32_t pawl__crc32c(uint32_t crc, const void *data, size_t size);

/* The one in plain C, whatever the CPU has: for tests. */
uint32_t pawl__crc32c_plain(uint32_t crc, const void *data, size_t size);

#endif
