/* SPDX-License-Identifier: MIT */
/*
 * The explorer itself: programs with a known defect, which it must find, and the same without, which it must
 * pass. test_self.py says what is expected of each. The first ones are the litmus tests of memory models.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explorer/explore.h"

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define SEQ_CST __ATOMIC_SEQ_CST

static int x, y, seen[4];

static void run_all(void *(*const functions[])(void *), unsigned count)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < count; i++)
		EXPLORE_EXPECT_EQ(pthread_create(&threads[i], NULL, functions[i], NULL), 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

#define RUN(...)                                                            \
	do {                                                                \
		void *(*const functions[])(void *) = {__VA_ARGS__};         \
		run_all(functions, sizeof(functions) / sizeof(*functions)); \
	} while (0)

#define THREAD(name, ...)               \
	static void *name(void *unused) \
	{                               \
		__VA_ARGS__;            \
		return unused;          \
	}

static void store(int *object, int value, int order)
{
	__atomic_store_n(object, value, order);
}

static int load(int *object, int order)
{
	return __atomic_load_n(object, order);
}

static void fence(int order)
{
	__atomic_thread_fence(order);
}

/* Store buffering: write mine, read yours. */

THREAD(sb1, store(&x, 1, RELEASE); seen[0] = load(&y, ACQUIRE))
THREAD(sb2, store(&y, 1, RELEASE); seen[1] = load(&x, ACQUIRE))
THREAD(sb1_fence, store(&x, 1, RELAXED); fence(SEQ_CST); seen[0] = load(&y, RELAXED))
THREAD(sb2_fence, store(&y, 1, RELAXED); fence(SEQ_CST); seen[1] = load(&x, RELAXED))
THREAD(sb1_sc, store(&x, 1, SEQ_CST); seen[0] = load(&y, SEQ_CST))
THREAD(sb2_sc, store(&y, 1, SEQ_CST); seen[1] = load(&x, SEQ_CST))
THREAD(sb2_weaker_load, store(&y, 1, SEQ_CST); seen[1] = load(&x, ACQUIRE))

static void store_buffering(void)
{
	RUN(sb1, sb2);
	EXPLORE_EXPECT(seen[0] || seen[1]);
}

static void store_buffering_with_fences(void)
{
	RUN(sb1_fence, sb2_fence);
	EXPLORE_EXPECT(seen[0] || seen[1]);
}

static void store_buffering_with_one_fence(void)
{
	RUN(sb1_fence, sb2);
	EXPLORE_EXPECT(seen[0] || seen[1]);
}

static void store_buffering_sc(void)
{
	RUN(sb1_sc, sb2_sc);
	EXPLORE_EXPECT(seen[0] || seen[1]);
}

static void store_buffering_sc_but_one_load(void)
{
	RUN(sb1_sc, sb2_weaker_load);
	EXPLORE_EXPECT(seen[0] || seen[1]);
}

/* Fill in, then say so. */

THREAD(mp_write, store(&x, 1, RELAXED); store(&y, 1, RELEASE))
THREAD(mp_write_relaxed, store(&x, 1, RELAXED); store(&y, 1, RELAXED))
THREAD(mp_write_fence, store(&x, 1, RELAXED); fence(RELEASE); store(&y, 1, RELAXED))
THREAD(mp_read, seen[0] = load(&y, ACQUIRE); seen[1] = load(&x, RELAXED))
THREAD(mp_read_fence, seen[0] = load(&y, RELAXED); fence(ACQUIRE); seen[1] = load(&x, RELAXED))
THREAD(mp_add, __atomic_fetch_add(&y, 2, RELAXED))
THREAD(mp_read_sum, seen[0] = load(&y, ACQUIRE) & 1; seen[1] = load(&x, RELAXED))

static void message_passing(void)
{
	RUN(mp_write, mp_read);
	EXPLORE_EXPECT(!seen[0] || seen[1]);
}

static void message_passing_relaxed(void)
{
	RUN(mp_write_relaxed, mp_read);
	EXPLORE_EXPECT(!seen[0] || seen[1]);
}

static void message_passing_with_fences(void)
{
	RUN(mp_write_fence, mp_read_fence);
	EXPLORE_EXPECT(!seen[0] || seen[1]);
}

/* A read-modify-write in between passes the release on. */
static void release_sequence(void)
{
	RUN(mp_write, mp_add, mp_read_sum);
	EXPLORE_EXPECT(!seen[0] || seen[1]);
}

/* Do two readers see two writes in the same order? */

THREAD(write_x, store(&x, 1, RELEASE))
THREAD(write_y, store(&y, 1, RELEASE))
THREAD(read_xy, seen[0] = load(&x, ACQUIRE); seen[1] = load(&y, ACQUIRE))
THREAD(read_yx, seen[2] = load(&y, ACQUIRE); seen[3] = load(&x, ACQUIRE))
THREAD(write_x_sc, store(&x, 1, SEQ_CST))
THREAD(write_y_sc, store(&y, 1, SEQ_CST))
THREAD(read_xy_sc, seen[0] = load(&x, SEQ_CST); seen[1] = load(&y, SEQ_CST))
THREAD(read_yx_sc, seen[2] = load(&y, SEQ_CST); seen[3] = load(&x, SEQ_CST))

static void independent_reads(void)
{
	RUN(write_x, write_y, read_xy, read_yx);
	EXPLORE_EXPECT(!(seen[0] && !seen[1] && seen[2] && !seen[3]));
}

static void independent_reads_sc(void)
{
	RUN(write_x_sc, write_y_sc, read_xy_sc, read_yx_sc);
	EXPLORE_EXPECT(!(seen[0] && !seen[1] && seen[2] && !seen[3]));
}

/* One object never goes back, whoever reads it. */

THREAD(count_up, store(&x, 1, RELAXED); store(&x, 2, RELAXED); store(&x, 3, RELAXED))
THREAD(read_twice, seen[0] = load(&x, RELAXED); fence(RELAXED); seen[1] = load(&x, RELAXED))
THREAD(read_twice_too, seen[2] = load(&x, RELAXED); fence(RELAXED); seen[3] = load(&x, RELAXED))

static void coherence(void)
{
	RUN(count_up, read_twice, read_twice_too);
	EXPLORE_EXPECT(seen[0] <= seen[1] && seen[2] <= seen[3]);
}

static int first_of_two, second_of_two;

THREAD(read_and_pass_on, first_of_two = load(&x, RELAXED); store(&y, 1, RELEASE))
THREAD(read_when_passed, seen[2] = load(&y, ACQUIRE);
       second_of_two = seen[2] ? load(&x, RELAXED) : 3)

/* ...also where what one thread has read happened before the other reads. */
static void coherence_across_threads(void)
{
	RUN(count_up, read_and_pass_on, read_when_passed);
	EXPLORE_EXPECT(first_of_two <= second_of_two);
}

/* Counting. */

THREAD(increment, __atomic_fetch_add(&x, 1, RELAXED))
THREAD(increment_in_two_steps, store(&x, load(&x, RELAXED) + 1, RELAXED))
THREAD(increment_plainly, x++)

static void compare_and_set(void)
{
	int value = load(&x, RELAXED);

	while (!__atomic_compare_exchange_n(&x, &value, value + 1, true, RELAXED, RELAXED))
		;
}

THREAD(increment_by_compare_and_set, compare_and_set())

static void atomic_increments(void)
{
	RUN(increment, increment_by_compare_and_set, increment_by_compare_and_set);
	EXPLORE_EXPECT_EQ(load(&x, RELAXED), 3);
}

static void lost_increment(void)
{
	RUN(increment_in_two_steps, increment_in_two_steps);
	EXPLORE_EXPECT_EQ(load(&x, RELAXED), 2);
}

static void plain_increments(void)
{
	RUN(increment_plainly, increment_plainly);
}

/* Mutexes and condition variables. */

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ready;

static void lock_both(pthread_mutex_t *first, pthread_mutex_t *second)
{
	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	x++;
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}

THREAD(lock_a_b, lock_both(&a, &b))
THREAD(lock_b_a, lock_both(&b, &a))

static void same_order_of_locks(void)
{
	RUN(lock_a_b, lock_a_b);
	EXPLORE_EXPECT_EQ(x, 2);
}

static void deadlock(void)
{
	RUN(lock_a_b, lock_b_a);
}

static void await_ready(bool look_again)
{
	pthread_mutex_lock(&a);
	if (!ready)
		pthread_cond_wait(&changed, &a);
	while (look_again && !ready)
		pthread_cond_wait(&changed, &a);
	EXPLORE_EXPECT(ready);
	pthread_mutex_unlock(&a);
}

static void say_ready(void)
{
	pthread_mutex_lock(&a);
	ready = true;
	pthread_mutex_unlock(&a);
	pthread_cond_signal(&changed);
}

/* Looks without the lock, so the signal may come between the look and the wait. */
static void await_ready_badly(void)
{
	if (!__atomic_load_n(&ready, RELAXED)) {
		pthread_mutex_lock(&a);
		pthread_cond_wait(&changed, &a);
		pthread_mutex_unlock(&a);
	}
}

static void say_ready_badly(void)
{
	__atomic_store_n(&ready, true, RELAXED);
	pthread_cond_signal(&changed);
}

THREAD(awaits, await_ready(true))
THREAD(awaits_once, await_ready(false))
THREAD(awaits_badly, await_ready_badly())
THREAD(says, say_ready())
THREAD(says_badly, say_ready_badly())

static void condition_variable(void)
{
	RUN(awaits, says);
}

static void spurious_wake_up(void)
{
	RUN(awaits_once, says);
}

static void lost_signal(void)
{
	RUN(awaits_badly, says_badly);
}

static void unlock_what_another_has_locked(void)
{
	pthread_mutex_unlock(&a);
}

/* Spinning. */

static void spin_until_ready(void)
{
	while (!load(&x, ACQUIRE))
		;
}

THREAD(spins, spin_until_ready())
THREAD(sets, store(&x, 1, RELEASE))

static void spinning(void)
{
	RUN(spins, sets);
}

static void spinning_for_ever(void)
{
	RUN(spins);
}

static void after_you(int *mine, int *yours)
{
	store(mine, 1, SEQ_CST);
	while (load(yours, SEQ_CST)) {
		store(mine, 0, SEQ_CST);
		store(mine, 1, SEQ_CST);
	}
}

THREAD(after_you_x, after_you(&x, &y))
THREAD(after_you_y, after_you(&y, &x))

static void livelock(void)
{
	RUN(after_you_x, after_you_y);
}

/* Memory. */

static volatile unsigned char *volatile block;

static void free_block(void)
{
	free((void *)(uintptr_t)block);
}

THREAD(frees, free_block())
THREAD(uses_under_lock, pthread_mutex_lock(&a); block[0]++; pthread_mutex_unlock(&a))
THREAD(frees_under_lock, pthread_mutex_lock(&a); free_block(); pthread_mutex_unlock(&a))

static void use_after_free(void)
{
	block = malloc(8);
	RUN(uses_under_lock, frees_under_lock);
}

static void free_twice(void)
{
	block = malloc(8);
	RUN(frees_under_lock, frees_under_lock);
}

static void free_against_use(void)
{
	block = malloc(8);
	RUN(uses_under_lock, frees);
}

static void beside_a_block(void)
{
	block = malloc(5);
	EXPLORE_EXPECT(block[5] < 200);
	free_block();
}

/* What libc reads and writes for the program. */

static char *text, *volatile kept;

static void set_text(void)
{
	text = malloc(6);
	strcpy(text, "hello");
}

static void forget_text(void)
{
	kept = text;
	free(text);
}

#define AFTER_FREE(name, ...)                        \
	static void name##_after_free(void)          \
	{                                            \
		char buffer[16] = "";                \
                                                     \
		set_text();                          \
		forget_text();                       \
		EXPLORE_EXPECT((__VA_ARGS__, true)); \
		EXPLORE_EXPECT(buffer[0] >= 0);      \
	}

AFTER_FREE(memcpy, memcpy(buffer, kept, 6))
AFTER_FREE(memmove, memmove(kept, buffer, 6))
AFTER_FREE(memset, memset(kept, 1, 6))
AFTER_FREE(memcmp, memcmp(kept, buffer, 6) ? x++ : 0)
AFTER_FREE(strlen, x = (int)strlen(kept))
AFTER_FREE(strcpy, strcpy(kept, buffer))
AFTER_FREE(strncpy, strncpy(buffer, kept, 3))
AFTER_FREE(strcmp, x = strcmp(buffer, kept))
AFTER_FREE(strncmp, x = strncmp(kept, buffer, 3))
AFTER_FREE(strchr, x = strchr(kept, 'o') != NULL)
AFTER_FREE(strdup, free(strdup(kept)))
AFTER_FREE(strndup, free(strndup(kept, 2)))

static void strings(void)
{
	char buffer[8], *copy, *begin;

	set_text();
	EXPLORE_EXPECT_EQ(strlen(text), 5);
	EXPLORE_EXPECT_EQ(strlen(strcpy(buffer, text)), 5);
	EXPLORE_EXPECT_EQ(strcmp(buffer, text), 0);
	EXPLORE_EXPECT_EQ(strncmp("help", text, 3), 0);
	EXPLORE_EXPECT(strcmp("help", text) > 0);
	strncpy(buffer, "jelly beans", 4);
	EXPLORE_EXPECT_EQ(memcmp(buffer, "jello", 6), 0);
	EXPLORE_EXPECT(strchr(text, 'l') == text + 2 && !strchr(text, 'x'));
	memmove(buffer + 1, buffer, 4);
	EXPLORE_EXPECT_EQ(strcmp(buffer, "jjell"), 0);
	copy = strdup(text);
	begin = strndup(text, 2);
	EXPLORE_EXPECT(strcmp(copy, text) == 0 && strcmp(begin, "he") == 0);
	EXPLORE_EXPECT_EQ(explore_blocks(), 3);
	free(begin);
	free(copy);
	free(text);
}

THREAD(fills, memset(seen, 1, sizeof(seen)))
THREAD(copies, memcpy(&x, seen, sizeof(x)))

static void copy_against_fill(void)
{
	RUN(fills, copies);
}

/* A compiler that knows malloc would remove it, with the failure that must be found. */
static void block_of_no_use(void)
{
	char *unused;

	explore_failures(1);
	unused = malloc(8);
	EXPLORE_EXPECT(unused != NULL);
	free(unused);
}

static void ends_the_program(void)
{
	exit(0);
}

static void ends_the_program_at_once(void)
{
	_exit(0);
}

static void leak(void)
{
	block = malloc(5);
}

static void no_memory(void)
{
	explore_failures(1);
	for (int i = 0; i < 3; i++) {
		block = malloc(8);
		EXPLORE_EXPECT(block[0] != 1);
		free_block();
	}
}

static void no_memory_heeded(void)
{
	int failed = 0;

	explore_failures(2);
	for (int i = 0; i < 3; i++) {
		block = malloc(8);
		failed += !block;
		free_block();
	}
	EXPLORE_EXPECT(failed <= 2);
}

/* Threads, variables, time. */

static _Thread_local int own;
static int shared = 7;

THREAD(uses_own, EXPLORE_EXPECT_EQ(own++, 0); explore_point(); EXPLORE_EXPECT_EQ(own, 1))

static void variables(void)
{
	EXPLORE_EXPECT_EQ(own++, 0);
	EXPLORE_EXPECT_EQ(shared++, 7);
	RUN(uses_own, uses_own);
	EXPLORE_EXPECT_EQ(own, 1);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_an_hour(void)
{
	uint64_t before = now();

	nanosleep(&(struct timespec){3600, 0}, NULL);
	EXPLORE_EXPECT(now() - before >= 3600 * UINT64_C(1000000000));
}

THREAD(sleeps, sleep_an_hour())

static void wait_a_second(void)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_mutex_lock(&a);
	while (!ready && !error)
		error = pthread_cond_timedwait(&changed, &a, &until);
	EXPLORE_EXPECT(ready || error == ETIMEDOUT);
	pthread_mutex_unlock(&a);
}

THREAD(waits_a_second, wait_a_second())

static void virtual_time(void)
{
	RUN(sleeps, waits_a_second, says);
}

static void not_joined(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sets, NULL);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void)
{
	made++;
}

THREAD(uses_what_is_made_once, pthread_once(&once, make); EXPLORE_EXPECT_EQ(made, 1))

static void made_once(void)
{
	RUN(uses_what_is_made_once, uses_what_is_made_once);
}

static pthread_mutex_t recursive;

static void lock_twice(void)
{
	pthread_mutex_lock(&recursive);
	EXPLORE_EXPECT_EQ(pthread_mutex_trylock(&recursive), 0);
	x++;
	pthread_mutex_unlock(&recursive);
	x++;
	pthread_mutex_unlock(&recursive);
}

THREAD(locks_twice, lock_twice())

static void recursive_mutex(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attributes);
	RUN(locks_twice, locks_twice);
	EXPLORE_EXPECT_EQ(x, 4);
	pthread_mutex_destroy(&recursive);
}

static void lock_again(void)
{
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&a);
}

static void negative_number(void)
{
	EXPLORE_EXPECT_EQ(-EINVAL, x);
}

static void signal_at_once(void)
{
	*(volatile int *)(uintptr_t)8 = 1;
}

static void loop_without_steps(void)
{
	while (!*(volatile int *)&x)
		;
}

static void loop_without_anything(void)
{
	for (;;)
		__asm__ volatile("");
}

static void interrupted(void)
{
	raise(SIGINT);
}

THREAD(tries_lock, pthread_mutex_trylock(&a))

/* A step of every kind, for the schedule. */
static void all_steps(void)
{
	pthread_t thread;

	explore_failures(1);
	pthread_mutex_lock(&a);
	while (pthread_create(&thread, NULL, tries_lock, NULL) != 0)
		;
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&a);
	pthread_mutex_destroy(&a);
	pthread_cond_broadcast(&changed);
	pthread_once(&once, make);
	block = malloc(8);
	free_block();
	fence(ACQUIRE);
	sleep(2);
	y = 1;
	while (!__atomic_compare_exchange_n(&x, &y, 2, false, RELAXED, RELAXED))
		;
	EXPLORE_EXPECT_EQ(now(), 3000000000u);
}

static void join_that_is_not_known(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sets, NULL);
	pthread_tryjoin_np(thread, NULL);
}

static void unknown_function(void)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	sem_wait(&semaphore);
}

#define SCENARIO(function) .name = #function, .run = function

int main(int argc, char **argv)
{
	static const struct explore_scenario scenarios[] = {
	        {SCENARIO(store_buffering)},
	        {SCENARIO(store_buffering_with_fences)},
	        {SCENARIO(store_buffering_with_one_fence)},
	        {SCENARIO(store_buffering_sc)},
	        {SCENARIO(store_buffering_sc_but_one_load)},
	        {SCENARIO(message_passing)},
	        {SCENARIO(message_passing_relaxed)},
	        {SCENARIO(message_passing_with_fences)},
	        {SCENARIO(release_sequence)},
	        {SCENARIO(independent_reads)},
	        {SCENARIO(independent_reads_sc)},
	        {SCENARIO(coherence)},
	        {SCENARIO(coherence_across_threads)},
	        {SCENARIO(atomic_increments)},
	        {SCENARIO(lost_increment)},
	        {SCENARIO(plain_increments)},
	        {SCENARIO(same_order_of_locks)},
	        {SCENARIO(deadlock)},
	        {SCENARIO(condition_variable)},
	        {SCENARIO(spurious_wake_up)},
	        {SCENARIO(lost_signal)},
	        {SCENARIO(unlock_what_another_has_locked)},
	        {SCENARIO(spinning)},
	        {SCENARIO(spinning_for_ever)},
	        {SCENARIO(livelock)},
	        {SCENARIO(use_after_free)},
	        {SCENARIO(free_twice)},
	        {SCENARIO(free_against_use)},
	        {SCENARIO(beside_a_block)},
	        {SCENARIO(memcpy_after_free)},
	        {SCENARIO(memmove_after_free)},
	        {SCENARIO(memset_after_free)},
	        {SCENARIO(memcmp_after_free)},
	        {SCENARIO(strlen_after_free)},
	        {SCENARIO(strcpy_after_free)},
	        {SCENARIO(strncpy_after_free)},
	        {SCENARIO(strcmp_after_free)},
	        {SCENARIO(strncmp_after_free)},
	        {SCENARIO(strchr_after_free)},
	        {SCENARIO(strdup_after_free)},
	        {SCENARIO(strndup_after_free)},
	        {SCENARIO(strings)},
	        {SCENARIO(copy_against_fill)},
	        {SCENARIO(block_of_no_use)},
	        {SCENARIO(ends_the_program)},
	        {SCENARIO(ends_the_program_at_once)},
	        {SCENARIO(leak)},
	        {SCENARIO(no_memory)},
	        {SCENARIO(no_memory_heeded)},
	        {SCENARIO(variables)},
	        {SCENARIO(virtual_time)},
	        {SCENARIO(not_joined)},
	        {SCENARIO(made_once)},
	        {SCENARIO(recursive_mutex)},
	        {SCENARIO(lock_again)},
	        {SCENARIO(negative_number)},
	        {SCENARIO(signal_at_once)},
	        {SCENARIO(loop_without_steps)},
	        {SCENARIO(loop_without_anything)},
	        {SCENARIO(interrupted)},
	        {SCENARIO(all_steps)},
	        {SCENARIO(join_that_is_not_known)},
	        {SCENARIO(unknown_function)},
	};

	return explore_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
