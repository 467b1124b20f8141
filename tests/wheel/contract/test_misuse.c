/* SPDX-License-Identifier: MIT */
/*
 * Misuse that pawl_wheel_check() finds, unless the build ends the program before; and misuse for which a build with
 * assertions ends the program: they do fail. Each of the latter happens in a child process. A build with
 * PAWL_CHECK_LINKS ends it for some. In any other release build, and on Windows, which has no fork, there is nothing to
 * try. The sentences of the checked build are tested in tests/checked.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "contract.h"

/* The mistakes for which this build ends the program. */
#ifdef PAWL_ASSERT
#define BY_ASSERTIONS true
#else
#define BY_ASSERTIONS false
#endif
#ifdef PAWL_CHECK_LINKS
#define BY_LINKS true
#else
#define BY_LINKS BY_ASSERTIONS
#endif

enum { MANY = 64, DEADLINES = 4 }; /* MANY fill two chains */

typedef void misuse(struct pawl_wheel *wheel, struct pawl_timer *timers);

/* The misuse of a wheel of 20 slots that holds `count` timers for 25, which wait on level 1, ends the program. */
static void expect_child_ends(unsigned count, uint32_t chains, misuse *fn)
{
#ifndef _WIN32
	struct pawl_wheel *wheel = wheel_of_20_with_chains(chains);
	struct pawl_timer timers[MANY] = {{0}};
	int status = 0;
	pid_t child;

	for (unsigned i = 0; i < count; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 25);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		signal(SIGILL, SIG_DFL);
		signal(SIGSEGV, SIG_DFL); /* the trap of plain C */
		fn(wheel, timers);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(!WIFEXITED(status) ||
	       WEXITSTATUS(status) != 0); /* a sanitizer ends it in its own way */
	finish(wheel);
#else
	(void)count;
	(void)chains;
	(void)fn;
#endif
}

static void expect_end_with(bool noticed, unsigned count, uint32_t chains, misuse *fn)
{
	if (noticed)
		expect_child_ends(count, chains, fn);
}

static void expect_end(bool noticed, misuse *fn)
{
	expect_end_with(noticed, 3, 1, fn);
}

/* 6 is before the opening of the old slot, 25 is in that slot, 500 is after it. */
static const uint64_t new_deadlines[DEADLINES] = {0, 6, 25, 500};

#ifndef PAWL_CHECKED
static void check_finds_that_an_armed_timer_was_called_idle(void)
{
	for (unsigned i = 0; i < 3 * DEADLINES; i++) {
		struct pawl_wheel *wheel = wheel_of_20(0);
		struct pawl_timer timers[3] = {{0}};

		for (unsigned j = 0; j <= i % 3; j++)
			pawl_wheel_arm_at(wheel, &timers[j], 25);
		pawl_wheel_arm_idle_at(wheel, &timers[i % 3 / 2], new_deadlines[i / 3]);
		EXPECT(pawl_wheel_check(wheel));
		free(wheel);
	}
}
#endif

static uint64_t new_deadline;

static void call_armed_idle(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	pawl_wheel_arm_idle_at(wheel, timers, new_deadline);
	pawl_wheel_advance(wheel, 600, 0);
	pop_all(wheel);
}

/* When it comes to the timer's old list. The timer may be alone there, or in one of several lists of its slot. */
static void an_assertion_notices_an_armed_timer_that_is_called_idle(void)
{
	for (unsigned i = 0; i < DEADLINES; i++) {
		new_deadline = new_deadlines[i];
		expect_end_with(BY_ASSERTIONS, 1, 1, call_armed_idle);
		expect_end_with(BY_ASSERTIONS, 2, 1, call_armed_idle);
		expect_end_with(BY_ASSERTIONS, MANY, 2, call_armed_idle);
	}
}

static void call_neighbour_idle(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	pawl_wheel_arm_idle_at(wheel, &timers[1], 6);
	pawl_wheel_cancel(wheel, &timers[0]);
}

static void a_timer_that_was_called_idle_is_noticed_when_a_neighbour_is_cancelled(void)
{
	expect_end(BY_LINKS, call_neighbour_idle);
}

static void zero_armed_timer(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	timers[1] = (struct pawl_timer){0};
	pawl_wheel_cancel(wheel, &timers[0]);
}

static void an_armed_timer_that_was_zeroed_is_noticed_when_a_neighbour_is_cancelled(void)
{
	expect_end(BY_LINKS, zero_armed_timer);
}

static void cancel_copy(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	struct pawl_timer copy = timers[1];

	pawl_wheel_cancel(wheel, &copy);
}

static void arm_copy(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	struct pawl_timer copy = timers[1];

	pawl_wheel_arm_at(wheel, &copy, 30);
}

static void a_copy_of_an_armed_timer_is_noticed_when_it_is_unlinked(void)
{
	expect_end(BY_LINKS, cancel_copy);
	expect_end(BY_LINKS, arm_copy);
}

static void overwrite_deadline(struct pawl_wheel *wheel, struct pawl_timer *timers)
{
	timers[1].deadline = 0;
	pawl_wheel_advance(wheel, 25, 0);
}

static void an_assertion_notices_that_a_waiting_timers_deadline_became_0(void)
{
	expect_end(BY_ASSERTIONS, overwrite_deadline);
}

int main(void)
{
	static const struct test tests[] = {
#ifndef PAWL_CHECKED
	        TEST(check_finds_that_an_armed_timer_was_called_idle),
#endif
	        TEST(an_assertion_notices_an_armed_timer_that_is_called_idle),
	        TEST(a_timer_that_was_called_idle_is_noticed_when_a_neighbour_is_cancelled),
	        TEST(an_armed_timer_that_was_zeroed_is_noticed_when_a_neighbour_is_cancelled),
	        TEST(a_copy_of_an_armed_timer_is_noticed_when_it_is_unlinked),
	        TEST(an_assertion_notices_that_a_waiting_timers_deadline_became_0),
	};

	return RUN_TESTS(tests);
}
