/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "takers.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/assert.h"
#include "../queue/memory.h"
#include "keys.h"

enum { PAUSE_MS = 10 }; /* between two checks whether a pause is over */

/* A taker in the line of one of its keys. */
struct entry {
	struct line *line;
	struct entry *next, *prev;
	struct taker *taker;
};

struct taker {
	RedisModuleBlockedClient *client;
	struct take take;
	struct parcel parcel; /* delivered, and not in a reply yet */
	int lines;            /* entries in use: one a key; 0 after leave() */
	struct entry entries[];
};

/* The takers that wait for due tasks, or for dead tasks, of one key. A line without takers is freed. */
struct line {
	struct keys_entry key;
	struct pawl_timer wake; /* when to check the queue */
	struct entry *first, *last;
	bool dead; /* they wait for dead tasks */
	bool held; /* close_line() does nothing */
};

static struct {
	struct keys lines[2];     /* of due tasks, of dead tasks */
	struct pawl_wheel *wheel; /* of struct line's `wake`, in milliseconds of the wall clock */
	RedisModuleCtx *ctx;      /* for RedisModule_CreateTimer */
	int timer;                /* timerfd: rings at `rings_at` */
	uint64_t rings_at;
	bool run_pending; /* the server will call run() */
	bool running;
} takers;

/* Lines */

static bool no_lines(void)
{
	return takers.lines[false].count == 0 && takers.lines[true].count == 0;
}

/* The line of this key, or NULL. */
static struct line *find_line(int db, const RedisModuleString *name, bool dead)
{
	struct keys_entry *key = keys_find(&takers.lines[dead], db, name);

	return key ? PAWL_CONTAINER_OF(key, struct line, key) : NULL;
}

static struct line *open_line(int db, const RedisModuleString *name, bool dead)
{
	struct line *line = find_line(db, name, dead);

	if (line)
		return line;
	line = memory_zeroed(sizeof(*line));
	line->dead = dead;
	keys_add(&takers.lines[dead], &line->key, db, name);
	return line;
}

static void close_line(struct line *line)
{
	if (line->first || line->held)
		return;
	pawl_wheel_cancel(takers.wheel, &line->wake);
	keys_remove(&takers.lines[line->dead], &line->key);
	memory_free(line);
}

static void join(struct line *line, struct entry *entry)
{
	entry->line = line;
	entry->prev = line->last;
	if (line->last)
		line->last->next = entry;
	else
		line->first = entry;
	line->last = entry;
}

/* Remove the taker from all of its lines, so that it is not served twice. */
static void leave(struct taker *taker)
{
	while (taker->lines > 0) {
		struct entry *entry = &taker->entries[--taker->lines];
		struct line *line = entry->line;

		*(entry->prev ? &entry->prev->next : &line->first) = entry->next;
		*(entry->next ? &entry->next->prev : &line->last) = entry->prev;
		close_line(line);
	}
}

/* When to check a queue */

static void run(RedisModuleCtx *ctx, void *data);

static void run_in(uint64_t ms)
{
	if (takers.run_pending)
		return;
	takers.run_pending = true;
	RedisModule_CreateTimer(takers.ctx, (long long)ms, run, NULL);
}

/*
 * A timerfd, since the server's timers round up to milliseconds twice. It is set to an absolute time of the wall clock,
 * and also rings when that clock is set.
 */
static void ring_at(uint64_t at)
{
	struct itimerspec when = {0};

	if (at == takers.rings_at || clock_is_set())
		return;
	takers.rings_at = at;
	if (at != PAWL_NEVER) {
		when.it_value.tv_sec = (time_t)(at / 1000);
		when.it_value.tv_nsec = (long)(at % 1000) * 1000000;
	}
	timerfd_settime(takers.timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

static void on_ring(int fd, void *data, int mask)
{
	uint64_t rings;
	/* An error means that the clock was set: run then as well. */
	ssize_t got = read(fd, &rings, sizeof(rings));

	(void)got;
	(void)data;
	(void)mask;
	takers.rings_at = PAWL_NEVER;
	run_in(0);
}

/* Set the timer. If the clock was set back, the wheel is ahead of it: run() then starts a new wheel. */
static void plan_run(void)
{
	uint64_t next = pawl_wheel_next(takers.wheel), now;

	if (takers.running)
		return;
	now = clock_now();
	if (next <= now || now < pawl_wheel_now(takers.wheel))
		run_in(0);
	else
		ring_at(next);
}

static void set_wake(struct line *line, uint64_t at)
{
	if (at == PAWL_NEVER)
		pawl_wheel_cancel(takers.wheel, &line->wake);
	else
		pawl_wheel_arm_at(takers.wheel, &line->wake, at);
}

static void wake_at(struct line *line, uint64_t at)
{
	set_wake(line, at);
	plan_run();
}

static void arm_all(const struct keys *lines, uint64_t now)
{
	for (size_t i = 0; lines->count > 0 && i < KEYS_BUCKETS; i++) {
		for (struct keys_entry *key = lines->buckets[i]; key; key = key->next) {
			struct line *line = PAWL_CONTAINER_OF(key, struct line, key);

			line->wake = (struct pawl_timer){0};
			pawl_wheel_arm_idle_at(takers.wheel, &line->wake, now);
		}
	}
}

/* Start a new wheel at this time, on which every line is due. */
static void start_wheel(uint64_t now)
{
	struct pawl_wheel_options options = {.start = now};

	takers.wheel = pawl_wheel_init(takers.wheel, pawl_wheel_footprint(&options), &options);
	arm_all(&takers.lines[false], now);
	arm_all(&takers.lines[true], now);
}

/* Serving */

static bool must_wait(RedisModuleCtx *ctx)
{
	return RedisModule_AvoidReplicaTraffic() ||
	       RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_LOADING;
}

/*
 * Deliver to the first taker in line. on_timeout() replies: RedisModule_UnblockClient calls it for a client that is
 * blocked on keys, at once up to Redis 7.2, and later, from the event loop, since 7.4. If the tasks were delivered only
 * there, the next check of the queue would find them still due and unblock the next taker for them, and so on.
 */
static void serve_first(struct line *line, struct access *access)
{
	struct taker *taker = line->first->taker;

	ASSERT(taker->lines > 0 && taker->parcel.count == 0);
	deliver(access, &taker->take, &taker->parcel);
	takers_plan(access);
	leave(taker);
	RedisModule_UnblockClient(taker->client, NULL);
}

/* Serve the first taker if there is a task. Returns when to check again; not after `now`: at once. */
static uint64_t serve_one(RedisModuleCtx *ctx, struct line *line, uint64_t now)
{
	struct access access;
	uint64_t next;

	if (!access_quietly(&access, ctx, line->key.name, now))
		return PAWL_NEVER;
	next = take_next(access.queue, line->dead);
	if (next <= now)
		serve_first(line, &access);
	access_end(&access);
	return next;
}

/* `now` is the wheel's time. So a line is armed for a later time, and the loop in run() ends. */
static void serve(RedisModuleCtx *ctx, struct line *line, uint64_t now)
{
	uint64_t next = now;

	line->held = true;
	RedisModule_SelectDb(ctx, line->key.db);
	while (line->first && next <= now)
		next = serve_one(ctx, line, now);
	line->held = false;
	if (line->first)
		wake_at(line, next);
	else
		close_line(line);
}

static void run(RedisModuleCtx *ctx, void *data)
{
	uint64_t now = clock_now();
	struct pawl_timer *timer;

	(void)data;
	takers.run_pending = false;
	if (no_lines())
		return;
	if (must_wait(ctx)) {
		run_in(PAUSE_MS);
		return;
	}
	if (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE)
		return; /* the server unblocks all takers with an error */
	if (now < pawl_wheel_now(takers.wheel))
		start_wheel(now);
	ASSERT(!takers.running);
	takers.running = true;
	pawl_wheel_advance(takers.wheel, now, 0);
	while ((timer = pawl_wheel_pop(takers.wheel)) != NULL)
		serve(ctx, PAWL_CONTAINER_OF(timer, struct line, wake), now);
	takers.running = false;
	plan_run();
}

static bool try_to_deliver(RedisModuleCtx *ctx, RedisModuleString *name, const struct taker *taker)
{
	struct access access;
	bool there;

	if (!access_quietly(&access, ctx, name, clock_now()))
		return false;
	there = take_first(access.queue, &taker->take, access.now) != NULL;
	if (there)
		deliver(&access, &taker->take, NULL);
	takers_plan(&access);
	access_end(&access);
	return there;
}

/* The server's callbacks for a blocked client */

/* A key was created: the server calls this for all clients blocked on it. Only the first in line is served. */
static int on_key(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct taker *taker = RedisModule_GetBlockedClientPrivateData(ctx);
	RedisModuleString *key = RedisModule_GetBlockedClientReadyKey(ctx);
	struct line *line = find_line(RedisModule_GetSelectedDb(ctx), key, taker->take.dead);

	(void)argv;
	(void)argc;
	if (!line || line->first->taker != taker)
		return REDISMODULE_ERR;
	if (must_wait(ctx)) {
		wake_at(line, clock_now());
		return REDISMODULE_ERR;
	}
	if (!try_to_deliver(ctx, key, taker))
		return REDISMODULE_ERR;
	leave(taker);
	return REDISMODULE_OK;
}

/* BLOCK is over, or serve_first() has delivered. */
static int on_timeout(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct taker *taker = RedisModule_GetBlockedClientPrivateData(ctx);

	(void)argv;
	(void)argc;
	if (taker->parcel.count > 0)
		parcel_reply(ctx, &taker->parcel);
	else
		RedisModule_ReplyWithNullArray(ctx);
	leave(taker);
	return REDISMODULE_OK;
}

/* The client is gone. on_free comes later: until then the taker could be served. */
static void on_disconnect(RedisModuleCtx *ctx, RedisModuleBlockedClient *client)
{
	(void)client;
	leave(RedisModule_GetBlockedClientPrivateData(ctx));
}

static void on_free(RedisModuleCtx *ctx, void *data)
{
	struct taker *taker = data;

	(void)ctx;
	leave(taker);
	parcel_free(&taker->parcel);
	memory_free(taker);
}

/* When the key will have a task to deliver. */
static uint64_t first_for(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t now, bool dead)
{
	uint64_t next = PAWL_NEVER;
	struct access access;

	if (access_quietly(&access, ctx, name, now)) {
		next = take_next(access.queue, dead);
		access_end(&access);
	}
	return next;
}

void takers_block(RedisModuleCtx *ctx, const struct take *take, uint64_t timeout_ms,
                  RedisModuleString **keys, int count)
{
	struct taker *taker =
	        memory_zeroed(sizeof(*taker) + (size_t)count * sizeof(taker->entries[0]));
	int db = RedisModule_GetSelectedDb(ctx);
	uint64_t now = clock_now();

	taker->take = *take;
	taker->client = RedisModule_BlockClientOnKeys(ctx, on_key, on_timeout, on_free,
	                                              (long long)timeout_ms, keys, count, taker);
	RedisModule_SetDisconnectCallback(taker->client, on_disconnect);
	for (; taker->lines < count; taker->lines++) {
		struct entry *entry = &taker->entries[taker->lines];

		entry->taker = taker;
		join(open_line(db, keys[taker->lines], take->dead), entry);
		set_wake(entry->line, first_for(ctx, keys[taker->lines], now, take->dead));
	}
	plan_run();
}

static void plan_line(struct access *access, bool dead)
{
	struct line *line = find_line(RedisModule_GetSelectedDb(access->ctx), access->name, dead);

	if (line && !line->held)
		wake_at(line, take_next(access->queue, dead));
}

void takers_plan(struct access *access)
{
	if (!access->queue || no_lines())
		return;
	plan_line(access, false);
	plan_line(access, true);
}

void takers_clock_set(void)
{
	plan_run();
}

int takers_init(RedisModuleCtx *ctx)
{
	takers.ctx = RedisModule_GetDetachedThreadSafeContext(ctx);
	takers.rings_at = PAWL_NEVER;
	takers.wheel = memory_new(pawl_wheel_footprint(NULL));
	start_wheel(clock_now());
	takers.timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (takers.timer < 0)
		return REDISMODULE_ERR;
	return RedisModule_EventLoopAdd(takers.timer, REDISMODULE_EVENTLOOP_READABLE, on_ring,
	                                NULL);
}
