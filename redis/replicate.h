/* SPDX-License-Identifier: MIT */
/*
 * What replicas and the append-only file are told: effects only, with absolute times, ids and tokens.
 *
 *	PAWL.PUTAT key at id payload [maxtries [state tries token]]   a task as it is now
 *	PAWL.SETAT key at state tries token id [tries token id ...]   tasks that are there: another state
 *	PAWL.DROP  key id [id ...]                                    tasks that are gone
 *
 * state: waiting (also when it is due: that follows from `at`), leased or dead.
 */
#ifndef PAWL_REDIS_REPLICATE_H
#define PAWL_REDIS_REPLICATE_H

#include "token.h"
#include "visit.h"

/* A list of arguments that grows; at most so many go into one command. */
struct effects {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	RedisModuleString **items; /* NULL until the first one */
	size_t count, room;
	const char *state; /* NULL: PAWL.DROP */
	uint64_t at;
};

/* A new task, whose id reads so. */
void replicate_put(struct visit *visit, const struct task *task, const char *id, size_t id_size);

/* Collect tasks that are gone, or that now have the given state; then send it off. */
void effects_begin_drop(struct effects *effects, struct visit *visit);
void effects_begin_set(struct effects *effects, struct visit *visit, const char *state,
                       uint64_t at);
void effects_add(struct effects *effects, const struct task *task);
/* The same for whoever has its token and the text of its id at hand: the fence is nowhere else. */
void effects_add_id(struct effects *effects, const struct task *task, const struct token *token,
                    const char *id, size_t id_size);
void effects_send(struct effects *effects);

/* A single task that is there. */
void replicate_set(struct visit *visit, const struct task *task, const char *state, uint64_t at);

/* As it is written in these commands. */
const char *stored_state(const struct task *task);

#endif
