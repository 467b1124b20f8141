/* SPDX-License-Identifier: MIT */
/*
 * pawl/service.h: timers for many threads.
 *
 * A service runs tasks when their time has come. Any thread may arm, touch and cancel any task at any time, also from
 * inside a task. A task is embedded in your own struct: arming it allocates nothing, so it cannot run out of memory.
 *
 *	#include <pawl/service.h>
 *	#include <stdio.h>
 *
 *	struct request { int id; struct pawl_task timeout; };
 *
 *	static void expire(struct pawl_task *task)              // on a thread of the service
 *	{
 *		printf("request %d timed out\n", PAWL_CONTAINER_OF(task, struct request, timeout)->id);
 *	}
 *
 *	int main(void)
 *	{
 *		struct request request = {7, PAWL_TASK_INIT(expire)};
 *		struct pawl_service *service;
 *
 *		if (pawl_service_open(&service, NULL) != 0)
 *			return 1;
 *		pawl_service_arm(service, &request.timeout, PAWL_HOUR);
 *		if (pawl_service_cancel_wait(service, &request.timeout) == PAWL_SERVICE_CANCELLED)
 *			puts("answered in time");               // the memory is yours again
 *		pawl_service_close(service, NULL);
 *	}
 *
 * A task is idle, pending or running. It is pending from its arming until a worker, a thread of the service, calls its
 * function; also while it is due and waits for a worker. It never runs on two threads at once: if it is armed while it
 * runs, it is pending again when it returns. Until then cancel finds it running; other calls count it as pending.
 *
 * A task's memory is yours. Keep it in place while the task is pending or may be armed again. Its function may free it.
 * To free it from outside, call pawl_service_cancel_wait first, and let no other thread arm it again.
 *
 * Time is in nanoseconds of the service's clock. Deadlines are rounded up to the tick: a task is never early. A task is
 * in one service at a time. After fork() the child may only exec or exit. No call is async-signal-safe, and the
 * service's threads block all signals. Tasks must not throw C++ exceptions.
 *
 * pawl_service(3) draws the states, and has more on memory, deadlocks, the order of tasks, pools and event loops.
 */
#ifndef PAWL_SERVICE_H
#define PAWL_SERVICE_H

#include <pawl/clock.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_task;
struct pawl_service;
typedef void pawl_task_fn(struct pawl_task *task);

/* A task. Embed it and initialise it before its first use; its fields are private. */
struct pawl_task {
	struct pawl_timer timer;
	uint64_t deadline_ns, period_ns;
	pawl_task_fn *run;
	void *home;
	uint16_t runner, sampled;
	uint8_t refusing, missed, at_time;
	bool internal;
	uint64_t wall_ns;
	struct pawl_task *wall_next, *wall_prev;
};

/* Initialise a task that is neither pending nor running: it is idle afterwards. */
PAWL_API void pawl_task_init(struct pawl_task *task, pawl_task_fn *run);

/* The same where the task is defined: struct pawl_task task = PAWL_TASK_INIT(run); */
#define PAWL_TASK_INIT(run)                                                           \
	{                                                                             \
		PAWL_TIMER_INIT, 0, 0, run, NULL, 0, 0, 0, 0, 0, false, 0, NULL, NULL \
	}

#define PAWL_SERVICE_MANUAL (~0u - 1u) /* options.workers: no threads; see pawl_service_poll */

/* Zeroes, or a NULL pointer in place of the struct, mean the defaults. The manual page has more on each option. */
struct pawl_service_options {
	const char *name;    /* of its threads, cut to 15 bytes; NULL: "pawl". Copied */
	uint64_t tick_ns;    /* any; 0: 1 ms */
	uint32_t wheel_size; /* slots in a level, 2 to 4096; 0: the wheel's default */
	unsigned workers;    /* that run tasks, 1 to 1024; 0: 1; or PAWL_SERVICE_MANUAL */
	unsigned shards;     /* 1 to 1024; 0: from the CPUs; 1 shard and 1 worker: exact order */
	size_t max_pending;  /* 0: no limit; beyond it a new arming gives -EAGAIN */
	struct pawl_clock *clock; /* borrowed until close; NULL: one of its own, monotonic */
	size_t stack_size; /* of its threads, 64 KiB to SIZE_MAX / 2; 0: the system's default */
	void (*on_thread_start)(unsigned worker, void *arg); /* first on each thread; or NULL */
	void *on_thread_start_arg;                           /* borrowed until close */
	void (*dispatch)(struct pawl_service *service, void *arg); /* a pool of yours; or NULL */
	void *dispatch_arg;                                        /* borrowed until close */
	uint64_t reserved[4]; /* for options of later versions: 0 */
};

/* Open a service and start its threads. Close it with pawl_service_close. Returns 0; -EINVAL (an option is out of its
 * range, a reserved word is not 0, dispatch with PAWL_SERVICE_MANUAL, a clock lacks a function), -EBUSY (another
 * service has the clock), -ENOMEM or -EAGAIN (no more threads or stacks). After an error *service is as it was. */
PAWL_API PAWL_MUST_USE int pawl_service_open(struct pawl_service **service,
                                             const struct pawl_service_options *options);

/*
 * Arm the task to run once, `delay_ns` from now or at `deadline_ns` of the service's clock. A pending task gets the
 * new deadline; a running one will run again; a periodic one becomes one-shot. It never runs inside this call.
 * 0           the task is pending (or runs already).
 * -EAGAIN     max_pending tasks are pending, and this one is not one of them.
 * -ECANCELED  the service was stopped, or a cancel_wait_all waits for the task.
 * -EINVAL     the task has no function.
 * -EBUSY      the task is pending in another service.
 * With every error: nothing has changed.
 */
PAWL_API int pawl_service_arm(struct pawl_service *service, struct pawl_task *task,
                              uint64_t delay_ns);
PAWL_API int pawl_service_arm_at(struct pawl_service *service, struct pawl_task *task,
                                 uint64_t deadline_ns);

/*
 * As arm, unless the task is pending or, while it runs, was armed again or has a further period: then nothing changes,
 * and it returns -EALREADY. Any other running task will run again, so a run always sees what you did before the call.
 */
PAWL_API int pawl_service_arm_unless_pending(struct pawl_service *service, struct pawl_task *task,
                                             uint64_t delay_ns);

/* The ways in which a periodic task treats missed periods. */
enum pawl_service_missed {
	PAWL_SERVICE_SKIP,  /* leave them out: the next run is at the next whole period */
	PAWL_SERVICE_BURST, /* make up for them: all of them, one after the other */
	PAWL_SERVICE_DELAY, /* the next run is a period after the end of this one */
};

/*
 * Arm the task to run `first_ns` from now, and then every `period_ns`, until it is cancelled, also by its own function.
 * It does not drift, except with PAWL_SERVICE_DELAY. Returns as arm does; -EINVAL also for a period of 0 or another
 * `missed`.
 */
PAWL_API int pawl_service_arm_every(struct pawl_service *service, struct pawl_task *task,
                                    uint64_t first_ns, uint64_t period_ns,
                                    enum pawl_service_missed missed);

/* Arm the task to run once, at a tick from `earliest_ns` to `latest_ns` from now that other windows share: the service
 * wakes up once for several tasks. Returns as arm does; -EINVAL also for a `latest_ns` below `earliest_ns`. */
PAWL_API int pawl_service_arm_within(struct pawl_service *service, struct pawl_task *task,
                                     uint64_t earliest_ns, uint64_t latest_ns);

/* Arm the task to run once, when the wall clock (CLOCK_REALTIME, UTC) says `time` or later, however that clock is set:
 * never before, and at most a second and a tick after the clock was set or the machine woke up. Returns as arm does;
 * -EINVAL also for a tv_nsec outside 0 to 999,999,999. */
PAWL_API int pawl_service_arm_at_time(struct pawl_service *service, struct pawl_task *task,
                                      struct timespec time);

/* As arm, but a periodic task keeps its period, from the new deadline on. A later deadline costs about one store. */
PAWL_API int pawl_service_touch(struct pawl_service *service, struct pawl_task *task,
                                uint64_t delay_ns);

/* The state in which a cancel found the task. */
enum pawl_service_found {
	PAWL_SERVICE_IDLE,      /* neither pending nor running in this service */
	PAWL_SERVICE_CANCELLED, /* it was pending: it will not run, and its memory is yours */
	PAWL_SERVICE_RUNNING,   /* it runs, and has not returned; a further run is cancelled */
};

/* Cancel the task. Never waits, and works after stop. The answer is exact, whatever other threads do meanwhile. */
PAWL_API enum pawl_service_found pawl_service_cancel(struct pawl_service *service,
                                                     struct pawl_task *task);

/* The same, but if the task is running, wait until that run has returned. Inside the task's own function it does not
 * wait. Two tasks that cancel_wait each other are a deadlock. So is a caller that holds a lock which the task needs. */
PAWL_API enum pawl_service_found pawl_service_cancel_wait(struct pawl_service *service,
                                                          struct pawl_task *task);

/* Cancel `n` tasks that may arm each other, and wait for those that run. While it waits, no call can arm them. So when
 * it returns, none is pending or running; except the task in whose function you call it. Deadlocks: as cancel_wait. */
PAWL_API void pawl_service_cancel_wait_all(struct pawl_service *service,
                                           struct pawl_task *const *tasks, size_t n);

/* The time for which a task is pending, or armed again while it runs: not rounded, at most 2^64-2. Else PAWL_NEVER. */
PAWL_API uint64_t pawl_service_deadline(struct pawl_service *service, struct pawl_task *task);

/* The time of the service's clock, for arm_at; and of its wall clock, for arm_at_time. */
PAWL_API uint64_t pawl_service_now(struct pawl_service *service);
PAWL_API struct timespec pawl_service_wall(struct pawl_service *service);

/* How many tasks are pending, or armed again while they run. */
PAWL_API size_t pawl_service_pending(struct pawl_service *service);

/* Refuse every arming from now on, wait for the running tasks, end the threads, and hand each pending task to `dropped`
 * (or NULL), on this thread and under no lock: it may free the task. A second stop waits for the first one. Inside a
 * task or `dropped`, stop, close and settle end the program with a message. So does close with a purgatory open. */
PAWL_API void pawl_service_stop(struct pawl_service *service, pawl_task_fn *dropped);

/* Stop, and free the service. No other call may be under way or follow. NULL is allowed. */
PAWL_API void pawl_service_close(struct pawl_service *service, pawl_task_fn *dropped);

/* For tests: wait until all due tasks have run. PAWL_SERVICE_MANUAL: run them, by polls. */
PAWL_API void pawl_service_settle(struct pawl_service *service);

/* PAWL_SERVICE_MANUAL: run the tasks that are due by the clock, on this thread; at most `max` (0: any number), and at
 * most as many as are pending when it begins. Inside a task it runs nothing. Only your loop's thread polls, settles and
 * calls next and fd. With options.dispatch: answer one of its calls, if one waits. Returns how many tasks it ran. */
PAWL_API size_t pawl_service_poll(struct pawl_service *service, size_t max);

/* When the next poll has something to do, by the service's clock; PAWL_NEVER if nothing is pending. Call it before each
 * sleep of your loop. If a thread then arms for sooner, a manual service calls the clock's wake() once, unlocked. */
PAWL_API uint64_t pawl_service_next(struct pawl_service *service);

/* PAWL_SERVICE_MANUAL on Linux: a descriptor that is readable when a poll has something to do, for any event loop. The
 * service resets and closes it, and no longer calls the clock's wake(). Returns the descriptor, the same each time;
 * -EINVAL (the service has threads), -ENOTSUP (another system, or a clock of your own), -EMFILE, -ENFILE or -ENOMEM. */
PAWL_API int pawl_service_fd(struct pawl_service *service);

/* A histogram of durations. A cell spans at most 1/64 of its value, so a duration is known to about two digits. */
#define PAWL_HISTOGRAM_CELLS 3776
struct pawl_histogram {
	uint64_t count, max; /* exact */
	uint64_t sum; /* of all of them in ns, exact; beyond 584 years it begins at 0 again */
	uint64_t cells[PAWL_HISTOGRAM_CELLS];
};

/* The duration in ns that `percent` (0 to 100) of them do not exceed, rounded up by less than 1/64; 0 if count is 0. */
PAWL_API uint64_t pawl_histogram_percentile(const struct pawl_histogram *histogram, double percent);
/* A cell's longest duration in ns; its shortest is 1 ns above that of the cell before. Beyond the last cell: 2^64-1. */
PAWL_API uint64_t pawl_histogram_bound(unsigned cell);

/* armed = ran + cancelled + dropped + pending, whenever they are read. Later versions may add fields at the end. */
struct pawl_service_stats {
	uint64_t armed; /* armings of tasks that were not pending; each period is one */
	uint64_t ran;   /* functions called */
	uint64_t cancelled, dropped; /* armings that a cancel ended; handed to `dropped` by stop */
	uint64_t pending, queued; /* queued: due, and waiting for a worker; counting walks them */
	uint64_t wakeups, empty_wakeups; /* of the leader; those that found nothing to do */
	uint64_t moved_ahead;      /* tasks moved to a finer slot before their slot opened... */
	uint64_t moved_at_opening; /* ...and when it did; a slot that is due as a whole counts 1 */
	pawl_task_fn *slowest;     /* the function that took longest... */
	uint64_t slowest_ns;       /* ...and how long; NULL and 0 before the first run */
};
/* Fill in *stats, whose size is `size`: sizeof(*stats). */
PAWL_API void pawl_service_get_stats(struct pawl_service *service, struct pawl_service_stats *stats,
                                     size_t size);

/* The time from each deadline to the call of the function; and from the call to its return. `to` takes 30 KiB. */
PAWL_API void pawl_service_get_lateness(struct pawl_service *service, struct pawl_histogram *to);
PAWL_API void pawl_service_get_run_time(struct pawl_service *service, struct pawl_histogram *to);

#ifdef __cplusplus
}
#endif

#endif
