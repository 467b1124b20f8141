/* SPDX-License-Identifier: MIT */
/* What development builds assert of locks can fail, and says what is wrong. */
#define _GNU_SOURCE
#include "../../src/service/lock.h"
#include "../support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct lock one, two;

static void be_under_one(void)
{
	lock_assert_held(&one);
}

/*
 * The first line that it writes to stderr before it is aborted; empty if it is not. An emulator adds lines of its own.
 */
static const char *last_words(void (*act)(void))
{
	static char words[200];
	int fds[2], status = 0;
	ssize_t length = 0, part;
	pid_t child;

	EXPECT_EQ(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		dup2(fds[1], STDERR_FILENO);
		act();
		_exit(0);
	}
	close(fds[1]);
	while ((part = read(fds[0], words + length, sizeof(words) - 1 - (size_t)length)) > 0)
		length += part; /* musl writes it in pieces */
	words[length] = 0;
	if (strchr(words, '\n'))
		strchr(words, '\n')[1] = 0;
	close(fds[0]);
	waitpid(child, &status, 0);
	EXPECT_EQ(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, words[0] != 0);
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

#define EXPECT_WORDS(act, words) EXPECT(strcmp(last_words(act), words) == 0)

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
