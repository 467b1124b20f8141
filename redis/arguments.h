/* SPDX-License-Identifier: MIT */
/*
 * Reading the arguments of a command. Whoever returns false has replied with an error that names the
 * argument, its value and what is allowed; the command has nothing left to do.
 */
#ifndef PAWL_REDIS_ARGUMENTS_H
#define PAWL_REDIS_ARGUMENTS_H

#include "redis_module.h"
#include "task.h"
#include "token.h"

#define ARG_COUNT_MAX  10000 /* tasks that one command gives at most */
#define ARG_COUNT_TEXT "10000"

/* A walk over what follows the fixed arguments. */
struct args {
	RedisModuleCtx *ctx;
	RedisModuleString **argv;
	int argc;
	int next;
};

/* Whether the argument is this word, in upper or lower case. */
bool arg_is(const RedisModuleString *arg, const char *word);
/* Whether the next argument is this word; if so it is passed over. */
bool args_take(struct args *args, const char *word);
bool args_left(const struct args *args);

bool arg_number(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, uint64_t min,
                uint64_t max, uint64_t *value);
/* The number after an option that args_take has passed over; it may come once. */
bool args_number(struct args *args, const char *name, uint64_t min, uint64_t max, uint64_t *value,
                 bool *given);
/* The same for text of at most so many bytes; *value is NULL before. */
bool args_text(struct args *args, const char *name, size_t max, RedisModuleString **value);
bool arg_text(RedisModuleCtx *ctx, const RedisModuleString *arg, const char *name, size_t max);
bool arg_payload(RedisModuleCtx *ctx, const RedisModuleString *arg);
bool arg_id(RedisModuleCtx *ctx, const RedisModuleString *arg, struct task_id *id);
/* Whether arg_id will succeed; if not, the error is replied. */
bool arg_can_be_id(RedisModuleCtx *ctx, const RedisModuleString *arg);
bool arg_state(RedisModuleCtx *ctx, const RedisModuleString *arg, enum task_state *state);
/* Reply with the error for an argument that no option explains; false. */
bool args_unknown(const struct args *args, const char *allowed);

/* All zeroes if it is no token. */
struct token arg_token(const RedisModuleString *arg);

extern const char *const state_names[STATES];

/* An error that begins with its code and quotes a value of the client's. */
int reply_error(RedisModuleCtx *ctx, const char *before, const RedisModuleString *value,
                const char *after);

#endif
