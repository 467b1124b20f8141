/* SPDX-License-Identifier: MIT */
/*
 * Misuse for which a development build ends the program: its assertions do fail. Each misuse happens in a child
 * process. In a release build, and on Windows, which has no fork, there is nothing to try.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "contract.h"

typedef void misuse(struct pawl_wheel *wheel, struct pawl_timer *timers);

/* The misuse of a wheel of 20 slots that holds three timers for 25, which wait on level 1, ends the program. */
static void expect_end(misuse *fn)
{
#if defined(PAWL_ASSERT) && !defined(_WIN32)
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct pawl_timer timers[3] = {{0}};
	int status = 0;
	pid_t child;

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm(wheel, &timers[i], 25);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		signal(SIGILL, SIG_DFL);
		fn(wheel, timers);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(!WIFEXITED(status) ||
	       WEXITSTATUS(status) != 0); /* a sanitizer ends it in its own way */
	finish(wheel);
#else
	(void)fn;
#endif
}

static void call_armed_idle(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	pawl_wheel_arm_idle(wheel, &timers[1], 6);
}

static void a_development_build_notices_an_armed_timer_that_is_called_idle(void)
{
	expect_end(call_armed_idle);
}

static void zero_armed_timer(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	timers[1] = (struct pawl_timer){0};
	pawl_wheel_cancel(wheel, &timers[0]);
}

static void a_development_build_notices_that_an_armed_timers_neighbour_was_zeroed(void)
{
	expect_end(zero_armed_timer);
}

static void overwrite_deadline(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	timers[1].deadline = 0;
	pawl_wheel_advance(wheel, 25, 0);
}

static void a_development_build_notices_that_a_waiting_timers_deadline_became_0(void)
{
	expect_end(overwrite_deadline);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_development_build_notices_an_armed_timer_that_is_called_idle),
	        TEST(a_development_build_notices_that_an_armed_timers_neighbour_was_zeroed),
	        TEST(a_development_build_notices_that_a_waiting_timers_deadline_became_0),
	};

	return RUN_TESTS(tests);
}
