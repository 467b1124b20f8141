/* SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { QUOTED_MAX = 64 };

/* A client's value for an error message: cut to QUOTED_MAX bytes, and without bytes that could break the line. */
static void quote(char text[QUOTED_MAX + 1], const RedisModuleString *value)
{
	size_t size, n = 0;
	const char *bytes = RedisModule_StringPtrLen(value, &size);

	for (; n < size && n < QUOTED_MAX; n++)
		text[n] = bytes[n] >= ' ' && bytes[n] <= '~' ? bytes[n] : '?';
	text[n] = '\0';
}

int reply_error(RedisModuleCtx *ctx, const char *before, const RedisModuleString *value,
                const char *after)
{
	char quoted[QUOTED_MAX + 1], text[QUOTED_MAX + 256];

	quote(quoted, value);
	snprintf(text, sizeof(text), "%s '%s'%s", before, quoted, after);
	return RedisModule_ReplyWithError(ctx, text);
}

bool arg_is(const RedisModuleString *arg, const char *word)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(arg, &size);

	return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

bool args_left(const struct args *args)
{
	return args->next < args->argc;
}

bool args_accept(struct args *args, const char *word)
{
	if (!arg_is(args->argv[args->next], word))
		return false;
	args->next++;
	return true;
}

bool arg_number(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, uint64_t min,
                uint64_t max, uint64_t *value)
{
	char before[64], after[96];
	long long number;

	if (RedisModule_StringToLongLong(arg, &number) == REDISMODULE_OK && number >= 0 &&
	    (uint64_t)number >= min && (uint64_t)number <= max) {
		*value = (uint64_t)number;
		return true;
	}
	snprintf(before, sizeof(before), "ERR %s is", name);
	snprintf(after, sizeof(after), ", must be an integer from %llu to %llu",
	         (unsigned long long)min, (unsigned long long)max);
	reply_error(ctx, before, arg, after);
	return false;
}

/* Whether a value follows the option, and the option was not given before. */
static bool has_value(const struct args *args, bool given)
{
	RedisModuleString *option = args->argv[args->next - 1];

	if (!given && args_left(args))
		return true;
	reply_error(args->ctx, "ERR option", option, given ? " is given twice" : " needs a value");
	return false;
}

bool args_number(struct args *args, const char *name, uint64_t min, uint64_t max, uint64_t *value,
                 bool *given)
{
	if (!has_value(args, *given))
		return false;
	*given = true;
	return arg_number(args->ctx, args->argv[args->next++], name, min, max, value);
}

bool arg_text(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, size_t max)
{
	char before[64], after[64];
	size_t size;

	RedisModule_StringPtrLen(arg, &size);
	if (size <= max)
		return true;
	snprintf(before, sizeof(before), "ERR %s is", name);
	snprintf(after, sizeof(after), "... of %zu bytes, must have 0 to %zu", size, max);
	reply_error(ctx, before, arg, after);
	return false;
}

bool args_text(struct args *args, const char *name, size_t max, RedisModuleString **value)
{
	if (!has_value(args, *value != NULL))
		return false;
	*value = args->argv[args->next++];
	return arg_text(args->ctx, *value, name, max);
}

bool arg_payload(RedisModuleCtx *ctx, const RedisModuleString *arg)
{
	return arg_text(ctx, arg, "payload", TASK_PAYLOAD_MAX);
}

bool arg_can_be_id(RedisModuleCtx *ctx, const RedisModuleString *arg)
{
	size_t size;

	RedisModule_StringPtrLen(arg, &size);
	if (size > 0 && size <= TASK_ID_MAX)
		return true;
	reply_error(ctx, "ERR id is", arg, ", must have 1 to 255 bytes");
	return false;
}

bool arg_can_be_ids(RedisModuleCtx *ctx, RedisModuleString **args, int count)
{
	for (int i = 0; i < count; i++)
		if (!arg_can_be_id(ctx, args[i]))
			return false;
	return true;
}

bool arg_id(RedisModuleCtx *ctx, const RedisModuleString *arg, struct task_id *id)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(arg, &size);

	if (!arg_can_be_id(ctx, arg))
		return false;
	task_id_from_text(id, text, size);
	return true;
}

bool arg_state(RedisModuleCtx *ctx, const RedisModuleString *arg, enum task_state *state)
{
	for (int i = 0; i < STATES; i++) {
		if (arg_is(arg, task_state_names[i])) {
			*state = (enum task_state)i;
			return true;
		}
	}
	reply_error(ctx, "ERR STATE is", arg, ", must be waiting, due, leased or dead");
	return false;
}

bool args_unknown(const struct args *args, const char *allowed)
{
	char after[128];

	snprintf(after, sizeof(after), ", allowed here: %s", allowed);
	reply_error(args->ctx, "ERR unknown or misplaced argument", args->argv[args->next], after);
	return false;
}

struct token arg_token(const RedisModuleString *arg)
{
	size_t size;
	const char *text = RedisModule_StringPtrLen(arg, &size);

	return token_from_text(text, size);
}

/* Filters */

bool filter_state(struct args *args, struct filter *filter)
{
	return args_text(args, "STATE", SIZE_MAX, &filter->state) &&
	       arg_state(args->ctx, filter->state, &filter->span.state);
}

bool filter_match(struct args *args, struct filter *filter)
{
	if (!args_text(args, "MATCH", GLOB_MAX, &filter->match))
		return false;
	filter->glob.pattern = RedisModule_StringPtrLen(filter->match, &filter->glob.size);
	return true;
}

bool filter_option(struct args *args, struct filter *filter, const char *allowed)
{
	if (args_accept(args, "STATE"))
		return filter_state(args, filter);
	if (args_accept(args, "FROM"))
		return args_number(args, "FROM", 0, INT64_MAX, &filter->span.from,
		                   &filter->from_given);
	if (args_accept(args, "TO"))
		return args_number(args, "TO", 0, INT64_MAX, &filter->span.to, &filter->to_given);
	return args_unknown(args, allowed);
}

bool filter_given(const struct filter *filter)
{
	return filter->state || filter->match || filter->from_given || filter->to_given;
}

bool filter_passes(const struct filter *filter, const struct task *task, const char *id,
                   size_t id_size)
{
	const struct queue_span *span = &filter->span;

	if (task->at < span->from || task->at > span->to)
		return false;
	if (filter->state && task_state(task, span->now) != span->state)
		return false;
	return !filter->match || glob_matches(&filter->glob, id, id_size);
}
