/* SPDX-License-Identifier: MIT */
#include "random.h"

#include "../../src/base/siphash.h"

static uint64_t secret[2], counter;

void random_init(const uint64_t key[2])
{
	secret[0] = key[0];
	secret[1] = key[1];
}

uint64_t random_64(void)
{
	counter++;
	return siphash(secret, &counter, sizeof(counter));
}
