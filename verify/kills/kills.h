/* SPDX-License-Identifier: MIT */
/*
 * kills.h: a store whose process is killed again and again.
 *
 *	parent                                  child
 *	------                                  -----
 *	forks                              -->  opens the store; threads put, take, ack, retry, bury, cancel...
 *	model: it may have happened        <--  "I begin to put 17"
 *	model: it has happened             <--  "17 is put", when the call has returned 0
 *	kill -9, at a random moment
 *	opens the store, lists all tasks,
 *	compares them with the model,
 *	and forks the next child
 *
 * kill -9 keeps what was written to files, also without a sync. So this tests the order of writes, the recovery and
 * the threads, and no sync: for those, tests are the disk.
 *
 * Time is a manual clock that a thread of the child moves, from milliseconds to days at a time. So tasks that are due in
 * weeks come near, too.
 */
#ifndef PAWL_VERIFY_KILLS_H
#define PAWL_VERIFY_KILLS_H

#include "../../src/base/random.h"

#include <pawl/store.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	THREADS = 4,
	QUEUES = 3,
	MOST = 12, /* changes in a commit, and tasks in a take */
	MOST_PAYLOAD = 16 * 1024,
	MOST_DEAD = 100, /* when a child starts; so that no dead task is dropped for want of room */
	MOST_BURIED = 50,  /* by a child */
	LARGEST_DEAD = 200 /* bytes of the payload of a task that is buried */
};

#define NO_TASK UINT64_MAX /* the number of a task that does not exist */

/* What the child says. The messages of a call are one write, and come together. */
enum kind {
	OPENED,
	BEGIN,  /* a change, before the commit */
	RESULT, /* the same change, after it: `value` is the error */
	TAKING, /* a take begins */
	TAKEN,  /* a task; `value` is its tries */
	TOOK,   /* the take has ended */
	WRONG,  /* an error that must not be; `value` says which */
};

struct message {
	uint8_t kind, verb, thread;
	int32_t value;
	uint64_t number; /* of the task: its payload is made from it */
	uint64_t id, fence, due;
};

/* Errors that a child finds itself. Others are those of the store, which are negative. */
enum { EARLY = 1, BAD_PAYLOAD, BAD_QUEUE };

/* Memory that the child shares with the parent. */
struct shared {
	uint64_t wall; /* its manual clock */
	bool stop;     /* the child is to close the store and to exit */
	struct pawl_store_stats stats;
};

/* A task as the parent knows it. */
struct task {
	uint64_t number, id, due;
	uint64_t
	        version; /* of `due` and `dead`: of several changes, the one with the highest counts */
	uint64_t ended_at;     /* the number of the message that it is gone; 0: it is not */
	uint64_t last_fence;   /* of the last delivery */
	uint64_t buried_fence; /* of the last burial */
	uint32_t last_tries;   /* of the last delivery */
	uint32_t base;         /* tries at the beginning of this round, or after a requeue */
	uint32_t count, count_since_burial;         /* deliveries since then */
	uint32_t place;                             /* in `live` */
	bool known;                                 /* the put is known to have happened */
	bool dead, vague;                           /* vague: the tries are not known */
	bool may_be_gone, may_be_dead, may_be_back; /* by changes that were under way */
	uint8_t seen;                               /* after a kill: 1 pending, 2 dead */
};

struct model {
	struct task **tasks; /* by number; NULL: unknown; GONE: gone for good */
	size_t room;
	struct task **live; /* those that are not gone for good */
	size_t live_count, live_room, dead;
	uint64_t next_number, wall;
	uint64_t puts, ends, deliveries; /* counts for the report */
};

void payload_fill(uint64_t number, unsigned char *payload);
size_t payload_size(uint64_t number);
const char *queue_of(uint64_t number);
/* The number of the task, if the payload is whole; else NO_TASK. */
uint64_t payload_number(const struct pawl_store_task *task);

void child_run(const char *directory, const struct pawl_store_options *options,
               const struct model *model, struct shared *shared, int pipe, uint64_t seed);

/* model.c. A failed check prints what is wrong and exits with 1. */
extern struct model model;
void model_begin_round(uint64_t round);
void model_hear(const struct message *message);
void model_compare(struct pawl_store *store); /* after a kill */
void model_thin_dead(struct pawl_store *store, struct random *random);
void model_drain(struct pawl_store *store, struct pawl_clock_manual *clock);
uint32_t model_slots(void);
_Noreturn void wrong(const struct task *task, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
