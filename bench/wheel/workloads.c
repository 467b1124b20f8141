/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "workloads.h"

#include "../support/machine.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
	CHURN_TICKS = 70000,
	REFRESH_DELAY = 30000,
	REFRESH_AGE = 15000,
	REFRESH_TICKS = 35000,
	SPARSE_TICKS = 3600000,
	SHORTENED = 10, /* of the ticks of churn and refresh, for a peer that does not cascade */
	SHORTENED_KERNEL = 100,

	/* Rounds of arm, cancel and expire are repeated until they had this many timers. */
	ENOUGH_TIMERS = 300000,
	ENOUGH_KERNEL_TIMERS = 30000,
	EXPIRE_ROUNDS = 20, /* but at most: a round is 60,000 ticks, however few the timers */
	SPARSE_JUMP_ROUNDS = 1000,

	BOUND = 1000, /* moves of a bounded advance */
	AHEAD_MOVES = 64,
	PASSES_MS = 30, /* for so long, but at least: */
	PASSES = 3,
	PASS_TIMERS = 100000,

	/*
	 * From so many on the reading of the clock around each advance is negligible against the timers
	 * of a tick (a hundred and more), and one pass serves for `expire` and for `longest`.
	 */
	ONE_PASS_TIMERS = 6000000,
};

void arena_open(struct arena *arena, uint32_t capacity, size_t largest_object)
{
	arena->n = 0;
	arena->objects = aligned_alloc(CACHE_LINE, capacity * largest_object);
	arena->arm_order = malloc(capacity * sizeof(uint32_t));
	arena->cancel_order = malloc(capacity * sizeof(uint32_t));
	if (!arena->objects || !arena->arm_order || !arena->cancel_order)
		fail("no memory for %u objects of %zu bytes", capacity, largest_object);
}

void arena_close(struct arena *arena)
{
	free(arena->objects);
	free(arena->arm_order);
	free(arena->cancel_order);
}

static void shuffle(uint32_t *order, uint32_t n, struct random *random)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = random_below32(random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

void arena_resize(struct arena *arena, uint32_t n, size_t object_size, struct random *random)
{
	arena->n = n;
	arena->object_size = object_size;
	shuffle(arena->arm_order, n, random);
	shuffle(arena->cancel_order, n, random);
}

static void arm_all(struct bench *bench, uint32_t min_delay, uint32_t max_delay)
{
	const struct peer *peer = bench->peer;
	const struct arena *arena = bench->arena;
	const uint32_t *order = arena->arm_order;
	struct random random = bench->random;

	for (uint32_t i = 0; i < arena->n; i++) {
		uint32_t delay = min_delay + random_below32(&random, max_delay - min_delay + 1);

		peer->arm(bench->self, object_at(arena, order[i]), bench->now + delay);
	}
	bench->random = random;
}

static void cancel_all(struct bench *bench)
{
	const struct peer *peer = bench->peer;
	const struct arena *arena = bench->arena;
	const uint32_t *order = arena->cancel_order;

	for (uint32_t i = 0; i < bench->arena->n; i++)
		peer->cancel(bench->self, object_at(arena, order[i]));
}

/* Advance while the structure is empty, so that the rounds do not all begin at the same phase. */
static void skip_ticks(struct bench *bench, uint64_t ticks)
{
	bench->now += ticks;
	if (bench->peer->advance)
		bench->peer->advance(bench->self, bench->now);
}

static uint32_t rounds_for(const struct peer *peer, uint32_t n)
{
	return ((peer->in_kernel ? ENOUGH_KERNEL_TIMERS : ENOUGH_TIMERS) + n - 1) / n;
}

static uint32_t expire_rounds(const struct peer *peer, uint32_t n)
{
	uint32_t rounds = rounds_for(peer, n);

	return rounds < EXPIRE_ROUNDS ? rounds : EXPIRE_ROUNDS;
}

/* Measured over many, because malloc counts cached free memory as used. */
static double memory_of_empty(const struct peer *peer)
{
	enum { MANY = 64 };
	size_t before = memory_in_use(), bytes;
	void *selves[MANY];

	for (int i = 0; i < MANY; i++) {
		selves[i] = peer->open(peer, 0);
		if (!selves[i])
			fail("%s cannot be opened", peer->name);
	}
	bytes = memory_in_use() - before;
	for (int i = 0; i < MANY; i++)
		peer->close(selves[i]);
	return (double)bytes / MANY;
}

/* The memory that the peer has allocated, and the timers in the objects. */
static double memory_held(const struct bench *bench)
{
	return (double)(memory_in_use() - bench->memory_before) +
	       (double)bench->peer->timer_size * bench->arena->n;
}

/* Work that a peer puts off in cancel, such as clearing the bits of empty slots, it does in churn. */
static void run_arm_and_cancel(struct bench *bench, struct result *result)
{
	uint32_t n = bench->arena->n, rounds = rounds_for(bench->peer, n);
	double empty = memory_of_empty(bench->peer);
	uint64_t arming = 0, cancelling = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t begin = clock_ns();
		arm_all(bench, 1, MAX_DELAY);
		arming += clock_ns() - begin;

		if (round == 0)
			result->figure[2] = (memory_held(bench) - empty) / n;

		begin = clock_ns();
		cancel_all(bench);
		cancelling += clock_ns() - begin;
		skip_ticks(bench, 7919);
	}
	result->figure[0] = (double)arming / n / rounds;
	result->figure[1] = (double)cancelling / n / rounds;
	result->figure[3] = empty;
}

static uint32_t ticks_for(const struct peer *peer, uint32_t ticks)
{
	if (peer->in_kernel)
		return ticks / SHORTENED_KERNEL;
	return peer->cascades ? ticks : ticks / SHORTENED;
}

static void churn_steps(struct bench *bench)
{
	const struct peer *peer = bench->peer;
	const struct arena *arena = bench->arena;
	struct random random = bench->random;

	for (uint32_t step = 0; step < bench->steps_per_tick; step++) {
		uint64_t bits = random_next(&random);
		uint32_t victim = random_scale((uint32_t)bits, bench->arena->n);
		uint32_t delay = 1 + random_scale((uint32_t)(bits >> 32), MAX_DELAY);

		peer->cancel(bench->self, object_at(arena, victim));
		peer->arm(bench->self, object_at(arena, victim), bench->now + delay);
	}
	bench->random = random;
}

static void tick_and_rearm(struct bench *bench, uint32_t min_delay, uint32_t max_delay)
{
	const struct peer *peer = bench->peer;
	void *timer;

	bench->now++;
	if (!peer->advance)
		return;
	if (!peer->advance(bench->self, bench->now))
		return;
	while ((timer = peer->pop(bench->self)) != NULL) {
		uint32_t delay =
		        min_delay + random_below32(&bench->random, max_delay - min_delay + 1);

		peer->arm(bench->self, timer, bench->now + delay);
	}
}

static void run_churn(struct bench *bench, struct result *result)
{
	uint32_t ticks = ticks_for(bench->peer, CHURN_TICKS);

	arm_all(bench, 1, MAX_DELAY);
	uint64_t begin = clock_ns();
	for (uint32_t tick = 0; tick < ticks; tick++) {
		churn_steps(bench);
		tick_and_rearm(bench, 1, MAX_DELAY);
	}
	result->figure[0] = (double)(clock_ns() - begin) / ticks / bench->steps_per_tick;
	result->figure[1] = bench->peer->entries ? (double)bench->peer->entries(bench->self)
	                                         : (double)bench->arena->n;
	result->figure[2] = memory_held(bench);
}

static void refresh_steps(struct bench *bench)
{
	const struct peer *peer = bench->peer;
	const struct arena *arena = bench->arena;
	struct random random = bench->random;

	for (uint32_t step = 0; step < bench->steps_per_tick; step++) {
		uint32_t active = random_below32(&random, bench->arena->n);

		peer->refresh(bench->self, object_at(arena, active), bench->now + REFRESH_DELAY);
	}
	bench->random = random;
}

/*
 * Each timeout was refreshed within the last REFRESH_AGE ticks. In the shortened run none becomes due, so it is the same
 * work for peers that cannot be told the time.
 */
static void run_refresh(struct bench *bench, struct result *result)
{
	uint32_t ticks = ticks_for(bench->peer, REFRESH_TICKS);

	arm_all(bench, REFRESH_DELAY - REFRESH_AGE + 1, REFRESH_DELAY);
	uint64_t begin = clock_ns();
	for (uint32_t tick = 0; tick < ticks; tick++) {
		refresh_steps(bench);
		tick_and_rearm(bench, REFRESH_DELAY, REFRESH_DELAY);
	}
	result->figure[0] = (double)(clock_ns() - begin) / ticks / bench->steps_per_tick;
}

static uint32_t pop_all(struct bench *bench)
{
	uint32_t popped = 0;

	while (bench->peer->pop(bench->self))
		popped++;
	return popped;
}

static void expect_all(const struct bench *bench, uint32_t popped)
{
	if (popped != bench->arena->n)
		fail("%s: %u of %u timers came out", bench->peer->name, popped, bench->arena->n);
}

/* The time of a call, between two readings of the clock, without the cost of a reading. */
static uint32_t without_reading(uint64_t took, uint64_t reading)
{
	return (uint32_t)(took > reading ? took - reading : 0);
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * The time for so many ticks, with all pops, and with `ahead_calls` calls of ahead after each. `clocked`: the clock is
 * also read around each call, and the longest ones are noted there; the cost of reading it is subtracted.
 */
ALWAYS_INLINE uint64_t tick_through(struct bench *bench, uint32_t ticks, uint32_t ahead_calls,
                                    struct result *clocked)
{
	uint64_t reading = clocked ? clock_cost() : 0, begin = clock_ns(), before = 0;
	uint32_t popped = 0;

	for (uint32_t tick = 0; tick < ticks; tick++) {
		if (clocked)
			before = clock_ns();
		bool due = bench->peer->advance(bench->self, ++bench->now);
		uint64_t advance = clocked ? clock_ns() - before : 0, call = advance;

		if (due)
			popped += pop_all(bench);
		for (uint32_t i = 0; i < ahead_calls; i++) {
			if (clocked)
				before = clock_ns();
			bench->peer->ahead(bench->self, AHEAD_MOVES);
			if (clocked)
				call = longer(call, clock_ns() - before);
		}
		if (clocked) {
			clocked->advance_ns[tick] = without_reading(advance, reading);
			clocked->call_ns[tick] = without_reading(call, reading);
		}
	}
	uint64_t end = clock_ns();
	expect_all(bench, popped);
	return end - begin - 2 * reading * ticks;
}

/* Advances to this time in bounded calls; the longest of them. */
static uint64_t advance_in_steps(struct bench *bench, uint64_t now)
{
	uint64_t longest = 0;
	bool done = false;

	while (!done) {
		uint64_t before = clock_ns();
		done = bench->peer->advance_bounded(bench->self, now, BOUND);
		longest = longer(longest, clock_ns() - before);
	}
	return longest;
}

static void run_bounded(struct bench *bench, struct result *result)
{
	uint64_t reading = clock_cost();
	uint32_t popped = 0;

	arm_all(bench, 1, MAX_DELAY);
	for (uint32_t tick = 0; tick < MAX_DELAY; tick++) {
		uint64_t took = advance_in_steps(bench, ++bench->now);

		result->advance_ns[tick] = without_reading(took, reading);
		popped += pop_all(bench);
	}
	expect_all(bench, popped);
}

static void run_expire(struct bench *bench, struct result *result)
{
	uint32_t n = bench->arena->n, rounds = expire_rounds(bench->peer, n);
	uint64_t expiring = 0;

	arm_all(bench, 1, MAX_DELAY);
	uint64_t clocked = tick_through(bench, MAX_DELAY, 0, result);
	if (n >= ONE_PASS_TIMERS) {
		result->figure[0] = (double)clocked / n;
		return;
	}

	for (uint32_t round = 0; round < rounds; round++) {
		arm_all(bench, 1, MAX_DELAY);
		expiring += tick_through(bench, MAX_DELAY, 0, NULL);
	}
	result->figure[0] = (double)expiring / n / rounds;
}

/* There are as many calls per tick as it takes to move the timers that fall due in two ticks. */
static void run_ahead(struct bench *bench, struct result *result)
{
	uint32_t n = bench->arena->n, rounds = expire_rounds(bench->peer, n);
	uint32_t calls = 1 + 2 * n / MAX_DELAY / AHEAD_MOVES;
	uint64_t expiring = 0;

	arm_all(bench, 1, MAX_DELAY);
	tick_through(bench, MAX_DELAY, calls, result);
	for (uint32_t round = 0; round < rounds; round++) {
		arm_all(bench, 1, MAX_DELAY);
		expiring += tick_through(bench, MAX_DELAY, calls, NULL);
	}
	result->figure[0] = (double)expiring / n / rounds;
}

static void jump_through(struct bench *bench)
{
	const struct peer *peer = bench->peer;
	uint32_t popped = 0;
	uint64_t next;

	while ((next = peer->next(bench->self)) != PEER_NEVER) {
		bench->now = next;
		if (peer->advance(bench->self, next))
			popped += pop_all(bench);
	}
	expect_all(bench, popped);
}

static void run_sparse(struct bench *bench, struct result *result)
{
	uint64_t ticking, jumping = 0;

	arm_all(bench, 1, SPARSE_TICKS);
	ticking = tick_through(bench, SPARSE_TICKS, 0, NULL);
	for (uint32_t round = 0; round < SPARSE_JUMP_ROUNDS; round++) {
		arm_all(bench, 1, SPARSE_TICKS);
		uint64_t begin = clock_ns();
		jump_through(bench);
		jumping += clock_ns() - begin;
	}
	result->figure[0] = (double)ticking / SPARSE_TICKS;
	result->figure[1] = (double)jumping / SPARSE_TIMERS / SPARSE_JUMP_ROUNDS;
}

static void nothing_is_due(void *timer, void *arg)
{
	const struct bench *bench = arg;

	(void)timer;
	fail("%s: a timer fired long before its time", bench->peer->name);
}

static void run_pass(struct bench *bench, struct result *result)
{
	uint64_t begin, now;
	uint32_t passes = 0;

	arm_all(bench, 1, MAX_DELAY);
	begin = clock_ns();
	do {
		bench->peer->pass(bench->self, nothing_is_due, bench);
		passes++;
		now = clock_ns();
	} while (passes < PASSES || now - begin < PASSES_MS * MILLISECOND);
	result->figure[0] = (double)(now - begin) / passes;
}

#define NS(KEY, LABEL)                                                     \
	{                                                                  \
		.key = (KEY), .label = (LABEL), .unit = "ns", .kind = TIME \
	}
#define BYTES(KEY, LABEL)                                                                       \
	{                                                                                       \
		.key = (KEY), .label = (LABEL), .unit = "bytes", .kind = NUMBER, .memory = true \
	}

const struct workload workloads[] = {
        {
                .rows = {NS("arm", "arm"), NS("cancel", "cancel"), BYTES("memory", "bytes a timer"),
                         BYTES("memory", "empty, bytes")},
                .needs = ANY_DELAY,
                .run = run_arm_and_cancel,
        },
        {
                .rows = {NS("churn", "churn"),
                         {.key = "held",
                          .label = "entries held",
                          .unit = "entries",
                          .kind = NUMBER},
                         BYTES("held", "bytes held")},
                .needs = TELLS_TIME,
                .ticks = CHURN_TICKS,
                .run = run_churn,
        },
        {
                .rows = {NS("expire", "expire"),
                         {.key = "longest", .label = "longest", .unit = "ns", .kind = LONGEST}},
                .needs = TELLS_TIME | DELIVERS,
                .run = run_expire,
        },
        {
                .rows = {{.key = "bounded", .label = "bounded", .unit = "ns", .kind = LONGEST}},
                .needs = TELLS_TIME | IS_BOUNDED,
                .run = run_bounded,
        },
        {
                .rows = {NS("ahead", "expire, ahead"),
                         {.key = "ahead",
                          .label = "longest, ahead",
                          .unit = "ns",
                          .kind = LONGEST_CALL},
                         {.key = "ahead",
                          .label = "advance, ahead",
                          .unit = "ns",
                          .kind = LONGEST}},
                .needs = TELLS_TIME | DELIVERS | MOVES_AHEAD,
                .calls = true,
                .run = run_ahead,
        },
        {
                .rows = {NS("refresh", "refresh")},
                .ticks = REFRESH_TICKS,
                .run = run_refresh,
        },
        {
                .rows = {{.key = "pass", .label = "idle pass", .unit = "ns", .kind = NUMBER}},
                .needs = MAKES_PASSES | ANY_DELAY,
                .most = PASS_TIMERS,
                .run = run_pass,
        },
        {
                .rows = {NS("sparse", "sparse, a tick"), NS("sparse", "sparse, a timer")},
                .needs = TELLS_TIME | SAYS_NEXT | DELIVERS,
                .sparse = true,
                .run = run_sparse,
        },
};

const size_t workload_count = sizeof(workloads) / sizeof(workloads[0]);
_Static_assert(sizeof(workloads) / sizeof(workloads[0]) <= MAX_WORKLOADS,
               "workloads.h: MAX_WORKLOADS");

static unsigned abilities(const struct peer *peer)
{
	unsigned able = 0;

	able |= peer->advance && peer->pop ? TELLS_TIME : 0;
	able |= peer->next ? SAYS_NEXT : 0;
	able |= peer->advance_bounded ? IS_BOUNDED : 0;
	able |= peer->ahead ? MOVES_AHEAD : 0;
	able |= peer->pass ? MAKES_PASSES : 0;
	able |= peer->common_delay ? 0 : ANY_DELAY;
	able |= peer->null ? 0 : DELIVERS;
	return able;
}

bool workload_possible(const struct workload *workload, const struct peer *peer,
                       const struct arena *arena)
{
	if (peer->timer_size > arena->object_size || (peer->limit && arena->n > peer->limit()))
		return false;
	if (peer->object_size && peer->object_size != arena->object_size)
		return false;
	if (workload->most && arena->n > workload->most)
		return false;
	if (peer->most_in_time && arena->n > peer->most_in_time &&
	    (workload->ticks || workload->needs & TELLS_TIME))
		return false;
	return (workload->needs & ~abilities(peer)) == 0;
}

double workload_weight(const struct workload *workload, const struct peer *peer,
                       const struct arena *arena, uint32_t steps_per_tick)
{
	double timers = arena->n > ENOUGH_TIMERS ? arena->n : ENOUGH_TIMERS;

	return timers + (double)ticks_for(peer, workload->ticks) * steps_per_tick;
}

bool row_possible(const struct row *row, const struct peer *peer)
{
	if (row->memory && (peer->in_kernel || peer->keeps_memory))
		return false;
	return row->kind != NUMBER || !peer->null;
}

struct work {
	const struct workload *workload;
	struct bench *bench;
	struct result *result;
};

static void work(void *arg)
{
	struct work *todo = arg;

	todo->workload->run(todo->bench, todo->result);
}

void workload_run(const struct workload *workload, const struct peer *peer,
                  const struct arena *arena, uint32_t steps_per_tick, uint64_t seed,
                  struct result *result)
{
	bool ahead = workload->needs & MOVES_AHEAD;
	size_t memory_before = memory_in_use();
	struct bench bench = {
	        .peer = peer,
	        .self = ahead ? peer->open_ahead(peer, arena->n) : peer->open(peer, arena->n),
	        .arena = arena,
	        .memory_before = memory_before,
	        .random = {.state = seed},
	        .steps_per_tick = steps_per_tick,
	};
	struct work todo = {.workload = workload, .bench = &bench, .result = result};

	if (!bench.self)
		fail("%s cannot be opened for %u timers", peer->name, arena->n);
	memset(arena->objects, 0, arena->n * arena->object_size);
	skip_ticks(&bench, 1000000 + random_below32(&bench.random, MAX_DELAY));
	if (peer->within && !(workload->needs & MAKES_PASSES))
		peer->within(bench.self, work, &todo);
	else
		work(&todo);
	peer->close(bench.self);
}

/* Link all objects into one ring in random order: each begins with the address of the next. */
static void string_ring(const struct arena *arena)
{
	for (uint32_t i = 0; i < arena->n; i++) {
		uint32_t after = i + 1 < arena->n ? i + 1 : 0;
		void *to = object_at(arena, arena->arm_order[after]);

		memcpy(object_at(arena, arena->arm_order[i]), &to, sizeof(to));
	}
}

static uint64_t first_word(const void *object)
{
	uint64_t word;

	memcpy(&word, object, sizeof(word));
	return word;
}

struct memory_floor memory_floor(const struct arena *arena, struct random *random)
{
	enum { READS = 2000000 };
	const void *at = arena->objects;
	uint64_t sum = 0;

	string_ring(arena);
	uint64_t begin = clock_ns();
	for (uint32_t i = 0; i < READS; i++)
		sum += first_word(object_at(arena, random_below32(random, arena->n)));
	uint64_t middle = clock_ns();
	for (uint32_t i = 0; i < READS; i++)
		memcpy(&at, at, sizeof(at));
	uint64_t end = clock_ns();

	keep(sum + (uintptr_t)at);
	return (struct memory_floor){
	        .independent = (double)(middle - begin) / READS,
	        .dependent = (double)(end - middle) / READS,
	};
}
