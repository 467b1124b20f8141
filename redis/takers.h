/* SPDX-License-Identifier: MIT */
/*
 * Takers that wait: PAWL.TAKE and PAWL.MTAKE with BLOCK where nothing is due, and PAWL.DEAD TAKE where nothing is dead.
 *
 * They stand in line, one line a key, and another one for its dead tasks, in the order in which they came. Who waits
 * for several keys stands in the line of each, is served from the first that has a task for it, and leaves all of them
 * then:
 *
 *	line of q:1    a   b   d              q:1 has a task, a is served:     b   d
 *	line of q:2        b   c                                               b   c
 *	                                      q:2 has a task, b is served:     line of q:1 d, line of q:2 c
 *
 * Each line has a place on a wheel, at the time when its queue is to be looked at again, and one timer of the system
 * waits for the first of these. So neither a new task nor a due one costs more for a long line: whoever is
 * first is served, and nobody else is woken.
 *
 * Whose turn it is gets its tasks at once, and is told of them when the server calls it back, which may be
 * later: see serve_first. If its client goes in between, that is as if it went with the reply on its way.
 *
 * The server knows for which keys each of them is blocked. That is how it moves them on when a slot of the
 * cluster leaves, and it tries all of them when a key appears; but the first in line alone is looked at.
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

/* Let the client of this command wait for these keys, at most so long; 0: for ever. Nothing is due in any of them. */
void takers_block(RedisModuleCtx *ctx, const struct take *take, uint64_t timeout_ms,
                  RedisModuleString **keys, int count);

/* The queue was changed: those who wait for it may have to be served, now or at another time. */
void takers_notice(struct visit *visit);

/* The test clock was set. Of any other clock the timer of the system tells. */
void takers_clock_set(void);

#endif
