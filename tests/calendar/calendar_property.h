/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a rule and TZif data: the first byte is the length of the rule, which follows; the rest is the data.
 * Input that is refused does no harm; input that is accepted gives answers that agree with each other. Returns NULL, or
 * what does not hold.
 */
#ifndef PAWL_FUZZ_CALENDAR_PROPERTY_H
#define PAWL_FUZZ_CALENDAR_PROPERTY_H

#include <stddef.h>
#include <stdint.h>

const char *calendar_property(const uint8_t *data, size_t size);

#endif
