/* SPDX-License-Identifier: MIT */
#include "filter.h"

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
