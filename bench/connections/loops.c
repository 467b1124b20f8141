/* SPDX-License-Identifier: MIT */
/* The loops that are measured. The others are compared with the first one. */
#include "connections.h"

extern const struct loop_peer loop_epoll_none, loop_epoll_pawl, loop_epoll_heap;
extern const struct loop_peer loop_libuv, loop_libev, loop_libevent, loop_libevent_common;

const struct loop_peer *const loop_peers[] = {
        &loop_epoll_none, &loop_epoll_pawl,      &loop_epoll_heap,
#ifdef PAWL_BENCH_LIBUV
        &loop_libuv,
#endif
#ifdef PAWL_BENCH_LIBEV
        &loop_libev,
#endif
#ifdef PAWL_BENCH_LIBEVENT
        &loop_libevent,   &loop_libevent_common,
#endif
};

const size_t loop_peer_count = sizeof(loop_peers) / sizeof(loop_peers[0]);
_Static_assert(sizeof(loop_peers) / sizeof(loop_peers[0]) <= MAX_LOOPS, "connections.h: MAX_LOOPS");
