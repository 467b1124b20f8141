/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_VERIFY_H
#define PAWL_BENCH_VERIFY_H

#include "../peers/peer.h"

/*
 * Run a random script on the peer, beside a model that is a plain array: each timer must come out
 * exactly once, not early, not late, and not at all once it was cancelled. Says on stderr what went
 * wrong and returns false if it does not.
 */
bool verify_peer(const struct peer *peer, uint64_t seed);

/*
 * The same for a peer with a clock of its own, in real time and for less than a second. That timers are
 * not late cannot be asked of it: it depends on what else the machine does.
 */
bool verify_in_real_time(const struct peer *peer, uint64_t seed);

#endif
