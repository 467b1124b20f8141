/* SPDX-License-Identifier: MIT */
/*
 * The queue against a naive model: the same random acts on both, and after each act the same answers. Most runs are
 * small; some have thousands of tasks, so that cells open and close.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/base/digits.h"
#include "../../src/base/random.h"
#include "../../tests/support/test.h"
#include "../queue/encode.h"
#include "../queue/memory.h"
#include "../queue/queue.h"
#include "seeds.h"

#define HOUR UINT64_C(3600000)

/* The model: an array of tasks, and their numbers sorted by due time and arrival. */

enum { MODEL_TASKS = 20000 };

struct model_task {
	bool there, leased, dead;
	uint64_t at, token;
	uint64_t arrival; /* first come, first served */
	unsigned tries, max_tries;
	uint64_t period, base;
	unsigned reason; /* its size, which gives its text; 0: none */
};

/* A task's name is its number. */
struct model {
	struct model_task tasks[MODEL_TASKS];
	unsigned used; /* tasks with a higher number were never there */
	unsigned order[MODEL_TASKS], count;
	uint64_t now, arrivals;
	bool paused;
};

/* Whether it is due or will be. */
static bool model_alive(const struct model_task *task)
{
	bool dying = task->leased && task->max_tries && task->tries >= task->max_tries;

	return task->there && !task->dead && !dying;
}

static enum task_state model_state(const struct model *model, const struct model_task *task)
{
	if (task->dead)
		return STATE_DEAD;
	if (task->at > model->now)
		return task->leased ? STATE_LEASED : STATE_WAITING;
	return model_alive(task) ? STATE_DUE : STATE_DEAD;
}

static bool model_before(const struct model_task *a, const struct model_task *b)
{
	return a->at < b->at || (a->at == b->at && a->arrival < b->arrival);
}

/* The position in the order of a task with this time and arrival. */
static unsigned model_position(const struct model *model, const struct model_task *task)
{
	unsigned low = 0, high = model->count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (model_before(&model->tasks[model->order[middle]], task))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Before the task with this number is changed... */
static struct model_task *model_begin(struct model *model, unsigned number)
{
	struct model_task *task = &model->tasks[number];
	unsigned position = model_position(model, task);

	if (model_alive(task))
		memmove(&model->order[position], &model->order[position + 1],
		        (--model->count - position) * sizeof(unsigned));
	return task;
}

/* ...and after it. */
static void model_end(struct model *model, struct model_task *task)
{
	unsigned position = model_position(model, task);

	if (!model_alive(task))
		return;
	memmove(&model->order[position + 1], &model->order[position],
	        (model->count++ - position) * sizeof(unsigned));
	model->order[position] = (unsigned)(task - model->tasks);
}

static struct model_task *model_first_due(struct model *model)
{
	struct model_task *first = model->count ? &model->tasks[model->order[0]] : NULL;

	return first && first->at <= model->now && !model->paused ? first : NULL;
}

/* When the first task is due, or was. */
static uint64_t model_next(const struct model *model)
{
	return model->count ? model->tasks[model->order[0]].at : PAWL_NEVER;
}

/* The queue and its model */

static struct model model;
static struct queue *queue;
static struct random rng;
static uint64_t runs;

static struct task_id id_of(unsigned number)
{
	struct task_id id;
	char text[32];

	/* Every other one has the form that the server makes. */
	if (number % 2)
		snprintf(text, sizeof(text), "%u-%u-%08x", number, number % 7,
		         number * 2654435761u);
	else
		snprintf(text, sizeof(text), "task:%u", number);
	task_id_from_text(&id, text, strlen(text));
	return id;
}

static struct task *find(unsigned number)
{
	struct task_id id = id_of(number);

	return queue_find(queue, &id);
}

static unsigned number_of(const struct task *task)
{
	unsigned number;

	memcpy(&number, task_payload(task), sizeof(number));
	return number;
}

static void begin(uint64_t seed)
{
	rng = (struct random){seed};
	memset(&model, 0, sizeof(model));
	queue = queue_new();
	model.now = UINT64_C(1800000000000);
}

/* The text of this size: it does not begin as that of the next size does. */
static const unsigned char *reason_of(unsigned size)
{
	static unsigned char text[TASK_REASON_MAX];

	for (unsigned i = 0; i < TASK_REASON_MAX; i++)
		text[i] = (unsigned char)(size + i);
	return text;
}

static void expect_reason(const struct task *task, unsigned size)
{
	struct extras extras = task_extras(task);

	EXPECT_EQ(task->has_extras, size > 0 || extras.period > 0);
	EXPECT_EQ(extras.reason_size, size);
	if (size > 0 && extras.reason_size == size)
		EXPECT(memcmp(extras.reason, reason_of(size), size) == 0);
}

static void expect_same_counts(void)
{
	size_t counts[STATES], expected[STATES] = {0};

	queue_counts(queue, model.now, counts);
	for (unsigned i = 0; i < model.used; i++)
		if (model.tasks[i].there)
			expected[model_state(&model, &model.tasks[i])]++;
	for (int state = 0; state < STATES; state++)
		EXPECT_EQ(counts[state], expected[state]);
	EXPECT(timeline_until_at_least(&queue->alive, model.now) <= expected[STATE_DUE]);
	for (unsigned i = 0; i < model.used; i += 1 + model.used / 64)
		if (model.tasks[i].there)
			expect_reason(find(i), model.tasks[i].reason);
}

static void expect_same_next(void)
{
	EXPECT_EQ(queue_next(queue), model_next(&model));
}

static void expect_same_next_due(void)
{
	EXPECT_EQ(queue_next_due(queue), model.paused ? PAWL_NEVER : model_next(&model));
}

static void expect_same_first(void)
{
	struct model_task *expected = model_first_due(&model);
	struct task *first = queue_first_due(queue, model.now);

	EXPECT_EQ(first != NULL, expected != NULL);
	if (first && expected)
		EXPECT_EQ(number_of(first), (unsigned)(expected - model.tasks));
}

/* The task that died first, or one of several that died first. */
static void expect_same_first_dead(void)
{
	struct task *first = queue_first_dead(queue, model.now);
	uint64_t expected = PAWL_NEVER;

	for (unsigned i = 0; i < model.used; i++) {
		const struct model_task *task = &model.tasks[i];

		if (task->there && model_state(&model, task) == STATE_DEAD && task->at < expected)
			expected = task->at;
	}
	EXPECT_EQ(first ? first->at : PAWL_NEVER, expected);
	EXPECT_EQ(queue_next_dead(queue) <= model.now, first != NULL);
	if (first)
		EXPECT_EQ(model_state(&model, &model.tasks[number_of(first)]), STATE_DEAD);
}

/* Spans */

static bool in_span(const struct model_task *task, const struct queue_span *span)
{
	return task->there && task->at >= span->from && task->at <= span->to &&
	       (span->state == STATES || model_state(&model, task) == span->state);
}

/* Tasks of one time are listed in this order: alive, dying, dead. */
static int rank_of(const struct model_task *task)
{
	return task->dead ? 2 : !model_alive(task);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct model_task *x = *(struct model_task *const *)a;
	const struct model_task *y = *(struct model_task *const *)b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	return x->arrival < y->arrival ? -1 : 1;
}

static void expect_same_span(const struct queue_span *span, size_t most)
{
	static const struct model_task *expected[MODEL_TASKS];
	struct queue_range range = queue_range(queue, span, most);
	size_t count = 0;

	for (unsigned i = 0; i < model.used; i++)
		if (in_span(&model.tasks[i], span))
			expected[count++] = &model.tasks[i];
	qsort(expected, count, sizeof(*expected), compare_tasks);
	EXPECT_EQ(queue_count_in(queue, span), count);
	EXPECT_EQ(range.count, count < most ? count : most);
	for (size_t i = 0; i < range.count; i++)
		EXPECT_EQ(number_of(range.items[i].task), (unsigned)(expected[i] - model.tasks));
	memory_free(range.items);
}

static uint64_t any_time(void);

/* A span with tasks at its ends, perhaps. */
static uint64_t edge(void)
{
	const struct model_task *task;

	if (model.used == 0 || random_below(&rng, 2))
		return any_time();
	task = &model.tasks[random_below(&rng, model.used)];
	return task->at + random_below(&rng, 3) - 1;
}

static void expect_same_spans(void)
{
	static const size_t counts[] = {1, 3, 100, MODEL_TASKS};

	for (int state = 0; state <= STATES; state++) {
		struct queue_span span = {0, UINT64_MAX, (enum task_state)state, model.now};

		if (random_below(&rng, 5))
			span.from = edge();
		if (random_below(&rng, 5))
			span.to = edge();
		expect_same_span(&span, counts[random_below(&rng, 4)]);
	}
}

/* Acts */

static uint64_t any_time(void)
{
	static const uint64_t reaches[] = {4, 50, 5000, HOUR, 30 * 24 * HOUR};
	uint64_t reach = reaches[random_below(&rng, 5)];

	return model.now - reach / 2 + random_below(&rng, 2 * reach);
}

static void add(unsigned number, uint64_t at)
{
	struct model_task *task = model_begin(&model, number);
	struct task_id id = id_of(number);
	struct task *added = task_new(&id, &number, sizeof(number));

	*task = (struct model_task){.there = true, .at = at, .arrival = ++model.arrivals};
	if (random_below(&rng, 8) == 0) {
		task->period = 1 + random_below(&rng, TASK_TIME_MAX);
		task->base = random_below(&rng, INT64_MAX);
		added = task_set_extras(
		        added, &(struct extras){.period = task->period, .base = task->base});
	}
	if (model.used <= number)
		model.used = number + 1;
	task->max_tries = (unsigned)random_below(&rng, 3);
	added->max_tries = (uint16_t)task->max_tries;
	queue_add(queue, added, at);
	model_end(&model, task);
}

/* The task is due then, as one that came last; the caller ends the change. */
static struct model_task *change(unsigned number, uint64_t at)
{
	struct model_task *task = model_begin(&model, number);

	task->at = at;
	task->leased = task->dead = false;
	task->arrival = ++model.arrivals;
	return task;
}

static void schedule(unsigned number, uint64_t at)
{
	struct model_task *task = change(number, at);

	queue_schedule(queue, find(number), at);
	model_end(&model, task);
}

static void lease(unsigned number, uint64_t until)
{
	struct model_task *task = change(number, until);
	struct task *leased = find(number);

	task->leased = true;
	task->token = random_next(&rng) | 1;
	leased->tries = (uint16_t)++task->tries;
	queue_lease(queue, leased, until, task->token);
	model_end(&model, task);
}

static void give_reason(unsigned number)
{
	unsigned size =
	        random_below(&rng, 4) ? (unsigned)random_below(&rng, TASK_REASON_MAX + 1) : 0;
	struct model_task *task = &model.tasks[number];

	if (size > 0 || task->reason > 0) {
		model_begin(&model, number);
		task->arrival = ++model.arrivals;
		model_end(&model, task);
	}
	task->reason = size;
	expect_reason(queue_set_reason(queue, find(number), reason_of(size), size), size);
}

static void restart(unsigned number, uint64_t at)
{
	struct model_task *task = change(number, at);

	task->tries = task->reason = 0;
	EXPECT_EQ(queue_restart(queue, find(number), at)->tries, 0);
	model_end(&model, task);
}

static void delete (unsigned number)
{
	model_begin(&model, number)->there = false;
	queue_delete(queue, find(number));
}

static void bury(unsigned number)
{
	change(number, model.now)->dead = true;
	queue_bury(queue, find(number), model.now);
}

static void pause_or_resume(bool paused)
{
	queue->settings.paused = model.paused = paused;
}

/* The queue is not told. */
static void advance_clock(uint64_t ms)
{
	model.now += ms;
}

static void take(uint64_t lease_ms)
{
	struct task *first = queue_first_due(queue, model.now);

	if (!first)
		return;
	if (lease_ms)
		lease(number_of(first), model.now + lease_ms);
	else
		delete (number_of(first));
}

static void act_on(unsigned number);

/* Always moves the block; the old memory is overwritten. */
static void *move_block(void *memory, void *count)
{
	size_t size = memory_size(memory);
	void *moved = memory_new(size);

	memcpy(moved, memory, size);
	memset(memory, 0xee, size);
	memory_free(memory);
	++*(size_t *)count;
	return moved;
}

/* Move the whole queue; sometimes other acts happen in between. */
static void move_all(unsigned tasks)
{
	uint64_t cursor = 0;
	size_t count = 0;

	queue = queue_move(queue, move_block, &count);
	EXPECT(count > 0);
	do {
		cursor = queue_move_tasks(queue, cursor, move_block, &count);
		if (random_below(&rng, 50) == 0)
			act_on((unsigned)random_below(&rng, tasks));
	} while (cursor != 0);
	EXPECT(count > queue_count(queue) / 2);
}

static void act_on(unsigned number)
{
	if (!model.tasks[number].there)
		add(number, any_time());
	else if (random_below(&rng, 4) == 0)
		delete (number);
	else if (random_below(&rng, 4) == 0)
		bury(number);
	else if (model.tasks[number].tries > 0 && random_below(&rng, 6) == 0)
		give_reason(number);
	else if (random_below(&rng, 8) == 0)
		restart(number, any_time());
	else if (random_below(&rng, 2) == 0)
		lease(number, any_time());
	else
		schedule(number, any_time());
}

static void act(unsigned tasks)
{
	switch (random_below(&rng, 16)) {
	case 0:
		advance_clock(random_below(&rng, 100));
		break;
	case 1:
		advance_clock(random_below(&rng, 2 * HOUR));
		break;
	case 2:
		model.now -= random_below(&rng, random_below(&rng, 10) == 0 ? 3 * HOUR : 100);
		break;
	case 3:
		take(0);
		break;
	case 4:
		take(random_below(&rng, 1000) + 1);
		break;
	case 5:
		expect_same_next();
		break;
	case 6:
		expect_same_next_due();
		break;
	case 7:
		pause_or_resume(random_below(&rng, 8) == 0);
		break;
	default:
		act_on((unsigned)random_below(&rng, tasks));
	}
}

static void expect_sound(void)
{
	EXPECT_STR(queue_check(queue), NULL);
}

static void act_on_a_small_queue(uint64_t seed)
{
	unsigned tasks;

	begin(seed);
	tasks = 1 + (unsigned)random_below(&rng, 100);
	for (unsigned i = 0; i < 300; i++) {
		act(tasks);
		if (i % 8 == 0)
			expect_same_first();
		if (i % 8 == 2)
			expect_same_counts();
		if (i % 8 == 4)
			expect_same_first_dead();
		if (i % 8 == 6)
			expect_same_spans();
		if (i % 64 == 32)
			move_all(tasks);
	}
	expect_same_counts();
	expect_sound();
	queue_free(queue);
}

static void a_small_queue_answers_like_the_model(void)
{
	with_seeds(runs, act_on_a_small_queue);
}

/* Everything, in the order in which it is delivered. */
static void expect_drained_in_order(void)
{
	uint64_t last_at = 0, last_arrival = 0;
	struct task *task;

	advance_clock(100 * 24 * HOUR);
	pause_or_resume(false);
	while ((task = queue_first_due(queue, model.now)) != NULL) {
		struct model_task *expected = &model.tasks[number_of(task)];

		EXPECT_EQ(model_state(&model, expected), STATE_DUE);
		EXPECT(expected->at > last_at ||
		       (expected->at == last_at && expected->arrival > last_arrival));
		last_at = expected->at;
		last_arrival = expected->arrival;
		delete (number_of(task));
	}
	EXPECT(model_first_due(&model) == NULL);
}

static void expect_all_the_same(void)
{
	expect_same_next();
	expect_same_first();
	expect_same_next_due();
}

static void act_on_a_large_queue(uint64_t seed)
{
	unsigned tasks;

	begin(seed);
	tasks = 2000 + (unsigned)random_below(&rng, 16000);
	for (unsigned i = 0; i < tasks * 3 / 4; i++)
		add(i, any_time());
	EXPECT(!queue_compact(queue));
	for (unsigned i = 0; i < 20000; i++) {
		act(tasks);
		expect_all_the_same();
		if (i % 512 == 0)
			expect_same_counts();
		if (i % 512 == 256)
			expect_same_first_dead();
		if (i % 512 == 128)
			expect_same_spans();
		if (i % 5000 == 2500)
			move_all(tasks);
	}
	expect_same_counts();
	expect_sound();
	expect_drained_in_order();
	expect_same_counts();
	expect_sound();
	queue_free(queue);
}

static void a_large_queue_answers_like_the_model_after_every_act(void)
{
	with_seeds(3 + runs / 100, act_on_a_large_queue);
}

/* Order in a large queue */

/* Tasks that are never due. Returns the first number that is free. */
static unsigned add_ballast(void)
{
	unsigned count = 5000;

	for (unsigned i = 0; i < count; i++)
		add(i, model.now + 50 * 24 * HOUR + i);
	return count;
}

/* A few seconds, minutes or hours ahead, and on the second: so tasks put at different times have the same due time. */
static uint64_t round_time(void)
{
	static const uint64_t reaches[] = {6, 6, 400, 4000};
	uint64_t second = model.now / 1000 + random_below(&rng, reaches[random_below(&rng, 4)]);

	return second * 1000 + (random_below(&rng, 4) == 0 ? 500 : 0);
}

/* Mostly in small steps; sometimes as after a pause. */
static void pass_a_while(void)
{
	static const uint64_t reaches[] = {3, 30, 300, 300, 3000, 60000};

	advance_clock(random_below(&rng, reaches[random_below(&rng, 6)]));
}

static void take_some_in_order(unsigned count)
{
	for (; count > 0; count--) {
		expect_same_first();
		take(0);
	}
}

/* Put more than a cell holds, so that later puts come in between. */
static void add_many(unsigned first, unsigned count)
{
	uint64_t at = round_time();

	for (unsigned i = 0; i < count; i++) {
		unsigned number = first + (unsigned)random_below(&rng, 6000);

		if (!model.tasks[number].there)
			add(number, random_below(&rng, 2) ? at : round_time());
	}
}

static void put_many_for_one_time(uint64_t seed)
{
	unsigned first;

	begin(seed);
	first = add_ballast();
	for (unsigned i = 0; i < 1000; i++) {
		add_many(first, random_below(&rng, 50) == 0 ? 800 : 2);
		pass_a_while();
		take_some_in_order((unsigned)random_below(&rng, 4));
	}
	expect_sound();
	expect_drained_in_order();
	queue_free(queue);
}

static void tasks_for_one_time_are_taken_in_the_order_in_which_they_were_put(void)
{
	with_seeds(10 + runs / 10, put_many_for_one_time);
}

/* How much a call does */

/* No call reads a list of more than CELL_MAX tasks, except of a single millisecond: queue_check() checks that. */
enum { MOST_MOVES = 16 * CELL_MAX }; /* a list on each level */

static size_t moves_before;

static void expect_few_moves(size_t most)
{
	size_t moves = queue->alive.moves;

	EXPECT(moves - moves_before <= most);
	moves_before = moves;
}

/* Times of tasks that are put together and due hours later, as seen from then. */
static uint64_t time_of_kind(unsigned kind)
{
	switch (kind) {
	case 0: /* over hours */
		return random_below(&rng, 3 * HOUR);
	case 1: /* in one second */
		return random_below(&rng, 1000);
	case 2: /* at one time */
		return 0;
	case 3: /* half of them in the first sixteenth, half of those in the first sixteenth of that... */
		return random_next(&rng) >> 20 >> random_below(&rng, 44);
	default: /* a crowd in front of each power of two */
		return (UINT64_C(1) << random_below(&rng, 40)) - 1 - random_below(&rng, 2);
	}
}

static void no_call_moves_many_tasks_however_many_fell_due_meanwhile(void)
{
	for (unsigned kind = 0; kind < 5; kind++) {
		uint64_t later;

		begin(kind + 1);
		moves_before = 0;
		later = model.now + 5 * HOUR;
		for (unsigned i = 0; i < MODEL_TASKS; i++) {
			add(i, later + time_of_kind(kind));
			expect_few_moves(CELL_MAX + 1);
		}
		expect_sound();
		advance_clock(5 * HOUR + (kind < 3 ? 3 * HOUR : UINT64_C(1) << 50));
		expect_same_counts();
		expect_same_next();
		expect_few_moves(0);
		for (unsigned i = 0; i < MODEL_TASKS; i++) {
			expect_same_first();
			expect_few_moves(MOST_MOVES);
			take(i % 16 == 0 ? HOUR : 0);
			expect_few_moves(CELL_MAX + 1);
		}
		expect_sound();
		queue_free(queue);
	}
}

enum {
	CROWD = 200000,
	/* Tasks that are skipped, with the last list of them; and those that are returned. */
	MOST_LOOKS = WALK_SKIPS + CELL_MAX + 10000
};

/* Tasks of a second, several a millisecond, and one in `rare` leased: every other one of these for the last time. */
static void add_crowd(unsigned a_ms, unsigned rare)
{
	for (unsigned i = 0; i < CROWD; i++) {
		unsigned number = i + 1;
		struct task_id id;
		struct task *task;

		task_id_from_text(&id, (const char *)&number, sizeof(number));
		task = task_new(&id, &number, sizeof(number));
		task->max_tries = task->tries = i / rare % 2;
		if (i % rare == rare - 1)
			queue_add_leased(queue, task, model.now + HOUR + i / a_ms);
		else
			queue_add(queue, task, model.now + HOUR + i / a_ms);
	}
}

static int compare_leased(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->timeline != y->timeline)
		return x->timeline < y->timeline ? -1 : 1;
	return number_of(x) < number_of(y) ? -1 : 1;
}

struct leased {
	struct task *tasks[CROWD];
	size_t count;
};

static void remember_leased(struct task *task, void *arg)
{
	struct leased *leased = arg;

	if (task->leased)
		leased->tasks[leased->count++] = task;
}

static void a_range_of_few_among_many_gives_up_with_the_first_ones(void)
{
	static const struct {
		unsigned a_ms, rare;
		bool all; /* are found */
	} crowds[] = {{CROWD, 2000, false},  {2000, 2000, false}, {200, 200, false}, {3, 50, false},
	              {CROWD, CROWD, false}, {200, 7, false},     {3, 100000, true}};
	static struct leased leased;

	for (unsigned i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++) {
		struct queue_range range;

		begin(i + 1);
		add_crowd(crowds[i].a_ms, crowds[i].rare);
		leased.count = 0;
		queue_each(queue, remember_leased, &leased);
		qsort(leased.tasks, leased.count, sizeof(*leased.tasks), compare_leased);
		range = queue_range(
		        queue, &(struct queue_span){0, UINT64_MAX, STATE_LEASED, model.now}, 10000);
		EXPECT(range.examined <= MOST_LOOKS);
		EXPECT(range.count <= leased.count);
		EXPECT_EQ(range.count == leased.count, crowds[i].all);
		for (size_t j = 0; j < range.count; j++)
			EXPECT_EQ(number_of(range.items[j].task), number_of(leased.tasks[j]));
		memory_free(range.items);
		queue_free(queue);
	}
}

static void a_task_in_a_hundred_years_makes_it_one_level_deeper(void)
{
	size_t opened;

	begin(1);
	for (unsigned i = 0; i < 10000; i++)
		add(i, model.now + i);
	opened = queue->alive.opened;
	add(10000, model.now + 100 * 365 * 24 * HOUR);
	EXPECT_EQ(queue->alive.opened, opened + 1);
	expect_same_next();
	expect_sound();
	queue_free(queue);
}

static void all_64_bits_of_time_can_be_used(void)
{
	static const uint64_t times[] = {0, 1, 2, INT64_MAX, INT64_MAX - 1, UINT64_MAX - 3};

	begin(1);
	for (unsigned i = 0; i < 6000; i++)
		add(i, times[i % 6] ^ i / 6 % 2);
	expect_sound();
	model.now = 0;
	expect_same_counts();
	model.now = UINT64_MAX - 1;
	expect_same_counts();
	while (queue_first_due(queue, model.now)) {
		expect_all_the_same();
		take(0);
	}
	EXPECT_EQ(queue_count(queue), 0);
	queue_free(queue);
}

/* Snapshots */

struct writing {
	struct bytes bytes;
	uint64_t last;
};

static void write_task(struct task *task, void *arg)
{
	struct writing *to = arg;

	encode_task(&to->bytes, task, &to->last);
}

static struct queue *written_and_read(struct queue *original)
{
	struct queue *read = queue_new();
	struct writing to = {0};

	queue_each(original, write_task, &to);
	queue_reserve(read, queue_count(original));
	EXPECT_STR(decode_block(to.bytes.data, to.bytes.size, read), NULL);
	memory_free(to.bytes.data);
	return read;
}

struct listing {
	const struct task *tasks[MODEL_TASKS];
	size_t count;
};

static void list_task(struct task *task, void *arg)
{
	struct listing *listing = arg;

	listing->tasks[listing->count++] = task;
}

static void expect_equal(const struct queue *a, const struct queue *b)
{
	static struct listing in_a, in_b;

	in_a.count = in_b.count = 0;
	queue_each(a, list_task, &in_a);
	queue_each(b, list_task, &in_b);
	EXPECT_EQ(in_a.count, queue_count(a));
	EXPECT_EQ(in_b.count, queue_count(a));
	for (size_t i = 0; i < in_a.count && i < in_b.count; i++) {
		const struct task *one = in_a.tasks[i], *other = in_b.tasks[i];

		EXPECT_EQ(number_of(one), number_of(other));
		expect_reason(other, model.tasks[number_of(one)].reason);
		EXPECT_EQ(task_extras(other).period, model.tasks[number_of(one)].period);
		EXPECT_EQ(task_extras(other).base, model.tasks[number_of(one)].base);
		EXPECT_EQ(one->at, other->at);
		EXPECT_EQ(task_state(one, model.now), task_state(other, model.now));
		EXPECT_EQ(one->token, other->token);
		EXPECT_EQ(one->tries, other->tries);
		EXPECT_EQ(one->max_tries, other->max_tries);
		EXPECT(i == 0 || in_a.tasks[i - 1]->timeline != one->timeline ||
		       in_a.tasks[i - 1]->at <= one->at);
	}
}

static void copy_and_save(uint64_t seed)
{
	unsigned tasks = seed % 20 == 0 ? 9000 : 60;
	struct queue *copy, *read;

	begin(seed);
	for (unsigned i = 0; i < tasks * 2; i++)
		act(tasks);
	copy = queue_copy(queue);
	read = written_and_read(queue);
	expect_equal(queue, copy);
	expect_equal(queue, read);
	EXPECT_STR(queue_check(copy), NULL);
	queue_free(copy);
	queue_free(read);
	queue_free(queue);
}

static void a_copy_and_a_snapshot_hold_the_same_tasks_in_the_same_order(void)
{
	with_seeds(60, copy_and_save);
}

static void a_damaged_snapshot_is_refused_or_read_but_never_trusted(void)
{
	struct writing to = {0};

	begin(5);
	for (unsigned i = 0; i < 200; i++)
		act(40);
	queue_each(queue, write_task, &to);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned char *copy = memory_new(to.bytes.size);
		size_t size = random_below(&rng, 4) ? to.bytes.size
		                                    : (size_t)random_below(&rng, to.bytes.size);
		struct queue *read = queue_new();

		memcpy(copy, to.bytes.data, to.bytes.size);
		for (uint64_t flips = random_below(&rng, 4); flips > 0; flips--)
			copy[random_below(&rng, to.bytes.size)] = (unsigned char)random_next(&rng);
		copy = memory_resize(copy,
		                     size ? size : 1); /* so that reading beyond it is noticed */
		decode_block(copy, size, read);
		EXPECT_STR(queue_check(read), NULL);
		queue_free(read);
		memory_free(copy);
	}
	memory_free(to.bytes.data);
	queue_free(queue);
}

/* A queue with one task, which has these extras, written and read. Returns what is wrong with it, or NULL. */
static const char *read_with(const struct extras *extras, uint16_t tries)
{
	struct task_id id = id_of(0);
	struct task *task = task_set_extras(task_new(&id, "p", 1), extras);
	struct queue *read = queue_new();
	struct writing to = {0};
	const char *wrong;

	task->tries = tries;
	write_task(task, &to);
	wrong = decode_block(to.bytes.data, to.bytes.size, read);
	memory_free(to.bytes.data);
	memory_free(task);
	queue_free(read);
	return wrong;
}

static void a_snapshot_with_a_reason_for_no_try_is_refused(void)
{
	const struct extras extras = {.reason = reason_of(5), .reason_size = 5};

	EXPECT_STR(read_with(&extras, 0), "a task with 0 tries has a reason");
	EXPECT_STR(read_with(&extras, 1), NULL);
}

/* Periods */

static void a_task_that_is_not_periodic_has_no_first_time(void)
{
	struct task_id id = id_of(0);
	struct extras extras = {.reason = reason_of(5), .reason_size = 5, .base = 7};
	struct task *task = task_set_extras(task_new(&id, "", 0), &extras);

	EXPECT_EQ(task_extras(task).base, 0);
	memory_free(task);
}

static uint64_t again(uint64_t period, uint64_t base, uint64_t now)
{
	struct task_id id = id_of(0);
	struct task *task = task_set_extras(task_new(&id, "", 0),
	                                    &(struct extras){.period = period, .base = base});
	uint64_t at = task_again(task, now);

	memory_free(task);
	return at;
}

static void a_periodic_task_is_due_again_at_its_first_time_after_now(void)
{
	for (uint64_t period = 1; period < 8; period++) {
		for (uint64_t base = 0; base < 20; base++) {
			uint64_t expected = base;

			for (uint64_t now = 0; now < 40; now++) {
				while (expected <= now)
					expected += period;
				EXPECT_EQ(again(period, base, now), expected);
			}
		}
	}
	EXPECT_EQ(again(TASK_TIME_MAX, TASK_TIME_MAX, TASK_TIME_MAX), 2 * TASK_TIME_MAX);
	EXPECT_EQ(again(0, 0, 5), 0);
}

/* Lapses */

static struct task *leased_until(struct queue *of, unsigned number, uint16_t max_tries,
                                 uint64_t until)
{
	struct task_id id = id_of(number);
	struct task *task = task_new(&id, "", 0);

	task->tries = 1;
	task->max_tries = max_tries;
	queue_add_leased(of, task, until);
	return task;
}

static void expect_lapses(const struct queue *of, size_t lapsed, size_t died)
{
	EXPECT_EQ(of->lapses.lapsed, lapsed);
	EXPECT_EQ(of->lapses.died, died);
}

static void a_lapse_is_counted_once_by_the_queue_or_by_its_task(void)
{
	struct queue *of = queue_new();
	struct task *first = leased_until(of, 0, 1, 10), *second = leased_until(of, 1, 0, 10);
	struct task *third = leased_until(of, 2, 1, 30);

	queue_begin(of, 20);
	queue_delete(of, first);
	expect_lapses(of, 1, 1);
	queue_count_lapses(of);
	expect_lapses(of, 2, 1);
	queue_schedule(of, second, 40);
	expect_lapses(of, 2, 1);
	queue_bury(of, third, 20); /* given back before its lapse */
	expect_lapses(of, 2, 2);
	queue_free(of);
}

static void a_lease_that_was_over_before_it_came_is_a_lapse(void)
{
	struct queue *of = queue_new();

	queue_forget_lapses(of, 20);
	leased_until(of, 0, 1, 20);
	expect_lapses(of, 1, 1);
	leased_until(of, 1, 1, 21);
	expect_lapses(of, 1, 1);
	queue_begin(of, 21);
	queue_count_lapses(of);
	expect_lapses(of, 2, 2);
	queue_free(of);
}

/* Settings */

static void expect_backoff(unsigned tries, unsigned max_tries, uint64_t expected)
{
	struct task task = {.tries = (uint16_t)tries, .max_tries = (uint16_t)max_tries};

	EXPECT_EQ(queue_backoff(queue, &task), expected);
}

static void a_backoff_doubles_with_every_try_up_to_its_bound(void)
{
	begin(1);
	expect_backoff(1, 0, 0);
	queue->settings.backoff_ms = 100;
	queue->settings.backoff_max_ms = 500;
	expect_backoff(1, 0, 100);
	expect_backoff(2, 0, 200);
	expect_backoff(3, 0, 400);
	expect_backoff(4, 0, 500);
	expect_backoff(TASK_TRIES_MAX, 0, 500);
	expect_backoff(2, 3, 200);
	expect_backoff(3, 3, 0);
	queue->settings.backoff_max_ms = TASK_TIME_MAX;
	expect_backoff(TASK_TRIES_MAX, 0, TASK_TIME_MAX);
	queue_free(queue);
}

static void count_dead_beyond(uint64_t seed)
{
	size_t counts[STATES], beyond;

	begin(seed);
	for (unsigned i = 0; i < 300; i++)
		act(60);
	queue_counts(queue, model.now, counts);
	EXPECT_EQ(queue_dead_beyond(queue, model.now), 0);
	for (size_t most = 1; most < counts[STATE_DEAD] + 3; most++) {
		queue->settings.max_dead = most;
		beyond = counts[STATE_DEAD] > most ? counts[STATE_DEAD] - most : 0;
		EXPECT_EQ(queue_dead_beyond(queue, model.now), beyond);
	}
	queue_free(queue);
}

static void dead_tasks_beyond_the_bound_are_counted(void)
{
	with_seeds(100, count_dead_beyond);
}

/* Ids */

static void remember(struct task *task, void *arg)
{
	bool *met = arg;

	met[number_of(task)] = true;
}

static void scan_while_the_table_changes(uint64_t seed)
{
	static bool met[MODEL_TASKS];
	uint64_t cursor = 0;
	unsigned stay = 2000, come = stay;

	begin(seed);
	memset(met, 0, sizeof(met));
	for (unsigned i = 0; i < stay; i++)
		add(i, any_time());
	do { /* meanwhile the table grows in even runs, and grew before and shrinks in odd ones */
		ids_scan(&queue->ids, cursor, remember, met);
		if (seed % 2 == 0 && come < MODEL_TASKS)
			add(come++, any_time());
		else if (seed % 2 && come == stay)
			for (; come < 3 * stay; come++)
				add(come, any_time());
		else if (seed % 2 && model.tasks[come - 1].there)
			delete (--come);
	} while ((cursor = ids_scan_next(&queue->ids, cursor)) != 0);
	for (unsigned i = 0; i < stay; i++)
		EXPECT(met[i]);
	queue_free(queue);
}

static void a_scan_meets_every_task_that_is_there_all_the_time(void)
{
	with_seeds(20, scan_while_the_table_changes);
}

static void expect_id(const char *text, bool short_form)
{
	char again[TASK_ID_TEXT];
	struct task_id id;
	struct task *task;

	task_id_from_text(&id, text, strlen(text));
	EXPECT_EQ(id.made_here, short_form);
	task = task_new(&id, "", 0);
	EXPECT_EQ(task_id_text(task, again), strlen(text));
	EXPECT(memcmp(again, text, strlen(text)) == 0);
	memory_free(task);
}

static void an_id_is_the_same_text_again_in_either_form(void)
{
	expect_id("1794786799623-0-4fd1c260", true);
	expect_id("0-0-00000000", true);
	expect_id("281474976710655-4294967295-ffffffff", true);
	expect_id("281474976710656-0-00000000", false);
	expect_id("1-4294967296-00000000", false);
	expect_id("01-0-00000000", false);
	expect_id("1-00-00000000", false);
	expect_id("1-0-0000000", false);
	expect_id("1-0-000000000", false);
	expect_id("1-0-0000000G", false);
	expect_id("1-0-0000000A", false);
	expect_id("-1-0-00000000", false);
	expect_id("99999999999999999999999999-0-00000000", false);
	expect_id("1-0", false);
	expect_id("-", false);
	expect_id("x", false);
}

static void expect_written(uint64_t number)
{
	char text[DECIMAL_TEXT + 1], expected[DECIMAL_TEXT + 1];

	*decimal_write(text, number) = '\0';
	snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
	EXPECT(strcmp(text, expected) == 0);
}

static void numbers_are_written_as_printf_writes_them(void)
{
	for (uint64_t number = 0; number < 20000; number++)
		expect_written(number);
	for (uint64_t power = 10; power <= UINT64_MAX / 10; power *= 10) {
		expect_written(power - 1);
		expect_written(power);
		expect_written(UINT64_MAX / 10 - UINT64_MAX / 10 % power);
	}
	expect_written(UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++)
		expect_written(random_next(&rng) >> i % 64);
}

static void a_hexadecimal_digit_is_one_of_sixteen_characters(void)
{
	static const char digits[] = "0123456789abcdef";

	for (int c = 0; c < 256; c++) {
		const char *digit = c ? strchr(digits, c) : NULL;

		EXPECT_EQ(hex_digit((char)c), digit ? digit - digits : -1);
	}
}

static void percentiles_are_at_most_a_quarter_too_high(void)
{
	struct lateness lateness = {0};

	EXPECT_EQ(lateness_percentile(&lateness, 99), 0);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		lateness_count(&lateness, ms);
	EXPECT(lateness_percentile(&lateness, 50) >= 500 &&
	       lateness_percentile(&lateness, 50) <= 625);
	EXPECT(lateness_percentile(&lateness, 99) >= 990);
	EXPECT_EQ(lateness_percentile(&lateness, 100), 1000);
	lateness_count(&lateness, UINT64_MAX);
	EXPECT_EQ(lateness.max, UINT64_MAX);
}

/* Whether adding a second task with the same id ends the program. */
static void a_development_build_notices_an_id_that_is_added_twice(void)
{
#ifdef PAWL_ASSERT
	struct task_id id = id_of(1);
	int status = 0;
	pid_t child;

	queue = queue_new();
	queue_add(queue, task_new(&id, "", 0), 5);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		signal(SIGILL, SIG_DFL);
		queue_add(queue, task_new(&id, "", 0), 6);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(!WIFEXITED(status) ||
	       WEXITSTATUS(status) != 0); /* a sanitizer ends it in its own way */
	queue_free(queue);
#endif
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(a_small_queue_answers_like_the_model),
	        TEST(a_large_queue_answers_like_the_model_after_every_act),
	        TEST(tasks_for_one_time_are_taken_in_the_order_in_which_they_were_put),
	        TEST(no_call_moves_many_tasks_however_many_fell_due_meanwhile),
	        TEST(a_range_of_few_among_many_gives_up_with_the_first_ones),
	        TEST(a_task_in_a_hundred_years_makes_it_one_level_deeper),
	        TEST(all_64_bits_of_time_can_be_used),
	        TEST(a_copy_and_a_snapshot_hold_the_same_tasks_in_the_same_order),
	        TEST(a_damaged_snapshot_is_refused_or_read_but_never_trusted),
	        TEST(a_snapshot_with_a_reason_for_no_try_is_refused),
	        TEST(a_lapse_is_counted_once_by_the_queue_or_by_its_task),
	        TEST(a_lease_that_was_over_before_it_came_is_a_lapse),
	        TEST(a_task_that_is_not_periodic_has_no_first_time),
	        TEST(a_periodic_task_is_due_again_at_its_first_time_after_now),
	        TEST(a_backoff_doubles_with_every_try_up_to_its_bound),
	        TEST(dead_tasks_beyond_the_bound_are_counted),
	        TEST(a_scan_meets_every_task_that_is_there_all_the_time),
	        TEST(an_id_is_the_same_text_again_in_either_form),
	        TEST(numbers_are_written_as_printf_writes_them),
	        TEST(a_hexadecimal_digit_is_one_of_sixteen_characters),
	        TEST(percentiles_are_at_most_a_quarter_too_high),
	        TEST(a_development_build_notices_an_id_that_is_added_twice),
	};

	test_usage(argc, argv, "[--seed N] [--runs N]");
	only_seed = test_number(argc, argv, "--seed", "PAWL_SEED", 0);
	runs = test_number(argc, argv, "--runs", "PAWL_RUNS", 300);
	ids_secret[0] = 1;
	ids_secret[1] = 2;
	return RUN_TESTS(tests);
}
