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
 *	your threads      arm, touch, cancel         each on one of the service's shards, so that
 *	                                             threads do not get in each other's way
 *	the workers       run what is due, one task each at a time; and one of those that have nothing
 *	                  to run sleeps until the next slot of a wheel opens, and then makes its
 *	                  tasks due
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
 * once: what falls due while it runs is run after it has returned.
 *
 *
 * Memory
 *
 * A task's memory is yours. Keep it in place while the task is pending, until its function is called or
 * a cancel has won (PAWL_CANCELLED), and while it is to be armed again. The function may free its own
 * task or use it for something else: of a one-shot task the service reads nothing once the function is
 * called, and of a periodic one only if it was not cancelled meanwhile.
 *
 * A task is in one service at a time: idle, and not running, it may go to another one.
 *
 * To free a task from outside, whatever it is doing:
 *
 *	pawl_service_cancel_wait(service, &request->timeout);
 *	free(request);
 *
 * which is right unless some other thread may arm it again. The one way to a deadlock is two tasks that
 * wait for each other; so do not cancel_wait a task from another one that it may cancel_wait:
 *
 *	task A, on worker 1                     task B, on worker 2
 *	-------------------                     -------------------
 *	cancel_wait(B)  waits for B's end
 *	                                        cancel_wait(A)  waits for A's end
 *	                     neither ever comes
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
	PAWL_SKIP,  /* leave them out: go on with the first on the grid that is after the run */
	PAWL_BURST, /* make up for them: all of them, one after the other */
	PAWL_DELAY, /* no grid: a period after the end of each run */
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
 * stack_size 0 is the system's default, but no less than 1 MiB: musl's would be 128 KiB, and one struct pawl_stats
 * takes 60 of them.
 *
 * on_thread_start is called once on each thread of the service, before anything else runs there, with the thread's number
 * from 0 to workers - 1: for affinity, priority, a name of your own. It may run after pawl_service_open has returned, and
 * beside those of other threads. It may arm and cancel; what waits for the service (cancel_wait, settle, stop, close) would
 * wait for itself. With PAWL_MANUAL it is not called.
 *
 * dispatch makes a pool of threads of your own run the tasks. The service then has one thread, which keeps the time. When a task is
 * due, and fewer than `workers` of your threads run tasks, it calls dispatch. Answer each call by one pawl_service_poll, on any
 * thread, now or later: so dispatch puts a job into the queue of your pool, and the job polls. No task is in that queue: a
 * due task stays pending in the service until a poll takes it. So all that is promised for cancel, cancel_wait, states, memory and
 * order holds as it does with the service's own threads, and a poll whose task was cancelled meanwhile runs nothing. At most
 * one call at a time is not answered yet; the poll that answers it looks whether there is more to do. dispatch is never called from
 * inside an arming, a task or a poll. It must not wait for the service, as on_thread_start must not. If your pool takes no job,
 * dispatch may poll itself. A stop waits until every call has been answered: so stop the service before its pool. Not with
 * PAWL_MANUAL.
 *
 * With shards = 1 and one worker tasks run in the wheel's order: by tick, and within a tick as they were
 * armed; those armed when already due come behind. With more of either no order is promised between
 * tasks. A worker takes some 60 KiB, most of it for statistics.
 *
 * The tasks of a coarse slot are moved to finer ones before it opens, a few at a time: an idle worker moves all of
 * them, a busy one as many as it has run, a poll 64 more. So no moment is long, however many tasks there are.
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
 * never runs inside this call, not even with delay 0. Sums beyond the end of time just wait.
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
 * Arm the task to run once, when the wall clock (CLOCK_REALTIME, UTC) says `time` or later. It follows that clock wherever that is set:
 * it never runs before the clock says so, and begins at most a second, and a tick, after the clock was set forwards past it, or
 * the machine woke up. For that it looks at the wall clock once or twice a second, all such tasks at the same ticks. A time
 * that has passed is now. Returns as arm does; tv_nsec out of 0 to 999,999,999 is -EINVAL. See pawl/calendar.h for "every day
 * at 02:30".
 */
PAWL_API int pawl_service_arm_at_time(struct pawl_service *service, struct pawl_task *task,
                                      struct timespec time);

/*
 * Arm the task to run once, not before `earliest_ns` from now, and begin by `latest_ns` from now if a worker is free. Within
 * that the service chooses a time that other tasks have, too, so that it wakes up less often: with a tenth of the delay
 * as the window, a third as often. Returns as arm does; a latest before earliest is -EINVAL.
 */
PAWL_API int pawl_service_arm_within(struct pawl_service *service, struct pawl_task *task,
                                     uint64_t earliest_ns, uint64_t latest_ns);

/*
 * Arm the task to run every `period_ns`, for the first time a period from now. It ends with a cancel,
 * also from inside. It does not drift. Returns as arm does; a period of 0, or another `missed` than
 * the three, is -EINVAL.
 */
PAWL_API int pawl_service_arm_every(struct pawl_service *service, struct pawl_task *task,
                                    uint64_t period_ns, enum pawl_missed missed);

/*
 * Push the next run back to `delay_ns` from now, at the price of little more than a store. A periodic
 * task stays one, its grid moves along. Otherwise, and for an idle task, as arm; returns as arm does.
 */
PAWL_API int pawl_service_touch(struct pawl_service *service, struct pawl_task *task,
                                uint64_t delay_ns);

/*
 * Take the task out. Never waits. Whatever else happens at the same moment, the answer is true: see
 * enum pawl_cancel. If it is running, an arming made meanwhile is taken away, and a periodic task ends
 * with this run. Works after stop.
 */
PAWL_API enum pawl_cancel pawl_service_cancel(struct pawl_service *service, struct pawl_task *task);

/*
 * The same, but PAWL_RUNNING only after that run has returned. Inside the task itself it does not wait.
 */
PAWL_API enum pawl_cancel pawl_service_cancel_wait(struct pawl_service *service,
                                                   struct pawl_task *task);

/*
 * Is it pending, and until when? The time of the service's clock for which the task is armed, before it is rounded up
 * to the tick, at most 2^64-2; also that of a task that is due and waits for a worker, and of one that was armed again while
 * it runs. PAWL_NEVER if it is not pending: idle, or running (a periodic task is given its next time when it has
 * returned). True at the moment of the call; another thread may arm or cancel it right after.
 */
PAWL_API uint64_t pawl_service_deadline(struct pawl_service *service, struct pawl_task *task);

/* How many tasks are pending, or armed again while they run. */
PAWL_API size_t pawl_service_pending(struct pawl_service *service);

/*
 * PAWL_MANUAL: run on this thread what is due by the clock, at most `max` tasks (0: no bound), and at most
 * as many as are pending when it begins, so that it ends whatever they arm. Returns how many.
 * One thread at a time: a poll beside another one, or inside a task, returns 0.
 *
 * With options.dispatch: answer one call of it. Run on this thread what is due, within the same bounds, beside up to workers - 1
 * other threads. What is then left is another call's. If no call is waiting for an answer, 0.
 *
 * Always 0 for a service with threads that run tasks.
 */
PAWL_API size_t pawl_service_poll(struct pawl_service *service, size_t max);

/*
 * When the next poll is worth it, in the clock's nanoseconds; PAWL_NEVER if nothing is pending. PAWL_MANUAL: your loop may sleep
 * until then. If any thread arms for sooner, the service calls the clock's wake(), once, on that thread and under no lock. So the
 * whole loop is
 *
 *	for (;;) {
 *		clock->wait(clock, pawl_service_next(service));
 *		pawl_service_poll(service, 0);
 *	}
 *
 * and a loop that sleeps elsewhere has a clock whose wake() ends that sleep. wake() may also be called for nothing.
 */
PAWL_API uint64_t pawl_service_next(struct pawl_service *service);

/*
 * PAWL_MANUAL on Linux: a descriptor for any loop that polls descriptors, readable when pawl_service_poll is worth it, and sooner if
 * any thread arms for sooner. Level-triggered or edge-triggered. Do not read it, set it or close it: a poll does what is needed,
 * and the service closes it. It is made by the first call, is the same in each, and is close-on-exec; from then on the clock's
 * wake() is not called any more. After a stop it is never readable.
 *
 * >= 0        the descriptor.
 * -EINVAL     the service has threads.
 * -ENOTSUP    the system is not Linux, or the clock is one of your own: use pawl_service_next and the clock's wake().
 * -EMFILE, -ENFILE, -ENOMEM   no more descriptors, or no memory. Ask again.
 */
PAWL_API int pawl_service_fd(struct pawl_service *service);

/*
 * Wait until all that is due by the clock has run and returned; PAWL_MANUAL: run it, unless another thread
 * is polling. For tests. Not from a task: see stop.
 */
PAWL_API void pawl_service_settle(struct pawl_service *service);

/*
 * Refuse every arming from now on, wait for the tasks that are running, end the threads, and hand each
 * task that is still pending to `dropped` (which may be NULL), on this thread and under no lock: it may
 * free it. The service stays: cancel still tells the truth. (While a task is in the hands of `dropped`,
 * that counts as running for all other threads, so that a cancel_wait waits for it.) A second stop does
 * nothing but wait for the first. Not from a task or `dropped`: it would wait for itself, and so ends
 * the program with a message.
 */
PAWL_API void pawl_service_stop(struct pawl_service *service, pawl_task_fn *dropped);

/* Stop, and free the service. No other call may be under way or follow. NULL is allowed. */
PAWL_API void pawl_service_close(struct pawl_service *service, pawl_task_fn *dropped);

/*
 * Durations, counted in cells that are at most 1/64 wide of their value, from 1 ns up: two digits.
 * pawl_histogram_percentile reads it, and pawl_histogram_bound says what is in a cell.
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
	 * From a deadline to the call of the function, and from there to its return. The clock is read
	 * once a task: where a worker has the next one at hand, its call counts from that return.
	 */
	struct pawl_histogram lateness, run_time;
};
PAWL_API void pawl_service_stats(struct pawl_service *service, struct pawl_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
