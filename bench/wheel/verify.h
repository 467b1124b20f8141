/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_VERIFY_H
#define PAWL_BENCH_VERIFY_H

#include "../peers/peer.h"

/*
 * Run a random script on the peer and compare it with a model, a plain array. Each timer must come out exactly once,
 * not early, not late, and not at all after it was cancelled. If not, it says on stderr what went wrong and returns
 * false. A peer that reads the clock itself plays in real time, for less than a second; there timers may be late, which
 * depends on what else the machine does.
 */
bool verify_peer(const struct peer *peer, uint64_t seed);

#endif
