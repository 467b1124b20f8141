/* SPDX-License-Identifier: MIT */
/* The interface of a service for the purgatory, the store and the live view, beyond pawl/service.h. */
#ifndef PAWL_SERVICE_INTERNAL_H
#define PAWL_SERVICE_INTERNAL_H

#include "../base/ticks.h"

#include <pawl/service.h>

uint64_t pawl__clock_wall(struct pawl_clock *clock); /* the wall clock that goes with it */
struct pawl_clock *pawl__service_clock(const struct pawl_service *service);
struct ticks pawl__service_ticks(const struct pawl_service *service);
unsigned pawl__service_shards(const struct pawl_service *service);
unsigned pawl__service_workers(const struct pawl_service *service);
bool pawl__service_manual(const struct pawl_service *service);  /* it has no threads */
bool pawl__service_stopped(const struct pawl_service *service); /* or stopping */

/* The reserved words of options: a program that sets one needs a later version of the library. */
static inline bool reserved_are_zero(const uint64_t reserved[4])
{
	return (reserved[0] | reserved[1] | reserved[2] | reserved[3]) == 0;
}

/*
 * A task of the library itself. It runs like any other, but it is not in the service's counts and histograms, needs no
 * quota, and stop does not hand it to the user's `dropped`. A wake-up for it is counted.
 */
void pawl__task_init_internal(struct pawl_task *task, pawl_task_fn *run);

/*
 * A part is a purgatory: pawl_service_close() refuses to free the service before every part is removed. The live view
 * also shows it: `write` adds its JSON object to the snapshot, on the thread of the view. Hiding a part waits until a
 * running `write` has returned; it is not called again. Hide a part before you remove it.
 */
struct json;
struct service_part {
	void (*write)(struct service_part *part, struct json *json);
	struct service_part *next; /* this and the two below under the service's mutex */
	bool busy;                 /* `write` is running */
	bool hidden;               /* from the live view */
};

void pawl__service_add_part(struct pawl_service *service, struct service_part *part);
void pawl__service_hide_part(struct pawl_service *service, struct service_part *part);
void pawl__service_remove_part(struct pawl_service *service, struct service_part *part);
void pawl__service_write_parts(struct pawl_service *service, struct json *json);

#endif
