/* SPDX-License-Identifier: MIT */
/*
 * SipHash-1-3 by Aumasson and Bernstein: a hash with a secret, so that an attacker who chooses the keys cannot make
 * them collide. Hash tables need no more than one round a word and three at the end.
 */
#ifndef PAWL_BASE_SIPHASH_H
#define PAWL_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sip {
	uint64_t a, b, c, d;
};

static inline uint64_t rotate_left(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void sip_round(struct sip *sip)
{
	sip->a += sip->b;
	sip->c += sip->d;
	sip->b = rotate_left(sip->b, 13) ^ sip->a;
	sip->d = rotate_left(sip->d, 16) ^ sip->c;
	sip->a = rotate_left(sip->a, 32) + sip->d;
	sip->c += sip->b;
	sip->b = rotate_left(sip->b, 17) ^ sip->c;
	sip->d = rotate_left(sip->d, 21) ^ sip->a;
	sip->c = rotate_left(sip->c, 32);
}

static inline void sip_word(struct sip *sip, uint64_t word)
{
	sip->d ^= word;
	sip_round(sip);
	sip->a ^= word;
}

/* The last bytes, fewer than 8, and the length above them. */
static inline uint64_t sip_tail(const unsigned char *bytes, size_t len)
{
	uint64_t word = (uint64_t)len << 56;

	for (size_t i = 0; i < len % 8; i++)
		word |= (uint64_t)bytes[len / 8 * 8 + i] << (8 * i);
	return word;
}

/* Words are read in the byte order of the machine: the hash does not leave this process. */
static inline struct sip sip_bytes(const uint64_t secret[2], const void *data, size_t len)
{
	struct sip sip = {
	        secret[0] ^ UINT64_C(0x736f6d6570736575),
	        secret[1] ^ UINT64_C(0x646f72616e646f6d),
	        secret[0] ^ UINT64_C(0x6c7967656e657261),
	        secret[1] ^ UINT64_C(0x7465646279746573),
	};
	const unsigned char *bytes = data;

	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		sip_word(&sip, word);
	}
	sip_word(&sip, sip_tail(bytes, len));
	return sip;
}

static inline void sip_end(struct sip *sip)
{
	sip->c ^= 0xff;
	sip_round(sip);
	sip_round(sip);
	sip_round(sip);
}

/*
 * 64 bits as SipHash defines them, and 32 bits more, which make chance collisions rarer. They are taken from `a`, on
 * which the 64 bits do not depend: the last round has put it into `d` by exclusive or, so there it cancels out.
 */
static inline uint64_t siphash_96(const uint64_t secret[2], const void *data, size_t len,
                                  uint32_t *more)
{
	struct sip sip = sip_bytes(secret, data, len);

	sip_end(&sip);
	*more = (uint32_t)(sip.a >> 32);
	return sip.a ^ sip.b ^ sip.c ^ sip.d;
}

static inline uint64_t siphash(const uint64_t secret[2], const void *data, size_t len)
{
	uint32_t more;

	return siphash_96(secret, data, len, &more);
}

#endif
