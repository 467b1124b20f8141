/* SPDX-License-Identifier: MIT */
/*
 * pawl/service.h: timers for many threads.
 *
 * A service runs tasks when their time has come. Any thread may arm, touch and cancel any task at any
 * time, also from inside a task. A task is embedded in your own struct: arming it allocates nothing
 * and cannot fail for want of memory.
 *
 *	#include <pawl/service.h>
 *	#include <stdio.h>
 *	#include <stdlib.h>
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
 *		if (pawl_service_cancel_wait(service, &request.timeout) == PAWL_CANCELLED)
 *			puts("answered in time");               // the memory is yours again
 *		pawl_service_close(service, NULL);
 *	}
 *
 *
 * Who does what
 *
 *	your threads      arm, touch and cancel tasks. A task is on one of several shards, each with a lock
 *	                  and a wheel of its own, so that threads seldom wait for each other
 *	the workers       the threads of the service. Each runs the tasks that are due, one at a time. One
 *	                  of those that have nothing to run sleeps until the next slot of a wheel opens,
 *	                  and then makes the tasks of that slot due
 *
 * With workers = PAWL_MANUAL there is no thread at all: your own loop calls pawl_service_poll, and any thread may arm.
 *
 *
 * A task's states
 *
 *	            arm                   its time has come,
 *	   idle -----------------> pending ------------------> running ---------> idle
 *	     ^                     |  ^  |     a worker         |  |     it returns
 *	     |       cancel        |  |  | arm, touch:          |  | arm, touch: armed again, and
 *	     +---------------------+  +--+ moved                |  | pending when it has returned
 *	                                                        |  v
 *	                     cancel: not armed again after all  running, armed again
 *
 * A task that is due and waits for a worker is still pending. A task never runs on two threads at
 * once: if it falls due again while it runs, it runs again after it has returned.
 *
 *
 * Memory
 *
 * A task's memory is yours. Keep it in place while the task is pending, until its function is called or
 * a cancel has returned PAWL_CANCELLED, and while it is to be armed again. The function may free its own
 * task or use the memory for something else: once the function is called, the service does not read a
 * one-shot task any more, and it reads a periodic one only if that was not cancelled meanwhile.
 *
 * A task is in one service at a time. Arm it in another one only while it is idle.
 *
 * To free a task from outside, whatever it is doing:
 *
 *	pawl_service_cancel_wait(service, &request->timeout);
 *	free(request);
 *
 * This is right unless some other thread may arm the task again. Two tasks that wait for each other are
 * a deadlock, so never let two tasks call cancel_wait on each other:
 *
 *	task A, on worker 1                     task B, on worker 2
 *	-------------------                     -------------------
 *	cancel_wait(B)  waits for B to return
 *	                                        cancel_wait(A)  waits for A to return
 *	                     neither ever returns
 *
 * Likewise do not hold a lock during cancel_wait that the task's function takes.
 *
 *
 * Time is in nanoseconds of the service's clock. Deadlines are rounded up to the tick: a task is never
 * early. After fork() the child may only exec or exit. No call is async-signal-safe, and the service's
 * threads block all signals. Functions of tasks must not throw C++ exceptions.
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

/* What a periodic task does about periods that it has missed. */
enum pawl_missed {
	PAWL_SKIP,  /* leave them out: the next run is at the next whole period after this one */
	PAWL_BURST, /* make up for them: all of them, one after the other */
	PAWL_DELAY, /* count anew: the next run is a period after the end of this one */
};

/* What a cancel found. */
enum pawl_cancel {
	PAWL_IDLE,      /* neither armed nor running */
	PAWL_CANCELLED, /* it was pending: it will not run, is not running, and its memory is yours */
	PAWL_RUNNING,   /* its function was called and has not returned; an arming since is gone */
};

/* A task. Embed it and initialise it before its first use; its fields are private. */
struct pawl_task {
	struct pawl_timer timer;
	uint64_t deadline_ns;
	uint64_t period_ns; /* or, at_time, that of the wall clock */
	pawl_task_fn *run;
	void *home;
	uint32_t runner;
	uint8_t missed;
	bool internal, at_time;
};

/* The task is idle afterwards. Not for one that is pending or running. */
PAWL_API void pawl_task_init(struct pawl_task *task, pawl_task_fn *run);

/* The same where the task is defined: struct pawl_task task = PAWL_TASK_INIT(run); */
#define PAWL_TASK_INIT(run)                                          \
	{                                                            \
		PAWL_TIMER_INIT, 0, 0, run, NULL, 0, 0, false, false \
	}

#define PAWL_MANUAL (~0u - 1u) /* options.workers: no threads; see pawl_service_poll */
#define PAWL_INLINE 1u         /* another word for 1 worker, for programs that have it */

/* Zeroes, or a NULL pointer in place of the whole struct, mean the defaults. */
struct pawl_service_options {
	const char *name;    /* of its threads, cut to 15 bytes; NULL: "pawl". Copied */
	uint64_t tick_ns;    /* 0: 1 ms */
	uint32_t wheel_size; /* slots in a level, 2 to 4096; 0: the wheel's default */
	unsigned workers;    /* threads that run tasks, 1 to 1024; 0: 1; or PAWL_MANUAL, above */
	unsigned shards;     /* 1 to 1024; 0: chosen from the CPUs */
	size_t max_pending;  /* 0: no limit; beyond it a new arming gives -EAGAIN */
	struct pawl_clock *clock; /* borrowed until close; NULL: one of its own, monotonic */
	size_t stack_size;        /* of its threads, 64 KiB or more; 0: see below */
	void (*on_thread_start)(unsigned worker, void *arg);       /* NULL: nothing; see below */
	void *on_thread_start_arg;                                 /* borrowed until close */
	void (*dispatch)(struct pawl_service *service, void *arg); /* NULL: no pool; see below */
	void *dispatch_arg;                                        /* borrowed until close */
};
/*
 * stack_size 0 is the system's default, but no less than 1 MiB. (musl's default is 128 KiB, and one struct pawl_stats
 * on the stack takes 60 KiB.)
 *
 * on_thread_start is called once on each thread of the service, before anything else runs there, with the thread's
 * number from 0 to workers - 1: for affinity, priority, a name of your own. It may run after pawl_service_open has
 * returned, and on several threads at the same time. It may arm and cancel. It must not call what waits for the
 * service (cancel_wait, settle, stop, close): that would wait for itself. With PAWL_MANUAL it is not called.
 *
 * dispatch lets threads of your own, usually a thread pool, run the tasks. The service then has one thread, which
 * keeps the time. When a task is due, and fewer than `workers` of your threads run tasks, that thread calls dispatch.
 * Answer each call with one pawl_service_poll, on any thread, now or later. Usually dispatch submits a job to your
 * pool, and the job calls pawl_service_poll:
 *
 *  - The pool's queue holds that job, not the task. A due task stays pending in the service until a poll takes it. So
 *    everything promised about cancel, cancel_wait, states, memory and order holds as it does with the service's own
 *    threads. If the task was cancelled before the job polls, that poll runs nothing.
 *  - At most one call at a time is unanswered. The service calls dispatch again when a poll has answered the call and
 *    further tasks are due.
 *  - dispatch is never called from inside an arming, a task or a poll. It must not wait for the service, as
 *    on_thread_start must not. If your pool refuses the job, dispatch may call pawl_service_poll itself.
 *  - pawl_service_stop waits until every call has been answered: so stop the service before you end the pool.
 *  - dispatch together with PAWL_MANUAL is -EINVAL.
 *
 * With one shard and one worker, tasks run in the wheel's order: by tick, and within a tick in the order in which they
 * were armed; a task that was already due when it was armed runs after them. With more shards or more workers, no order
 * is promised between tasks. A worker takes some 60 KiB, most of it for statistics.
 *
 * The tasks of a coarse slot are moved to finer slots before it opens, a few at a time. An idle worker moves all of
 * them, a busy worker as many as it has run, and a poll 64 more. So an opening slot never delays the tasks that are due
 * for long, however many tasks it has.
 */

/*
 * Open a service and start its threads.
 *
 * 0         *service is yours, to be closed with pawl_service_close.
 * -EINVAL   an option is out of its range.
 * -EBUSY    another service has the clock.
 * -ENOMEM, -EAGAIN   no memory, or no more threads. Nothing is left behind.
 */
PAWL_API int pawl_service_open(struct pawl_service **service,
                               const struct pawl_service_options *options);

/*
 * Arm the task to run `delay_ns` from now, or at `deadline_ns` of the service's clock, once. If it is
 * pending it is moved; if it is running it will run again. A periodic task becomes a one-shot one. It
 * never runs inside this call, not even with delay 0. A deadline beyond 2^64-1 ns is never reached.
 *
 * 0           it is pending (or runs already).
 * -EAGAIN     max_pending tasks are pending, and this one is not one of them. Nothing has changed.
 * -ESHUTDOWN  the service was stopped. Nothing has changed.
 * -EINVAL     the task has no function.
 * -EBUSY      it is pending in another service. Nothing has changed.
 */
PAWL_API int pawl_service_arm(struct pawl_service *service, struct pawl_task *task,
                              uint64_t delay_ns);
PAWL_API int pawl_service_arm_at(struct pawl_service *service, struct pawl_task *task,
                                 uint64_t deadline_ns);

/*
 * Arm the task to run once, when the wall clock (CLOCK_REALTIME, UTC) says `time` or later. If somebody sets that
 * clock, the task follows it. The task never runs before the wall clock says `time`. If the clock is set forwards
 * past `time`, or the machine wakes up after it, the task begins at most a second and a tick later. For that, the
 * service looks at the wall clock once or twice a second while such a task is pending, for all of them at the same
 * ticks. If `time` has passed, the task is due now. Returns as arm does; a tv_nsec outside 0 to 999,999,999 is
 * -EINVAL. See pawl/calendar.h for "every day at 02:30".
 */
PAWL_API int pawl_service_arm_at_time(struct pawl_service *service, struct pawl_task *task,
                                      struct timespec time);

/*
 * Arm the task to run once, not before `earliest_ns` from now, and to begin by `latest_ns` from now if a worker is
 * free. Within that window the service chooses a tick that other windows share, so that it wakes up once for several
 * tasks. In docs/benchmarks.md a window of a tenth of the delay saves nine of ten wake-ups. Returns as arm does; a
 * `latest_ns` below `earliest_ns` is -EINVAL.
 */
PAWL_API int pawl_service_arm_within(struct pawl_service *service, struct pawl_task *task,
                                     uint64_t earliest_ns, uint64_t latest_ns);

/*
 * Arm the task to run every `period_ns`, for the first time a period from now. It does not drift, except with
 * PAWL_DELAY. It runs until it is cancelled, which its own function may do. Returns as arm does; a period of
 * 0, or a `missed` that is none of the three, is -EINVAL.
 */
PAWL_API int pawl_service_arm_every(struct pawl_service *service, struct pawl_task *task,
                                    uint64_t period_ns, enum pawl_missed missed);

/*
 * Move the next run to `delay_ns` from now. To move it to a later time costs little more than a store. A periodic
 * task stays periodic, and counts its periods from that run. In all else, and for an idle task, it does what arm
 * does, and returns as arm does.
 */
PAWL_API int pawl_service_touch(struct pawl_service *service, struct pawl_task *task,
                                uint64_t delay_ns);

/*
 * Cancel the task. Never waits. Whatever other threads do at the same moment, the answer is true: see
 * enum pawl_cancel. If the task is running and was armed again, that arming is cancelled; a periodic task
 * ends with this run. Works after stop.
 */
PAWL_API enum pawl_cancel pawl_service_cancel(struct pawl_service *service, struct pawl_task *task);

/*
 * The same, but if the task is running, wait until that run has returned, and then return PAWL_RUNNING. Inside the
 * task's own function it does not wait.
 */
PAWL_API enum pawl_cancel pawl_service_cancel_wait(struct pawl_service *service,
                                                   struct pawl_task *task);

/*
 * Is the task pending, and until when? Returns the time of the service's clock for which it is armed, before it is
 * rounded up to the tick; at most 2^64-2. A task that is due and waits for a worker, and a task that was armed again
 * while it runs, are pending, too. For a task of pawl_service_arm_at_time it is the time if nobody sets the wall
 * clock. Returns PAWL_NEVER if the task is not pending: idle, or running (a periodic task gets its next time when it
 * has returned). The answer is true at the moment of the call; another thread may arm or cancel the task right after.
 */
PAWL_API uint64_t pawl_service_deadline(struct pawl_service *service, struct pawl_task *task);

/* How many tasks are pending, or armed again while they run. */
PAWL_API size_t pawl_service_pending(struct pawl_service *service);

/*
 * PAWL_MANUAL: run the tasks that are due by the clock, on this thread. It runs at most `max` tasks (0: no such
 * bound), and at most as many as are pending when it begins, so that it ends even if tasks arm each other. Returns how
 * many it ran. Only one thread polls at a time: a poll during another thread's poll, or inside a task, returns 0.
 *
 * With options.dispatch: answer one call of dispatch. Run the tasks that are due, on this thread and within the same
 * bounds, beside up to workers - 1 other threads. If due tasks are left over, the service calls dispatch again. Returns
 * how many it ran; 0 if no call is waiting for an answer.
 *
 * Always 0 for a service whose own threads run the tasks.
 */
PAWL_API size_t pawl_service_poll(struct pawl_service *service, size_t max);

/*
 * When the next poll has something to do, in nanoseconds of the service's clock; PAWL_NEVER if nothing is pending.
 * With PAWL_MANUAL your loop may sleep until then. If any thread arms a task for an earlier time meanwhile, the
 * service calls the clock's wake() on that thread, with no lock held; and not again before your loop calls
 * pawl_service_next again. So the whole loop is
 *
 *	for (;;) {
 *		clock->wait(clock, pawl_service_next(service));
 *		pawl_service_poll(service, 0);
 *	}
 *
 * If your loop does not sleep in clock->wait(), give the service a clock of your own whose wake() ends the loop's sleep
 * (pawl/clock.h). wake() may also be called when there is nothing to do.
 */
PAWL_API uint64_t pawl_service_next(struct pawl_service *service);

/*
 * PAWL_MANUAL on Linux: a file descriptor for any loop that polls descriptors, level-triggered or edge-triggered. It
 * becomes readable when pawl_service_poll has something to do, also if another thread armed that task meanwhile. Do
 * not read it, set it or close it: pawl_service_poll resets it, and pawl_service_close closes it. The first
 * call creates it, close-on-exec, and every later call returns the same one. From the first call on, the service does
 * not call the clock's wake() any more. After a stop the descriptor is never readable.
 *
 * >= 0        the descriptor.
 * -EINVAL     the service has threads.
 * -ENOTSUP    the system is not Linux, or the clock is one of your own: use pawl_service_next and the clock's wake().
 * -EMFILE, -ENFILE, -ENOMEM   no more descriptors, or no memory. You may call it again.
 */
PAWL_API int pawl_service_fd(struct pawl_service *service);

/*
 * Wait until all tasks that are due by the clock have run and returned. With PAWL_MANUAL, run them, unless another
 * thread is polling. For tests. Not from inside a task: see stop.
 */
PAWL_API void pawl_service_settle(struct pawl_service *service);

/*
 * Refuse every arming from now on, wait for the tasks that are running, end the threads, and hand each
 * task that is still pending to `dropped` (which may be NULL), on this thread and under no lock: it may
 * free it. The service itself is not freed: cancel still works, and its answer is true. (While `dropped` has
 * a task, the task counts as running for all other threads, so a cancel_wait waits for it.) A second stop
 * only waits for the first one. A stop inside a task or `dropped` would wait for itself; it ends the program
 * with a message.
 */
PAWL_API void pawl_service_stop(struct pawl_service *service, pawl_task_fn *dropped);

/* Stop, and free the service. No other call may be under way or follow. NULL is allowed. */
PAWL_API void pawl_service_close(struct pawl_service *service, pawl_task_fn *dropped);

/*
 * A histogram of durations. A cell spans at most 1/64 of its value, so a duration is known to about two digits.
 * pawl_histogram_percentile reads it, and pawl_histogram_bound says which durations a cell counts.
 */
#define PAWL_HISTOGRAM_CELLS 3776
struct pawl_histogram {
	uint64_t count;
	uint64_t max; /* exact */
	uint64_t sum; /* of all of them in ns, exact; beyond 584 years it begins at 0 again */
	uint64_t cells[PAWL_HISTOGRAM_CELLS];
};

/*
 * The duration in ns that `percent` per cent (0 to 100) of those counted do not exceed, rounded up by
 * less than 1/64; 0 if none was counted.
 */
PAWL_API uint64_t pawl_histogram_percentile(const struct pawl_histogram *histogram, double percent);

/*
 * The longest duration in ns that is counted in that cell, 0 to PAWL_HISTOGRAM_CELLS - 1; the shortest is one more than
 * that of the cell before. Beyond the last cell it is the same as of the last: 2^64-1.
 */
PAWL_API uint64_t pawl_histogram_bound(unsigned cell);

/* armed = ran + cancelled + dropped + pending, in every snapshot. It is large: do not copy it about. */
struct pawl_stats {
	uint64_t armed;     /* armings of tasks that were not pending; each period is one */
	uint64_t ran;       /* functions called */
	uint64_t cancelled; /* armings that a cancel took away */
	uint64_t dropped;   /* handed to `dropped` by stop */
	uint64_t pending;
	uint64_t queued;           /* of those pending: due, and waiting for a worker. Walks them */
	uint64_t wakeups;          /* of the worker that sleeps until something is due */
	uint64_t empty_wakeups;    /* of those: with nothing to do */
	uint64_t moved_ahead;      /* tasks moved to a finer slot before their slot opened... */
	uint64_t moved_at_opening; /* ...and when it did; a slot that is due as a whole is one */
	pawl_task_fn *slowest;     /* the function that took longest... */
	uint64_t slowest_ns;       /* ...and how long; NULL and 0 before the first */

	/*
	 * lateness: from the deadline to the call of the function. run_time: from the call to its return. The
	 * clock is read once a task: if a worker goes on with the next task, the return of the one counts as
	 * the call of the other.
	 */
	struct pawl_histogram lateness, run_time;
};
PAWL_API void pawl_service_stats(struct pawl_service *service, struct pawl_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
