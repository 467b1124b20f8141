/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "takers.h"

#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../src/hash/siphash.h"
#include "clock.h"
#include "memory.h"

enum {
	LINES = 1 << 14, /* chains in the table of lines */
	PAUSE_MS = 10,   /* between two looks whether a pause is over */
};

/* A taker's place in the line of one of its keys. */
struct stand {
	struct line *line;
	struct stand *next, *prev;
	struct taker *taker;
};

struct taker {
	RedisModuleBlockedClient *client;
	struct take take;
	struct parcel parcel; /* what it got when it was its turn */
	int lines;            /* in which it stands: one a key, or 0 when it has left all of them */
	struct stand stands[];
};

/* Those who wait for one key, for due tasks or for dead ones. It exists as long as somebody does. */
struct line {
	struct pawl_timer wake; /* first member: when to look at the queue */
	struct line *chain;
	struct stand *first, *last;
	RedisModuleString *name;
	int db;
	bool dead; /* it is dead tasks that they wait for */
	bool held; /* do not free it yet, even if it is empty */
};

static struct {
	struct line *chains[LINES];
	size_t count;
	struct pawl_wheel *wheel; /* of the lines' wakes, in milliseconds of the wall clock */
	RedisModuleCtx *ctx;      /* to make timers with */
	int timer;                /* file descriptor: rings at `rings_at` */
	uint64_t rings_at;
	bool run_pending; /* `run` is on its way */
	bool running;
} takers;

/* The table of lines */

static struct line **find_link(int db, RedisModuleString *name, bool dead)
{
	size_t size, other_size;
	const char *text = RedisModule_StringPtrLen(name, &size);
	uint64_t hash = siphash(ids_secret, text, size);
	struct line **link = &takers.chains[(hash + (uint64_t)db) % LINES];

	for (; *link; link = &(*link)->chain) {
		const char *other = RedisModule_StringPtrLen((*link)->name, &other_size);

		if ((*link)->db == db && (*link)->dead == dead && other_size == size &&
		    memcmp(other, text, size) == 0)
			break;
	}
	return link;
}

static struct line *open_line(int db, RedisModuleString *name, bool dead)
{
	struct line **link = find_link(db, name, dead);

	if (*link)
		return *link;
	*link = memory_zeroed(sizeof(struct line));
	(*link)->name = RedisModule_CreateStringFromString(NULL, name);
	(*link)->db = db;
	(*link)->dead = dead;
	takers.count++;
	return *link;
}

static void close_line(struct line *line)
{
	if (line->first || line->held)
		return;
	pawl_wheel_cancel(takers.wheel, &line->wake);
	*find_link(line->db, line->name, line->dead) = line->chain;
	RedisModule_FreeString(NULL, line->name);
	memory_free(line);
	takers.count--;
}

static void join(struct line *line, struct stand *stand)
{
	stand->line = line;
	stand->prev = line->last;
	if (line->last)
		line->last->next = stand;
	else
		line->first = stand;
	line->last = stand;
}

/* All lines at once: so nobody is served twice. */
static void leave(struct taker *taker)
{
	while (taker->lines > 0) {
		struct stand *stand = &taker->stands[--taker->lines];
		struct line *line = stand->line;

		*(stand->prev ? &stand->prev->next : &line->first) = stand->next;
		*(stand->next ? &stand->next->prev : &line->last) = stand->prev;
		close_line(line);
	}
}

/* When to look */

static void run(RedisModuleCtx *ctx, void *data);

static void run_in(uint64_t ms)
{
	if (takers.run_pending)
		return;
	takers.run_pending = true;
	RedisModule_CreateTimer(takers.ctx, (long long)ms, run, NULL);
}

/*
 * The timer of the system, and not the server's, whose milliseconds are rounded up twice on the way. It is
 * set to the time of day, so it follows the wall clock wherever that steps, and rings when it does.
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
	ssize_t got =
	        read(fd, &rings, sizeof(rings)); /* fails if the clock was set: look all the same */

	(void)got;
	(void)data;
	(void)mask;
	takers.rings_at = PAWL_NEVER;
	run_in(0);
}

/* The wheel is ahead of the clock if that was set back; then it cannot tell when to look, and is begun anew. */
static void plan(void)
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
		pawl_wheel_arm(takers.wheel, &line->wake, at);
}

static void look_at(struct line *line, uint64_t at)
{
	set_wake(line, at);
	plan();
}

/* Begin with a new wheel, at this time, and look at every line. */
static void start_wheel(uint64_t now)
{
	struct pawl_wheel_options options = {.start = now};

	takers.wheel = pawl_wheel_init(takers.wheel, pawl_wheel_footprint(&options), &options);
	for (size_t i = 0; takers.count > 0 && i < LINES; i++) {
		for (struct line *line = takers.chains[i]; line; line = line->chain) {
			line->wake = (struct pawl_timer){0};
			pawl_wheel_arm_idle(takers.wheel, &line->wake, now);
		}
	}
}

/* Serving */

static bool must_wait(RedisModuleCtx *ctx)
{
	return RedisModule_AvoidReplicaTraffic() ||
	       RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_LOADING;
}

/*
 * The first in line gets what is due. It is told so by on_timeout: that is what RedisModule_UnblockClient calls for
 * a client that is blocked on keys, at once up to Redis 7.2, and later, from the event loop, since 7.4. Were the
 * tasks delivered only then, the next look at the queue would find them still due, and call the whole line.
 */
static void serve_first(struct line *line, struct visit *visit)
{
	struct taker *taker = line->first->taker;

	deliver(visit, &taker->take, &taker->parcel);
	leave(taker);
	RedisModule_UnblockClient(taker->client, NULL);
}

/* Serve the first in line if there is a task for it. Returns when to look again: now if there may be more to do. */
static uint64_t serve_one(RedisModuleCtx *ctx, struct line *line, uint64_t now)
{
	struct visit visit;
	uint64_t next;

	if (!visit_quietly(&visit, ctx, line->name, now))
		return PAWL_NEVER;
	next = take_again(visit.queue, line->dead);
	if (next <= now)
		serve_first(line, &visit);
	visit_end(&visit);
	return next;
}

/* `now` is the time of the wheel. So what is looked at again is looked at later, and `run` comes to an end. */
static void serve(RedisModuleCtx *ctx, struct line *line, uint64_t now)
{
	uint64_t next = now;

	line->held = true;
	RedisModule_SelectDb(ctx, line->db);
	while (line->first && next <= now)
		next = serve_one(ctx, line, now);
	line->held = false;
	if (line->first)
		look_at(line, next);
	else
		close_line(line);
}

static void run(RedisModuleCtx *ctx, void *data)
{
	uint64_t now = clock_now();
	struct pawl_timer *timer;

	(void)data;
	takers.run_pending = false;
	if (takers.count == 0)
		return;
	if (must_wait(ctx)) {
		run_in(PAUSE_MS);
		return;
	}
	if (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE)
		return; /* the server sends all who wait away */
	if (now < pawl_wheel_now(takers.wheel))
		start_wheel(now);
	takers.running = true;
	pawl_wheel_advance(takers.wheel, now, 0);
	while ((timer = pawl_wheel_pop(takers.wheel)) != NULL)
		serve(ctx, (struct line *)(void *)timer, now);
	takers.running = false;
	plan();
}

static bool try_to_deliver(RedisModuleCtx *ctx, RedisModuleString *name, const struct taker *taker)
{
	struct visit visit;
	bool there;

	if (!visit_quietly(&visit, ctx, name, clock_now()))
		return false;
	there = take_first(visit.queue, &taker->take, visit.now) != NULL;
	if (there)
		deliver(&visit, &taker->take, NULL);
	else
		takers_notice(&visit);
	visit_end(&visit);
	return there;
}

/* The server's callbacks for a blocked client */

/* The server asks all who wait for a key that has appeared; an answer is given to the first in its line alone. */
static int on_key(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct taker *taker = RedisModule_GetBlockedClientPrivateData(ctx);
	RedisModuleString *key = RedisModule_GetBlockedClientReadyKey(ctx);
	struct line *line = *find_link(RedisModule_GetSelectedDb(ctx), key, taker->take.dead);

	(void)argv;
	(void)argc;
	if (!line || line->first->taker != taker)
		return REDISMODULE_ERR;
	if (must_wait(ctx)) {
		look_at(line, clock_now());
		return REDISMODULE_ERR;
	}
	if (!try_to_deliver(ctx, key, taker))
		return REDISMODULE_ERR;
	leave(taker);
	return REDISMODULE_OK;
}

/* Its time is up; or it was served, perhaps in the same moment. */
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

/* It left by itself, or was sent away. on_free comes later, and by then it could have been served. */
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

/* When there is a task for those who wait in this line. */
static uint64_t first_for(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t now, bool dead)
{
	uint64_t next = PAWL_NEVER;
	struct visit visit;

	if (visit_quietly(&visit, ctx, name, now)) {
		next = take_again(visit.queue, dead);
		visit_end(&visit);
	}
	return next;
}

void takers_block(RedisModuleCtx *ctx, const struct take *take, uint64_t timeout_ms,
                  RedisModuleString **keys, int count)
{
	struct taker *taker =
	        memory_zeroed(sizeof(*taker) + (size_t)count * sizeof(taker->stands[0]));
	int db = RedisModule_GetSelectedDb(ctx);
	uint64_t now = clock_now();

	taker->take = *take;
	taker->client = RedisModule_BlockClientOnKeys(ctx, on_key, on_timeout, on_free,
	                                              (long long)timeout_ms, keys, count, taker);
	RedisModule_SetDisconnectCallback(taker->client, on_disconnect);
	for (; taker->lines < count; taker->lines++) {
		struct stand *stand = &taker->stands[taker->lines];

		stand->taker = taker;
		join(open_line(db, keys[taker->lines], take->dead), stand);
		set_wake(stand->line, first_for(ctx, keys[taker->lines], now, take->dead));
	}
	plan();
}

static void notice(struct visit *visit, bool dead)
{
	struct line *line = *find_link(RedisModule_GetSelectedDb(visit->ctx), visit->name, dead);

	if (line && !line->held)
		look_at(line, take_again(visit->queue, dead));
}

void takers_notice(struct visit *visit)
{
	if (takers.count == 0)
		return;
	notice(visit, false);
	notice(visit, true);
}

void takers_clock_set(void)
{
	plan();
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
