/* SPDX-License-Identifier: MIT */
/*
 * Explore the schedules of a program with threads.
 *
 * A scenario is a function that starts threads with pthread_create, joins them, and states what must hold. The explorer
 * runs it thousands of times, each time under another schedule: which thread runs next at each atomic operation and
 * lock, which store a load sees, which allocation fails, when time passes. An execution depends on the scenario and a
 * seed alone. When one fails, the explorer prints the seed and the schedule, and the seed repeats that execution
 * exactly.
 *
 *	static int balance;
 *	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
 *
 *	static void *withdraw(void *unused) { ... }
 *
 *	static void two_withdrawals(void)
 *	{
 *		pthread_t threads[2];
 *
 *		for (int i = 0; i < 2; i++)
 *			pthread_create(&threads[i], NULL, withdraw, NULL);
 *		for (int i = 0; i < 2; i++)
 *			pthread_join(threads[i], NULL);
 *		EXPLORE_EXPECT(balance >= 0);
 *	}
 *
 *	int main(int argc, char **argv)
 *	{
 *		static const struct explore_scenario scenarios[] = {
 *			{.name = "two withdrawals", .run = two_withdrawals},
 *		};
 *
 *		return explore_main(argc, argv, scenarios, 1);
 *	}
 *
 * The program is compiled with -fsanitize=thread, which has the compiler call a function at each access to memory, and
 * is linked with the explorer in place of the thread sanitizer. docs/design/schedules.md tells how it works;
 * docs/guide/testing.md has the commands.
 *
 * Before each execution the program's global and thread-local variables get their first values back. malloc, free, the
 * mutexes, condition variables and threads of POSIX, clock_gettime, nanosleep and getrandom are the explorer's: time is
 * virtual, and passes when every thread waits or when the schedule says so. A scenario has at most 8 threads, the first
 * one included, and must join each.
 *
 * For C. What C++ adds, like operator new and std::thread, is in a library, which the explorer does not see.
 */
#ifndef PAWL_EXPLORE_H
#define PAWL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct explore_scenario {
	const char *name;
	void (*run)(void);

	/*
	 * How many executions each search makes at the most. 0: the default, which is 10,000 depth first for
	 * each number of preemptions, 4,000 by priorities and 2,000 at random. EXPLORE_NONE: none.
	 */
	unsigned depth_first, priorities, random;
};

#define EXPLORE_NONE (~0u)

/* Returns the exit status: 0 all executions passed, 1 one has failed, 2 the arguments are wrong. */
int explore_main(int argc, char **argv, const struct explore_scenario *scenarios, size_t count);

/* If the condition is false, report the execution and exit. */
#define EXPLORE_EXPECT(condition) \
	((condition) ? (void)0 : explore_failed(__FILE__, __LINE__, "expected " #condition))
/* Integers of any types: they are compared as uint64_t, and printed with their sign. */
#define EXPLORE_EXPECT_EQ(actual, expected)                                                   \
	explore_expect_eq(EXPLORE_VALUE(actual), EXPLORE_VALUE(expected), #actual, #expected, \
	                  __FILE__, __LINE__)

struct explore_value {
	uint64_t bits;
	bool is_signed;
};

/* `+ 0` makes an int of whatever is narrower than one, so three signed types are left. */
#define EXPLORE_VALUE(value)                                                                \
	((struct explore_value){(uint64_t)(value), _Generic((value) + 0, int : 1, long : 1, \
	                                                    long long : 1, default : 0)})

_Noreturn void explore_failed(const char *file, int line, const char *message);
void explore_expect_eq(struct explore_value actual, struct explore_value expected,
                       const char *actual_text, const char *expected_text, const char *file,
                       int line);

/* From now on the search may make up to `most` calls of malloc and pthread_create fail. Default 0. */
void explore_failures(unsigned most);

/* How many blocks of memory the execution has allocated and not freed. After the scenario it must be 0. */
size_t explore_blocks(void);

/* The time for which timerfd_settime has set a timerfd last, in ns; 0: it is off. There is one. */
uint64_t explore_timer(void);

/* A scheduling point. Use it where only plain code runs. */
void explore_point(void);

#endif
