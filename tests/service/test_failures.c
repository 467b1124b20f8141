/* SPDX-License-Identifier: MIT */
/*
 * Every allocation and every start of a thread fails once, at open and when a service is to be inspected: a clean
 * -errno, nothing left behind, and the clock is free for the next one. The linker replaces the real functions by these
 * (--wrap), so the counts hold even without a sanitizer.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "../support/services.h"
#include "../support/viewer.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __real_pthread_join(pthread_t thread, void **result);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);

/*
 * How many calls could have failed since begin_counting; call number `failing`, from 1, does. Atomic: a view has its
 * own thread.
 */
static struct {
	unsigned calls, failing;
	bool of_thread; /* what failed was the start of a thread */
	long memory, threads;
} state;

static bool fails(bool thread)
{
	if (__atomic_add_fetch(&state.calls, 1, __ATOMIC_SEQ_CST) !=
	    __atomic_load_n(&state.failing, __ATOMIC_SEQ_CST))
		return false;
	state.of_thread = thread;
	return true;
}

static void *counted(void *memory)
{
	__atomic_add_fetch(&state.memory, memory != NULL, __ATOMIC_SEQ_CST);
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return fails(false) ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails(false) ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	if (fails(false))
		return NULL;
	return memory ? __real_realloc(memory, size) : counted(__real_realloc(NULL, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails(false) ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
	__atomic_sub_fetch(&state.memory, memory != NULL, __ATOMIC_SEQ_CST);
	__real_free(memory);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
	if (fails(true))
		return state.failing % 2 ? EAGAIN : EINVAL; /* glibc: the stack is too small */
	state.threads++;
	return __real_pthread_create(thread, attributes, run, arg);
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	state.threads--;
	return __real_pthread_join(thread, result);
}

static void begin_counting(unsigned failing)
{
	memset(&state, 0, sizeof(state));
	state.failing = failing;
}

static void expect_nothing_left(void)
{
	EXPECT_EQ(state.memory, 0);
	EXPECT_EQ(state.threads, 0);
}

static void expect_that_it_works(const struct pawl_service_options *options)
{
	struct pawl_service *service = service_with(options);
	struct fixture fixture = {.service = service};
	struct note note;

	pawl_clock_manual_init(&fixture.clock);
	note_init(&note, &fixture);
	EXPECT_EQ(pawl_service_arm_at(service, &note.task, 0), 0);
	pawl_service_settle(service);
	EXPECT_EQ(note.runs, 1);
	pawl_service_close(service, NULL);
}

/* How many calls of an open can fail. */
static unsigned chances_at_open(const struct pawl_service_options *options)
{
	struct pawl_service *service;
	unsigned chances;

	begin_counting(0);
	service = service_with(options);
	chances = state.calls;
	pawl_service_close(service, NULL);
	expect_nothing_left();
	return chances;
}

static void expect_clean_failure(const struct pawl_service_options *options, unsigned failing)
{
	struct pawl_service *const untouched = (struct pawl_service *)&state;
	struct pawl_service *service = untouched;
	int error;

	begin_counting(failing);
	error = pawl_service_open(&service, options);
	EXPECT_EQ(error, state.of_thread ? -EAGAIN : -ENOMEM);
	EXPECT(service == untouched);
	expect_nothing_left();
	if (options->clock)
		EXPECT(options->clock->service == NULL);
	expect_that_it_works(options);
	expect_nothing_left();
}

static void expect_every_failure_clean(const struct pawl_service_options *options,
                                       unsigned least_chances)
{
	unsigned chances = chances_at_open(options);

	EXPECT(chances >= least_chances);
	for (unsigned i = 1; i <= chances; i++)
		expect_clean_failure(options, i);
}

/* The service, its shards with a wheel each, its workers; and the threads. */
static unsigned least_chances_of(const struct pawl_service_options *options)
{
	unsigned threads = options->workers == PAWL_SERVICE_MANUAL ? 0 : options->workers + 1;

	return 1 + options->shards + threads;
}

/* With a clock of the caller's, which is free again afterwards, and without. */
static void every_allocation_and_thread_fails_once_at_open(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct pawl_service_options options = every_mode[i];
		struct pawl_clock_manual clock;

		expect_every_failure_clean(&options, least_chances_of(&options));
		pawl_clock_manual_init(&clock);
		options.clock = &clock.clock;
		expect_every_failure_clean(&options, least_chances_of(&options));
	}
}

static void a_refused_open_leaves_nothing_behind(void)
{
	const struct pawl_service_options invalid = {.shards = 1025};
	struct pawl_service *first, *second = NULL;
	struct pawl_service_options options = {0};
	struct pawl_clock_manual clock;

	begin_counting(0);
	EXPECT_EQ(pawl_service_open(&second, &invalid), -EINVAL);
	expect_nothing_left();
	pawl_clock_manual_init(&clock);
	options.clock = &clock.clock;
	first = service_with(&options);
	EXPECT_EQ(pawl_service_open(&second, &options), -EBUSY);
	EXPECT(second == NULL);
	pawl_service_close(first, NULL);
	expect_nothing_left();
}

/* The journals, the inspector, two for the samples, the server, its path and its thread. */
enum { CHANCES_AT_INSPECT = 7 };

static void every_allocation_and_thread_fails_once_at_inspect(void)
{
	struct pawl_service *good = service_with(NULL);

	begin_counting(0);
	EXPECT_EQ(pawl_service_inspect(good, socket_path()), 0);
	EXPECT_EQ(__atomic_load_n(&state.calls, __ATOMIC_SEQ_CST), CHANCES_AT_INSPECT);
	pawl_service_close(good, NULL);
	for (unsigned failing = 1; failing <= CHANCES_AT_INSPECT; failing++) {
		struct pawl_service *service = service_with(NULL);
		struct viewer viewer;
		long threads;
		int error;

		begin_counting(failing);
		threads = state.threads;
		error = pawl_service_inspect(service, socket_path());
		EXPECT_EQ(error, failing == CHANCES_AT_INSPECT ? -EAGAIN : -ENOMEM);
		EXPECT_EQ(state.of_thread, failing == CHANCES_AT_INSPECT);
		EXPECT_EQ(state.threads, threads);
		EXPECT_EQ(connect_to(socket_path()), -ENOENT);
		EXPECT_EQ(pawl_service_inspect(service, socket_path()), 0);
		viewer_open(&viewer, socket_path());
		viewer_close(&viewer);
		pawl_service_close(service, NULL);
	}
}

/* The test itself allocates nothing here, so the first allocation that fails is the view's. */
static bool answered(int fd)
{
	char bytes[4096];
	ssize_t size = 1;

	if (send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
		return false;
	do
		size = read(fd, bytes, sizeof(bytes));
	while (size > 0 && bytes[size - 1] != '\n');
	return size > 0;
}

static void a_snapshot_for_which_there_is_no_memory_ends_the_connection_and_nothing_else(void)
{
	struct pawl_service *service;
	bool complete = false;
	unsigned failing = 0;
	int fd;

	begin_counting(0);
	service = service_with(NULL);
	EXPECT_EQ(pawl_service_inspect(service, socket_path()), 0);
	while (!complete) {
		fd = connect_to(socket_path());
		EXPECT(answered(fd));
		__atomic_store_n(&state.calls, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&state.failing, ++failing, __ATOMIC_SEQ_CST);
		complete = answered(fd);
		__atomic_store_n(&state.failing, 0, __ATOMIC_SEQ_CST);
		close(fd);
	}
	EXPECT(failing > 1);
	pawl_service_close(service, NULL);
	expect_nothing_left();
}

static void arming_and_running_allocate_nothing(void)
{
	for (size_t i = 0; i < COUNTOF(every_mode); i++) {
		struct note notes[50];
		struct fixture fixture;

		fixture_open(&fixture, &every_mode[i]);
		begin_counting(0);
		for (unsigned j = 0; j < 50; j++) {
			note_init(&notes[j], &fixture);
			pawl_service_arm(fixture.service, &notes[j].task, j * j * MS);
			pawl_service_touch(fixture.service, &notes[j].task, j * MS);
		}
		advance_and_settle(&fixture, 25 * MS);
		for (unsigned j = 0; j < 50; j++)
			pawl_service_cancel_wait(fixture.service, &notes[j].task);
		pawl_service_stop(fixture.service, note_drop);
		EXPECT_EQ(state.calls, 0);
		pawl_service_close(fixture.service, NULL);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_allocation_and_thread_fails_once_at_open),
	        TEST(a_refused_open_leaves_nothing_behind),
	        TEST(every_allocation_and_thread_fails_once_at_inspect),
	        TEST(a_snapshot_for_which_there_is_no_memory_ends_the_connection_and_nothing_else),
	        TEST(arming_and_running_allocate_nothing),
	};
	int code = RUN_TESTS(tests);

	remove_socket_directory();
	return code;
}
