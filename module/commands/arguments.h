/* SPDX-License-Identifier: MIT */
/*
 * Reading the arguments of a command. A function that returns false has replied with an error, which names the
 * argument, its value and what is allowed. The command then returns.
 */
#ifndef PAWL_MODULE_ARGUMENTS_H
#define PAWL_MODULE_ARGUMENTS_H

#include "../queue/queue.h"
#include "../queue/token.h"
#include "../server/redis_module.h"

#define ARG_COUNT_MAX 10000 /* the most tasks that one command delivers or lists */

/* A cursor over the arguments that follow the fixed ones. */
struct args {
	RedisModuleCtx *ctx;
	RedisModuleString **argv;
	int argc;
	int next;
};

/* Whether the argument is this word, in upper or lower case. */
bool arg_is(const RedisModuleString *arg, const char *word);
/* Whether the next argument is this word; if so, the cursor moves past it. */
bool args_accept(struct args *args, const char *word);
bool args_left(const struct args *args);

bool arg_number(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, uint64_t min,
                uint64_t max, uint64_t *value);
/* The number after an option that args_accept has found. An option may be given once. */
bool args_number(struct args *args, const char *name, uint64_t min, uint64_t max, uint64_t *value,
                 bool *given);
/* The same for text of at most `max` bytes. *value must be NULL before the call. */
bool args_text(struct args *args, const char *name, size_t max, RedisModuleString **value);
bool arg_text(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, size_t max);
bool arg_payload(RedisModuleCtx *ctx, const RedisModuleString *arg);
bool arg_id(RedisModuleCtx *ctx, const RedisModuleString *arg, struct task_id *id);
/* Whether arg_id would succeed; if not, it replies the same error. */
bool arg_can_be_id(RedisModuleCtx *ctx, const RedisModuleString *arg);
/* Whether all of these arguments can be ids; the same error for the first that cannot. */
bool arg_can_be_ids(RedisModuleCtx *ctx, RedisModuleString **args, int count);
bool arg_state(RedisModuleCtx *ctx, const RedisModuleString *arg, enum task_state *state);
/* Reply that the next argument is not allowed here. Returns false. */
bool args_unknown(const struct args *args, const char *allowed);

/* All zeroes if the argument is not a token. */
struct token arg_token(const RedisModuleString *arg);

/* Reply with an error: `before` begins with its code, and the client's value is quoted. */
int reply_error(RedisModuleCtx *ctx, const char *before, const RedisModuleString *value,
                const char *after);

/* The options STATE, MATCH, FROM and TO, which select tasks. */

/* FILTER_ALL passes every task. */
struct filter {
	struct queue_span span; /* the caller sets `now` once the key is open */
	struct glob glob;
	RedisModuleString *state, *match; /* as given, or NULL */
	bool from_given, to_given;
};
#define FILTER_ALL                                           \
	{                                                    \
		.span = {.to = UINT64_MAX, .state = STATES } \
	}

/* The value of STATE or MATCH, after args_accept() has found the option. */
bool filter_state(struct args *args, struct filter *filter);
bool filter_match(struct args *args, struct filter *filter);
/* Read STATE, FROM or TO with its value. For any other argument reply an error that lists `allowed`. */
bool filter_option(struct args *args, struct filter *filter, const char *allowed);
/* Whether any of them was given. */
bool filter_given(const struct filter *filter);
/* Whether the task passes. `id` is its id as text. */
bool filter_passes(const struct filter *filter, const struct task *task, const char *id,
                   size_t id_size);

#endif
