/* SPDX-License-Identifier: MIT */
/*
 * The token of a delivery: PAWL.ACK, PAWL.NACK and PAWL.EXTEND need it.
 *
 *	3686400000002048-fd389c2e144a4c46
 *	fence            secret
 *
 * The secret is random, and is stored in the task during the lease: a token holds the lease if its secret is the
 * task's. The fence is a number that grows with every delivery. It is not stored in the task. It is for the stores that
 * the worker writes to: they can refuse a fence smaller than one that they have seen.
 *
 * A fence is never smaller than the time, so it grows from one server to the next if their clocks agree. It grows even
 * if they do not: a replica learns fences from the tokens in the replication stream, and a server that loads a snapshot
 * or an append-only file from the fences in it.
 *
 * A wrong fence could do harm forever, since fences never go back: so one that is more than a year ahead of the clock
 * is not learnt, and a queue that was stored with such a fence is not loaded.
 */
#ifndef PAWL_MODULE_TOKEN_H
#define PAWL_MODULE_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "../../src/base/digits.h"

/* Fences are below 2^53 until the year 2109: up to there every client can handle integers exactly. */
enum { FENCES_A_MS = 2048 };
#define FENCE_AHEAD_MS (UINT64_C(366) * 24 * 3600 * 1000)

enum { SECRET_TEXT = 16, TOKEN_TEXT = DECIMAL_TEXT + 1 + SECRET_TEXT };

/* Neither is 0 in a new token. */
struct token {
	uint64_t fence; /* 0: not known */
	uint64_t secret;
};

/* A new token. */
struct token token_new(uint64_t now);
/* As text, without the fence if that is 0, and without a zero at the end; returns its length. */
size_t token_text(const struct token *token, char text[TOKEN_TEXT]);
/* From text, with or without a fence. For any other text: all zeroes. */
struct token token_from_text(const char *text, size_t size);

/* The largest fence that is learnt: a year ahead of the clock. */
uint64_t fence_max(uint64_t now);
/*
 * The largest fence so far, given here or learnt. 0 if it exceeds fence_max(), as it may after the clock was set back
 * by more than a year: a server that loads this server's queues would refuse it.
 */
uint64_t fence_to_store(uint64_t now);
/* Another server gave this fence: the next ones here will be greater. Ignored if it exceeds fence_max(). */
void fence_learn(uint64_t fence, uint64_t now);

/*
 * Unpredictable random numbers: a counter under a keyed hash, whose key comes from the server's generator. Asking that
 * generator for each number took more time than a PUT.
 */
void random_init(const uint64_t key[2]); /* once, before the first number */
uint64_t random_64(void);

#endif
