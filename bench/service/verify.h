/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_SERVICE_VERIFY_H
#define PAWL_BENCH_SERVICE_VERIFY_H

#include "peer.h"

/*
 * Run a random script on the service, in two threads with tasks of their own: each arming must run
 * exactly once and not early, and not at all once it was cancelled. Says on stderr what went wrong and
 * returns false if it does not.
 */
bool verify_service(const struct service_peer *peer, uint64_t seed);

#endif
