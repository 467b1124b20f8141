/* SPDX-License-Identifier: MIT */
/*
 * Blocked takers: PAWL.TAKE and PAWL.MTAKE with BLOCK while nothing is due, PAWL.DEAD TAKE with BLOCK while nothing is
 * dead.
 *
 * Each key has a line of takers, in the order in which they blocked, and another line for its dead tasks. A taker that
 * waits for several keys is in the line of each. It is served once, by the first key that has a task for it, and then
 * leaves all lines:
 *
 *	line of q:1    a   b   d              q:1 has a task, a is served:     b   d
 *	line of q:2        b   c                                               b   c
 *	                                      q:2 has a task, b is served:     line of q:1 d, line of q:2 c
 *
 * Each line has a timer on a wheel, for the time when its queue must be checked, and one timer of the system is set to
 * the first of these. So the length of a line does not matter, neither for a new task nor for a due one: only the first
 * taker is served, and no other is woken.
 *
 * A taker gets its tasks at once, but the reply is sent when the server calls back, which may be later: see
 * serve_first(). If the client disconnects in between, that is as if it disconnected while the reply was on its way.
 *
 * The server knows the keys on which each client is blocked. It needs them to redirect clients when a slot of the
 * cluster moves. It also calls all of them when a key is created; only the first in line is then served.
 *
 * No taker is served while the server may not write to its replicas (CLIENT PAUSE, FAILOVER), while it loads, or on a
 * replica.
 */
#ifndef PAWL_MODULE_TAKERS_H
#define PAWL_MODULE_TAKERS_H

#include "access.h"
#include "deliver.h"

/* Once, when the module is loaded. */
int takers_init(RedisModuleCtx *ctx);

/* Block the client until one of the keys has a task, or for timeout_ms; 0: forever. */
void takers_block(RedisModuleCtx *ctx, const struct take *take, uint64_t timeout_ms,
                  RedisModuleString **keys, int count);

/* The queue was changed: plan when its takers are served. Nothing to do if the key was deleted. */
void takers_plan(struct access *access);

/* The test clock was set. When the wall clock is set, the timer of the system rings. */
void takers_clock_set(void);

#endif
