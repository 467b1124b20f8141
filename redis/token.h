/* SPDX-License-Identifier: MIT */
/*
 * The token of a delivery: what its holder shows to acknowledge it.
 *
 *	3686400000002048-fd389c2e144a4c46
 *	fence            secret
 *
 * The secret is random, and the task keeps it as long as the lease is there: a token holds a lease if its secret does.
 * The fence is a number that grows with every delivery. No task keeps it: it is for the stores that the holder writes
 * to, which can refuse a fence smaller than one they have seen.
 *
 * A fence is never smaller than the time, so it grows from one server to the next if their clocks agree. If they do not,
 * it grows all the same: a replica learns fences from the tokens that it is told, and whoever loads a snapshot or an
 * append-only file from those in it.
 */
#ifndef PAWL_REDIS_TOKEN_H
#define PAWL_REDIS_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "decimal.h"

/* Fences are below 2^53, the largest number that every client can tell from the next, until the year 2109. */
#define FENCE_MAX ((UINT64_C(1) << 53) - 1)
enum { FENCES_A_MS = 2048 };

enum { SECRET_TEXT = 16, TOKEN_TEXT = DECIMAL_TEXT + 1 + SECRET_TEXT };

/* No fence is 0, and no secret. */
struct token {
	uint64_t fence; /* 0: not known any more */
	uint64_t secret;
};

/* A token that no delivery had before. */
struct token token_new(uint64_t now);
/* As text, without the fence if that is 0; returns its length. No zero is added. */
size_t token_text(const struct token *token, char text[TOKEN_TEXT]);
/* From text: either form. Any other text is no token, and all zeroes. */
struct token token_from_text(const char *text, size_t size);

/* The fence of the last delivery, here or where these tasks come from. */
uint64_t fence_last(void);
/* This fence was given elsewhere: the next ones are greater. */
void fence_learn(uint64_t fence);

#endif
