/* SPDX-License-Identifier: MIT */
#include "present.h"

#include <pawl/pawl.h>

const size_t present_service_stats = sizeof(struct pawl_service_stats);
const size_t present_purgatory_stats = sizeof(struct pawl_purgatory_stats);
const size_t present_place = sizeof(struct pawl_wheel_place);
const size_t present_store_stats = sizeof(struct pawl_store_stats);
