/* SPDX-License-Identifier: MIT */
/*
 * Every crash of small scripts. A script of random operations runs on a simulated disk. Then, after each step of the
 * disk, every state in which a crash may leave it is built (all of them where there are at most DOUBTS doubts, some by
 * chance beyond), the store is opened on it, and must be as it was after some of the operations: not fewer than those
 * that were safe, not more than those that had begun. What is due then is given out, and nothing else, with a fence
 * above all that were given out before. Some operations run in the midst of a checkpoint.
 *
 * A seed repeats a script: test_store_crash --seed N. With --trace it says what happens.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

#define OPERATIONS 14
#define DOUBTS     7  /* up to which a step's states are all built */
#define BY_CHANCE  24 /* states of a step beyond */
#define TASKS      24
#define START      UINT64_C(1700000000000000000) /* ns since 1970 */

static bool trace;
static uint64_t states_built, steps_seen, whole_steps, nested;
static size_t recovery_steps; /* of the last recovery */

struct entry {
	uint64_t id, due;
	unsigned tries;
	bool dead, gone;
};

struct model {
	struct entry tasks[TASKS];
	size_t count;
	uint64_t now;
	bool safe;      /* the operation and all before it are on the disk when it returns */
	bool tried;     /* since the last commit a task was taken, which no sync is owed */
	uint64_t fence; /* the last one given out */
	size_t steps;   /* of the disk, when the operation had returned */
};

struct script {
	struct random random;
	struct sim_disk disk;
	struct pawl_clock_manual clock;
	struct pawl_store *store;
	struct model after[OPERATIONS + 1]; /* after so many operations */
	size_t done;                        /* operations */
	uint64_t fence;                     /* given out before the crash */
	uint64_t meanwhile; /* a checkpoint syncs so often before the next operation begins */
	uint64_t sync_ns;
	struct pawl_store_task held[TASKS]; /* by the task's number; id 0: not held */
};

/* A payload says which task it is, and some are longer than a piece of the disk. */
static size_t payload_of(size_t number, char payload[1200])
{
	size_t size = number % 5 == 4 ? 1100 : number % 3 * 40;

	memset(payload, 'a' + (int)number, size);
	return size;
}

static struct pawl_store_options options_of(struct pawl_clock_manual *clock, uint64_t sync_ns,
                                            char *problem)
{
	return (struct pawl_store_options){.clock = &clock->clock,
	                                   .manual = true,
	                                   .sync_ns = sync_ns,
	                                   .memory = 256 << 10,
	                                   .log_size = 256 << 10,
	                                   .problem = problem};
}

static void set_clock(struct pawl_clock_manual *clock, uint64_t now)
{
	pawl_clock_manual_init(clock);
	pawl_clock_manual_set_wall(clock, (struct timespec){.tv_sec = (time_t)(now / PAWL_SECOND),
	                                                    .tv_nsec = (long)(now % PAWL_SECOND)});
}

static uint64_t some_delay(struct random *random)
{
	static const uint64_t delays[] = {0,
	                                  PAWL_SECOND,
	                                  5 * PAWL_MINUTE,
	                                  25 * PAWL_MINUTE,
	                                  3 * PAWL_HOUR,
	                                  50 * PAWL_HOUR,
	                                  24 * 40 * PAWL_HOUR};

	return delays[random_below(random, 7)];
}

/* A task that lives, and is dead or not, held or not; or SIZE_MAX. */
static size_t some_task(struct script *script, struct model *model, bool dead, bool held)
{
	size_t begin = random_below(&script->random, TASKS);

	for (size_t i = 0; i < TASKS; i++) {
		size_t at = (begin + i) % TASKS;
		const struct entry *entry = &model->tasks[at];

		if (at < model->count && !entry->gone && entry->dead == dead &&
		    (script->held[at].fence != 0) == held)
			return at;
	}
	return SIZE_MAX;
}

static void committed(const struct script *script, struct model *model)
{
	model->safe = script->sync_ns == 0;
	model->tried = false;
}

static void do_put(struct script *script, struct model *model)
{
	struct entry *entry = &model->tasks[model->count];
	char payload[1200];
	size_t size = payload_of(model->count, payload);

	if (model->count == TASKS)
		return;
	entry->due = model->now + some_delay(&script->random);
	EXPECT_EQ(pawl_store_put_at(script->store, model->count % 2 ? "odd" : "even", entry->due,
	                            payload, size, &entry->id),
	          0);
	model->count++;
	committed(script, model);
}

static void do_take(struct script *script, struct model *model)
{
	struct pawl_store_task task;

	if (pawl_store_take(script->store, random_below(&script->random, 2) ? "odd" : "even",
	                    PAWL_HOUR * 24 * 365, 0, &task, 1) != 1)
		return;
	for (size_t i = 0; i < model->count; i++)
		if (model->tasks[i].id == task.id) {
			EXPECT(!model->tasks[i].gone && !model->tasks[i].dead);
			EXPECT(model->tasks[i].due <= model->now);
			EXPECT_EQ(task.tries, ++model->tasks[i].tries);
			EXPECT(task.fence > model->fence);
			model->fence = task.fence;
			model->tried = true;
			script->held[i] = task;
			return;
		}
	EXPECT(!"an unknown task");
}

static void end_lease(struct script *script, struct model *model, unsigned how)
{
	size_t at = some_task(script, model, false, true);
	uint64_t delay = some_delay(&script->random);
	struct entry *entry;

	if (at == SIZE_MAX)
		return;
	entry = &model->tasks[at];
	committed(script, model);
	if (how == 0) {
		EXPECT_EQ(pawl_store_ack(script->store, &script->held[at]), 0);
		entry->gone = true;
	} else if (how == 1) {
		EXPECT_EQ(pawl_store_retry(script->store, &script->held[at], delay), 0);
		entry->due = model->now + delay;
	} else {
		EXPECT_EQ(pawl_store_bury(script->store, &script->held[at], "why"), 0);
		entry->dead = true;
	}
}

static void do_cancel(struct script *script, struct model *model)
{
	size_t at = some_task(script, model, false, false);

	if (at == SIZE_MAX)
		return;
	EXPECT_EQ(pawl_store_cancel(script->store, model->tasks[at].id), 0);
	model->tasks[at].gone = true;
	committed(script, model);
}

static void do_dead(struct script *script, struct model *model)
{
	size_t at = some_task(script, model, true, false);
	uint64_t delay = some_delay(&script->random);
	struct entry *entry;

	if (at == SIZE_MAX)
		return;
	entry = &model->tasks[at];
	committed(script, model);
	if (random_below(&script->random, 2)) {
		EXPECT_EQ(pawl_store_drop(script->store, entry->id), 0);
		entry->gone = true;
	} else {
		EXPECT_EQ(pawl_store_requeue(script->store, entry->id, delay), 0);
		entry->dead = false;
		entry->tries = 0;
		entry->due = model->now + delay;
	}
}

/* An ack and two puts in one commit. */
static void do_several(struct script *script, struct model *model)
{
	size_t at = some_task(script, model, false, true);
	struct pawl_store_change changes[3] = {{.verb = PAWL_STORE_PUT}};
	char payloads[2][1200];
	size_t n = 0;

	if (model->count + 2 > TASKS)
		return;
	for (; n < 2; n++) {
		model->tasks[model->count + n].due = model->now + some_delay(&script->random);
		changes[n] = (struct pawl_store_change){
		        .verb = PAWL_STORE_PUT,
		        .queue = (model->count + n) % 2 ? "odd" : "even",
		        .at_ns = model->tasks[model->count + n].due,
		        .payload = payloads[n],
		        .size = payload_of(model->count + n, payloads[n]),
		};
	}
	if (at != SIZE_MAX) {
		changes[n++] = (struct pawl_store_change){.verb = PAWL_STORE_ACK,
		                                          .task = &script->held[at]};
		model->tasks[at].gone = true;
	}
	EXPECT_EQ(pawl_store_commit(script->store, changes, n), 0);
	model->tasks[model->count++].id = changes[0].id;
	model->tasks[model->count++].id = changes[1].id;
	committed(script, model);
}

/* A commit of which one change is refused changes nothing. */
static void do_refused(struct script *script, const struct model *model)
{
	struct pawl_store_change changes[3] = {
	        {.verb = PAWL_STORE_PUT, .queue = "refused", .payload = "?", .size = 1},
	        {.verb = PAWL_STORE_PUT, .queue = "odd", .payload = "?", .size = 1},
	        {.verb = PAWL_STORE_CANCEL, .id = UINT64_C(1) << 62},
	};

	changes[0].at_ns = model->now + some_delay(&script->random);
	changes[1].at_ns = model->now + some_delay(&script->random);
	EXPECT_EQ(pawl_store_commit(script->store, changes, 3), -ENOENT);
}

static void do_time(struct script *script, struct model *model)
{
	uint64_t delay = some_delay(&script->random);

	pawl_clock_manual_advance(&script->clock, delay);
	model->now += delay;
	pawl_store_poll(script->store);
	model->safe = delay >= script->sync_ns && !model->tried;
}

static void do_change(struct script *script, struct model *model)
{
	uint64_t kind = random_below(&script->random, 14);

	if (kind < 4)
		do_put(script, model);
	else if (kind < 7)
		do_take(script, model);
	else if (kind < 10)
		end_lease(script, model, (unsigned)(kind - 7));
	else if (kind == 10)
		do_cancel(script, model);
	else if (kind == 11)
		do_dead(script, model);
	else if (kind == 12)
		do_several(script, model);
	else
		do_refused(script, model);
	if (trace)
		printf("  change of kind %d, %zu tasks\n", (int)kind, model->count);
}

static struct model *begin_operation(struct script *script)
{
	struct model *model = &script->after[script->done + 1];

	*model = script->after[script->done];
	model->safe = false;
	return model;
}

static void end_operation(struct script *script)
{
	script->after[++script->done].steps = script->disk.step_count;
}

/* The checkpoint syncs a file: the next operation begins and ends, and the checkpoint goes on. A commit waits for a
 * thread that has the log, so not while that is the checkpoint. */
static void meanwhile(void *arg)
{
	struct script *script = arg;

	if (script->store->log.busy || script->meanwhile-- > 0)
		return;
	script->disk.meanwhile = NULL;
	end_operation(script);
	if (trace)
		printf("  in the midst of a checkpoint:\n");
	do_change(script, begin_operation(script));
	end_operation(script);
}

static void do_checkpoint(struct script *script, struct model *model)
{
	size_t number = script->done;

	if (script->done + 3 <= OPERATIONS) {
		script->meanwhile = random_below(&script->random, 3);
		script->disk.meanwhile = meanwhile;
		script->disk.meanwhile_arg = script;
	}
	script->store->want_checkpoint = true;
	pawl_store_poll(script->store);
	script->disk.meanwhile = NULL;
	model->safe = script->done == number;
	if (trace)
		printf("  checkpoint\n");
}

static void do_operation(struct script *script)
{
	size_t number = script->done;
	struct model *model = begin_operation(script);
	uint64_t kind = random_below(&script->random, 17);

	if (kind < 13)
		do_change(script, model);
	else if (kind < 15)
		do_checkpoint(script, model);
	else
		do_time(script, model);
	if (script->done == number)
		end_operation(script);
}

/* Whether the listed task is as the model says. */
static bool is_like(const struct entry *entry, size_t number, const struct pawl_store_task *task)
{
	char payload[1200];
	size_t size = payload_of(number, payload);

	return task->id == entry->id && task->due_ns == entry->due && task->tries == entry->tries &&
	       (task->reason != NULL) == entry->dead && task->size == size &&
	       memcmp(task->payload, payload, size) == 0 &&
	       strcmp(task->queue, number % 2 ? "odd" : "even") == 0 &&
	       (!task->reason || strcmp(task->reason, "why") == 0);
}

static bool equals(const struct model *model, const struct pawl_store_task *tasks, size_t count)
{
	size_t live = 0;

	for (size_t i = 0; i < model->count; i++) {
		size_t found = 0;

		if (model->tasks[i].gone)
			continue;
		live++;
		for (size_t k = 0; k < count; k++)
			found += is_like(&model->tasks[i], i, &tasks[k]);
		if (found != 1)
			return false;
	}
	return live == count;
}

static void describe(const struct model *model, const struct pawl_store_task *tasks, size_t count)
{
	for (size_t i = 0; i < model->count; i++)
		if (!model->tasks[i].gone)
			printf("    expected %" PRIx64 " due %" PRIu64 " tries %u%s\n",
			       model->tasks[i].id, model->tasks[i].due - START,
			       model->tasks[i].tries, model->tasks[i].dead ? " dead" : "");
	for (size_t k = 0; k < count; k++)
		printf("    found %" PRIx64 " due %" PRIu64 " tries %u%s\n", tasks[k].id,
		       tasks[k].due_ns - START, tasks[k].tries, tasks[k].reason ? " dead" : "");
}

/* What is due is given out, once, and nothing else; with a fence above this one. */
static bool gives_out(struct pawl_store *store, const struct model *model, uint64_t fence)
{
	static const char *const queues[] = {"odd", "even"};
	struct pawl_store_task tasks[TASKS];
	size_t due = 0;
	int got = 0;

	for (size_t i = 0; i < model->count; i++)
		due += !model->tasks[i].gone && !model->tasks[i].dead &&
		       model->tasks[i].due <= model->now;
	for (size_t i = 0; i < 2; i++) {
		got = pawl_store_take(store, queues[i], PAWL_MINUTE, 0, tasks, TASKS);
		if (got < 0)
			return false;
		due -= (size_t)got;
		while (got-- > 0) {
			if (tasks[got].due_ns > model->now || tasks[got].fence <= fence)
				return false;
			pawl_store_release(store, &tasks[got]);
		}
	}
	return due == 0;
}

/* The store on this disk is as after `low` to `high` operations: which one, or -1. */
static int state_of(struct script *script, struct sim_disk *disk, size_t low, size_t high)
{
	struct pawl_store_task tasks[2 * TASKS];
	char problem[PAWL_STORE_PROBLEM] = "";
	struct pawl_clock_manual clock;
	struct pawl_store_options options = options_of(&clock, script->sync_ns, problem);
	struct pawl_store *store;
	int pending, dead, found = -1;

	set_clock(&clock, script->after[high].now);
	if (pawl__store_open_on(&store, &disk->disk, &options) != 0) {
		printf("    open: %s\n", problem);
		return -1;
	}
	recovery_steps = disk->step_count;
	pending = pawl_store_list(store, PAWL_STORE_PENDING, NULL, 0, 0, tasks, TASKS);
	dead = pawl_store_list(store, PAWL_STORE_DEAD, NULL, 0, 0,
	                       tasks + (pending < 0 ? 0 : pending), TASKS);
	for (size_t i = low; i <= high && found < 0 && pending >= 0 && dead >= 0; i++)
		if (equals(&script->after[i], tasks, (size_t)(pending + dead)))
			found = (int)i;
	if (found < 0)
		describe(&script->after[low], tasks, (size_t)(pending + dead));
	for (int i = 0; i < pending + dead; i++)
		pawl_store_release(store, &tasks[i]);
	if (found >= 0) {
		struct model model = script->after[found];

		model.now = script->after[high].now;
		if (!gives_out(store, &model, script->fence)) {
			printf("    what is due is not given out\n");
			found = -1;
		}
	}
	pawl_store_close(store);
	states_built++;
	return found;
}

/* The answers to the doubts: the bits of a mask; or all, none, one of them another way, a half, a beginning. */
struct answers {
	uint64_t mask;
	unsigned kind;
	size_t which;
	struct random random;
};

static bool answer(size_t doubt, void *arg)
{
	struct answers *answers = arg;

	switch (answers->kind) {
	case 0:
		return answers->mask >> doubt & 1;
	case 1:
		return doubt != answers->which;
	case 2:
		return doubt == answers->which;
	case 3:
		return doubt < answers->which;
	case 4:
		return doubt >= answers->which;
	default:
		return random_below(&answers->random, 2);
	}
}

static void complain(const struct script *script, uint64_t seed, size_t step,
                     const struct answers *answers)
{
	static const char *const kinds[] = {"write",  "grow",   "sync",      "name",
	                                    "rename", "remove", "sync names"};

	printf("    seed %" PRIu64 ", step %zu of %zu, answers of kind %u: mask %" PRIx64
	       ", which %zu\n",
	       seed, step, script->disk.step_count, answers->kind, answers->mask, answers->which);
	for (size_t i = 0; i < step; i++)
		printf("      %zu %s file %d at %zu size %zu %s %s\n", i,
		       kinds[script->disk.steps[i].kind], script->disk.steps[i].file,
		       script->disk.steps[i].offset, script->disk.steps[i].size,
		       script->disk.steps[i].from, script->disk.steps[i].to);
}

/* Crash in the recovery, once. */
static bool crash_again(struct script *script, struct sim_disk *disk, size_t low, size_t high,
                        struct random *random)
{
	struct answers answers = {.kind = 5, .random = {random_next(random)}};
	struct sim_disk again;
	bool good;

	sim_crash(disk, random_below(random, recovery_steps + 1), answer, &answers, &again);
	nested++;
	good = state_of(script, &again, low, high) >= 0;
	sim_free(&again);
	return good;
}

static bool crash(struct script *script, uint64_t seed, size_t step, struct answers answers,
                  size_t low, size_t high, bool twice)
{
	struct answers first = answers;
	struct sim_disk disk;
	int state;

	sim_crash(&script->disk, step, answer, &answers, &disk);
	state = state_of(script, &disk, low, high);
	if (state >= 0 && twice && !crash_again(script, &disk, low, high, &answers.random))
		state = -1;
	if (state < 0)
		complain(script, seed, step, &first);
	sim_free(&disk);
	EXPECT(state >= 0);
	return state >= 0;
}

/* All states, or some by chance. */
static bool crash_at(struct script *script, uint64_t seed, size_t step)
{
	size_t doubts = sim_doubts(&script->disk, step), high = 0, low = 0;
	bool good = true;

	while (high < OPERATIONS && script->after[high].steps < step)
		high++;
	for (size_t i = 1; i <= high && script->after[i].steps <= step; i++)
		if (script->after[i].safe)
			low = i;
	for (size_t i = 0; i <= OPERATIONS && script->after[i].steps <= step; i++)
		script->fence = script->after[i].fence;
	steps_seen++;
	if (doubts <= DOUBTS) {
		whole_steps++;
		for (uint64_t mask = 0; mask < UINT64_C(1) << doubts && good; mask++)
			good = crash(script, seed, step,
			             (struct answers){.mask = mask, .random = {seed + step + mask}},
			             low, high, mask % 8 == 5);
		return good;
	}
	for (unsigned i = 0; i < BY_CHANCE && good; i++) {
		struct answers answers = {.kind = 1 + i % 5,
		                          .random = {seed * 1000003 + step * 101 + i}};

		answers.which = random_below(&answers.random, doubts + 1);
		good = crash(script, seed, step, answers, low, high, i % 8 == 5);
	}
	return good;
}

static bool all(size_t doubt, void *arg)
{
	(void)doubt;
	(void)arg;
	return true;
}

/* kill -9: what was written is there, whatever was synced. */
static bool kill_at(struct script *script, size_t operation)
{
	struct sim_disk disk;
	int state;

	script->fence = script->after[operation].fence;
	sim_crash(&script->disk, script->after[operation].steps, all, NULL, &disk);
	state = state_of(script, &disk, operation, operation);
	sim_free(&disk);
	EXPECT(state >= 0);
	return state >= 0;
}

static bool run(uint64_t seed)
{
	static const uint64_t policies[] = {0, 0, 10 * PAWL_MS, PAWL_NEVER};
	static struct script script;
	struct pawl_store_options options;
	bool good = true;

	memset(&script, 0, sizeof(script));
	script.random.state = seed;
	script.sync_ns = policies[random_below(&script.random, 4)];
	script.after[0].now = START;
	set_clock(&script.clock, START);
	options = options_of(&script.clock, script.sync_ns, NULL);
	sim_init(&script.disk);
	EXPECT_EQ(pawl__store_open_on(&script.store, &script.disk.disk, &options), 0);
	script.after[0].steps = script.disk.step_count;
	while (script.done < OPERATIONS)
		do_operation(&script);
	for (size_t i = 0; i < TASKS; i++)
		if (script.held[i].fence)
			pawl_store_release(script.store, &script.held[i]);
	pawl_store_close(script.store);
	for (size_t i = 0; i <= OPERATIONS && good; i++)
		good = kill_at(&script, i);
	for (size_t step = 0; step <= script.after[OPERATIONS].steps && good; step++)
		good = crash_at(&script, seed, step);
	sim_free(&script.disk);
	return good;
}

static uint64_t first_seed = 1, seeds = 60;

static void every_crash_leaves_what_was_committed(void)
{
	for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
		if (trace)
			printf("seed %" PRIu64 "\n", seed);
		if (!run(seed))
			break;
	}
	printf("  seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " steps, %" PRIu64
	       " of them with all their states; %" PRIu64 " states, %" PRIu64
	       " of them after a crash in the recovery\n",
	       first_seed, first_seed + seeds - 1, steps_seen, whole_steps, states_built, nested);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {TEST(every_crash_leaves_what_was_committed)};

	if (getenv("PAWL_RUNS"))
		seeds = strtoull(getenv("PAWL_RUNS"), NULL, 10);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0)
			trace = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			first_seed = strtoull(argv[++i], NULL, 10);
			seeds = 1;
		} else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
			seeds = strtoull(argv[++i], NULL, 10);
	}
	return RUN_TESTS(tests);
}
