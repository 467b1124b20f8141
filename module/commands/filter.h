/* SPDX-License-Identifier: MIT */
/* The options STATE, MATCH, FROM and TO, which select tasks. */
#ifndef PAWL_MODULE_FILTER_H
#define PAWL_MODULE_FILTER_H

#include "../queue/glob.h"
#include "../queue/queue.h"
#include "arguments.h"

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
