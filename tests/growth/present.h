/* SPDX-License-Identifier: MIT */
/* Sizes by the headers as they are, for programs that are compiled with changed ones. */
#include <stddef.h>

extern const size_t present_service_stats, present_purgatory_stats, present_place,
        present_store_stats;
