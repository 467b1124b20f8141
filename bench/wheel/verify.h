/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_VERIFY_H
#define PAWL_BENCH_VERIFY_H

#include "../peers/peer.h"

/*
 * Run a random script on the peer and compare it with a model, a plain array. Each timer must come out exactly once,
 * not early, not late, and not at all after it was cancelled. If not, it says on stderr what went wrong and returns
 * false.
 */
bool verify_peer(const struct peer *peer, uint64_t seed);

/*
 * The same for a peer that reads the clock itself, in real time, for less than a second. It does not check whether
 * timers are late: that depends on what else the machine does.
 */
bool verify_in_real_time(const struct peer *peer, uint64_t seed);

#endif
