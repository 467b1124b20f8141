/* SPDX-License-Identifier: MIT */
#include "replicate.h"

#include <stdio.h>

#include "arguments.h"
#include "memory.h"

enum { ARGUMENTS_MAX = 3000 }; /* a multiple of 3: tries, token, id */

const char *stored_state(const struct task *task)
{
	if (task->leased)
		return state_names[STATE_LEASED];
	return state_names[task->place == PLACE_DEAD ? STATE_DEAD : STATE_WAITING];
}

void replicate_put(struct visit *visit, const struct task *task, const char *id, size_t id_size)
{
	/* Each argument costs: what can be left out is. */
	RedisModule_Replicate(visit->ctx, "PAWL.PUTAT", task->max_tries ? "slbbl" : "slbb",
	                      visit->name, (long long)task->at, id, id_size, task_payload(task),
	                      (size_t)task->payload_size, (long long)task->max_tries);
}

void effects_begin_drop(struct effects *effects, struct visit *visit)
{
	*effects = (struct effects){.ctx = visit->ctx, .key = visit->name};
}

void effects_begin_set(struct effects *effects, struct visit *visit, const char *state, uint64_t at)
{
	*effects =
	        (struct effects){.ctx = visit->ctx, .key = visit->name, .state = state, .at = at};
}

static void append(struct effects *effects, const char *text, size_t size)
{
	if (effects->count == effects->room) {
		effects->room = effects->room ? effects->room * 2 : 4;
		effects->items =
		        memory_resize(effects->items, effects->room * sizeof(*effects->items));
	}
	effects->items[effects->count++] = RedisModule_CreateString(NULL, text, size);
}

static void flush(struct effects *effects)
{
	if (effects->count == 0)
		return;
	if (effects->state)
		RedisModule_Replicate(effects->ctx, "PAWL.SETAT", "slcv", effects->key,
		                      (long long)effects->at, effects->state, effects->items,
		                      effects->count);
	else
		RedisModule_Replicate(effects->ctx, "PAWL.DROP", "sv", effects->key, effects->items,
		                      effects->count);
	while (effects->count > 0)
		RedisModule_FreeString(NULL, effects->items[--effects->count]);
}

void effects_add_id(struct effects *effects, const struct task *task, const struct token *token,
                    const char *id, size_t id_size)
{
	char text[TOKEN_TEXT], tries[8];

	if (effects->state) {
		append(effects, tries, (size_t)snprintf(tries, sizeof(tries), "%u", task->tries));
		append(effects, text, token_text(token, text));
	}
	append(effects, id, id_size);
	if (effects->count >= ARGUMENTS_MAX)
		flush(effects);
}

void effects_add(struct effects *effects, const struct task *task)
{
	char id[TASK_ID_TEXT];

	effects_add_id(effects, task, &(struct token){0, task->token}, id, task_id_text(task, id));
}

void effects_send(struct effects *effects)
{
	flush(effects);
	memory_free(effects->items);
}

void replicate_set(struct visit *visit, const struct task *task, const char *state, uint64_t at)
{
	struct effects effects;

	effects_begin_set(&effects, visit, state, at);
	effects_add(&effects, task);
	effects_send(&effects);
}
