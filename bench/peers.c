/* SPDX-License-Identifier: MIT */
/* The peers that are measured, in the order of the columns. */
#include "peer.h"

extern const struct peer peer_pawl_1, peer_pawl_8, peer_pawl_variants[9];
extern const struct peer peer_heap_2, peer_heap_4;

const struct peer *const peers[] = {
        &peer_plain,
        &peer_pawl_1,
        &peer_pawl_8,
        &peer_heap_2,
        &peer_heap_4,
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
