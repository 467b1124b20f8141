/* SPDX-License-Identifier: MIT */
/*
 * The commands for replicas and the append-only file. They carry effects, with absolute times, ids and tokens.
 *
 *	PAWL.PUTAT key at id payload maxtries [at id payload maxtries ...]     new tasks
 *	PAWL.PUTAT key at id payload [maxtries [state tries token [extras]]]   a task as it is now
 *	PAWL.SETAT key at state tries token id [tries token id ...]            existing tasks: their new state
 *	PAWL.NOTE  key reason id [id ...]                                      existing tasks: the reason of the NACK
 *	PAWL.DROP  key id [id ...]                                             deleted tasks
 *	PAWL.SETUP key paused maxdead backoff-ms backoff-max-ms                the settings of the queue
 *
 * extras: reason, period, base; empty, 0 and 0 without them.
 * state: waiting (also for a due task: due follows from `at`), leased or dead. Waiting with 0 tries removes the reason.
 */
#ifndef PAWL_MODULE_REPLICATE_H
#define PAWL_MODULE_REPLICATE_H

#include "../queue/token.h"
#include "access.h"

/* A new task. `id` is its id as text. */
void replicate_put(struct access *access, const struct task *task, const char *id, size_t id_size,
                   RedisModuleString *payload);

/* A task with all its fields: new, or replacing the task with its id. */
void replicate_task(struct access *access, const struct task *task);

/*
 * The effects of a command on tasks, in order. Consecutive tasks with the same effect share one command, up to a number
 * of arguments.
 */
enum { EFFECTS_FEW = 8 };
struct effects {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	RedisModuleString **items;           /* arguments that have not been sent */
	RedisModuleString *few[EFFECTS_FEW]; /* `items` as long as they fit */
	size_t count, room;
	const char *state; /* of all tasks in `items`; NULL: they are deleted */
	uint64_t at;       /* of all of them */
};

void effects_begin(struct effects *effects, struct access *access);
/* The task is new, as for replicate_put(). */
void effects_put(struct effects *effects, const struct task *task, const char *id, size_t id_size,
                 RedisModuleString *payload);
/* The task has changed. */
void effects_set(struct effects *effects, const struct task *task);
/* The task will be deleted. */
void effects_delete(struct effects *effects, const struct task *task);
/* The same for callers that have the texts already, which saves making them. Only the token's text has the fence. */
void effects_set_id(struct effects *effects, const struct task *task, const char *token,
                    size_t token_size, const char *id, size_t id_size);
void effects_delete_id(struct effects *effects, const char *id, size_t id_size);
void effects_delete_arg(struct effects *effects, RedisModuleString *id); /* the client's argument */
void effects_send(struct effects *effects);

/* A single task that has changed. */
void replicate_set(struct access *access, const struct task *task);
/* The reason of the tasks with these ids. */
void replicate_reason(struct access *access, const RedisModuleString *reason,
                      RedisModuleString **ids, size_t count);

/* The settings of the queue. */
void replicate_settings(struct access *access);

/* The state as these commands write it. */
const char *stored_state(const struct task *task);

/* The end of a change: a command has changed a queue, and has replicated that. The caller then calls takers_plan(). */

/* Delete dead tasks beyond MAXDEAD, the oldest first and at most TRIM_MAX; then commit_replicated(). */
void commit(struct access *access, const char *event);
/*
 * Notify WATCH and keyspace notifications, as `event`; delete the key if the queue is empty. A command of the
 * replication stream calls this alone: the primary enforces MAXDEAD.
 */
void commit_replicated(struct access *access, const char *event);

#endif
