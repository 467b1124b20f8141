/* SPDX-License-Identifier: MIT */
#include "replicate.h"

#include <string.h>

#include "../../src/base/assert.h"
#include "../../src/base/digits.h"
#include "../queue/memory.h"

enum { ARGUMENTS_MAX = 3000 };
_Static_assert(ARGUMENTS_MAX % 3 == 0 && ARGUMENTS_MAX % 4 == 0, "a task has 3 or 4 arguments");

static const char new_tasks[] = "new"; /* effects.state for PAWL.PUTAT */

const char *stored_state(const struct task *task)
{
	if (task->leased)
		return task_state_names[STATE_LEASED];
	return task_state_names[task->timeline == ON_DEAD ? STATE_DEAD : STATE_WAITING];
}

void replicate_put(struct access *access, const struct task *task, const char *id, size_t id_size,
                   RedisModuleString *payload)
{
	char at[DECIMAL_TEXT]; /* as text: passing a number takes the server twice as long */

	/* Each argument takes time: maxtries is left out if it is 0. */
	RedisModule_Replicate(access->ctx, "PAWL.PUTAT", task->max_tries ? "sbbsl" : "sbbs",
	                      access->name, at, (size_t)(decimal_write(at, task->at) - at), id,
	                      id_size, payload, (long long)task->max_tries);
}

void replicate_task(struct access *access, const struct task *task)
{
	struct token token = {0, task->token};
	struct extras extras = task_extras(task);
	char id[TASK_ID_TEXT], text[TOKEN_TEXT];
	size_t id_size = task_id_text(task, id);

	RedisModule_Replicate(access->ctx, "PAWL.PUTAT", "slbblclbbll", access->name,
	                      (long long)task->at, id, id_size, task_payload(task),
	                      (size_t)task->payload_size, (long long)task->max_tries,
	                      stored_state(task), (long long)task->tries, text,
	                      token_text(&token, text), extras.reason, (size_t)extras.reason_size,
	                      (long long)extras.period, (long long)extras.base);
}

void effects_begin(struct effects *effects, struct access *access)
{
	*effects = (struct effects){.ctx = access->ctx, .key = access->name, .room = EFFECTS_FEW};
	effects->items = effects->few;
}

static void grow(struct effects *effects)
{
	size_t used = effects->count * sizeof(*effects->items);
	bool few = effects->items == effects->few;

	effects->room *= 4;
	effects->items =
	        memory_resize(few ? NULL : effects->items, effects->room * sizeof(*effects->items));
	if (few)
		memcpy(effects->items, effects->few, used);
}

static void append(struct effects *effects, RedisModuleString *item)
{
	if (effects->count == effects->room)
		grow(effects);
	effects->items[effects->count++] = item;
}

static void append_text(struct effects *effects, const char *text, size_t size)
{
	append(effects, RedisModule_CreateString(NULL, text, size));
}

static void append_number(struct effects *effects, uint64_t number)
{
	char text[DECIMAL_TEXT];

	append_text(effects, text, (size_t)(decimal_write(text, number) - text));
}

/* Small numbers are the common case: their strings are made once and shared. */
static void append_tries(struct effects *effects, uint16_t tries)
{
	static RedisModuleString *made[4];

	if (tries >= sizeof(made) / sizeof(made[0])) {
		append_number(effects, tries);
		return;
	}
	if (!made[tries])
		made[tries] = RedisModule_CreateString(NULL, &"0123"[tries], 1);
	RedisModule_RetainString(NULL, made[tries]);
	append(effects, made[tries]);
}

/* A single task is sent without "v", for which the server would resize its arguments. */
static void flush_set(struct effects *effects)
{
	char at[DECIMAL_TEXT];
	size_t at_size = (size_t)(decimal_write(at, effects->at) - at);

	if (effects->count == 3)
		RedisModule_Replicate(effects->ctx, "PAWL.SETAT", "sbcsss", effects->key, at,
		                      at_size, effects->state, effects->items[0], effects->items[1],
		                      effects->items[2]);
	else
		RedisModule_Replicate(effects->ctx, "PAWL.SETAT", "sbcv", effects->key, at, at_size,
		                      effects->state, effects->items, effects->count);
}

static void flush(struct effects *effects)
{
	if (effects->count == 0)
		return;
	if (effects->state == new_tasks)
		RedisModule_Replicate(effects->ctx, "PAWL.PUTAT", "sv", effects->key,
		                      effects->items, effects->count);
	else if (effects->state)
		flush_set(effects);
	else if (effects->count == 1)
		RedisModule_Replicate(effects->ctx, "PAWL.DROP", "ss", effects->key,
		                      effects->items[0]);
	else
		RedisModule_Replicate(effects->ctx, "PAWL.DROP", "sv", effects->key, effects->items,
		                      effects->count);
	while (effects->count > 0)
		RedisModule_FreeString(NULL, effects->items[--effects->count]);
}

/* Before a task with this state and time is appended: send the items if theirs differ, or are many. */
static void continue_with(struct effects *effects, const char *state, uint64_t at)
{
	if (effects->state != state || effects->at != at || effects->count >= ARGUMENTS_MAX)
		flush(effects);
	effects->state = state;
	effects->at = at;
}

void effects_put(struct effects *effects, const struct task *task, const char *id, size_t id_size,
                 RedisModuleString *payload)
{
	continue_with(effects, new_tasks, 0);
	append_number(effects, task->at);
	append_text(effects, id, id_size);
	RedisModule_RetainString(NULL, payload);
	append(effects, payload);
	append_tries(effects, task->max_tries);
}

void effects_set_id(struct effects *effects, const struct task *task, const char *token,
                    size_t token_size, const char *id, size_t id_size)
{
	continue_with(effects, stored_state(task), task->at);
	append_tries(effects, task->tries);
	append_text(effects, token, token_size);
	append_text(effects, id, id_size);
}

void effects_delete_id(struct effects *effects, const char *id, size_t id_size)
{
	continue_with(effects, NULL, 0);
	append_text(effects, id, id_size);
}

void effects_delete_arg(struct effects *effects, RedisModuleString *id)
{
	continue_with(effects, NULL, 0);
	RedisModule_RetainString(NULL, id);
	append(effects, id);
}

void effects_set(struct effects *effects, const struct task *task)
{
	char id[TASK_ID_TEXT], text[TOKEN_TEXT];
	struct token token = {0, task->token};

	effects_set_id(effects, task, text, token_text(&token, text), id, task_id_text(task, id));
}

void effects_delete(struct effects *effects, const struct task *task)
{
	char id[TASK_ID_TEXT];

	effects_delete_id(effects, id, task_id_text(task, id));
}

void effects_send(struct effects *effects)
{
	flush(effects);
	if (effects->items != effects->few)
		memory_free(effects->items);
}

void replicate_set(struct access *access, const struct task *task)
{
	struct effects effects;

	effects_begin(&effects, access);
	effects_set(&effects, task);
	effects_send(&effects);
}

void replicate_reason(struct access *access, const RedisModuleString *reason,
                      RedisModuleString **ids, size_t count)
{
	if (count > 0)
		RedisModule_Replicate(access->ctx, "PAWL.NOTE", "ssv", access->name, reason, ids,
		                      count);
}

void replicate_settings(struct access *access)
{
	const struct settings *settings = &access->queue->settings;

	RedisModule_Replicate(access->ctx, "PAWL.SETUP", "sllll", access->name,
	                      (long long)settings->paused, (long long)settings->max_dead,
	                      (long long)settings->backoff_ms, (long long)settings->backoff_max_ms);
}

/* The end of a change */

enum { TRIM_MAX = 256 }; /* dead tasks beyond MAXDEAD that one command deletes */

static void trim_dead(struct access *access)
{
	size_t beyond = queue_dead_beyond(access->queue, access->now);
	struct effects effects;

	if (beyond == 0)
		return;
	if (beyond > TRIM_MAX)
		beyond = TRIM_MAX;
	effects_begin(&effects, access);
	for (; beyond > 0; beyond--) {
		struct task *task = queue_first_dead(access->queue, access->now);

		ASSERT(task);
		effects_delete(&effects, task);
		queue_delete(access->queue, task);
	}
	effects_send(&effects);
}

static void notify(struct access *access, int kind, const char *event)
{
	RedisModule_NotifyKeyspaceEvent(access->ctx, kind, event, access->name);
}

void commit(struct access *access, const char *event)
{
	trim_dead(access);
	commit_replicated(access, event);
}

void commit_replicated(struct access *access, const char *event)
{
	ASSERT(access->queue);
	RedisModule_SignalModifiedKey(access->ctx, access->name);
	notify(access, REDISMODULE_NOTIFY_MODULE, event);
	if (!queue_empty(access->queue))
		return;
	access_delete(access);
	notify(access, REDISMODULE_NOTIFY_GENERIC, "del");
}
