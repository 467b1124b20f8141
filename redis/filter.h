/* SPDX-License-Identifier: MIT */
/* Which tasks a command is about: the options STATE, MATCH, FROM and TO. */
#ifndef PAWL_REDIS_FILTER_H
#define PAWL_REDIS_FILTER_H

#include "arguments.h"
#include "glob.h"
#include "queue.h"

/* FILTER_ALL lets all pass. */
struct filter {
	struct queue_span span; /* `now` is set when the key is visited */
	struct glob glob;
	RedisModuleString *state, *match; /* as given, or NULL */
	bool from_given, to_given;
};
#define FILTER_ALL                                           \
	{                                                    \
		.span = {.to = UINT64_MAX, .state = STATES } \
	}

/* What follows STATE, or MATCH, which args_take has passed over. */
bool filter_state(struct args *args, struct filter *filter);
bool filter_match(struct args *args, struct filter *filter);
/* The next argument, which must be STATE, FROM or TO; `allowed` is for the error if it is not. */
bool filter_option(struct args *args, struct filter *filter, const char *allowed);
/* Whether any of them was given. */
bool filter_given(const struct filter *filter);
/* Whether the task passes; its id reads so. */
bool filter_passes(const struct filter *filter, const struct task *task, const char *id,
                   size_t id_size);

#endif
