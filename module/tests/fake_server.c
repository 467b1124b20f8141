/* SPDX-License-Identifier: MIT */
#include "fake_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "../queue/queue.h"
#include "../server/access.h"

struct RedisModuleString {
	char text[256];
	size_t size;
	unsigned owners;
};

struct RedisModuleKey {
	unsigned number;
};

struct RedisModuleCtx {
	struct fake_client *client;
	void *data;                   /* of the blocked client, in its callbacks */
	RedisModuleString *ready_key; /* in the callback for it */
	bool payload_next;
	bool id_next;
	bool key_next;
};

struct RedisModuleBlockedClient {
	struct fake_client *client; /* NULL: it is gone, or has got its reply */
	RedisModuleCmdFunc *on_key, *on_timeout;
	RedisModuleDisconnectFunc *on_disconnect;
	void (*on_free)(RedisModuleCtx *, void *);
	void *data;
	bool unblocked, call_back;
	struct RedisModuleBlockedClient *next; /* to be unblocked */
};

struct fake_timer {
	RedisModuleTimerProc *run;
	void *data;
};

struct fake_server fake;

static struct {
	struct queue *values[FAKE_KEYS];
	bool appeared[FAKE_KEYS];
	RedisModuleString names[FAKE_KEYS];
	struct RedisModuleBlockedClient *unblocked, **unblocked_end;
	struct fake_timer timers[8];
	unsigned timer_count;
	RedisModuleEventLoopFunc *on_ring;
	int timer_fd;
} inside;

static RedisModuleType *const the_type = (RedisModuleType *)&inside;

/* Time */

static long long milliseconds(void)
{
	if (++fake.readings == FAKE_READINGS_MAX) {
		fake.spun = true;
		fake.now += UINT64_C(1) << 40;
	}
	if (fake.readings_left > 0 && --fake.readings_left == 0)
		fake.now = fake.then;
	return (long long)fake.now;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *old);

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *old)
{
	uint64_t at =
	        (uint64_t)when->it_value.tv_sec * 1000 + (uint64_t)when->it_value.tv_nsec / 1000000;

	(void)fd;
	(void)flags;
	(void)old;
	fake.rings_at = at ? at : PAWL_NEVER;
	return 0;
}

static int event_loop_add(int fd, int mask, RedisModuleEventLoopFunc *fn, void *data)
{
	(void)mask;
	(void)data;
	inside.timer_fd = fd;
	inside.on_ring = fn;
	return REDISMODULE_OK;
}

static RedisModuleTimerID create_timer(RedisModuleCtx *ctx, long long ms, RedisModuleTimerProc *run,
                                       void *data)
{
	(void)ctx;
	(void)ms;
	if (inside.timer_count == 8)
		abort();
	inside.timers[inside.timer_count++] = (struct fake_timer){run, data};
	return inside.timer_count;
}

/* Keys and strings */

static RedisModuleString *new_string(RedisModuleCtx *ctx, const char *text, size_t size)
{
	RedisModuleString *string = calloc(1, sizeof(*string));

	(void)ctx;
	if (!string || size > sizeof(string->text))
		abort();
	memcpy(string->text, text, size);
	string->size = size;
	string->owners = 1;
	return string;
}

static RedisModuleString *copy_string(RedisModuleCtx *ctx, const RedisModuleString *string)
{
	return new_string(ctx, string->text, string->size);
}

static void free_string(RedisModuleCtx *ctx, RedisModuleString *string)
{
	(void)ctx;
	if (--string->owners == 0)
		free(string);
}

static void retain_string(RedisModuleCtx *ctx, RedisModuleString *string)
{
	(void)ctx;
	string->owners++;
}

RedisModuleString *fake_string(const char *text)
{
	return new_string(NULL, text, strlen(text));
}

void fake_free_string(RedisModuleString *string)
{
	free_string(NULL, string);
}

static int to_number(const RedisModuleString *string, long long *number)
{
	char *end;

	*number = strtoll(string->text, &end, 10);
	return end == string->text ? REDISMODULE_ERR : REDISMODULE_OK;
}

static const char *string_text(const RedisModuleString *string, size_t *size)
{
	*size = string->size;
	return string->text;
}

static RedisModuleKey *open_key(RedisModuleCtx *ctx, RedisModuleString *name, int mode)
{
	RedisModuleKey *key = calloc(1, sizeof(*key));

	(void)ctx;
	(void)mode;
	if (!key)
		abort();
	key->number = (unsigned)(name->text[0] - '0');
	return key;
}

static void close_key(RedisModuleKey *key)
{
	free(key);
}

static int key_type(RedisModuleKey *key)
{
	return inside.values[key->number] ? 1 : REDISMODULE_KEYTYPE_EMPTY;
}

static RedisModuleType *type_of(RedisModuleKey *key)
{
	(void)key;
	return the_type;
}

static void *value_of(RedisModuleKey *key)
{
	return inside.values[key->number];
}

static int set_value(RedisModuleKey *key, RedisModuleType *type, void *value)
{
	(void)type;
	inside.values[key->number] = value;
	inside.appeared[key->number] = true;
	return REDISMODULE_OK;
}

static int delete_key(RedisModuleKey *key)
{
	fake_delete(key->number);
	return REDISMODULE_OK;
}

void fake_delete(unsigned key)
{
	if (inside.values[key])
		queue_free(inside.values[key]);
	inside.values[key] = NULL;
}

RedisModuleString *fake_key(unsigned key)
{
	return &inside.names[key];
}

static int select_database(RedisModuleCtx *ctx, int db)
{
	(void)ctx;
	(void)db;
	return REDISMODULE_OK;
}

/* Replies. The payload of each task is recorded: it is a number. */

static int reply_array(RedisModuleCtx *ctx, long count)
{
	ctx->id_next = count == 5 || count == 6; /* a delivery */
	ctx->key_next = count == 2;
	if (ctx->client)
		ctx->client->state = FAKE_SERVED;
	return REDISMODULE_OK;
}

static void reply_length(RedisModuleCtx *ctx, long count)
{
	(void)ctx;
	(void)count;
}

static int reply_string(RedisModuleCtx *ctx, const char *text, size_t size)
{
	struct fake_client *client = ctx->client;

	if (ctx->key_next && client)
		client->key = (unsigned)(text[0] - '0');
	ctx->key_next = false;
	if (ctx->payload_next && client && client->count < FAKE_REPLIES && size == sizeof(uint64_t))
		memcpy(&client->payloads[client->count++], text, size);
	ctx->payload_next = ctx->id_next;
	ctx->id_next = false;
	return REDISMODULE_OK;
}

static int reply_no_array(RedisModuleCtx *ctx)
{
	if (ctx->client)
		ctx->client->state = FAKE_NIL;
	return REDISMODULE_OK;
}

static int reply_number(RedisModuleCtx *ctx, long long number)
{
	(void)ctx;
	(void)number;
	return REDISMODULE_OK;
}

/* Blocked clients */

static RedisModuleBlockedClient *block(RedisModuleCtx *ctx, RedisModuleCmdFunc *on_key,
                                       RedisModuleCmdFunc *on_timeout,
                                       void (*on_free)(RedisModuleCtx *, void *),
                                       long long timeout_ms, RedisModuleString **keys, int count,
                                       void *data)
{
	RedisModuleBlockedClient *handle = calloc(1, sizeof(*handle));

	if (!handle)
		abort();
	*handle = (RedisModuleBlockedClient){.client = ctx->client,
	                                     .on_key = on_key,
	                                     .on_timeout = on_timeout,
	                                     .on_free = on_free,
	                                     .data = data};
	ctx->client->handle = handle;
	ctx->client->state = FAKE_BLOCKED;
	for (int i = 0; i < count; i++)
		ctx->client->keys |= 1u << (keys[i]->text[0] - '0');
	ctx->client->blocked_since = ++fake.arrivals;
	ctx->client->timeout_ms = (uint64_t)timeout_ms;
	return handle;
}

static void set_disconnect(RedisModuleBlockedClient *handle, RedisModuleDisconnectFunc *fn)
{
	handle->on_disconnect = fn;
}

static void *private_data(RedisModuleCtx *ctx)
{
	return ctx->data;
}

static RedisModuleString *ready_key(RedisModuleCtx *ctx)
{
	return ctx->ready_key;
}

static int call_back(RedisModuleBlockedClient *handle, RedisModuleCmdFunc *fn,
                     RedisModuleString *key)
{
	RedisModuleCtx ctx = {.client = handle->client, .data = handle->data, .ready_key = key};

	return fn(&ctx, NULL, 0);
}

/* The reply was sent, or will not be sent: now the event loop frees the handle. */
static void to_be_unblocked(RedisModuleBlockedClient *handle)
{
	handle->unblocked = true;
	*inside.unblocked_end = handle;
	inside.unblocked_end = &handle->next;
}

static void forget_client(RedisModuleBlockedClient *handle)
{
	handle->client->handle = NULL;
	handle->client = NULL;
}

static int unblock(RedisModuleBlockedClient *handle, void *data)
{
	(void)data;
	if (handle->unblocked)
		return REDISMODULE_OK;
	if (handle->client && fake.late_unblock)
		handle->call_back = handle->client->call_pending = true;
	else if (handle->client)
		call_back(handle, handle->on_timeout, NULL);
	handle->on_disconnect = handle->call_back ? handle->on_disconnect : NULL;
	to_be_unblocked(handle);
	return REDISMODULE_OK;
}

static void unblock_all(void)
{
	RedisModuleCtx ctx = {0};

	while (inside.unblocked) {
		RedisModuleBlockedClient *handle = inside.unblocked;

		inside.unblocked = handle->next;
		if (!inside.unblocked)
			inside.unblocked_end = &inside.unblocked;
		if (handle->client && handle->call_back)
			call_back(handle, handle->on_timeout, NULL);
		if (handle->client)
			forget_client(handle);
		handle->on_free(&ctx, handle->data);
		free(handle);
	}
}

void fake_time_out(struct fake_client *client)
{
	RedisModuleBlockedClient *handle = client->handle;

	call_back(handle, handle->on_timeout, NULL);
	forget_client(handle);
	if (!handle->unblocked)
		to_be_unblocked(handle);
}

void fake_disconnect(struct fake_client *client)
{
	RedisModuleBlockedClient *handle = client->handle;
	RedisModuleCtx ctx = {.client = client, .data = handle->data};

	if (handle->on_disconnect)
		handle->on_disconnect(&ctx, handle);
	client->state = FAKE_GONE;
	forget_client(handle);
	if (!handle->unblocked)
		to_be_unblocked(handle);
}

static struct fake_client *next_blocked(unsigned key, uint64_t after)
{
	struct fake_client *next = NULL;

	for (struct fake_client *client = fake.clients; client < fake.clients + FAKE_CLIENTS;
	     client++)
		if (client->handle && !client->handle->unblocked && client->keys >> key & 1 &&
		    client->blocked_since > after &&
		    (!next || client->blocked_since < next->blocked_since))
			next = client;
	return next;
}

void fake_command_done(void)
{
	for (unsigned key = 0; key < FAKE_KEYS; key++) {
		struct fake_client *client;
		uint64_t last = 0;

		if (!inside.appeared[key])
			continue;
		inside.appeared[key] = false;
		while ((client = next_blocked(key, last)) != NULL) {
			last = client->blocked_since;
			if (call_back(client->handle, client->handle->on_key, fake_key(key)) ==
			    REDISMODULE_OK)
				to_be_unblocked(client->handle);
		}
	}
}

/* The event loop */

void fake_timers(void)
{
	struct fake_timer timers[8];
	RedisModuleCtx ctx = {0};
	unsigned count;

	fake.readings = 0;
	if (fake.rings_at <= fake.now) {
		fake.rings_at = PAWL_NEVER;
		inside.on_ring(inside.timer_fd, NULL, 0);
	}
	count = inside.timer_count;
	memcpy(timers, inside.timers, sizeof(timers));
	inside.timer_count = 0;
	for (unsigned i = 0; i < count; i++)
		timers[i].run(&ctx, timers[i].data);
}

void fake_before_sleep(void)
{
	unblock_all();
	fake_command_done();
}

void fake_loop(void)
{
	fake_timers();
	fake_before_sleep();
}

void fake_set_clock(uint64_t now)
{
	fake.now = now;
	if (fake.rings_at != PAWL_NEVER)
		fake.rings_at = 0;
}

RedisModuleCtx *fake_command(struct fake_client *client)
{
	static RedisModuleCtx ctx;

	ctx = (RedisModuleCtx){.client = client};
	return &ctx;
}

static int avoid_traffic(void)
{
	return fake.paused;
}

static RedisModuleCtx *detached(RedisModuleCtx *ctx)
{
	return ctx;
}

/*
 * Nothing: the database is 0, no flag is set, keys are not asked for, and the nil in place of a token is not recorded.
 */
static int zero(RedisModuleCtx *ctx)
{
	(void)ctx;
	return 0;
}

/* No subscribers. */

static int signal_key(RedisModuleCtx *ctx, RedisModuleString *key)
{
	(void)ctx;
	(void)key;
	return REDISMODULE_OK;
}

static int notify(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key)
{
	(void)ctx;
	(void)type;
	(void)event;
	(void)key;
	return REDISMODULE_OK;
}

static int replicate(RedisModuleCtx *ctx, const char *command, const char *format, ...)
{
	(void)ctx;
	(void)command;
	(void)format;
	return REDISMODULE_OK;
}

void fake_start(uint64_t now)
{
	fake = (struct fake_server){.now = now,
	                            .rings_at = inside.on_ring ? fake.rings_at : PAWL_NEVER};
	inside.unblocked_end = &inside.unblocked;
	for (unsigned key = 0; key < FAKE_KEYS; key++)
		inside.names[key] = (RedisModuleString){{(char)('0' + key)}, 1, 1};
	queue_type = the_type;

	RedisModule_Milliseconds = milliseconds;
	RedisModule_EventLoopAdd = event_loop_add;
	RedisModule_CreateTimer = create_timer;
	RedisModule_CreateString = new_string;
	RedisModule_CreateStringFromString = copy_string;
	RedisModule_FreeString = free_string;
	RedisModule_RetainString = retain_string;
	RedisModule_StringPtrLen = string_text;
	RedisModule_StringToLongLong = to_number;
	RedisModule_OpenKey = open_key;
	RedisModule_CloseKey = close_key;
	RedisModule_KeyType = key_type;
	RedisModule_ModuleTypeGetType = type_of;
	RedisModule_ModuleTypeGetValue = value_of;
	RedisModule_ModuleTypeSetValue = set_value;
	RedisModule_DeleteKey = delete_key;
	RedisModule_GetSelectedDb = zero;
	RedisModule_SelectDb = select_database;
	RedisModule_ReplyWithArray = reply_array;
	RedisModule_ReplySetArrayLength = reply_length;
	RedisModule_ReplyWithStringBuffer = reply_string;
	RedisModule_ReplyWithNull = zero;
	RedisModule_ReplyWithNullArray = reply_no_array;
	RedisModule_ReplyWithLongLong = reply_number;
	RedisModule_BlockClientOnKeys = block;
	RedisModule_SetDisconnectCallback = set_disconnect;
	RedisModule_UnblockClient = unblock;
	RedisModule_GetBlockedClientPrivateData = private_data;
	RedisModule_GetBlockedClientReadyKey = ready_key;
	RedisModule_GetContextFlags = zero;
	RedisModule_IsKeysPositionRequest = zero;
	RedisModule_AvoidReplicaTraffic = avoid_traffic;
	RedisModule_GetDetachedThreadSafeContext = detached;
	RedisModule_SignalModifiedKey = signal_key;
	RedisModule_NotifyKeyspaceEvent = notify;
	RedisModule_Replicate = replicate;
}

void fake_stop(void)
{
	for (struct fake_client *client = fake.clients; client < fake.clients + FAKE_CLIENTS;
	     client++)
		if (client->handle)
			fake_disconnect(client);
	for (unsigned key = 0; key < FAKE_KEYS; key++)
		fake_delete(key);
	fake.paused = false;
	do
		fake_loop();
	while (inside.timer_count > 0 || inside.unblocked);
}
