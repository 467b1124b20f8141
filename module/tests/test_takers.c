/* SPDX-License-Identifier: MIT */
/*
 * Blocked takers, on a server that the test drives (fake_server.h): with each order of callbacks, and with a clock that
 * may be set between any two readings.
 */
#include "../../src/base/random.h"
#include "../../tests/support/test.h"
#include "../commands/arguments.h"
#include "../commands/commands.h"
#include "../server/access.h"
#include "../server/takers.h"
#include "fake_server.h"
#include "seeds.h"

#define START UINT64_C(1800000000000)

static struct random rng;
static uint64_t runs;

/* Both kinds of server. */
static void begin(bool late_unblock)
{
	static bool loaded;

	fake_start(START);
	fake.late_unblock = late_unblock;
	if (loaded)
		takers_clock_set();
	else
		EXPECT_EQ(takers_init(fake_command(NULL)), REDISMODULE_OK);
	loaded = true;
}

/* A command with BLOCK 0 and COUNT, at these keys: a bit each. */
static void command(struct fake_client *client, RedisModuleCmdFunc *run, unsigned keys,
                    unsigned count, bool counts_keys)
{
	RedisModuleString *argv[10];
	char text[16];
	int argc = 0;

	argv[argc++] = fake_string("PAWL");
	snprintf(text, sizeof(text), "%d", __builtin_popcount(keys));
	if (counts_keys)
		argv[argc++] = fake_string(text);
	for (unsigned key = 0; key < FAKE_KEYS; key++)
		if (keys >> key & 1)
			argv[argc++] = RedisModule_CreateStringFromString(NULL, fake_key(key));
	snprintf(text, sizeof(text), "%u", count);
	argv[argc++] = fake_string("COUNT");
	argv[argc++] = fake_string(text);
	argv[argc++] = fake_string("BLOCK");
	argv[argc++] = fake_string("0");
	run(fake_command(client), argv, argc);
	while (argc > 0)
		fake_free_string(argv[--argc]);
	fake_command_done();
}

/* PAWL.TAKE with BLOCK */
static void take(struct fake_client *client, unsigned key, unsigned count)
{
	*client = (struct fake_client){.key = key};
	command(client, command_take, 1u << key, count, false);
}

/* PAWL.MTAKE with BLOCK */
static void mtake(struct fake_client *client, unsigned keys, unsigned count)
{
	*client = (struct fake_client){.key = FAKE_KEYS};
	command(client, command_mtake, keys, count, true);
}

static struct task_id id_of(uint64_t number)
{
	struct task_id id;
	char text[32];

	snprintf(text, sizeof(text), "task:%llu", (unsigned long long)number);
	task_id_from_text(&id, text, strlen(text));
	return id;
}

/* A command that adds a task, whose payload is its number, by queue_add() or queue_add_leased(). */
static void add(unsigned key, uint64_t number, uint64_t at, unsigned tries,
                void (*add_to)(struct queue *, struct task *, uint64_t))
{
	struct task_id id = id_of(number);
	struct task *task = task_new(&id, &number, sizeof(number));
	struct access access;

	task->tries = task->max_tries = (uint16_t)tries;
	access_to_write(&access, fake_command(NULL), fake_key(key));
	access_create(&access);
	add_to(access.queue, task, at);
	command_changed(&access, "pawl.put");
	access_end(&access);
	fake_command_done();
}

/* PAWL.PUT */
static void put(unsigned key, uint64_t number, uint64_t at)
{
	add(key, number, at, 0, queue_add);
}

/* A task on its last lease, which ends then. */
static void put_dying(unsigned key, uint64_t number, uint64_t until)
{
	add(key, number, until, 1, queue_add_leased);
}

static void loops(unsigned count)
{
	while (count-- > 0)
		fake_loop();
}

static void expect_served(const struct fake_client *client, uint64_t number)
{
	EXPECT_EQ(client->state, FAKE_SERVED);
	EXPECT_EQ(client->count, 1);
	EXPECT_EQ(client->payloads[0], number);
}

static int command_take_dead(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return take_from_key(&(struct args){ctx, argv, argc, 2}, true);
}

/* PAWL.DEAD TAKE with BLOCK */
static void take_dead(struct fake_client *client, unsigned key)
{
	*client = (struct fake_client){.key = key};
	command(client, command_take_dead, 1u << key, 1, false);
}

static void lines_of_one_key(bool late_unblock)
{
	begin(late_unblock);
	take_dead(&fake.clients[0], 0);
	take(&fake.clients[1], 0, 1);
	take_dead(&fake.clients[2], 0);
	take(&fake.clients[3], 0, 1);
	put_dying(0, 1, START + 20);
	put(0, 2, START + 10);
	put_dying(0, 3, START + 30);
	put(0, 4, START + 40);
	loops(3);
	for (unsigned i = 0; i < 4; i++)
		EXPECT_EQ(fake.clients[i].state, FAKE_BLOCKED);
	for (unsigned i = 0; i < 4; i++) {
		static const unsigned order[] = {1, 0, 2, 3};
		static const uint64_t numbers[] = {2, 1, 3, 4};

		fake.now += 10;
		loops(3);
		expect_served(&fake.clients[order[i]], numbers[i]);
		for (unsigned j = i + 1; j < 4; j++)
			EXPECT_EQ(fake.clients[order[j]].state, FAKE_BLOCKED);
	}
	fake_stop();
}

static void takers_of_due_and_of_dead_tasks_stand_in_lines_of_their_own(void)
{
	lines_of_one_key(false);
	lines_of_one_key(true);
}

/* Several keys */

static void a_taker_of_two_keys_gets_the_first_due_task(void)
{
	for (unsigned first = 0; first < 2; first++) {
		begin(false);
		put(0, 1000, START + 50000);
		put(1, 1001, START + 50000);
		mtake(&fake.clients[0], 3, 5);
		put(first, 1, START + 10);
		put(1 - first, 2, START + 12);
		fake.now = START + 5000; /* both at once */
		loops(3);
		expect_served(&fake.clients[0], 1);
		EXPECT_EQ(fake.clients[0].key, first);
		mtake(&fake.clients[1], 3, 5);
		expect_served(&fake.clients[1], 2);
		fake_stop();
	}
}

/* The clock */

/*
 * Two takers, two tasks for one time. When the time has come, the clock is set back by five seconds after `readings`
 * more readings. Returns whether there were so many.
 */
static bool set_back_after(unsigned readings, bool late_unblock)
{
	bool reached;

	begin(late_unblock);
	put(0, 1, START + 100);
	put(0, 2, START + 100);
	put(1, 3, START + 100);
	take(&fake.clients[0], 0, 1);
	take(&fake.clients[1], 0, 1);
	take(&fake.clients[2], 1, 1);
	loops(2);
	fake.now = START + 100;
	fake.readings_left = readings;
	fake.then = START - 4900;
	loops(10);
	reached = fake.readings_left == 0;
	EXPECT(!fake.spun);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(fake.clients[i].state != FAKE_NIL);
	fake.readings_left = 0;
	fake_set_clock(START + 99);
	loops(10);
	fake.now = START + 100;
	loops(10);
	for (unsigned i = 0; i < 3; i++)
		expect_served(&fake.clients[i], i + 1);
	fake_stop();
	return reached;
}

static void a_clock_set_back_at_any_moment_neither_hangs_the_server_nor_costs_a_task(void)
{
	unsigned readings = 1;

	while (set_back_after(readings, false))
		readings++;
	EXPECT(readings > 2);
	readings = 1;
	while (set_back_after(readings, true))
		readings++;
	EXPECT(readings > 2);
}

/* Set back while no timer of the system is on, so that none rings. */
static void a_task_put_after_the_clock_was_set_back_is_delivered_at_its_time(void)
{
	begin(false);
	take(&fake.clients[0], 0, 1);
	take(&fake.clients[1], 0, 1);
	put(0, 1, START + 10);
	fake.now = START + 5000;
	loops(3);
	expect_served(&fake.clients[0], 1);
	EXPECT_EQ(fake.rings_at, PAWL_NEVER);
	fake_set_clock(START + 20);
	put(0, 2, START + 30);
	loops(3);
	fake.now = START + 30;
	loops(3);
	expect_served(&fake.clients[1], 2);
	fake_stop();
}

/* Random acts. The history of each task and client says what must hold. */

enum { TASKS = 2000 };

static struct {
	uint64_t tasks;          /* put so far: their numbers */
	bool known_gone[TASKS];  /* delivered, or deleted with its key */
	bool may_be_lost[TASKS]; /* it was due when a taker disconnected that may have got it */
	unsigned key[TASKS];
	uint64_t at[TASKS];
	bool timed_out[FAKE_CLIENTS];
} history;

static struct fake_client *client_in(enum fake_state state)
{
	unsigned from = (unsigned)random_below(&rng, FAKE_CLIENTS);

	for (unsigned i = 0; i < FAKE_CLIENTS; i++) {
		struct fake_client *client = &fake.clients[(from + i) % FAKE_CLIENTS];

		if (client->state == state)
			return client;
	}
	return NULL;
}

/* A taker that was served was the first in line, and got a task that no other had. */
static void expect_fair(const struct fake_client *served)
{
	for (unsigned i = 0; i < served->count; i++) {
		uint64_t number = served->payloads[i];

		EXPECT(number < history.tasks && !history.known_gone[number]);
		EXPECT_EQ(history.key[number], served->key);
		history.known_gone[number] = true;
	}
	EXPECT(served->count > 0);
	for (unsigned i = 0; served->blocked_since && i < FAKE_CLIENTS; i++) {
		const struct fake_client *other = &fake.clients[i];

		if (other->state == FAKE_BLOCKED && !other->call_pending &&
		    other->keys >> served->key & 1)
			EXPECT(other->blocked_since > served->blocked_since);
	}
}

static void look_at_clients(void)
{
	for (unsigned i = 0; i < FAKE_CLIENTS; i++) {
		struct fake_client *client = &fake.clients[i];

		if (client->state == FAKE_IDLE || client->state == FAKE_BLOCKED || client->handle)
			continue;
		if (client->state == FAKE_SERVED)
			expect_fair(client);
		else if (client->state == FAKE_NIL)
			EXPECT(history.timed_out[i]);
		*client = (struct fake_client){0};
	}
}

/* A task that was delivered is out of the queue; if its taker disconnects now, it is lost. */
static bool in_queue(uint64_t number)
{
	struct task_id id = id_of(number);
	struct access access;
	bool found;

	access_to_read(&access, fake_command(NULL), fake_key(history.key[number]));
	found = access.queue && queue_find(access.queue, &id);
	access_end(&access);
	return found;
}

static void disconnect(struct fake_client *client)
{
	fake_disconnect(client);
	for (uint64_t i = 0; i < history.tasks; i++)
		if (client->keys >> history.key[i] & 1 && !history.known_gone[i] && !in_queue(i))
			history.may_be_lost[i] = true;
}

static void delete_key(unsigned key)
{
	for (uint64_t i = 0; i < history.tasks; i++)
		if (history.key[i] == key && in_queue(i))
			history.known_gone[i] = true;
	fake_delete(key);
}

static void put_any(void)
{
	uint64_t number = history.tasks;
	unsigned key = (unsigned)random_below(&rng, FAKE_KEYS);

	if (number == TASKS)
		return;
	history.key[number] = key;
	history.at[number] = fake.now + random_below(&rng, 2) * random_below(&rng, 60);
	history.tasks++;
	put(key, number, history.at[number]);
}

/* The key that PAWL.MTAKE of these is served from; FAKE_KEYS if nothing is due. */
static unsigned earliest_of(unsigned keys)
{
	uint64_t due[FAKE_KEYS + 1] = {PAWL_NEVER, PAWL_NEVER, PAWL_NEVER, fake.now + 1};
	unsigned earliest = FAKE_KEYS;

	for (uint64_t i = 0; i < history.tasks; i++) {
		unsigned key = history.key[i];

		if (keys >> key & 1 && history.at[i] < due[key] && in_queue(i))
			due[key] = history.at[i];
	}
	for (unsigned key = FAKE_KEYS; key-- > 0;)
		if (due[key] <= due[earliest] && due[key] <= fake.now)
			earliest = key;
	return earliest;
}

static void mtake_any(struct fake_client *client)
{
	unsigned keys = 1 + (unsigned)random_below(&rng, (1 << FAKE_KEYS) - 1);
	bool may_be_set = fake.readings_left > 0; /* the clock, meanwhile: then expect nothing */
	unsigned expected = may_be_set ? FAKE_KEYS + 1 : earliest_of(keys);

	mtake(client, keys, 1 + (unsigned)random_below(&rng, 3));
	if (expected == FAKE_KEYS)
		EXPECT_EQ(client->state, FAKE_BLOCKED);
	else if (expected < FAKE_KEYS)
		EXPECT_EQ(client->key, expected);
}

static void take_any(void)
{
	struct fake_client *client = client_in(FAKE_IDLE);

	if (!client)
		return;
	history.timed_out[client - fake.clients] = false;
	if (random_below(&rng, 2))
		take(client, (unsigned)random_below(&rng, FAKE_KEYS),
		     1 + (unsigned)random_below(&rng, 3));
	else
		mtake_any(client);
}

static void act(void)
{
	struct fake_client *blocked = client_in(FAKE_BLOCKED);

	switch (random_below(&rng, 26)) {
	case 0:
		if (blocked)
			disconnect(blocked);
		break;
	case 1:
		if (blocked) {
			history.timed_out[blocked - fake.clients] = true;
			fake_time_out(blocked);
		}
		break;
	case 2:
		fake.paused = random_below(&rng, 3) == 0;
		break;
	case 3:
		if (random_below(&rng, 4) == 0)
			delete_key((unsigned)random_below(&rng, FAKE_KEYS));
		break;
	case 4:
	case 5:
		fake_timers();
		break;
	case 6:
	case 7:
		fake_before_sleep();
		break;
	case 8:
	case 9:
	case 10:
		fake.now += random_below(&rng, 20);
		break;
	case 11:
	case 12:
		fake_loop();
		break;
	case 13:
		if (random_below(&rng, 4) == 0)
			fake_set_clock(fake.now + random_below(&rng, 50) - 25);
		break;
	case 14:
		if (random_below(&rng, 4) == 0) { /* soon, between two readings */
			fake.readings_left = 1 + (unsigned)random_below(&rng, 6);
			fake.then = fake.now + random_below(&rng, 50) - 25;
		}
		break;
	default:
		if (random_below(&rng, 2))
			put_any();
		else
			take_any();
	}
}

/* In the end, with enough time, no taker waits for a key that has a task. */
static void expect_all_served(void)
{
	fake.paused = false;
	fake.readings_left = 0;
	fake.now += 1000;
	loops(50);
	look_at_clients();
	for (uint64_t i = 0; i < history.tasks; i++) {
		EXPECT(history.known_gone[i] || history.may_be_lost[i] || in_queue(i));
		for (unsigned j = 0; j < FAKE_CLIENTS; j++)
			EXPECT(!in_queue(i) || fake.clients[j].state != FAKE_BLOCKED ||
			       !(fake.clients[j].keys >> history.key[i] & 1));
	}
}

static void act_at_random(uint64_t seed)
{
	rng = (struct random){seed};
	memset(&history, 0, sizeof(history));
	begin(seed % 2);
	for (unsigned i = 0; i < 400; i++) {
		act();
		look_at_clients();
	}
	expect_all_served();
	EXPECT(!fake.spun);
	fake_stop();
}

static void every_taker_is_served_in_order_whatever_happens(void)
{
	with_seeds(runs, act_at_random);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(takers_of_due_and_of_dead_tasks_stand_in_lines_of_their_own),
	        TEST(a_taker_of_two_keys_gets_the_first_due_task),
	        TEST(a_clock_set_back_at_any_moment_neither_hangs_the_server_nor_costs_a_task),
	        TEST(a_task_put_after_the_clock_was_set_back_is_delivered_at_its_time),
	        TEST(every_taker_is_served_in_order_whatever_happens),
	};

	test_usage(argc, argv, "[--seed N] [--runs N]");
	only_seed = test_number(argc, argv, "--seed", "PAWL_SEED", 0);
	runs = test_number(argc, argv, "--runs", "PAWL_RUNS", 300);
	return RUN_TESTS(tests);
}
