/* SPDX-License-Identifier: MIT */
/*
 * What replicas and the append-only file are told: effects only, with absolute times, ids and tokens.
 *
 *	PAWL.PUTAT key at id payload maxtries [at id payload maxtries ...]     new tasks
 *	PAWL.PUTAT key at id payload [maxtries [state tries token [note]]]     a task as it is now
 *	PAWL.SETAT key at state tries token id [tries token id ...]            tasks that are there: another state
 *	PAWL.NOTE  key reason id [id ...]                                      likewise: why they were given back
 *	PAWL.DROP  key id [id ...]                                             tasks that are gone
 *	PAWL.SETUP key paused maxdead backoff-ms backoff-max-ms                the settings of the queue
 *
 * note: reason period base; of none of them empty, 0 and 0.
 * state: waiting (also when it is due: that follows from `at`), leased or dead. A task that is set to waiting without
 * tries begins anew: it loses its reason.
 */
#ifndef PAWL_REDIS_REPLICATE_H
#define PAWL_REDIS_REPLICATE_H

#include "token.h"
#include "visit.h"

/* A new task, whose id reads so and whose payload that is. */
void replicate_put(struct visit *visit, const struct task *task, const char *id, size_t id_size,
                   RedisModuleString *payload);

/* A task with all that it has, new or in place of the one with its id. */
void replicate_task(struct visit *visit, const struct task *task);

/*
 * What a command does to tasks, in order. Neighbours of which the same is to be said go into one command, of a bounded
 * number of arguments.
 */
enum { EFFECTS_FEW = 8 };
struct effects {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	RedisModuleString **items;           /* of the tasks that have not been sent off */
	RedisModuleString *few[EFFECTS_FEW]; /* where the items are as long as they fit in */
	size_t count, room;
	const char *state; /* which all of them have now, NULL: they are gone... */
	uint64_t at;       /* ...and their time */
};

void effects_begin(struct effects *effects, struct visit *visit);
/* It is new, as for replicate_put. */
void effects_put(struct effects *effects, const struct task *task, const char *id, size_t id_size,
                 RedisModuleString *payload);
/* It is as it is now. */
void effects_set(struct effects *effects, const struct task *task);
/* It will be deleted. */
void effects_drop(struct effects *effects, const struct task *task);
/* The same for whoever has the texts at hand: making them is not free. The fence is known from the token's text only. */
void effects_set_id(struct effects *effects, const struct task *task, const char *token,
                    size_t token_size, const char *id, size_t id_size);
void effects_drop_id(struct effects *effects, const char *id, size_t id_size);
void effects_drop_arg(struct effects *effects, RedisModuleString *id); /* as the client wrote it */
void effects_send(struct effects *effects);

/* A single task that is there, as it is now. */
void replicate_set(struct visit *visit, const struct task *task);
/* The tasks with these ids have this reason. */
void replicate_reason(struct visit *visit, const RedisModuleString *reason, RedisModuleString **ids,
                      size_t count);

/* The settings of the queue as they are now. */
void replicate_settings(struct visit *visit);

/* As it is written in these commands. */
const char *stored_state(const struct task *task);

#endif
