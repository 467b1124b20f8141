/* SPDX-License-Identifier: MIT */
/*
 * test_search [--depth N]
 *
 * Every sequence of N operations on small wheels with three timers, compared with the model after each operation. From
 * every state that is reached, the wheel is also run until it is empty.
 *
 * The search is breadth-first: a failure prints one of the shortest stories that lead to it. A state is kept as its
 * story, 8 bytes, and made again by replaying it. The wheel and its timers stay at their addresses, so that a state is
 * saved and restored by copying bytes. A state that was met before is not searched again. "Met before" is decided by a
 * hash of 64 bits of all that may influence what follows.
 */
#include "../../src/base/saturate.h"
#include "../../src/wheel/layout.h"
#include "../../src/wheel/next.h"
#include "../support/test.h"
#include "wheel_pair.h"

#define TIMERS        3
#define DEPTH_DEFAULT 4
#define DEPTH_MAX     20
#define LEVELS \
	8 /* that are saved: no timer here is farther ahead than level 7 of a wheel of 2 slots */
#define HEAD_MAX  (sizeof(struct pawl_wheel) + LEVELS * sizeof(struct level))
#define SLOTS_MAX (LEVELS * 512)

/* How far ahead timers are armed and touched: in and beyond several windows, and 0, which is due at once. */
static const uint64_t distances[] = {0, 1, 2, 3, 5, 8, 13, 21};
#define DISTANCES (sizeof(distances) / sizeof(distances[0]))

/* Advances by 1 to 9 without a bound, and by these with a bound of one move. */
#define ADVANCES 9
static const uint64_t bounded[] = {1, 3, 9};
#define BOUNDED (sizeof(bounded) / sizeof(bounded[0]))

enum kind { ARM, TOUCH, CANCEL, ADVANCE, ADVANCE_BOUNDED, AHEAD, POP, NEXT };

struct operation {
	enum kind kind;
	uint8_t timer;
	uint64_t by; /* a distance, or the most moves */
};

#define OPERATIONS_MAX (TIMERS * (2 * DISTANCES + 1) + ADVANCES + BOUNDED + 4)
static struct operation operations[OPERATIONS_MAX];
static size_t operations_count;

/* A state, as its story: the operation that led to it, and the state before. State 0 is the beginning. */
struct node {
	uint32_t before;
	uint8_t operation;
};

static struct node *nodes;
static size_t nodes_count, nodes_room;

/* The hashes of all states met: a table with open addressing, less than half full. 0 is an unused entry. */
static uint64_t *met;
static size_t met_count, met_room;

struct saved {
	char head[HEAD_MAX];
	char slots[SLOTS_MAX];
	struct pawl_timer timers[TIMERS];
	struct model model;
	struct model_timer truth[TIMERS];
	bool ever_armed[TIMERS];
};

static struct pair pair;
static struct saved beginning, present;
static uint64_t steps;

/* What is under way, for the story of a crash. */
static uint32_t at_node;
static size_t at_operation;

/* The operations. */

static void add_operation(enum kind kind, size_t timer, uint64_t by)
{
	operations[operations_count++] = (struct operation){kind, (uint8_t)timer, by};
}

static void list_operations(bool ahead)
{
	operations_count = 0;
	for (size_t i = 0; i < TIMERS; i++) {
		for (size_t d = 0; d < DISTANCES; d++)
			add_operation(ARM, i, distances[d]);
		for (size_t d = 0; d < DISTANCES; d++)
			add_operation(TOUCH, i, distances[d]);
		add_operation(CANCEL, i, 0);
	}
	for (uint64_t by = 1; by <= ADVANCES; by++)
		add_operation(ADVANCE, 0, by);
	for (size_t b = 0; b < BOUNDED; b++)
		add_operation(ADVANCE_BOUNDED, 0, bounded[b]);
	add_operation(POP, 0, 0);
	add_operation(NEXT, 0, 0);
	if (ahead) {
		add_operation(AHEAD, 0, 0);
		add_operation(AHEAD, 0, 1);
	}
}

static void print_operation(const struct operation *operation)
{
	static const char *const names[] = {
	        [ARM] = "arm",       [TOUCH] = "touch",
	        [CANCEL] = "cancel", [ADVANCE] = "advance",
	        [AHEAD] = "ahead",   [ADVANCE_BOUNDED] = "advance, at most 1 move,",
	        [POP] = "pop",       [NEXT] = "next",
	};

	fprintf(stderr, "  %s", names[operation->kind]);
	if (operation->kind <= CANCEL)
		fprintf(stderr, " timer %u", operation->timer);
	if (operation->kind == AHEAD)
		fprintf(stderr, operation->by ? ", at most 1 move" : "");
	else if (operation->kind != CANCEL && operation->kind < POP)
		fprintf(stderr, " to now + %" PRIu64, operation->by);
	fputc('\n', stderr);
}

/* The operations from the beginning to a state; returns how many. */
static size_t story_of(uint32_t node, uint8_t story[DEPTH_MAX])
{
	size_t length = 0;

	for (uint32_t at = node; at != 0; at = nodes[at].before)
		length++;
	for (size_t i = length; i-- > 0; node = nodes[node].before)
		story[i] = nodes[node].operation;
	return length;
}

static void print_story(void)
{
	uint8_t story[DEPTH_MAX];
	size_t length = story_of(at_node, story);

	fprintf(stderr, "the story, %zu operations:\n", length + 1);
	for (size_t i = 0; i < length; i++)
		print_operation(&operations[story[i]]);
	print_operation(&operations[at_operation]);
}

/* An assertion in the wheel failed, or worse: the process is lost, and the story is worth the risk of printing it. */
static void crashed(int number)
{
	fprintf(stderr, "CRASHED: wheel_size %u, tick %" PRIu64 ", chains %u, ahead %d; ",
	        pair.options.wheel_size, pair.options.tick, pair.options.chains,
	        pair.options.ahead);
	print_story();
	signal(number, SIG_DFL);
	raise(number);
}

static bool idle(size_t timer)
{
	return pair.truth[timer].state == MODEL_IDLE;
}

/* Of several idle timers, which are all alike, only the first one is used. */
static bool like_an_earlier_one(const struct operation *operation)
{
	if (operation->kind > CANCEL || !idle(operation->timer))
		return false;
	for (size_t i = 0; i < operation->timer; i++)
		if (idle(i))
			return true;
	return false;
}

/* The memory of an idle timer is the user's: it is zeroed, so that it is no part of the state. */
static void zero_idle_timers(void)
{
	for (size_t i = 0; i < TIMERS; i++) {
		if (!idle(i))
			continue;
		pair.timers[i] = (struct pawl_timer)PAWL_TIMER_INIT;
		pair.truth[i] = (struct model_timer){.state = MODEL_IDLE};
		pair.ever_armed[i] = false;
	}
}

static void carry_out(const struct operation *operation)
{
	uint64_t time = saturating_sum(pair.model.now, operation->by);

	switch (operation->kind) {
	case ARM:
		pair_arm(&pair, operation->timer, time);
		break;
	case TOUCH:
		pair_touch(&pair, operation->timer, time);
		break;
	case CANCEL:
		pair_cancel(&pair, operation->timer);
		break;
	case ADVANCE:
		pair_advance(&pair, time < MODEL_LAST ? time : MODEL_LAST, 0);
		break;
	case ADVANCE_BOUNDED:
		pair_advance(&pair, time < MODEL_LAST ? time : MODEL_LAST, 1);
		break;
	case AHEAD:
		pair_ahead(&pair, (size_t)operation->by);
		break;
	case POP:
		pair_pop(&pair);
		break;
	case NEXT:
		pair_next(&pair);
		break;
	}
}

/* States. */

static size_t head_size(void)
{
	size_t levels = pair.wheel->levels < LEVELS ? pair.wheel->levels : LEVELS;

	return sizeof(struct pawl_wheel) + levels * sizeof(struct level);
}

static size_t slots_size(void)
{
	return LEVELS * pair.wheel->level_stride;
}

static void save(struct saved *saved)
{
	memcpy(saved->head, pair.wheel, head_size());
	memcpy(saved->slots, pair.wheel->level[0].bits, slots_size());
	memcpy(saved->timers, pair.timers, sizeof(saved->timers));
	memcpy(saved->truth, pair.truth, sizeof(saved->truth));
	memcpy(saved->ever_armed, pair.ever_armed, sizeof(saved->ever_armed));
	saved->model = pair.model;
}

static void restore(const struct saved *saved)
{
	memcpy(pair.wheel, saved->head, head_size());
	memcpy(pair.wheel->level[0].bits, saved->slots, slots_size());
	memcpy(pair.timers, saved->timers, sizeof(saved->timers));
	memcpy(pair.truth, saved->truth, sizeof(saved->truth));
	memcpy(pair.ever_armed, saved->ever_armed, sizeof(saved->ever_armed));
	pair.model = saved->model;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Timers are named in the order in which links to them are met, so that states that differ in names only are one. */
struct names {
	size_t count;
	size_t timer[TIMERS]; /* by name */
};

static uint64_t name_of(struct names *names, size_t timer)
{
	size_t name = 0;

	while (name < names->count && names->timer[name] != timer)
		name++;
	if (name == names->count)
		names->timer[names->count++] = timer;
	return name;
}

static uint64_t mix_link(uint64_t hash, struct names *names, uintptr_t link)
{
	uintptr_t offset = link - (uintptr_t)pair.timers;

	if (offset < TIMERS * sizeof(struct pawl_timer))
		return mix(hash, name_of(names, offset / sizeof(struct pawl_timer)));
	return mix(hash, link);
}

/* Words that are no links are none by their values either: times and sizes here are far from any address. */
static uint64_t mix_memory(uint64_t hash, struct names *names, const char *memory, size_t size)
{
	uintptr_t word;

	for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
		memcpy(&word, memory + at, sizeof(word));
		hash = mix_link(hash, names, word);
	}
	return hash;
}

/* How many armed timers were armed, or became due, before this one: the numbers themselves only grow. */
static uint64_t order_of(const struct model_timer *timer)
{
	uint64_t order = 0;

	for (size_t i = 0; i < TIMERS; i++) {
		const struct model_timer *other = &pair.truth[i];

		if (other->state == MODEL_IDLE)
			continue;
		order += other->arming < timer->arming;
		if (other->state == MODEL_DUE && timer->state == MODEL_DUE)
			order += other->batch < timer->batch ? 16 : 0;
	}
	return order;
}

static uint64_t mix_timer(uint64_t hash, struct names *names, size_t i)
{
	const struct model_timer *truth = &pair.truth[i];

	hash = mix_link(hash, names, (uintptr_t)pair.timers[i].next);
	hash = mix_link(hash, names, (uintptr_t)pair.timers[i].prev);
	hash = mix(hash, pair.timers[i].deadline);
	hash = mix(hash, (uint64_t)truth->state << 1 | truth->touched);
	if (truth->state == MODEL_WAITING)
		hash = mix(mix(hash, truth->place.opens), truth->place.level);
	return pair.model.chains > 1 ? hash : mix(hash, order_of(truth));
}

/*
 * The wheel's counters only grow. Of `armed` it matters how many armings this chain still gets; the difference to
 * `gone` is the number of timers.
 */
static uint64_t mix_wheel(uint64_t hash, struct names *names)
{
	static _Alignas(struct pawl_wheel) char head[HEAD_MAX];
	struct pawl_wheel *copy = (struct pawl_wheel *)(void *)head;

	memcpy(head, pair.wheel, head_size());
	copy->armed = copy->chain_mask ? copy->armed % FILL_LENGTH : 0;
	copy->gone = 0;
	hash = mix_memory(hash, names, head, head_size());
	return mix_memory(hash, names, (const char *)pair.wheel->level[0].bits,
	                  pair.wheel->levels_used * pair.wheel->level_stride);
}

static uint64_t hash_of_state(void)
{
	struct names names = {0};
	uint64_t hash = mix_wheel(1, &names);

	for (size_t name = 0; name < names.count; name++)
		hash = mix_timer(hash, &names, names.timer[name]);
	hash = mix(mix(hash, pair.model.now), pair.model.placing_from);
	for (size_t level = 0; level < LEVELS; level++)
		hash = mix(hash, pair.model.upto[level]);
	return hash ? hash : 1;
}

/* The entry of this hash, or the unused one where it belongs. */
static uint64_t *find_met(uint64_t hash)
{
	size_t at = (size_t)hash & (met_room - 1);

	while (met[at] != 0 && met[at] != hash)
		at = (at + 1) & (met_room - 1);
	return &met[at];
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		fprintf(stderr, "no memory for %zu states\n", count);
		exit(1);
	}
	return memory;
}

static void double_met(void)
{
	uint64_t *old = met;
	size_t old_room = met_room;

	met_room *= 2;
	met = allocate(met_room, sizeof(met[0]));
	for (size_t i = 0; i < old_room; i++)
		if (old[i] != 0)
			*find_met(old[i]) = old[i];
	free(old);
}

/* Whether the state is new; from now on it is not. */
static bool meet(uint64_t hash)
{
	uint64_t *entry = find_met(hash);

	if (*entry != 0)
		return false;
	*entry = hash;
	if (2 * ++met_count > met_room)
		double_met();
	return true;
}

static void add_node(uint32_t before, size_t operation)
{
	if (nodes_count == nodes_room) {
		nodes_room *= 2;
		nodes = realloc(nodes, nodes_room * sizeof(nodes[0]));
		if (!nodes)
			abort();
	}
	nodes[nodes_count++] = (struct node){before, (uint8_t)operation};
}

/* Never lost: run the wheel until it is empty. */

static void pop_all(void)
{
	while (!pair.failed && pair_pop(&pair))
		;
}

/* Until the time that the wheel names there is nothing to do; and then there is. */
static void visit(uint64_t next)
{
	bool stopped = pair.model.placing_from > pair.model.now;
	size_t moves = 0;

	if (!stopped && next > pair.model.now + 1) {
		moves = pair_advance(&pair, next - 1, 0) + pair_ahead(&pair, 1);
		if (moves > 0)
			pair_fail(&pair, "%zu moves before %" PRIu64 ", which is next", moves,
			          next);
	}
	moves = pair_advance(&pair, next, 0) + pair_ahead(&pair, 1);
	if (!stopped && moves == 0)
		pair_fail(&pair, "nothing to do at %" PRIu64 ", which is next", next);
}

static void run_until_empty(void)
{
	pair_next(&pair);
	pop_all();
	for (unsigned visits = 0; !pair.failed && model_count(&pair.model) > 0; visits++) {
		if (visits == 100)
			pair_fail(&pair, "the wheel does not get empty");
		visit(pawl__wheel_next_ahead(pair.wheel));
		pop_all();
	}
	pair_expect(&pair, "next in the end", pawl_wheel_next(pair.wheel), PAWL_NEVER);
	pair_compare(&pair);
}

/* The search. */

static void make_again(uint32_t node)
{
	uint8_t story[DEPTH_MAX];
	size_t length = story_of(node, story);

	restore(&beginning);
	for (size_t i = 0; i < length; i++) {
		carry_out(&operations[story[i]]);
		zero_idle_timers();
	}
	pair.operation = (unsigned)length + 1;
}

static void step(uint32_t node, size_t operation)
{
	at_node = node;
	at_operation = operation;
	steps++;
	carry_out(&operations[operation]);
	pair_compare(&pair);
	zero_idle_timers();
	if (pair.failed || !meet(hash_of_state()))
		return;
	if (pair.wheel->levels_used > LEVELS)
		pair_fail(&pair, "more levels in use than the search saves");
	add_node(node, operation);
	run_until_empty();
}

static void search_from(uint32_t node)
{
	make_again(node);
	save(&present);
	for (size_t i = 0; i < operations_count && !pair.failed; i++) {
		restore(&present);
		if (!like_an_earlier_one(&operations[i]))
			step(node, i);
	}
}

/* With several chains arming goes on to the second one after one more arming. */
static void begin(const struct pawl_wheel_options *options)
{
	size_t footprint = pawl_wheel_footprint(options);

	pair = (struct pair){.options = *options};
	pair.wheel = pawl_wheel_init(allocate(footprint, 1), footprint, options);
	model_init(&pair.model, options, pair.truth, TIMERS);
	for (unsigned i = 1; options->chains > 1 && i < FILL_LENGTH; i++) {
		pair_arm(&pair, 0, options->start + 1);
		pair_cancel(&pair, 0);
	}
	zero_idle_timers();
	save(&beginning);
	list_operations(options->ahead);
	steps = nodes_count = met_count = 0;
	nodes_room = met_room = 1u << 16;
	nodes = allocate(nodes_room, sizeof(nodes[0]));
	met = allocate(met_room, sizeof(met[0]));
	add_node(0, 0);
	meet(hash_of_state());
}

/* Whether all is well. */
static bool search(const struct pawl_wheel_options *options, uint64_t depth)
{
	uint32_t node = 0;

	begin(options);
	for (uint64_t d = 0; d < depth && !pair.failed; d++)
		for (size_t end = nodes_count; node < end && !pair.failed; node++)
			search_from(node);
	if (pair.failed)
		print_story();
	printf("wheel_size %u, tick %" PRIu64 ", chains %u, ahead %d, start %" PRIu64
	       ": depth %" PRIu64 ", %zu states, %" PRIu64 " steps\n",
	       options->wheel_size, options->tick, options->chains, options->ahead, options->start,
	       depth, nodes_count, steps);
	fflush(stdout);
	free(pair.wheel);
	free(nodes);
	free(met);
	return !pair.failed;
}

int main(int argc, char **argv)
{
	/* Powers of two and others, and the two turning points of time. */
	static const struct pawl_wheel_options wheels[] = {
	        {.wheel_size = 2, .tick = 1, .chains = 1},
	        {.wheel_size = 2, .tick = 1, .chains = 1, .ahead = true},
	        {.wheel_size = 2, .tick = 3, .chains = 1, .ahead = true},
	        {.wheel_size = 2, .tick = 1, .chains = 2, .ahead = true},
	        {.wheel_size = 3, .tick = 1, .chains = 1},
	        {.wheel_size = 3, .tick = 1, .chains = 1, .ahead = true},
	        {.wheel_size = 3, .tick = 3, .chains = 1, .ahead = true},
	        {.wheel_size = 3, .tick = 3, .chains = 2},
	        {.wheel_size = 4, .tick = 1, .chains = 1},
	        {.wheel_size = 4, .tick = 1, .chains = 1, .ahead = true},
	        {.wheel_size = 4, .tick = 3, .chains = 1},
	        {.wheel_size = 4, .tick = 1, .chains = 2},
	        {.wheel_size = 4, .tick = 1, .chains = 1, .ahead = true, .start = HALF_TIME - 9},
	        {.wheel_size = 3, .tick = 3, .chains = 1, .ahead = true, .start = LAST - 15},
	};
	uint64_t depth = test_number(argc, argv, "--depth", "PAWL_DEPTH", DEPTH_DEFAULT);
	bool well = true;

	test_usage(argc, argv, "[--depth N]");
	if (depth < 1 || depth > DEPTH_MAX) {
		fprintf(stderr, "--depth is %" PRIu64 "; it may be 1 to %d\n", depth, DEPTH_MAX);
		return 2;
	}
	signal(SIGABRT, crashed);
	signal(SIGSEGV, crashed);
	signal(SIGILL, crashed);
	for (size_t i = 0; i < sizeof(wheels) / sizeof(wheels[0]) && well; i++)
		well = search(&wheels[i], depth);
	return well ? 0 : 1;
}
