/* SPDX-License-Identifier: MIT */
/*
 * The parts of a service, and the lock that protects each.
 *
 * Tasks are spread over shards. A shard is a wheel and a lock. A task's home is the shard of the thread that armed it
 * first. It stays so: everything about a task is decided under the lock of its home. A thread that arms and cancels its
 * own tasks mostly has a shard to itself.
 *
 *	your thread ---- lock ----> shard 0: wheel     <---- lock ---- worker: advance, pop, run
 *	your thread ---- lock ----> shard 1: wheel     <---- lock ---- worker
 *	                            ...
 *
 * The files along the life of a task: layout.h; lock.h; arm.c arms and cancels it; shard.h has the steps under the
 * lock; advance.c makes it due; run.c runs it; sleep.c and sleep.h let workers sleep and wake them. ticks.h converts
 * times. Not on that way: await.c (cancel_wait, settle), manual.c (a loop of the user's), pool.c (a pool of the user's),
 * open.c, stop.c, stats.c, clock.c, wall.h and wall.c (wall-clock times), schedule.c (rules of the calendar), internal.c
 * for the purgatory. journal.h, the notes of workers on their runs, and sample.h, a random sample of the pending tasks,
 * are for the live view, src/inspect.
 *
 * A task is idle, pending or running. Two facts tell which, both read under its home's lock: whether its timer is on
 * the wheel, and whether it is the `current` of a worker.
 *
 *	timer on the wheel | some worker's current | state
 *	        no         |         no            | idle
 *	        yes        |         no            | pending: waiting, or due and not popped
 *	        no         |         yes           | running; worker->again: armed again meanwhile
 *	        yes        |         yes           | never: a running task is not on the wheel, so no
 *	                   |                       | second worker can pop it
 *
 * Transitions, each one critical section of the home's lock:
 *
 *	arm, idle:      wheel arm                      armed++
 *	arm, pending:   wheel arm (to the new tick)
 *	arm, running:   again = true                   armed++ if it was false
 *	arm, while a cancel_wait_all has it refuse armings: nothing
 *	begin (worker): wheel pop, current = task      ran++
 *	finish:         current = NULL; again or the next period: wheel arm (a period: armed++)
 *	cancel:         wheel cancel, or again = false cancelled++; or ended = true
 *	stop:           wheel pop, current = task      dropped++; finish when `dropped` has returned
 *
 * Why the result of cancel is exact: begin and cancel exclude each other. If cancel comes first, the timer is off the
 * wheel and no worker can pop it. If begin comes first, `current` says so until finish:
 *
 *	worker                                  another thread
 *	------                                  --------------
 *	lock; pop; current = task; unlock
 *	run(task)                               lock; cancel: not on the wheel, but current
 *	                                        RUNNING; again = false, ended = true; unlock
 *	lock; current = NULL; not armed again
 *
 * A one-shot task may be freed by its own function, and its memory may be a task again before finish. So finish reads
 * the task only if it was armed again, or is periodic and not ended. And `current` alone does not mean "running": the
 * task's own `runner` must name that worker, and pawl_task_init clears it.
 *
 * The order of locks: a thread that holds a shard's lock acquires no other lock. The service's mutex (for sleeping and
 * waiting) is never locked under a shard's lock, and no shard's lock is acquired under the mutex.
 */
#ifndef PAWL_SERVICE_LAYOUT_H
#define PAWL_SERVICE_LAYOUT_H

#include "../base/lock.h"
#include "internal.h"

#include <pawl/schedule.h>

#define BATCH        256u /* moves of a wheel, or tasks of a shard, at once */
#define AHEAD        64u /* moves ahead that an idle worker makes between two searches for due tasks */
#define MAX_SHARDS   1024u
#define MAX_WORKERS  1024u
#define DEFAULT_TICK UINT64_C(1000000)
#define MIN_STACK    (UINT64_C(1) << 16)
#define MAX_STACK    (SIZE_MAX / 2)
#define THREAD_NAME  16 /* bytes, with the terminating zero: the limit of Linux */

/* By which clock a task is due: task->at_time. */
enum at_time {
	BY_CLOCK, /* the service's */
	BY_WALL,  /* the wall clock, at wall_ns: wall.h */
	BY_RULE,  /* the same, and a rule of the calendar gives wall_ns: schedule.c */
};

/* The outcomes of armings: armed = ran + cancelled + dropped + pending. */
struct counts {
	uint64_t armed, ran, cancelled, dropped;
};

static inline uint64_t counts_pending(const struct counts *counts)
{
	ASSERT(counts->armed >= counts->ran + counts->cancelled + counts->dropped);
	return counts->armed - counts->ran - counts->cancelled - counts->dropped;
}

struct shard {
	struct lock lock;

	/* Under the lock. */
	struct pawl_wheel *wheel; /* counts in ticks of the service */
	bool settling;            /* a settle waits until no task of the shard is due or running */
	unsigned running;         /* workers that run a task of this shard */

	/* Written under the lock, also read without it. */
	bool closed;            /* stop has begun: no call arms a task, and no worker starts one */
	bool ready;             /* a task is due */
	shared_uint64 visit_by; /* the tick by which a worker must visit; or PAWL_NEVER */

	struct counts counts[2];          /* of user tasks, and of internal ones; under the lock */
	struct pawl_service_stats *stats; /* those that are not in `counts`; under the lock */
	struct wall *wall;                /* its wall-clock tasks: wall.h; under the lock */
} __attribute__((aligned(LINE)));

/* Apart from the shard, which is full; and from the next one, since each has its lock. */
struct shard_stats {
	struct pawl_service_stats stats;
} __attribute__((aligned(LINE)));

/* A thread that runs tasks. In manual mode and with a pool: the state with which a poll runs them. */
struct worker {
	/* Under the lock of current's home. */
	struct pawl_task *current; /* its function has been called and has not returned */
	bool again;                /* current was armed meanwhile: pending once it has returned */
	bool ended;                /* current was cancelled meanwhile: no further period */
	bool quota;                /* current has quota reserved for its next arming */
	bool awaited;              /* a cancel_wait waits for the end of this run */
	bool drops;                /* stop hands current to `dropped`: not a real run */

	shared_uint64 runs; /* how many have ended; atomic */

	/* Written by the worker alone, read by stats without a lock: each word atomic. */
	struct pawl_histogram lateness __attribute__((aligned(8)));
	struct pawl_histogram run_time __attribute__((aligned(8)));
	pawl_task_fn *slowest;

	struct journal *journal; /* or NULL: there is no viewer; atomic */
	struct pawl_service *service;
	struct worker *outer;     /* the worker whose task polls this one; or NULL */
	struct worker *next_free; /* in the list `free` of a pool: under the mutex */
	bool answers;             /* its poll has answered a call, and has not started a task yet */
	struct system_thread thread;
	unsigned number; /* from 1: task->runner is this number */
	unsigned shard;  /* the first shard in which it looks for tasks */
} __attribute__((aligned(LINE)));

/* A user's pool: pool.c. */
struct pool {
	void (*dispatch)(struct pawl_service *service, void *arg); /* NULL: there is no pool */
	void *arg;
	bool full; /* it is not to be called now; atomic. Without a pool: false */

	/* Under the mutex. */
	enum { NO_CALL, CALLED, ANSWERED } call;
	bool task_polled;    /* a task has polled */
	unsigned polls;      /* in progress */
	struct worker *free; /* the workers that no poll uses */
};

struct pawl_service {
	/* Set at open, and read only. */
	struct pawl_clock *clock;
	struct pawl_clock_system default_clock;
	struct ticks ticks;
	size_t max_pending;
	bool manual;   /* no threads */
	bool sampling; /* armings are drawn for the live view: sample.h; atomic, seldom written */
	unsigned shard_count, worker_count, thread_count;
	struct shard *shards, *shards_end;
	struct wall *walls;              /* one for each shard */
	struct shard_stats *shard_stats; /* likewise */
	struct worker *workers;
	char name[THREAD_NAME];
	size_t stack_size;
	void (*on_thread_start)(unsigned worker, void *arg); /* or NULL */
	void *on_thread_start_arg;

	/* Atomic. has_leader and comparing are not bool, since not every CPU can exchange one byte. */
	shared_uint64 sleeps_until __attribute__((aligned(LINE))); /* the leader: a tick; or 0 */
	shared_uint64 wakeups, empty_wakeups;
	shared_uint64 moves; /* of all wheels: to see whether there was any */
	size_t quota_used;   /* how much of max_pending is reserved */
	unsigned followers;  /* workers that sleep without leading, or are about to */
	unsigned has_leader; /* 1: a worker leads; or 0 */
	unsigned comparing;  /* 1: the clocks are compared once a second; or 0: wall.h */
	bool stopping;       /* the threads must end */

	/* Sleeping and waking: sleep.c. */
	struct mutex mutex __attribute__((aligned(LINE)));
	struct condition called;  /* for followers: there is a call, or stopping */
	unsigned calls;           /* not yet answered by a follower: under the mutex */
	struct condition changed; /* for threads that wait in await.c, manual.c, pool.c, stop.c */
	uint64_t changes;         /* how often `changed` was broadcast: under the mutex */
	enum { OPEN, STOPPING, STOPPED } state; /* under the mutex */
	bool polling;                           /* manual mode: during a poll; under the mutex */
	int fd; /* manual mode: of pawl_service_fd(), or -1; written by the loop under the mutex */
	struct pool pool;

	struct pawl_task compare; /* internal: compares the clocks */
	uint64_t compared;        /* when it last did: of the thread that compares */

	/* The live view: inspect.c. */
	struct mutex inspecting;     /* held while the live view begins or ends */
	struct inspector *inspector; /* under it; or NULL */
	struct journal *journals;    /* one for each worker: allocated under it, freed by close */
	struct sample *samples;      /* one for each shard, likewise */
	struct service_part *parts;  /* under `mutex` */
};

struct wakes; /* sleep.h */

/* advance.c */
enum advance_to { FIRST_DUE, TICK };
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick,
                         enum advance_to end, struct wakes *wakes);
void pawl__service_visit_shards(struct pawl_service *service, uint64_t tick);
bool pawl__shard_move_ahead(struct pawl_service *service, struct shard *shard, size_t most,
                            struct wakes *wakes);
bool pawl__service_move_ahead(struct pawl_service *service, unsigned from);

/* run.c */
void pawl__worker_thread(void *worker);
void pawl__worker_begin_thread(const struct worker *worker);
size_t pawl__worker_run_due(struct worker *worker, size_t max);
size_t pawl__service_poll_bound(struct pawl_service *service, size_t max);
void pawl__worker_enter(struct worker *worker); /* this thread runs as that worker now */
void pawl__worker_leave(struct worker *worker);
bool pawl__worker_is_here(const struct worker *worker); /* this thread is inside its task */
bool pawl__service_is_here(const struct pawl_service *service);
void pawl__service_refuse_inside_task(const struct pawl_service *service, const char *call);

/* await.c */
void pawl__service_changed(struct pawl_service *service); /* wakes all that wait on `changed` */
void pawl__service_await_run(struct pawl_service *service, struct worker *worker, uint64_t run);

/* manual.c */
void pawl__service_stop_polling(struct pawl_service *service);
void pawl__service_wake_loop(struct pawl_service *service); /* it must poll sooner */
void pawl__service_close_fd(struct pawl_service *service);

/* pool.c */
void pawl__pool_open(struct pawl_service *service);
void pawl__pool_thread(void *worker); /* the service's one thread */
size_t pawl__pool_poll(struct pawl_service *service, size_t max);
void pawl__pool_started(struct worker *worker); /* the first task of a poll */
void pawl__pool_stop(struct pawl_service *service);

/* clock.c: for a descriptor */
int pawl__clock_of_system(const struct pawl_clock *clock); /* -ENOTSUP: the user's own clock */
void pawl__clock_tell_loop(struct pawl_clock *clock, struct pawl_service *service); /* NULL: none */
bool pawl__clock_by_hand(const struct pawl_clock *clock);

/* wall.c */
void pawl__wall_open(struct pawl_service *service);
void pawl__wall_armed(struct pawl_service *service); /* a wall-clock task was listed */

/* schedule.c: for a task with BY_RULE, each under the lock of its home */
uint64_t pawl__schedule_first(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                              uint64_t wall); /* wall-clock times; PAWL_NEVER: there is none */
uint64_t pawl__schedule_next(const struct pawl_task *task, uint64_t wall);
void pawl__schedule_set(struct pawl_task *task, const struct pawl_calendar_rule *rule,
                        const struct pawl_zone *zone);          /* it was armed */
void pawl__schedule_wait(struct pawl_task *task, uint64_t now); /* it got its time at now */
uint64_t pawl__schedule_since(const struct pawl_task *task);    /* when that was */
void pawl__schedule_begin(struct pawl_task *task); /* it runs, or is dropped, for wall_ns */

/* arm.c */
int pawl__service_arm_by_rule(struct pawl_service *service, struct pawl_task *task,
                              const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                              uint64_t period_ns, enum pawl_service_missed missed);

/* stats.c */
void pawl__stats_add_shard(struct pawl_service_stats *stats,
                           struct shard *shard); /* under its lock */
void pawl__stats_add_workers(struct pawl_service_stats *stats, const struct pawl_service *service);
size_t pawl__service_pending(struct pawl_service *service, bool internal); /* true: of both kinds */

/* inspect.c */
void pawl__service_end_inspection(struct pawl_service *service); /* under `inspecting` */

/* stop.c */
void pawl__service_end_threads(struct pawl_service *service, unsigned started);

#endif
