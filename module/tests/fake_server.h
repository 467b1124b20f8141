/* SPDX-License-Identifier: MIT */
/*
 * A server for the tests of blocked takers, in this process: only the part that the module sees, with a clock and an
 * event loop that the test drives. The test also chooses what differs between servers: whether
 * RedisModule_UnblockClient calls back at once or later.
 */
#ifndef PAWL_TESTS_REDIS_FAKE_SERVER_H
#define PAWL_TESTS_REDIS_FAKE_SERVER_H

#include <stdbool.h>

#include "../server/redis_module.h"

enum { FAKE_KEYS = 3, FAKE_CLIENTS = 64, FAKE_REPLIES = 16, FAKE_READINGS_MAX = 10000 };

enum fake_state { FAKE_IDLE, FAKE_BLOCKED, FAKE_SERVED, FAKE_NIL, FAKE_GONE };

/* A client. Between two resets it blocks at most once. */
struct fake_client {
	enum fake_state state;
	bool call_pending;               /* it is unblocked, and has not been called back yet */
	unsigned keys;                   /* for which it blocked: a bit each */
	unsigned key;                    /* from which it was served, if the reply says so */
	uint64_t blocked_since;          /* the order in which they blocked: 1, 2, ... */
	uint64_t timeout_ms;             /* as it was given; the test says when it is over */
	uint64_t payloads[FAKE_REPLIES]; /* of the tasks that it got: numbers, in this test */
	unsigned count;
	struct RedisModuleBlockedClient *handle;
};

struct fake_server {
	uint64_t now;           /* the time of the clock... */
	unsigned readings_left; /* ...this many times more, if not 0; then the time is `then` */
	uint64_t then;
	/* Readings since fake_timers() began. At FAKE_READINGS_MAX the clock leaps, which ends an endless loop. */
	unsigned readings;
	bool spun;         /* that happened */
	bool late_unblock; /* clients are called back from the event loop, as since Redis 7.4 */
	bool paused;       /* CLIENT PAUSE WRITE */
	uint64_t rings_at; /* the time of the system's timer, or PAWL_NEVER */
	uint64_t arrivals; /* clients that blocked */
	struct fake_client clients[FAKE_CLIENTS];
};

extern struct fake_server fake;

/* Begin with no keys and no clients. The module stays loaded: tell it the time by takers_clock_set(). */
void fake_start(uint64_t now);
/* Disconnect all clients, and delete all keys. */
void fake_stop(void);

RedisModuleString *fake_key(unsigned key);
RedisModuleString *fake_string(const char *text);
void fake_free_string(RedisModuleString *string);
/* The context of a command of this client; NULL: of any other client. */
RedisModuleCtx *fake_command(struct fake_client *client);
/* After a command the server calls the clients that are blocked on a key that was created. */
void fake_command_done(void);

/* A pass of the event loop... */
void fake_loop(void);
/* ...and its halves: the timer rings if it is time, and timers run; clients are unblocked. */
void fake_timers(void);
void fake_before_sleep(void);
/* The clock is set, by the operating system: its timer rings. */
void fake_set_clock(uint64_t now);

/* The fate of a blocked client. */
void fake_time_out(struct fake_client *client);
void fake_disconnect(struct fake_client *client);
/* FLUSHALL, DEL... */
void fake_delete(unsigned key);

#endif
