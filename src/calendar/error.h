/* SPDX-License-Identifier: MIT */
#ifndef PAWL_CALENDAR_ERROR_H
#define PAWL_CALENDAR_ERROR_H

#include <pawl/calendar.h>

/* Writes the message to *error, unless error is NULL. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
pawl__calendar_fail(struct pawl_calendar_error *error, size_t position, const char *format, ...);

#endif
