/* SPDX-License-Identifier: MIT */
/*
 * Every allocation fails once: the call returns -ENOMEM, the operation is as it was, and nothing is left behind; and in
 * the end all memory is given back. The linker puts the functions here in the place of the real ones (--wrap), so the
 * counts hold even without a sanitizer. All tests but three have no threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>

#include "../support/purgatories.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);
int __real_pawl__system_random(void *bytes, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pawl__system_random(void *bytes, size_t size);

#define EVERY UINT32_MAX

/* Allocations since begin_counting; the one with the number `failing`, from 1, fails, or EVERY one. */
static struct {
	unsigned calls, failing;
	long blocks, bytes; /* not freed yet; since begin_counting */
	int random_error;
} state;

static bool fails(void)
{
	return ++state.calls == state.failing || state.failing == EVERY;
}

static void *counted(void *memory)
{
	if (memory) {
		state.blocks++;
		state.bytes += (long)malloc_usable_size(memory);
	}
	return memory;
}

static void uncounted(void *memory)
{
	if (memory) {
		state.blocks--;
		state.bytes -= (long)malloc_usable_size(memory);
	}
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

static _Thread_local void (*in_calloc)(void); /* is called in the next one */

void *__wrap_calloc(size_t count, size_t size)
{
	void (*call)(void) = in_calloc;

	in_calloc = NULL;
	if (call)
		call();
	return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	void *moved;

	if (fails())
		return NULL;
	uncounted(memory);
	moved = __real_realloc(memory, size);
	return counted(moved ? moved : memory);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	int error = fails() ? ENOMEM : __real_posix_memalign(memory, alignment, size);

	if (!error)
		counted(*memory);
	return error;
}

/* Memory is overwritten before it is freed: so a late read is noticed even without a sanitizer. */
void __wrap_free(void *memory)
{
	uncounted(memory);
	if (memory)
		memset(memory, 0xA5, malloc_usable_size(memory));
	__real_free(memory);
}

int __wrap_pawl__system_random(void *bytes, size_t size)
{
	return state.random_error ? -state.random_error : __real_pawl__system_random(bytes, size);
}

static void begin_counting(unsigned failing)
{
	memset(&state, 0, sizeof(state));
	state.failing = failing;
}

static void expect_nothing_left(void)
{
	state.failing = 0;
	EXPECT_EQ(state.blocks, 0);
	EXPECT_EQ(state.bytes, 0);
}

static const struct pawl_service_options manual = {.workers = PAWL_SERVICE_MANUAL, .shards = 2};

static void expect_that_it_works(struct pawl_service *service, unsigned shards)
{
	struct pawl_purgatory *purgatory = purgatory_with(service, shards);

	EXPECT_EQ(pawl_purgatory_check(purgatory, pawl_purgatory_key(purgatory, "a", 1)), 0);
	pawl_purgatory_close(purgatory);
}

/* Open */

static void expect_clean_failure_of_open(struct pawl_service *service, unsigned shards,
                                         unsigned failing)
{
	const struct pawl_purgatory_options options = {.shards = shards};
	struct pawl_purgatory *const untouched = (struct pawl_purgatory *)(void *)&state;
	struct pawl_purgatory *purgatory = untouched;

	begin_counting(failing);
	EXPECT_EQ(pawl_purgatory_open(&purgatory, service, &options), -ENOMEM);
	EXPECT(purgatory == untouched);
	expect_nothing_left();
	expect_that_it_works(service, shards);
	expect_nothing_left();
}

static void every_allocation_fails_once_at_open(void)
{
	static const unsigned every_shards_too[] = {0, 1, 5, 32};
	struct pawl_service *service = service_with(&manual);

	for (size_t i = 0; i < COUNTOF(every_shards_too); i++) {
		unsigned chances;

		begin_counting(0);
		pawl_purgatory_close(purgatory_with(service, every_shards_too[i]));
		expect_nothing_left();
		chances = state.calls;
		EXPECT(chances >= 1);
		for (unsigned failing = 1; failing <= chances; failing++)
			expect_clean_failure_of_open(service, every_shards_too[i], failing);
	}
	pawl_service_close(service, NULL);
}

static void without_random_bytes_there_is_no_purgatory(void)
{
	static const int errors[] = {ENOSYS, EPERM, EFAULT};
	struct pawl_service *service = service_with(&manual);
	struct pawl_purgatory *const untouched = (struct pawl_purgatory *)(void *)&state;
	struct pawl_purgatory *purgatory = untouched;

	for (size_t i = 0; i < COUNTOF(errors); i++) {
		begin_counting(0);
		state.random_error = errors[i];
		EXPECT_EQ(pawl_purgatory_open(&purgatory, service, NULL), -errors[i]);
		EXPECT(purgatory == untouched);
		expect_nothing_left();
	}
	state.random_error = 0;
	expect_that_it_works(service, 1);
	pawl_service_close(service, NULL);
}

/* Watching */

#define KEYS_MAX 1000

static struct pawl_key keys[KEYS_MAX];

static void open_with_keys(struct room *room, unsigned shards)
{
	room_open(room, &manual, shards);
	for (uint32_t i = 0; i < KEYS_MAX; i++)
		keys[i] = key_numbered(room, i);
}

static int watch_first(struct request *request, size_t count)
{
	return watch_keys(request, keys, count);
}

/* It is as it was: with memory it waits, and the reference from before counts. */
static void expect_fresh(struct request *request, size_t count, size_t watched, size_t delayed)
{
	EXPECT(request->tries <= 1);
	EXPECT_STR(request->story, "");
	expect_counted(request->room, watched, delayed);
	expect_nothing_left();
	EXPECT_EQ(watch_first(request, count), 0);
}

/*
 * The allocation of that number fails, and so does the call, unless it can do without (a table that does not grow is
 * only slower). False: the call needs fewer allocations.
 */
static bool expect_clean_failure_of_watch(struct room *room, size_t count, unsigned failing)
{
	size_t watched = pawl_purgatory_watched(room->purgatory);
	size_t delayed = pawl_purgatory_delayed(room->purgatory);
	struct request request;
	bool failed;
	int answer;

	request_init(&request, room);
	pawl_op_ref(&request.op);
	begin_counting(failing);
	answer = watch_first(&request, count);
	failed = state.calls >= failing;
	state.failing = 0;
	EXPECT(answer == 0 || (answer == -ENOMEM && failed));
	if (answer)
		expect_fresh(&request, count, watched, delayed);
	expect_counted(room, watched + count, delayed + 1);
	EXPECT(pawl_op_complete(&request.op));
	EXPECT_STR(request.story, "c");
	pawl_op_unref(&request.op);
	EXPECT_STR(request.story, "cr");
	expect_counted(room, watched, delayed);
	expect_nothing_left();
	return failed;
}

/* Once before, so that the table has grown for them: it stays so until close. */
static void watch_once(struct room *room, size_t count)
{
	struct request request;

	request_init(&request, room);
	EXPECT_EQ(watch_first(&request, count), 0);
	EXPECT_EQ(pawl_purgatory_cancel_key(room->purgatory, keys[0], request_cancelled), 1);
}

/* Memory is needed only for more keys than an operation has room for. */
static void expect_clean_failures_of_watch(struct room *room, size_t count)
{
	unsigned failing = 1;

	watch_once(room, count);
	while (expect_clean_failure_of_watch(room, count, failing))
		failing++;
	EXPECT_EQ(failing > 1, count > PAWL_OP_WATCHES);
}

static void every_allocation_fails_once_when_watching(void)
{
	static const size_t counts[] = {1, 2, 4, 5, 17, 300};

	for (unsigned shards = 1; shards <= 3; shards += 2)
		for (size_t i = 0; i < COUNTOF(counts); i++) {
			struct room room;

			open_with_keys(&room, shards);
			expect_clean_failures_of_watch(&room, counts[i]);
			room_close(&room);
		}
}

/* Calls that need no memory work without */

static void *watch_without_memory(void *request)
{
	begin_counting(EVERY);
	EXPECT_EQ(watch_first(request, 4), 0);
	EXPECT_EQ(state.calls, 0);
	state.failing = 0;
	return NULL;
}

static void up_to_4_keys_allocate_nothing(void)
{
	struct request first, second;
	pthread_t thread;
	struct room room;

	open_with_keys(&room, 3);
	request_init(&first, &room);
	request_init(&second, &room);
	pthread_create(&thread, NULL, watch_without_memory, &first); /* its first call */
	pthread_join(thread, NULL);
	watch_without_memory(&second); /* another operation is watched under each */
	first.ready = second.ready = 1;
	EXPECT_EQ(pawl_purgatory_check(room.purgatory, keys[0]), 2);
	for (unsigned round = 0; round < 3; round++) {
		request_init(&first, &room);
		watch_without_memory(&first);
		EXPECT_EQ(pawl_purgatory_cancel_key(room.purgatory, keys[3], NULL), 1);
		EXPECT_EQ(state.calls, 0);
	}
	room_close(&room);
}

/* They may try to allocate, and do without. */
static void check_complete_expire_cancel_and_stop_need_no_memory(void)
{
	struct request r[6];
	struct room room;

	open_with_keys(&room, 2);
	requests_init(r, 6, &room);
	for (unsigned i = 0; i < 6; i++) {
		pawl_op_ref(&r[i].op);
		EXPECT_EQ(pawl_purgatory_try_or_watch(room.purgatory, &r[i].op, &keys[10 * i], 10,
		                                      i == 2 ? MS : HOUR),
		          0);
	}
	begin_counting(EVERY);
	r[0].ready = 1;
	EXPECT_EQ(pawl_purgatory_check(room.purgatory, keys[9]), 1);
	EXPECT(pawl_op_complete(&r[1].op));
	advance_and_settle(&room.fixture, MS);
	EXPECT_EQ(pawl_purgatory_cancel_key(room.purgatory, keys[31], request_cancelled), 1);
	EXPECT_EQ(pawl_purgatory_check(room.purgatory, key_of(&room, "unknown")), 0);
	pawl_purgatory_stop(room.purgatory);
	for (unsigned i = 0; i < 6; i++)
		pawl_op_unref(&r[i].op);
	EXPECT_STR(r[0].story, "cr");
	EXPECT_STR(r[1].story, "cr");
	EXPECT_STR(r[2].story, "cer");
	EXPECT_STR(r[3].story, "kr");
	EXPECT_STR(r[4].story, "dr");
	state.failing = 0;
	room_close(&room);
}

static void act_on_other(struct request *request, char event)
{
	if (event == 'c' && request->other)
		EXPECT(pawl_op_complete(&request->other->op));
}

static void nested_calls_need_no_memory(void)
{
	enum { COUNT = 1000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	struct room room;

	open_with_keys(&room, 2);
	requests_init(requests, COUNT, &room);
	for (unsigned i = 0; i < COUNT; i++) {
		requests[i].inside = act_on_other;
		requests[i].other = i + 1 < COUNT ? &requests[i + 1] : NULL;
		pawl_op_ref(&requests[i].op);
		EXPECT_EQ(watch_first(&requests[i], 1), 0);
	}
	begin_counting(EVERY);
	EXPECT(pawl_op_complete(&requests->op));
	state.failing = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		pawl_op_unref(&requests[i].op);
		EXPECT_STR(requests[i].story, "cr");
	}
	room_close(&room);
	free(requests);
}

static void *watch_many(void *arg)
{
	EXPECT_EQ(watch_first(arg, 10), 0);
	return NULL;
}

/* The winner leaves them to the thread that is still in try_or_watch, which may read them. */
static void further_watches_are_freed_once_and_by_the_submitter(void)
{
	struct request request;
	pthread_t thread;
	struct room room;
	long blocks;

	open_with_keys(&room, 2);
	request_init(&request, &room);
	request.inside_try = stay_in_try_of_number;
	request.number = 2;
	begin_counting(0);
	pthread_create(&thread, NULL, watch_many, &request);
	sem_wait(&request.entered);
	EXPECT_EQ(pawl_purgatory_cancel_key(room.purgatory, keys[0], request_cancelled), 1);
	blocks = state.blocks;
	sem_post(&request.leave);
	pthread_join(thread, NULL);
	EXPECT_EQ(blocks, 1);
	expect_nothing_left();
	EXPECT_STR(request.story, "kr");
	room_close(&room);
}

/* Once a bug: one thread gives an operation to try_or_watch while another completes it, in 16 nested calls. */
#define DEPTH 16 /* at which on_complete is put off */

static struct {
	struct room room;
	struct request nested[DEPTH], late;
	sem_t allocating, completed, returned;
} deep;

/* The allocation is for further keys: try_or_watch has seen by then that the operation is still fresh. */
static void wait_until_completed(void)
{
	sem_post(&deep.allocating);
	sem_wait(&deep.completed);
}

static void go_deeper(struct request *request, char event)
{
	if (event != 'c')
		return;
	if (request->other) {
		pawl_op_complete(&request->other->op);
		return;
	}
	sem_wait(&deep.allocating);
	EXPECT(pawl_op_complete(&deep.late.op));
	sem_post(&deep.completed);
	sem_wait(&deep.returned);
	EXPECT_STR(deep.late.story, ""); /* it is put off until this function has returned */
}

static void *watch_late(void *arg)
{
	(void)arg;
	in_calloc = wait_until_completed;
	EXPECT_EQ(watch(&deep.late, "abcde", HOUR), 0);
	sem_post(&deep.returned);
	return NULL;
}

static void completed_in_nested_calls_while_it_is_being_watched_it_completes_once(void)
{
	pthread_t thread;

	room_open(&deep.room, &every_mode[0], 1);
	sem_init(&deep.allocating, 0, 0);
	sem_init(&deep.completed, 0, 0);
	sem_init(&deep.returned, 0, 0);
	request_init(&deep.late, &deep.room);
	pawl_op_ref(&deep.late.op);
	for (unsigned i = 0; i < DEPTH; i++) {
		request_init(&deep.nested[i], &deep.room);
		pawl_op_ref(&deep.nested[i].op);
		deep.nested[i].inside = go_deeper;
		deep.nested[i].other = i + 1 < DEPTH ? &deep.nested[i + 1] : NULL;
	}
	pthread_create(&thread, NULL, watch_late, NULL);
	EXPECT(pawl_op_complete(&deep.nested[0].op));
	pthread_join(thread, NULL);
	EXPECT_STR(deep.late.story, "c");
	expect_counted(&deep.room, 0, 0);
	pawl_op_unref(&deep.late.op);
	EXPECT_STR(deep.late.story, "cr");
	room_close(&deep.room);
}

/* Memory */

static uint64_t quiet_releases;

static bool quiet_try(struct pawl_op *op)
{
	return request_from(op)->ready != 0;
}

static void quiet_complete(struct pawl_op *op)
{
	(void)op;
}

static void quiet_release(struct pawl_op *op)
{
	(void)op;
	quiet_releases++;
}

static const struct pawl_op_type quiet_type = {
        .try_complete = quiet_try, .on_complete = quiet_complete, .release = quiet_release};

/* Watched under a key where another operation always waits, and under two keys of its own. */
static void watch_and_complete(struct request *request, uint64_t number)
{
	const uint64_t own[2] = {2 * number, 2 * number + 1};
	const struct pawl_key three[3] = {key_of(request->room, "forever"),
	                                  pawl_purgatory_key(request->room->purgatory, &own[0], 8),
	                                  pawl_purgatory_key(request->room->purgatory, &own[1], 8)};

	pawl_op_init(&request->op, &quiet_type);
	request->ready = 0;
	EXPECT_EQ(pawl_purgatory_try_or_watch(request->room->purgatory, &request->op, three, 3,
	                                      30 * SECOND),
	          0);
	request->ready = 1;
	EXPECT_EQ(pawl_purgatory_check(request->room->purgatory, three[1 + number % 2]), 1);
}

/* The thread sanitizer takes twenty times as long, and there are no threads here. */
#ifdef __SANITIZE_THREAD__
#define MANY 100000
#else
#define MANY 1000000
#endif

static void after_a_million_operations_memory_is_where_it_was(void)
{
	struct request forever, request;
	struct pawl_key key;
	long blocks, bytes;
	struct room room;

	begin_counting(0);
	open_with_keys(&room, 4);
	key = key_of(&room, "forever");
	request_init(&forever, &room);
	request_init(&request, &room);
	EXPECT_EQ(pawl_purgatory_try_or_watch(room.purgatory, &forever.op, &key, 1, PAWL_NEVER), 0);
	blocks = state.blocks;
	bytes = state.bytes;
	quiet_releases = 0;
	for (uint64_t i = 0; i < MANY; i++)
		watch_and_complete(&request, i);
	EXPECT_EQ(quiet_releases, MANY);
	EXPECT_EQ(state.blocks, blocks);
	EXPECT_EQ(state.bytes, bytes);
	EXPECT_EQ(forever.tries, 2);
	expect_counted(&room, 1, 1);
	leave_room(&room);
	room_close(&room);
	expect_nothing_left();
}

/* All at the same time, each under its own key. */
static void watch_and_check_many(struct room *room, struct request *requests, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		request_init(&requests[i], room);
		pawl_op_init(&requests[i].op, &quiet_type);
		EXPECT_EQ(watch_numbered(&requests[i], i), 0);
		requests[i].ready = 1;
	}
	for (uint32_t i = 0; i < count; i++)
		EXPECT_EQ(check_numbered(room, i), 1);
}

/* The table takes at most 128 bytes for each operation watched at one time, and no more the second time. */
static void an_operation_with_many_keys_grows_once(void)
{
	enum { COUNT = 100000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	long blocks, bytes;
	struct room room;

	begin_counting(0);
	open_with_keys(&room, 2);
	watch_and_check_many(&room, requests, COUNT);
	blocks = state.blocks;
	bytes = state.bytes;
	EXPECT(bytes <= 128 * COUNT);
	watch_and_check_many(&room, requests, COUNT);
	EXPECT_EQ(state.blocks, blocks);
	EXPECT_EQ(state.bytes, bytes);
	room_close(&room);
	expect_nothing_left();
	free(requests);
}

/* Watches, under a key each, while the allocation of that number fails, or every one. Returns how many blocks stay. */
static long watch_while_failing(struct request *requests, uint32_t from, uint32_t to,
                                unsigned failing)
{
	long before = state.blocks;

	state.calls = 0;
	state.failing = failing;
	for (uint32_t i = from; i < to; i++)
		EXPECT_EQ(watch_numbered(&requests[i], i), 0);
	state.failing = 0;
	return state.blocks - before;
}

/* Full many times over, it stays right; as soon as there is memory, it grows. */
static void a_table_without_memory_to_grow_grows_later(void)
{
	enum { COUNT = 4000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	struct room room;

	begin_counting(0);
	open_with_keys(&room, 1);
	requests_init(requests, COUNT, &room);
	EXPECT_EQ(watch_while_failing(requests, 0, COUNT / 2, EVERY), 0);
	EXPECT(watch_while_failing(requests, COUNT / 2, COUNT - 1000, 1) > 0);
	EXPECT(watch_while_failing(requests, COUNT - 1000, COUNT, 0) >= 0);
	expect_counted(&room, COUNT, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		requests[i].ready = 1;
		EXPECT_EQ(check_numbered(&room, i), 1);
	}
	expect_counted(&room, 0, 0);
	room_close(&room);
	expect_nothing_left();
	free(requests);
}

/* More buckets would not make the lists of a few keys shorter. */
static void many_operations_under_a_few_keys_need_no_larger_table(void)
{
	enum { COUNT = 100000 };
	struct request *requests = malloc(COUNT * sizeof(*requests));
	struct room room;
	long bytes;

	begin_counting(0);
	open_with_keys(&room, 1);
	bytes = state.bytes;
	requests_init(requests, COUNT, &room);
	for (size_t i = 0; i < COUNT; i++)
		EXPECT_EQ(watch(&requests[i], "abc", HOUR), 0);
	EXPECT(state.bytes - bytes <= 16384);
	room_close(&room);
	expect_nothing_left();
	free(requests);
}

/* The manual promises sizes: 136 bytes for each four keys beyond the fourth, and nothing for the first four. */
static void an_operation_takes_what_the_manual_says(void)
{
	enum { COUNT = 60 }; /* for two such operations the table need not grow */
	struct request first, second;
	struct room room;

	open_with_keys(&room, 1);
	request_init(&first, &room);
	request_init(&second, &room);
	EXPECT_EQ(watch_first(&first, COUNT), 0);
	begin_counting(0);
	EXPECT_EQ(watch_first(&second, COUNT), 0);
	EXPECT(state.bytes >= 0);
	EXPECT(state.bytes <= (COUNT - PAWL_OP_WATCHES) / 4 * 136 + 64); /* and malloc's rounding */
	EXPECT_EQ(state.blocks, 1);
	leave_room(&room);
	EXPECT(state.blocks <= 0);
	room_close(&room);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_allocation_fails_once_at_open),
	        TEST(without_random_bytes_there_is_no_purgatory),
	        TEST(every_allocation_fails_once_when_watching),
	        TEST(up_to_4_keys_allocate_nothing),
	        TEST(check_complete_expire_cancel_and_stop_need_no_memory),
	        TEST(nested_calls_need_no_memory),
	        TEST(further_watches_are_freed_once_and_by_the_submitter),
	        TEST(completed_in_nested_calls_while_it_is_being_watched_it_completes_once),
	        TEST(after_a_million_operations_memory_is_where_it_was),
	        TEST(an_operation_with_many_keys_grows_once),
	        TEST(a_table_without_memory_to_grow_grows_later),
	        TEST(many_operations_under_a_few_keys_need_no_larger_table),
	        TEST(an_operation_takes_what_the_manual_says),
	};

	return RUN_TESTS(tests);
}
