/* SPDX-License-Identifier: MIT */
/*
 * Takers that wait: PAWL.TAKE with BLOCK on a queue that has nothing due, and PAWL.DEAD TAKE on one that has nothing dead.
 *
 * They stand in line, one line a key, and another one for its dead tasks, in the order in which they came. Each key with a line has a place
 * on a wheel, at the time when its queue is to be looked at again, and one timer of the operating system
 * waits for the first of these. So neither a new task nor a due one costs more for a long line: whoever is
 * first is served, and nobody else is woken.
 *
 * Whose turn it is gets its tasks at once, and is told of them when the server calls it back, which may be
 * later: see serve_first. If its client goes in between, that is as if it went with the reply on its way.
 *
 * The server knows for which key each of them is blocked. That is how it moves them on when a slot of the
 * cluster leaves, and it tries all of them when the key appears; but the first in line alone is looked at.
 *
 * Nothing is served while the server may not write to its replicas (CLIENT PAUSE, FAILOVER), while it loads,
 * or on a replica.
 */
#ifndef PAWL_REDIS_TAKERS_H
#define PAWL_REDIS_TAKERS_H

#include "deliver.h"
#include "visit.h"

/* Once, when the module is loaded. */
int takers_init(RedisModuleCtx *ctx);

/* Let the client of this command wait at the visited key for at most so long; 0: for ever. */
void takers_block(struct visit *visit, const struct take *take, uint64_t timeout_ms);

/* The queue was changed: those who wait for it may have to be served, now or at another time. */
void takers_notice(struct visit *visit);

/* The clock was set: look at everything anew. */
void takers_clock_set(void);

#endif
