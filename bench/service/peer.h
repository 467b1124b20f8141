/* SPDX-License-Identifier: MIT */
/* peer.h: the functions of a service that is measured. They pass the call on and do nothing else. */
#ifndef PAWL_BENCH_SERVICE_PEER_H
#define PAWL_BENCH_SERVICE_PEER_H

#include "object.h"

#include <stdbool.h>

struct service_setup {
	size_t capacity; /* tasks that are pending at most */
	bool polled;     /* no thread: poll runs due tasks */
	bool skips;      /* skip will be called; else the clock may be CLOCK_MONOTONIC as it is */
};

struct service_peer {
	const char *name;  /* short, no blanks */
	const char *about; /* one line for --help */
	uint64_t tick_ns;  /* 0: none */
	unsigned workers;  /* of pawl; 0: its default */
	enum {             /* a variant is measured only where it differs most */
	       EVERYWHERE,
	       IN_LATENESS, /* live and rates */
	       IN_RATES,
	} measured;

	size_t (*pending_bytes)(void); /* for a pending task, the service's part included */

	/* One thread runs the tasks. NULL if it fails. */
	void *(*open)(const struct service_peer *peer, const struct service_setup *setup);

	/* Tasks may still be pending; they are not used again before init. */
	void (*close)(void *self);

	void (*init)(struct object *object, enum behaviour behaviour);

	/* Run it once; a pending task gets the new time. Any thread. Times are clock_ns() plus the skipped time. */
	void (*arm)(void *self, struct object *object, uint64_t delay_ns);
	void (*arm_at)(void *self, struct object *object, uint64_t deadline_ns);

	/* Never waits; any thread. A service that does not know which task is running returns PAWL_SERVICE_IDLE for it. */
	enum pawl_service_found (*cancel)(void *self, struct object *object);

	void (*skip)(void *self, uint64_t ns);
	size_t (*poll)(void *self);
};

/* Of pawl's peers: the service itself; and, if it skips, how often a wait on its clock has ended. */
struct pawl_service *service_of(void *self);
uint64_t waits_of(void *self);

extern const struct service_peer service_peer_pawl, service_peer_pawl_without,
        service_peer_pawl_50us, service_peer_pawl_2_workers;
extern const struct service_peer service_peer_obvious;

#endif
