/* SPDX-License-Identifier: MIT */
/* What is set for a whole queue. All zeroes is what a new one has; a queue with anything else exists without tasks too. */
#ifndef PAWL_REDIS_SETTINGS_H
#define PAWL_REDIS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct settings {
	bool paused;       /* nothing is delivered */
	uint64_t max_dead; /* dead tasks that it may hold; 0: any number */
	uint64_t
	        backoff_ms; /* how much later a task comes back after its first try; 0: not later */
	uint64_t backoff_max_ms; /* it is twice as much for each try more, up to this */
};

static inline bool settings_equal(const struct settings *a, const struct settings *b)
{
	return a->paused == b->paused && a->max_dead == b->max_dead &&
	       a->backoff_ms == b->backoff_ms && a->backoff_max_ms == b->backoff_max_ms;
}

/* Whether anything is set. */
static inline bool settings_any(const struct settings *settings)
{
	return !settings_equal(settings, &(struct settings){0});
}

#endif
