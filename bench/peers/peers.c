/* SPDX-License-Identifier: MIT */
/* The peers that are measured, in the order of the tables' rows. */
#include "peer.h"

extern const struct peer peer_pawl_1, peer_pawl_8, peer_pawl_variants[9];
extern const struct peer peer_plain_again;
extern const struct peer peer_heap_2, peer_heap_4, peer_marked, peer_null;
extern const struct peer peer_libuv, peer_libev, peer_libevent, peer_libevent_common, peer_glib;
extern const struct peer peer_timerfd;

const struct peer *const peers[] = {
        &peer_plain,
        &peer_pawl_1,
        &peer_pawl_8,
        &peer_heap_2,
        &peer_heap_4,
        &peer_marked,
#ifdef PAWL_BENCH_LIBUV
        &peer_libuv,
#endif
#ifdef PAWL_BENCH_LIBEV
        &peer_libev,
#endif
#ifdef PAWL_BENCH_LIBEVENT
        &peer_libevent,
        &peer_libevent_common,
#endif
#ifdef PAWL_BENCH_GLIB
        &peer_glib,
#endif
        &peer_timerfd,
        &peer_plain_again,
        &peer_null,
        &peer_pawl_variants[0],
        &peer_pawl_variants[1],
        &peer_pawl_variants[2],
        &peer_pawl_variants[3],
        &peer_pawl_variants[4],
        &peer_pawl_variants[5],
        &peer_pawl_variants[6],
        &peer_pawl_variants[7],
        &peer_pawl_variants[8],
};

const size_t peer_count = sizeof(peers) / sizeof(peers[0]);
_Static_assert(sizeof(peers) / sizeof(peers[0]) <= MAX_PEERS, "peer.h: MAX_PEERS");
