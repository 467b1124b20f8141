/* SPDX-License-Identifier: MIT */
/*
 * pawl/clock.h: time and sleeping as one interface, so that a test replaces both.
 *
 * A service takes its time from a clock and sleeps on it. Three clocks come with the library: the two
 * that systems have for measuring delays, and one that stands still until it is told to go on, for tests
 * of programs that use time: an hour passes in one call, and nothing sleeps.
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
 *		pawl_clock_manual_advance(&manual, PAWL_HOUR);
 *		pawl_service_settle(service);                          // the task has run
 *		pawl_service_close(service, NULL);
 *	}
 *
 * A clock of your own is a struct that begins with a struct pawl_clock, whose three functions you set
 * and whose other field is zero. Any thread may call them; one thread at a time waits. A service without threads never calls
 * wait(): its user does, or sleeps elsewhere, and wake() is to end that.
 */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <pawl/wheel.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads share words of 64 bits, which i386 would align to 4 bytes. */
#if defined(__GNUC__)
#define PAWL_ALIGNED_8 __attribute__((aligned(8)))
#else
#define PAWL_ALIGNED_8
#endif

struct pawl_clock {
	/* The time in nanoseconds. Never goes back. */
	uint64_t (*now)(struct pawl_clock *clock);

	/*
	 * Sleep until now() is at least `deadline` (PAWL_NEVER: for ever), or until a wake(). A wake()
	 * that came before, since the last wait() returned, is kept: then this returns at once. It may
	 * also return for no reason.
	 */
	void (*wait)(struct pawl_clock *clock, uint64_t deadline);

	/* End the wait() that is under way, or the next one. */
	void (*wake)(struct pawl_clock *clock);

	void *service; /* private: the service that has it; zero */
};

/* One of the system's clocks. Transparent, so that it can stand anywhere; its fields are private. */
struct pawl_clock_system {
	struct pawl_clock clock;
	int id;
	uint64_t state[16];
};

/*
 * The one stands still while the machine is suspended, the other goes on. A service uses the first by default.
 *
 *	              Linux            macOS             other POSIX systems
 *	monotonic     CLOCK_MONOTONIC  CLOCK_UPTIME_RAW  CLOCK_MONOTONIC: the system's choice, see its manual
 *	boottime      CLOCK_BOOTTIME   CLOCK_MONOTONIC   CLOCK_BOOTTIME if it has that, else CLOCK_MONOTONIC
 *
 *	Windows       QueryUnbiasedInterruptTime; QueryPerformanceCounter for boottime
 *
 * On Linux a sleep by boottime costs a few system calls more; elsewhere it looks at the clock once a second, so after a
 * suspension it ends up to a second late.
 */
PAWL_API void pawl_clock_monotonic_init(struct pawl_clock_system *clock);
PAWL_API void pawl_clock_boottime_init(struct pawl_clock_system *clock);

/* A clock that begins at 0 and is moved by hand. Its fields are private. */
struct pawl_clock_manual {
	struct pawl_clock clock;
	PAWL_ALIGNED_8 uint64_t state[32];
};

PAWL_API void pawl_clock_manual_init(struct pawl_clock_manual *clock);

/*
 * Let `ns` nanoseconds pass (at the end of time it stops), and wake whoever has waited for that. It does
 * not wait for what then happens: see pawl_service_settle.
 */
PAWL_API void pawl_clock_manual_advance(struct pawl_clock_manual *clock, uint64_t ns);

/*
 * Its wall clock, for pawl_service_arm_at_time: set it, forwards or back, and read it. From there it goes on with the clock. It begins in
 * 1970. (With any other clock, also one of your own, the wall clock is the system's.)
 */
PAWL_API void pawl_clock_manual_set_wall(struct pawl_clock_manual *clock, struct timespec time);
PAWL_API struct timespec pawl_clock_manual_wall(struct pawl_clock_manual *clock);

/*
 * Let time pass until the deadline that the service waits for, once one of its threads has nothing to run
 * and so waits; none at all if it waits without one, or has no threads. Returns the time that it is then.
 * What becomes due runs meanwhile: see pawl_service_settle. Not from a task, nor beside the opening or
 * closing of the service that has the clock.
 */
PAWL_API uint64_t pawl_clock_manual_step(struct pawl_clock_manual *clock);

#ifdef __cplusplus
}
#endif

#endif
