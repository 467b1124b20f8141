/* SPDX-License-Identifier: MIT */
/*
 * The explorer itself: programs with a known defect, which it must find, and the same without, which it must
 * pass. test_self.py says what is expected of each. The first ones are the litmus tests of memory models.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define SEQ_CST __ATOMIC_SEQ_CST

static int x, y, z, seen[4];

static void run_all(void *(*const functions[])(void *), unsigned count)
{
	pthread_t threads[7];

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

SCENARIO_OF(store_buffering, RUN(sb1, sb2); EXPLORE_EXPECT(seen[0] || seen[1]))
SCENARIO_OF(store_buffering_with_fences, RUN(sb1_fence, sb2_fence);
            EXPLORE_EXPECT(seen[0] || seen[1]))
SCENARIO_OF(store_buffering_with_one_fence, RUN(sb1_fence, sb2); EXPLORE_EXPECT(seen[0] || seen[1]))
SCENARIO_OF(store_buffering_sc, RUN(sb1_sc, sb2_sc); EXPLORE_EXPECT(seen[0] || seen[1]))
SCENARIO_OF(store_buffering_sc_but_one_load, RUN(sb1_sc, sb2_weaker_load);
            EXPLORE_EXPECT(seen[0] || seen[1]))

/* Fill in, then say so. */

THREAD(mp_write, store(&x, 1, RELAXED); store(&y, 1, RELEASE))
THREAD(mp_write_relaxed, store(&x, 1, RELAXED); store(&y, 1, RELAXED))
THREAD(mp_write_fence, store(&x, 1, RELAXED); fence(RELEASE); store(&y, 1, RELAXED))
THREAD(mp_read, seen[0] = load(&y, ACQUIRE); seen[1] = load(&x, RELAXED))
THREAD(mp_read_fence, seen[0] = load(&y, RELAXED); fence(ACQUIRE); seen[1] = load(&x, RELAXED))
THREAD(mp_add, __atomic_fetch_add(&y, 2, RELAXED))
THREAD(mp_read_sum, seen[0] = load(&y, ACQUIRE) & 1; seen[1] = load(&x, RELAXED))

SCENARIO_OF(message_passing, RUN(mp_write, mp_read); EXPLORE_EXPECT(!seen[0] || seen[1]))
SCENARIO_OF(message_passing_relaxed, RUN(mp_write_relaxed, mp_read);
            EXPLORE_EXPECT(!seen[0] || seen[1]))
SCENARIO_OF(message_passing_with_fences, RUN(mp_write_fence, mp_read_fence);
            EXPLORE_EXPECT(!seen[0] || seen[1]))

/* A read-modify-write in between passes the release on. */
SCENARIO_OF(release_sequence, RUN(mp_write, mp_add, mp_read_sum);
            EXPLORE_EXPECT(!seen[0] || seen[1]))

static int message;

THREAD(read_message, seen[0] = load(&x, ACQUIRE) ? message : 0)
THREAD(release_then_write, store(&x, 1, RELEASE); message = 1)
THREAD(exchange_then_write, __atomic_fetch_add(&x, 1, SEQ_CST); message = 1)
THREAD(fence_then_write, fence(RELEASE); message = 1; store(&x, 1, RELAXED))
THREAD(give_up_then_read, __atomic_fetch_sub(&x, 1, __ATOMIC_ACQ_REL); seen[1] = message)
THREAD(write_when_given_up, while (load(&x, ACQUIRE)); message = 3)
THREAD(release_then_store, message = 1; store(&x, 1, RELEASE); store(&x, 2, RELAXED))
THREAD(read_message_of_two, seen[0] = load(&x, ACQUIRE) == 2 ? message : 0)

/* A store after a release is not released by it. */

SCENARIO_OF(write_after_release, RUN(release_then_write, read_message))
SCENARIO_OF(write_after_exchange, RUN(exchange_then_write, read_message))
SCENARIO_OF(write_after_release_fence, RUN(fence_then_write, read_message))
SCENARIO_OF(read_after_last_reference, x = 1; RUN(give_up_then_read, write_when_given_up))

/* A plain store of the same thread ends it, since C++20. */
SCENARIO_OF(release_sequence_ended, RUN(release_then_store, read_message_of_two))

/* Do two readers see two writes in the same order? */

THREAD(write_x, store(&x, 1, RELEASE))
THREAD(write_y, store(&y, 1, RELEASE))
THREAD(read_xy, seen[0] = load(&x, ACQUIRE); seen[1] = load(&y, ACQUIRE))
THREAD(read_yx, seen[2] = load(&y, ACQUIRE); seen[3] = load(&x, ACQUIRE))
THREAD(write_x_sc, store(&x, 1, SEQ_CST))
THREAD(write_y_sc, store(&y, 1, SEQ_CST))
THREAD(read_xy_sc, seen[0] = load(&x, SEQ_CST); seen[1] = load(&y, SEQ_CST))
THREAD(read_yx_sc, seen[2] = load(&y, SEQ_CST); seen[3] = load(&x, SEQ_CST))

SCENARIO_OF(independent_reads, RUN(write_x, write_y, read_xy, read_yx);
            EXPLORE_EXPECT(!(seen[0] && !seen[1] && seen[2] && !seen[3])))
SCENARIO_OF(independent_reads_sc, RUN(write_x_sc, write_y_sc, read_xy_sc, read_yx_sc);
            EXPLORE_EXPECT(!(seen[0] && !seen[1] && seen[2] && !seen[3])))

static __attribute__((noinline)) int load_x(void)
{
	return load(&x, RELAXED);
}

THREAD(read_y_x_x, seen[0] = load(&y, RELAXED); seen[1] = load_x(); seen[2] = load_x())

/* Twice at the same line. */
SCENARIO_OF(two_old_values, RUN(mp_write_relaxed, read_y_x_x);
            EXPLORE_EXPECT(!(seen[0] && !seen[1] && !seen[2])))

static int compare_and_set_1_to_2(int *object)
{
	int value = 1;

	__atomic_compare_exchange_n(object, &value, 2, false, RELAXED, RELAXED);
	return value;
}

THREAD(sb1_compare, store(&x, 1, RELAXED); seen[0] = compare_and_set_1_to_2(&y))
THREAD(sb2_compare, store(&y, 1, RELAXED); seen[1] = compare_and_set_1_to_2(&x))

SCENARIO_OF(failed_compare_and_set_sees_old, RUN(sb1_compare, sb2_compare);
            EXPLORE_EXPECT(seen[0] || seen[1]))

/* One object never goes back, whichever thread reads it. */

THREAD(count_up, store(&x, 1, RELAXED); store(&x, 2, RELAXED); store(&x, 3, RELAXED))
THREAD(read_twice, seen[0] = load(&x, RELAXED); fence(RELAXED); seen[1] = load(&x, RELAXED))
THREAD(read_twice_too, seen[2] = load(&x, RELAXED); fence(RELAXED); seen[3] = load(&x, RELAXED))

SCENARIO_OF(coherence, RUN(count_up, read_twice, read_twice_too);
            EXPLORE_EXPECT(seen[0] <= seen[1] && seen[2] <= seen[3]))

static int first_of_two, second_of_two;

THREAD(read_and_pass_on, first_of_two = load(&x, RELAXED); store(&y, 1, RELEASE))
THREAD(read_when_passed, seen[2] = load(&y, ACQUIRE);
       second_of_two = seen[2] ? load(&x, RELAXED) : 3)

/* ...also where what one thread has read happened before the other reads. */
SCENARIO_OF(coherence_across_threads, RUN(count_up, read_and_pass_on, read_when_passed);
            EXPLORE_EXPECT(first_of_two <= second_of_two))

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

SCENARIO_OF(atomic_increments,
            RUN(increment, increment_by_compare_and_set, increment_by_compare_and_set);
            EXPLORE_EXPECT_EQ(load(&x, RELAXED), 3))
SCENARIO_OF(lost_increment, RUN(increment_in_two_steps, increment_in_two_steps);
            EXPLORE_EXPECT_EQ(load(&x, RELAXED), 2))
SCENARIO_OF(plain_increments, RUN(increment_plainly, increment_plainly))

/* Plain accesses that are not the last ones to their eight bytes. */

THREAD(write_then_store, message = 1; store(&message, 2, RELAXED); store(&x, 1, RELAXED))
THREAD(load_message_later, while (!load(&x, RELAXED)); seen[0] = load(&message, RELAXED))
THREAD(read_then_load, seen[1] = message; seen[2] = load(&message, RELAXED); store(&x, 1, RELAXED))
THREAD(store_message_later, while (!load(&x, RELAXED)); store(&message, 1, RELAXED))

SCENARIO_OF(plain_write_before_atomic_one, RUN(write_then_store, load_message_later))
SCENARIO_OF(plain_read_before_atomic_one, RUN(read_then_load, store_message_later))

static volatile char bytes[8] __attribute__((aligned(8)));

static void use_bytes(bool write)
{
	bytes[0] = 1;
	for (int i = 1; i < 8; i++)
		if (write)
			bytes[i] = 1;
		else
			seen[1] += bytes[i];
	store(&x, 1, RELAXED);
}

THREAD(writes_one_byte, use_bytes(false))
THREAD(writes_all_bytes, use_bytes(true))
THREAD(reads_byte_later, while (!load(&x, RELAXED)); seen[0] = bytes[0])

SCENARIO_OF(write_then_reads_next_to_it, RUN(writes_one_byte, reads_byte_later))
SCENARIO_OF(write_then_writes_next_to_it, RUN(writes_all_bytes, reads_byte_later))

static struct record {
	int fields[32];
} from, to;

THREAD(copies_record, to = from)

SCENARIO_OF(record_copied_twice, RUN(copies_record, copies_record))

/* Atomic objects that are also accessed otherwise. */

THREAD(sets_field, store(&to.fields[3], 7, RELEASE); store(&to.fields[3], 0, RELEASE))
THREAD(loads_field, EXPLORE_EXPECT_EQ(load(&to.fields[3], ACQUIRE), 5))

SCENARIO(plain_write_over_atomics)
{
	RUN(sets_field);
	memset(&to, 0, sizeof(to));
	EXPLORE_EXPECT_EQ(load(&to.fields[3], ACQUIRE), 0);
	RUN(sets_field);
	to.fields[3] = 5;
	RUN(loads_field);
}

static union {
	uint64_t whole;
	int half[2];
} parts;

THREAD(sets_whole, __atomic_store_n(&parts.whole, UINT64_C(0x500000005), SEQ_CST))
THREAD(sets_half, store(&parts.half[0], 1, SEQ_CST))

SCENARIO(plain_write_over_part)
{
	RUN(sets_whole);
	parts.half[0] = parts.half[1] = 0;
	parts.half[0] = 1;
	EXPLORE_EXPECT_EQ(__atomic_load_n(&parts.whole, SEQ_CST), 1);
}

SCENARIO_OF(atomics_of_two_sizes, RUN(sets_whole, sets_half))

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

SCENARIO_OF(same_order_of_locks, RUN(lock_a_b, lock_a_b); EXPLORE_EXPECT_EQ(x, 2))
SCENARIO_OF(deadlock, RUN(lock_a_b, lock_b_a))

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

SCENARIO_OF(condition_variable, RUN(awaits, says))
SCENARIO_OF(spurious_wake_up, RUN(awaits_once, says))
SCENARIO_OF(lost_signal, RUN(awaits_badly, says_badly))

static int plain;

static void write_after_six(void)
{
	while (load(&y, RELAXED) != 6)
		;
	pthread_mutex_lock(&a);
	plain = 1;
	pthread_mutex_unlock(&a);
}

THREAD(reads_with_lock, pthread_mutex_lock(&a); seen[0] = plain; pthread_mutex_unlock(&a);
       __atomic_fetch_add(&y, 1, SEQ_CST))
THREAD(reads_without_lock, seen[1] = plain; __atomic_fetch_add(&y, 1, RELAXED))
THREAD(writes_after_six, write_after_six())

SCENARIO(one_of_many_readers)
{
	RUN(reads_without_lock, reads_with_lock, reads_with_lock, reads_with_lock, reads_with_lock,
	    reads_with_lock, writes_after_six);
}

THREAD(inits_lock, pthread_mutex_init(&a, NULL))
THREAD(locks, pthread_mutex_lock(&a); pthread_mutex_unlock(&a))

SCENARIO_OF(mutex_init_against_lock, RUN(inits_lock, locks))

SCENARIO(mutex_init_after_free)
{
	pthread_mutex_t *volatile mutex = malloc(sizeof(*mutex));

	free(mutex);
	pthread_mutex_init(mutex, NULL);
}

SCENARIO(mutex_without_init)
{
	pthread_mutex_t *mutex = malloc(sizeof(*mutex));

	pthread_mutex_lock(mutex);
	free(mutex);
}

SCENARIO(mutex_init_again)
{
	pthread_mutex_t mutex;

	for (int i = 0; i < 2; i++) {
		pthread_mutex_init(&mutex, NULL);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_mutex_destroy(&mutex);
	}
}

SCENARIO(condition_destroyed_after_free)
{
	pthread_cond_t *volatile condition = malloc(sizeof(*condition));

	pthread_cond_init(condition, NULL);
	free(condition);
	pthread_cond_destroy(condition);
}

SCENARIO_OF(unlock_a_mutex_of_another_thread, pthread_mutex_unlock(&a))

/* Spinning. */

THREAD(spins, while (!load(&x, ACQUIRE)))
THREAD(sets, store(&x, 1, RELEASE))

SCENARIO_OF(spinning, RUN(spins, sets))
SCENARIO_OF(spinning_forever, RUN(spins))

/* How often it looks; 0: x was set. */
static int look(int times)
{
	int i = 0;

	while (i < times && !load(&x, ACQUIRE))
		i++;
	return i < times ? 0 : i;
}

THREAD(looks, look(300))

SCENARIO(looking_often, .depth_first = 100, .priorities = 100, .random = 100)
{
	EXPLORE_EXPECT_EQ(look(150), 150);
	RUN(looks, looks);
}

THREAD(looks_or_gives_up, EXPLORE_EXPECT(!look(4) || !load(&y, SEQ_CST) || load(&z, SEQ_CST)))
THREAD(stores_y_z, store(&y, 1, SEQ_CST); store(&z, 1, SEQ_CST))

/* It stops looking while the other thread is in the middle. */
SCENARIO_OF(giving_up, RUN(looks_or_gives_up, stores_y_z))

THREAD(spins_and_yields, while (!load(&x, ACQUIRE)) sched_yield())
THREAD(spins_on_two, while (!load(&x, ACQUIRE) && !load(&y, ACQUIRE)))

SCENARIO_OF(spinning_and_yielding, RUN(spins_and_yields, sets))
SCENARIO_OF(spinning_on_two, RUN(spins_on_two, sets))

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

SCENARIO_OF(livelock, RUN(after_you_x, after_you_y))

/* Memory. */

static volatile unsigned char *volatile block;

static void free_block(void)
{
	free((void *)(uintptr_t)block);
}

THREAD(frees, free_block())
THREAD(uses_under_lock, pthread_mutex_lock(&a); block[0]++; pthread_mutex_unlock(&a))
THREAD(frees_under_lock, pthread_mutex_lock(&a); free_block(); pthread_mutex_unlock(&a))

SCENARIO_OF(use_after_free, block = malloc(8); RUN(uses_under_lock, frees_under_lock))
SCENARIO_OF(free_twice, block = malloc(8); RUN(frees_under_lock, frees_under_lock))
SCENARIO_OF(free_against_use, block = malloc(8); RUN(uses_under_lock, frees))

SCENARIO(past_a_block)
{
	block = malloc(5);
	EXPLORE_EXPECT(block[5] < 200);
	free_block();
}

SCENARIO(fill_past_a_block)
{
	block = malloc(60);
	memset((void *)(uintptr_t)block, 0, 64);
	free_block();
}

static int *zeros;

THREAD(publishes_zeros, __atomic_store_n(&zeros, calloc(4, sizeof(int)), RELAXED))
THREAD(reads_zeros, int *found = __atomic_load_n(&zeros, RELAXED); seen[0] = found ? found[1] : 0)

SCENARIO_OF(zeros_published_relaxed, RUN(publishes_zeros, reads_zeros); free(zeros))

SCENARIO(empty_block_grows)
{
	block = realloc(malloc(0), 10);
	block[9] = 1;
	free_block();
}

SCENARIO(too_much_memory)
{
	for (int i = 0; i < 100; i++) {
		block = malloc(1 << 20);
		EXPLORE_EXPECT(block);
		free_block();
	}
}

static int recurse(const volatile char *above, int times)
{
	volatile char frame[4096];

	frame[0] = above[0];
	frame[4095] = 1;
	return times ? recurse(frame, times - 1) + frame[0] : frame[0];
}

THREAD(recurses, char top = 0; seen[0] = recurse(&top, 80))

SCENARIO_OF(deep_recursion, recurses(NULL))
SCENARIO_OF(deep_recursion_in_threads, RUN(recurses))

/* Memory that libc reads and writes for the program. */

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
	SCENARIO(name##_after_free)                  \
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

SCENARIO(strings)
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

SCENARIO_OF(copy_against_fill, RUN(fills, copies))

/* A compiler that knows malloc would remove it, with the failure that must be found. */
SCENARIO(block_of_no_use)
{
	char *unused;

	explore_failures(1);
	unused = malloc(8);
	EXPLORE_EXPECT(unused != NULL);
	free(unused);
}

SCENARIO_OF(ends_the_program, exit(0))
SCENARIO_OF(ends_the_program_at_once, _exit(0))
SCENARIO_OF(aborts, abort())
SCENARIO_OF(leak, block = malloc(5))

SCENARIO(no_memory)
{
	explore_failures(1);
	for (int i = 0; i < 3; i++) {
		block = malloc(8);
		EXPLORE_EXPECT(block[0] != 1);
		free_block();
	}
}

SCENARIO(no_memory_handled)
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

SCENARIO(variables)
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

SCENARIO_OF(virtual_time, RUN(sleeps, waits_a_second, says))

SCENARIO(time_in_seconds)
{
	time_t before = time(NULL), after;

	sleep(5);
	EXPLORE_EXPECT_EQ(time(&after), before + 5);
	EXPLORE_EXPECT_EQ(after, now() / 1000000000u);
}

static void wait_until(time_t second)
{
	int error = 0;

	pthread_mutex_lock(&a);
	while (!ready && !error)
		error = pthread_cond_timedwait(&changed, &a, &(struct timespec){second, 0});
	EXPLORE_EXPECT(ready);
	pthread_mutex_unlock(&a);
}

THREAD(waits_for_ever, wait_until(INT64_MAX))

SCENARIO_OF(far_deadline, RUN(waits_for_ever, says))

static void wait_once(void)
{
	int error;

	pthread_mutex_lock(&a);
	error = pthread_cond_timedwait(&changed, &a, &(struct timespec){2, 0});
	EXPLORE_EXPECT(error == ETIMEDOUT || now() < 2000000000u);
	pthread_mutex_unlock(&a);
}

THREAD(waits_once, wait_once())
THREAD(sleeps_with_lock, pthread_mutex_lock(&a); sleep(2); pthread_mutex_unlock(&a))

/* The lock is free long after the deadline. Only a spurious wake-up avoids the timeout then. */
SCENARIO_OF(late_wake_up, RUN(waits_once, sleeps_with_lock))

SCENARIO(clock_without_sleepers)
{
	for (uint64_t before = now(); now() == before;)
		;
}

THREAD(has_no_error, EXPLORE_EXPECT_EQ(errno, 0))

SCENARIO(error_of_a_thread)
{
	errno = EIO;
	RUN(has_no_error);
	EXPLORE_EXPECT_EQ(errno, EIO);
}

SCENARIO(long_jump)
{
	jmp_buf place;
	volatile int times = 0;

	setjmp(place);
	if (times++ < 3)
		longjmp(place, 1);
	EXPLORE_EXPECT_EQ(times, 4);
}

SCENARIO_OF(too_many_threads, RUN(sets, sets, sets, sets, sets, sets, sets); RUN(sets))
SCENARIO_OF(random_number, x = rand())

SCENARIO(not_joined)
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

SCENARIO_OF(made_once, RUN(uses_what_is_made_once, uses_what_is_made_once))

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

SCENARIO(recursive_mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attributes);
	RUN(locks_twice, locks_twice);
	EXPLORE_EXPECT_EQ(x, 4);
	pthread_mutex_destroy(&recursive);
}

SCENARIO_OF(lock_again, pthread_mutex_lock(&a); pthread_mutex_lock(&a))
SCENARIO_OF(negative_number, EXPLORE_EXPECT_EQ(-EINVAL, x))
SCENARIO_OF(largest_number, EXPLORE_EXPECT_EQ(UINT64_MAX, x))
SCENARIO_OF(signal_at_once, *(volatile int *)(uintptr_t)8 = 1)

SCENARIO(loop_without_steps)
{
	while (!*(volatile int *)&x)
		;
}

SCENARIO(loop_without_anything)
{
	for (;;)
		__asm__ volatile("");
}

SCENARIO_OF(interrupted, raise(SIGINT))

THREAD(tries_lock, pthread_mutex_trylock(&a))

/* A step of every kind, for the schedule. */
SCENARIO(all_steps)
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

SCENARIO(join_that_is_not_known)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sets, NULL);
	pthread_tryjoin_np(thread, NULL);
}

SCENARIO(unknown_function)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	sem_wait(&semaphore);
}

/* Atomic operations before explore_main do what they always do. */
static void count_outside(void)
{
	int value = 1;

	store(&x, 1, RELEASE);
	fence(SEQ_CST);
	__atomic_compare_exchange_n(&x, &value, 2, false, SEQ_CST, SEQ_CST);
	EXPLORE_EXPECT_EQ(__atomic_fetch_sub(&x, 2, RELAXED), 2);
	EXPLORE_EXPECT_EQ(load(&x, ACQUIRE), 0);
}

static int *executions; /* memory that keeps its value from one execution to the next */

SCENARIO(other_threads_each_time)
{
	if ((*executions)++ % 2)
		RUN(sets);
	RUN(sets, sets);
}

int main(int argc, char **argv)
{
	count_outside();
	executions = calloc(1, sizeof(*executions));
	return explore_main(argc, argv, scenarios, scenario_count);
}
