/* SPDX-License-Identifier: MIT */
/*
 * pawl/clock.h: time and sleeping as one interface, so that a test replaces both.
 *
 * A service reads the time from a clock and sleeps on it. The library has three clocks: two system clocks, and a manual
 * clock for tests, which moves only when the test moves it: an hour passes in one call, and nothing sleeps.
 *
 *	#include <pawl/service.h>
 *	#include <stdio.h>
 *
 *	static void ring(struct pawl_task *task) { (void)task; puts("an hour has passed"); }
 *
 *	int main(void)
 *	{
 *		struct pawl_clock_manual manual;
 *		struct pawl_service_options options = {.clock = &manual.clock};
 *		struct pawl_task task = PAWL_TASK_INIT(ring);
 *		struct pawl_service *service;
 *
 *		pawl_clock_manual_init(&manual);
 *		if (pawl_service_open(&service, &options) != 0)
 *			return 1;
 *		pawl_service_arm(service, &task, PAWL_HOUR);
 *		pawl_clock_manual_run(&manual, service, PAWL_HOUR);    // the task has run
 *		pawl_service_close(service, NULL);
 *	}
 *
 * A clock of your own is a struct that begins with a struct pawl_clock. Set its three functions and leave its other
 * field zero. Any thread may call them; one thread at a time waits. now() may be called under a lock of the library: it
 * must not wait, or call the library. A service without threads never calls wait(): your loop calls it, or sleeps
 * elsewhere, and wake() must end that sleep.
 */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <pawl/wheel.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For words of 64 bits that threads share: i386 aligns them to 4 bytes only. */
#if defined(__GNUC__)
#define PAWL_ALIGNED_8 __attribute__((aligned(8)))
#else
#define PAWL_ALIGNED_8
#endif

struct pawl_service;

struct pawl_clock {
	/* The time in nanoseconds. Never goes back. */
	uint64_t (*now)(struct pawl_clock *clock);

	/*
	 * Sleep until now() is at least `deadline` (PAWL_NEVER: without limit), or until a wake(). If a
	 * wake() came since the last wait() returned, return at once. It may also return spuriously.
	 */
	void (*wait)(struct pawl_clock *clock, uint64_t deadline);

	/* End the current wait() or, if there is none, the next one. */
	void (*wake)(struct pawl_clock *clock);

	void *service; /* private: the service that uses it; zero */
};

/* One of the system's clocks. Define it anywhere; its fields are private. */
struct pawl_clock_system {
	struct pawl_clock clock;
	int id;
	uint64_t state[16];
};

/*
 * Initialise one of the system's clocks. monotonic stands still while the machine is suspended; it is the default of a
 * service. boottime keeps counting.
 *
 *	              Linux            macOS             other POSIX systems
 *	monotonic     CLOCK_MONOTONIC  CLOCK_UPTIME_RAW  CLOCK_MONOTONIC: the system's choice, see its manual
 *	boottime      CLOCK_BOOTTIME   CLOCK_MONOTONIC   CLOCK_BOOTTIME if it has that, else CLOCK_MONOTONIC
 *
 *	Windows       QueryUnbiasedInterruptTime; QueryPerformanceCounter for boottime
 *
 * On Linux a sleep by boottime costs a few more system calls. Elsewhere it reads the clock once a second, so after a
 * suspension it ends up to a second late.
 */
PAWL_API void pawl_clock_monotonic_init(struct pawl_clock_system *clock);
PAWL_API void pawl_clock_boottime_init(struct pawl_clock_system *clock);

/* A clock for tests: it begins at 0 and moves only by the calls below. Its fields are private. */
struct pawl_clock_manual {
	struct pawl_clock clock;
	PAWL_ALIGNED_8 uint64_t state[32];
};

PAWL_API void pawl_clock_manual_init(struct pawl_clock_manual *clock);

/*
 * Let `ns` nanoseconds pass for a service that uses this clock, as they pass in reality: time stops at the deadline of
 * each task, also of those that tasks arm meanwhile, until all due tasks have returned. Works with threads, a pool and
 * PAWL_SERVICE_MANUAL. Returns 0, or -EINVAL: the service uses another clock. Must not be called in a task.
 */
PAWL_API int pawl_clock_manual_run(struct pawl_clock_manual *clock, struct pawl_service *service,
                                   uint64_t ns);

/*
 * Let `ns` nanoseconds pass at once, as on a machine that was busy or suspended; at the end of time the clock stops.
 * Wakes the thread whose deadline has come, and does not wait for the tasks that run then: see pawl_service_settle.
 */
PAWL_API void pawl_clock_manual_advance(struct pawl_clock_manual *clock, uint64_t ns);

/*
 * Set its wall clock, forwards or back, and read it: for pawl_service_arm_at_time. It begins in 1970 and moves with the
 * clock. (With any other clock, also one of your own, the wall clock is the system's.)
 */
PAWL_API void pawl_clock_manual_set_wall(struct pawl_clock_manual *clock, struct timespec time);
PAWL_API struct timespec pawl_clock_manual_wall(struct pawl_clock_manual *clock);

#ifdef __cplusplus
}
#endif

#endif
