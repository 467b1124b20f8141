/* SPDX-License-Identifier: MIT */
#ifndef PAWL_BENCH_SERVICE_VERIFY_H
#define PAWL_BENCH_SERVICE_VERIFY_H

#include "peer.h"

/*
 * Run a random script on the service, in two threads with their own tasks. Each arming must run exactly once and not
 * early, and not at all after it was cancelled. If not, it says on stderr what went wrong and returns false.
 */
bool verify_service(const struct service_peer *peer, uint64_t seed);

#endif
