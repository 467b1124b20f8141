/* SPDX-License-Identifier: MIT */
#include "token.h"

#include "../../src/base/siphash.h"

static uint64_t last;

uint64_t fence_max(uint64_t now)
{
	uint64_t ms = now + FENCE_AHEAD_MS;

	return ms < UINT64_MAX / FENCES_A_MS ? ms * FENCES_A_MS : UINT64_MAX;
}

uint64_t fence_to_store(uint64_t now)
{
	return last <= fence_max(now) ? last : 0;
}

void fence_learn(uint64_t fence, uint64_t now)
{
	if (fence > last && fence <= fence_max(now))
		last = fence;
}

static uint64_t next_fence(uint64_t now)
{
	uint64_t by_time = now * FENCES_A_MS;

	last = by_time > last ? by_time : last + 1;
	return last;
}

struct token token_new(uint64_t now)
{
	struct token token = {.fence = next_fence(now)};

	while (token.secret == 0)
		token.secret = random_64();
	return token;
}

size_t token_text(const struct token *token, char text[TOKEN_TEXT])
{
	char *end = text;

	if (token->fence != 0) {
		end = decimal_write(end, token->fence);
		*end++ = '-';
	}
	return (size_t)(hex_write(end, token->secret, SECRET_TEXT) - text);
}

/* A number and a '-', or 0. It may exceed fence_max(): such a token was given, and must hold its lease. */
static uint64_t read_fence(const char *text, size_t size)
{
	uint64_t fence = 0;

	if (text[0] == '0' || text[size - 1] != '-')
		return 0;
	for (size_t i = 0; i < size - 1; i++) {
		if (text[i] < '0' || text[i] > '9' || fence > (UINT64_MAX - 9) / 10)
			return 0;
		fence = fence * 10 + (uint64_t)(text[i] - '0');
	}
	return fence;
}

struct token token_from_text(const char *text, size_t size)
{
	size_t before = size - SECRET_TEXT;
	struct token token = {0, 0};

	if (size < SECRET_TEXT)
		return token;
	if (before > 0 && (token.fence = read_fence(text, before)) == 0)
		return token;
	if (!hex_read(text + before, SECRET_TEXT, &token.secret))
		token.secret = 0;
	return token;
}

/* Random numbers */

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
