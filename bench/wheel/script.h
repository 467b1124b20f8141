/* SPDX-License-Identifier: MIT */
/* script.h: the part that both verifications share: timers, random operations on them, and the model. */
#ifndef PAWL_BENCH_SCRIPT_H
#define PAWL_BENCH_SCRIPT_H

#include "../../src/base/random.h"
#include "../peers/peer.h"

enum { SCRIPT_TIMERS = 500 };

struct script {
	const struct peer *peer;
	void *self;
	unsigned char *objects;
	uint64_t due[SCRIPT_TIMERS]; /* the model: when each timer is due; PEER_NEVER: idle */
	struct random random;
};

/* All timers are idle. False if there is no memory; close it in any case. */
bool script_open(struct script *script, const struct peer *peer, uint64_t seed);
void script_close(struct script *script);

/* The number of a timer that the peer has given back; SCRIPT_TIMERS if this is not a timer. */
size_t script_number(const struct script *script, const void *timer);

/* Arm timer i if it is idle; else refresh it, or, one time in three, cancel it. `due`: the model's `deadline`. */
void script_operate(struct script *script, uint32_t i, uint64_t deadline, uint64_t due);

/* The first time in the model; PEER_NEVER: all timers are idle. */
uint64_t script_first(const struct script *script);

#endif
