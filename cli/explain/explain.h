/* SPDX-License-Identifier: MIT */
/* The result of `pawl explain`, for text.c and svg.c. */
#ifndef PAWL_CLI_EXPLAIN_H
#define PAWL_CLI_EXPLAIN_H

#include <pawl/wheel.h>
#include <stdio.h>

#include "../journey/journey.h"

/* One to arm it, and two for each level: with wheels of 2 slots there are 64. */
#define EXPLAIN_STEPS_MAX (1 + 2 * 64)

struct explained {
	uint64_t delay;
	struct journey journey; /* for journey_level_at(); the wheel is gone */
	unsigned count;
	struct journey_step steps[EXPLAIN_STEPS_MAX];
};

struct explanation {
	struct pawl_wheel_options options; /* times in ns */
	size_t count;
	struct explained *timers;
};

void explain_in_text(FILE *out, const struct explanation *explanation);
void explain_as_svg(FILE *out, const struct explanation *explanation);

#endif
