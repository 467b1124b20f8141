/* SPDX-License-Identifier: MIT */
/* Sizes by the headers as they are, for programs that are compiled with changed ones. */
#include "parts.h"

const size_t present_service_stats = sizeof(struct pawl_service_stats);
const size_t present_purgatory_stats = sizeof(struct pawl_purgatory_stats);
const size_t present_place = sizeof(struct pawl_wheel_place);
const size_t present_store_stats = sizeof(struct pawl_store_stats);
