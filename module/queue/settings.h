/* SPDX-License-Identifier: MIT */
/* The settings of a queue. A new queue has all zeroes. A queue with other settings exists even without tasks. */
#ifndef PAWL_MODULE_SETTINGS_H
#define PAWL_MODULE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct settings {
	bool paused;       /* nothing is delivered */
	uint64_t max_dead; /* the most dead tasks; 0: no limit */
	/* The delay after the first failed try, doubled with each further one; 0: none. And the longest delay. */
	uint64_t backoff_ms, backoff_max_ms;
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
