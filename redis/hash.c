/* SPDX-License-Identifier: MIT */
#include "hash.h"

struct sip {
	uint64_t a, b, c, d;
};

static inline uint64_t turn(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = turn(s->b, 13) ^ s->a;
	s->d = turn(s->d, 16) ^ s->c;
	s->a = turn(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = turn(s->b, 17) ^ s->c;
	s->d = turn(s->d, 21) ^ s->a;
	s->c = turn(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

static inline uint64_t little_endian(const unsigned char *bytes, size_t size)
{
	uint64_t word = 0;

	for (size_t i = size; i-- > 0;)
		word = word << 8 | bytes[i];
	return word;
}

uint64_t hash_bytes(const unsigned char *bytes, size_t size, const uint64_t key[2])
{
	struct sip s = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
	                key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
	size_t rest = size % 8;

	for (size_t i = 0; i + 8 <= size; i += 8)
		sip_word(&s, little_endian(bytes + i, 8));
	sip_word(&s, (uint64_t)size << 56 | little_endian(bytes + size - rest, rest));
	s.c ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}
