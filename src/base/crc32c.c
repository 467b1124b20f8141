/* SPDX-License-Identifier: MIT */
/* By the CPU's instruction where it has one, else by a table, a byte at a time. */
#include "crc32c.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* 0x1edc6f41 with its bits reversed */

/* The remainder of a byte. */
static uint32_t remainder_of(uint32_t byte)
{
	for (int bit = 0; bit < 8; bit++)
		byte = byte >> 1 ^ (byte & 1 ? POLYNOMIAL : 0);
	return byte;
}

uint32_t pawl__crc32c_plain(uint32_t crc, const void *data, size_t size)
{
	static uint32_t table[256]; /* atomic: two threads write the same numbers */
	const unsigned char *bytes = data;

	if (!__atomic_load_n(&table[255], __ATOMIC_ACQUIRE))
		for (uint32_t i = 0; i < 256; i++)
			__atomic_store_n(&table[i], remainder_of(i), __ATOMIC_RELEASE);
	crc = ~crc;
	while (size--)
		crc = crc >> 8 ^ __atomic_load_n(&table[(crc ^ *bytes++) & 255], __ATOMIC_RELAXED);
	return ~crc;
}

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *data,
                                                                 size_t size)
{
	const unsigned char *bytes = data;
	uint64_t sum = ~crc, word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		sum = __builtin_ia32_crc32di(sum, word);
	}
	crc = (uint32_t)sum;
	while (size--)
		crc = __builtin_ia32_crc32qi(crc, *bytes++);
	return ~crc;
}

uint32_t pawl__crc32c(uint32_t crc, const void *data, size_t size)
{
	return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, data, size)
	                                        : pawl__crc32c_plain(crc, data, size);
}
#else
uint32_t pawl__crc32c(uint32_t crc, const void *data, size_t size)
{
	return pawl__crc32c_plain(crc, data, size);
}
#endif
