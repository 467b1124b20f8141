/* SPDX-License-Identifier: MIT */
/*
 * What a service consists of, and who may touch what.
 *
 * Tasks are spread over shards, each with a wheel and a lock of its own. A task's home is the shard of the thread
 * that armed it first, and stays so: every question about a task is decided under the lock of its home. A
 * thread that arms and cancels its own tasks has a shard to itself.
 *
 *	your thread ---- lock ----> shard 0: wheel     <---- lock ---- worker: advance, pop, run
 *	your thread ---- lock ----> shard 1: wheel     <---- lock ---- worker
 *	                            ...
 *
 * The files, along the life of a task: arm.c arms and cancels it; shard.h has the steps under the lock; advance.c
 * makes it due; run.c runs it; sleep.c and sleep.h let workers sleep and wake them. Beside it: await.c
 * (cancel_wait, settle), poll.c (manual mode, pools), open.c, stop.c, stats.c, clock.c, wall.h (times of the wall clock), and inside.c for the purgatory.
 * The live view: inspect.c serves it, snapshot.c takes one, write.c writes it; journal.h is what workers note for it.
 *
 * A task is in one of four states, told by two things, both under its home's lock: whether its timer is
 * on the wheel, and whether a worker's `current` is this task.
 *
 *	timer on the wheel | some worker's current | state
 *	        no         |         no            | idle
 *	        yes        |         no            | pending: waiting, or due and not popped
 *	        no         |         yes           | running; worker->again: armed again meanwhile
 *	        yes        |         yes           | never: what runs is not on the wheel, so it
 *	                   |                       | cannot be popped by a second worker
 *
 * Transitions, each one critical section of the home's lock:
 *
 *	arm, idle:      wheel arm                      armed++
 *	arm, pending:   wheel arm (it moves)
 *	arm, running:   again = true                   armed++ if it was false
 *	take (worker):  wheel pop, current = task      ran++
 *	finish:         current = NULL; again or the next period: wheel arm (a period: armed++)
 *	cancel:         wheel cancel, or again = false cancelled++; or ended = true
 *	stop:           wheel pop, current = task      dropped++; finish when `dropped` has returned
 *
 * Why cancel cannot lie: take and cancel exclude each other. If cancel comes first, the timer is off the
 * wheel and no worker can pop it. If take comes first, `current` says so until finish:
 *
 *	worker                                  another thread
 *	------                                  --------------
 *	lock; pop; current = task; unlock
 *	run(task)                               lock; cancel: not on the wheel, current is it
 *	                                        RUNNING; again = false, ended = true; unlock
 *	lock; current = NULL; not armed again
 *
 * A one-shot task may be freed by its own function, and its memory may be a task again before finish.
 * So finish reads nothing of the task unless it was armed again or is periodic and not ended, and
 * `current` alone does not say "running": the task's own `runner` must name that worker, and
 * pawl_task_init clears it.
 *
 * The order of locks: a shard's lock, then nothing. The service's mutex (for sleeping and waiting) is never
 * taken with a shard's lock held, and no shard's lock is taken under it.
 */
#ifndef PAWL_SERVICE_LAYOUT_H
#define PAWL_SERVICE_LAYOUT_H

#include "inside.h"
#include "lock.h"

#define BATCH 256u  /* moves of a wheel, or tasks, before others have their turn */
#define MANY  1024u /* pending tasks of a shard: wake up to open ahead, too */
#ifndef OPENS_AHEAD
#define OPENS_AHEAD true /* false: a service for the benchmark, which shows the difference */
#endif
#define AHEAD        64u /* moves ahead that an idle worker makes between two looks for due tasks */
#define MAX_SHARDS   1024u
#define MAX_WORKERS  1024u
#define DEFAULT_TICK UINT64_C(1000000)
#define MIN_STACK    (UINT64_C(1) << 16)
#define MAX_STACK    (SIZE_MAX / 2)
#define THREAD_NAME  16 /* bytes with the zero: what Linux has for a thread */

/* What happened to armings: armed = ran + cancelled + dropped + pending. */
struct counts {
	uint64_t armed, ran, cancelled, dropped;
};

static inline uint64_t counts_pending(const struct counts *counts)
{
	return counts->armed - counts->ran - counts->cancelled - counts->dropped;
}

struct shard {
	struct lock lock;

	/* Under the lock. */
	struct pawl_wheel *wheel; /* counts in ticks of the service */
	bool closed;              /* stop has begun: nothing is armed or taken any more */
	bool settling;            /* a settle waits until the shard is at rest */
	unsigned running;         /* workers that run a task of this shard */

	/* Written under the lock, read without: */
	bool ready;             /* something is due */
	shared_uint64 visit_by; /* the tick by which a worker has to come; PAWL_NEVER */

	struct counts counts[2]; /* of the users' tasks, and of internal ones; under the lock */
	uint64_t moved_ahead, moved_at_opening; /* under the lock */
} __attribute__((aligned(LINE)));

/* A thread that runs tasks; in the manual mode, whoever polls; with a pool, a thread of it while that polls. */
struct worker {
	/* Under the lock of current's home. */
	struct pawl_task *current; /* whose function has been called and has not returned */
	bool again;                /* current was armed meanwhile: pending once it has returned */
	bool ended;                /* current was cancelled meanwhile: no further period */
	bool quota;                /* current has one of max_pending for its next arming */
	bool awaited;              /* somebody waits for the end of this run */
	bool drops;                /* not a run: stop hands current to `dropped` */

	shared_uint64 runs; /* that have ended; atomic */

	/* The thread's own; read by stats without a lock, each word atomic. */
	struct pawl_histogram lateness __attribute__((aligned(8)));
	struct pawl_histogram run_time __attribute__((aligned(8)));
	pawl_task_fn *slowest;

	struct journal *journal; /* or NULL: nobody looks; atomic */
	struct pawl_service *service;
	struct worker *outer;     /* a task of which polls this one; or NULL */
	bool called;              /* pool: it answers a call, and has not taken a task yet */
	struct worker *next_free; /* of those that no thread of a pool has: under the mutex */
	struct system_thread thread;
	unsigned number; /* from 1, as task->runner has it */
	unsigned shard;  /* where it looks for work first */
} __attribute__((aligned(LINE)));

struct pawl_service {
	/* Set at open, and read only. */
	struct pawl_clock *clock;
	struct pawl_clock_system default_clock;
	struct ticks ticks;
	size_t max_pending;
	bool manual; /* no threads */
	unsigned shard_count, worker_count, thread_count;
	struct shard *shards, *shards_end;
	struct worker *workers;
	char name[THREAD_NAME];
	size_t stack_size;
	void (*on_thread_start)(unsigned worker, void *arg); /* or NULL */
	void *on_thread_start_arg;
	void (*dispatch)(struct pawl_service *service, void *arg); /* to a pool; or NULL */
	void *dispatch_arg;

	/* Atomic. Three are no bool since not every CPU can exchange one byte. */
	shared_uint64 sleeps_until __attribute__((aligned(LINE))); /* a tick: the leader; or 0 */
	shared_uint64 wakeups, empty_wakeups;
	shared_uint64 moves; /* of all wheels; what matters is whether there was any */
	size_t quota_used;   /* of the quota max_pending: taken */
	unsigned
	        followers; /* workers that sleep without leading, or are about to; pool: are free */
	unsigned has_leader; /* or 0: a worker sleeps for all, or is about to */
	unsigned calling;    /* or 0, with a pool: who was called has not taken a task yet */
	unsigned polling;    /* or 0, in manual mode: somebody polls */
	bool stopping;       /* threads shall end */

	/* Sleeping and waking: sleep.c. */
	struct mutex mutex __attribute__((aligned(LINE)));
	struct condition called; /* a follower is; or stopping */
	unsigned calls;          /* that no follower has answered yet: under the mutex */
	unsigned in_pool;        /* polls of a pool that are under way: under the mutex */
	struct worker *free;     /* pool: those that are followers; under the mutex */
	struct condition
	        changed;  /* what a thread in await.c, poll.c or stop.c waits for may be so */
	uint64_t changes; /* how often: under the mutex */
	enum { OPEN, STOPPING, STOPPED } state; /* under the mutex */
	int fd; /* manual mode: what pawl_service_fd() gives, or -1: under the mutex */

	/* The live view: inspect.c. */
	struct mutex inspecting;     /* held while it begins or ends */
	struct inspector *inspector; /* under it; or NULL */
	struct journal *journals;    /* of all workers: once allocated, they stay until close */
	struct service_part *parts;  /* under `mutex` */
};

struct wakes; /* sleep.h */

/* advance.c */
enum advance_to { FIRST_DUE, TICK };
bool pawl__shard_advance(struct pawl_service *service, struct shard *shard, uint64_t tick,
                         enum advance_to end, struct wakes *wakes);
void pawl__service_visit_shards(struct pawl_service *service, uint64_t tick);
bool pawl__shard_open_ahead(struct pawl_service *service, struct shard *shard, size_t most,
                            struct wakes *wakes);
bool pawl__service_open_ahead(struct pawl_service *service, unsigned from);

/* run.c */
void pawl__worker_thread(void *worker);
void pawl__leader_thread(void *worker); /* with a pool: the service's one thread */
size_t pawl__worker_run_due(struct worker *worker, size_t max);
void pawl__worker_answered(struct worker *worker); /* pool: the next may be called */
void pawl__worker_enter(struct worker *worker);    /* this thread runs its tasks from now on */
void pawl__worker_leave(struct worker *worker);
bool pawl__worker_is_here(const struct worker *worker); /* this thread is inside a task of it */
void pawl__service_refuse_inside_task(const struct pawl_service *service, const char *call);

/* await.c */
void pawl__service_changed(struct pawl_service *service); /* for all that wait there */
void pawl__service_await_run(struct pawl_service *service, struct worker *worker, uint64_t run);

/* poll.c */
void pawl__service_stop_polling(struct pawl_service *service);
void pawl__service_stop_pool(struct pawl_service *service);
void pawl__service_open_pool(struct pawl_service *service);
void pawl__service_wake_loop(struct pawl_service *service); /* a poll is worth it sooner */
void pawl__service_close_fd(struct pawl_service *service);

/* clock.c: for a descriptor */
int pawl__clock_of_system(const struct pawl_clock *clock); /* -ENOTSUP: it is none of ours */
void pawl__clock_tell_loop(struct pawl_clock *clock, struct pawl_service *service); /* or NULL */
bool pawl__clock_by_hand(const struct pawl_clock *clock);
uint64_t pawl__clock_wall(struct pawl_clock *clock); /* the wall clock beside it */

/* stats.c */
size_t pawl__service_pending(struct pawl_service *service, bool internal); /* those, too */

/* inspect.c */
void pawl__service_end_inspection(struct pawl_service *service); /* under `inspecting` */

/* stop.c */
void pawl__service_end_threads(struct pawl_service *service, unsigned started);

#endif
