/* SPDX-License-Identifier: MIT */
/* The assertions of locks in development builds can fail, and say what is wrong. */
#define _GNU_SOURCE
#include "../../src/base/lock.h"
#include "../support/last_words.h"

#include <pthread.h>

static struct lock one, two;

static void be_under_one(void)
{
	lock_assert_held(&one);
}

static void call(const void *act)
{
	(*(void (*const *)(void))act)();
}

/* The first line of its last words: an emulator adds lines of its own. */
static const char *first_line_of(void (*act)(void))
{
	char *words = last_words(call, &act);

	if (strchr(words, '\n'))
		strchr(words, '\n')[1] = '\0';
	return words;
}

static void under_it(void)
{
	lock_acquire(&one);
	be_under_one();
	lock_release(&one);
}

static void under_another_one(void)
{
	lock_acquire(&two);
	be_under_one();
}

static void one_under_another_one(void)
{
	lock_acquire(&two);
	lock_acquire(&one);
}

static void release_what_is_not_held(void)
{
	lock_release(&one);
}

static void *acquire_one(void *unused)
{
	lock_acquire(&one);
	return unused;
}

static void while_another_thread_holds_it(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, acquire_one, NULL);
	pthread_join(thread, NULL);
	be_under_one();
}

#define EXPECT_WORDS(act, words) EXPECT_STR(first_line_of(act), words)

static void a_function_that_is_not_under_its_lock_ends_the_program(void)
{
	EXPECT_WORDS(under_it, "");
	EXPECT_WORDS(be_under_one,
	             "pawl: be_under_one: the thread should hold the lock that this is "
	             "done under, but holds none\n");
	EXPECT_WORDS(under_another_one,
	             "pawl: be_under_one: the thread should hold the lock that this "
	             "is done under, but holds another one\n");
	EXPECT_WORDS(while_another_thread_holds_it,
	             "pawl: be_under_one: the thread should hold the "
	             "lock that this is done under, but holds none\n");
}

static void a_lock_acquired_or_released_out_of_order_ends_the_program(void)
{
	EXPECT_WORDS(one_under_another_one,
	             "pawl: lock_acquire: the thread should hold no lock, but holds another one\n");
	EXPECT_WORDS(release_what_is_not_held,
	             "pawl: lock_release: the thread should hold the lock that this "
	             "is done under, but holds none\n");
}

static struct mutex mutex;

static void be_under_the_mutex(void)
{
	mutex_assert_held(&mutex);
}

static void under_the_mutex(void)
{
	mutex_init(&mutex);
	mutex_lock(&mutex);
	be_under_the_mutex();
	mutex_unlock(&mutex);
}

static void after_the_mutex(void)
{
	under_the_mutex();
	be_under_the_mutex();
}

static void lock_under_the_mutex(void)
{
	mutex_init(&mutex);
	mutex_lock(&mutex);
	lock_acquire(&one);
}

static void mutex_under_a_lock(void)
{
	mutex_init(&mutex);
	lock_acquire(&one);
	mutex_lock(&mutex);
}

static void a_function_that_is_not_under_its_mutex_ends_the_program(void)
{
	EXPECT_WORDS(under_the_mutex, "");
	EXPECT_WORDS(after_the_mutex, "pawl: be_under_the_mutex: the thread should hold the mutex "
	                              "that this is done under, but does not\n");
}

static void a_lock_and_a_mutex_at_once_end_the_program(void)
{
	EXPECT_WORDS(lock_under_the_mutex,
	             "pawl: lock_acquire: the thread should hold no mutex, but holds one\n");
	EXPECT_WORDS(mutex_under_a_lock,
	             "pawl: mutex_under_a_lock: the thread should hold no lock, "
	             "but holds another one\n");
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_function_that_is_not_under_its_lock_ends_the_program),
	        TEST(a_lock_acquired_or_released_out_of_order_ends_the_program),
	        TEST(a_function_that_is_not_under_its_mutex_ends_the_program),
	        TEST(a_lock_and_a_mutex_at_once_end_the_program),
	};

	return RUN_TESTS(tests);
}
