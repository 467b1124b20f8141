/* SPDX-License-Identifier: MIT */
/* pawl: delayed work for C. This header includes all others, except those that need another library: pawl/kqueue.h,
 * pawl/libevent.h and pawl/libuv.h. */
#ifndef PAWL_H
#define PAWL_H

#include <pawl/adapter.h>
#include <pawl/calendar.h>
#include <pawl/clock.h>
#include <pawl/epoll.h>
#include <pawl/inspect.h>
#include <pawl/loop.h>
#include <pawl/metrics.h>
#include <pawl/purgatory.h>
#include <pawl/schedule.h>
#include <pawl/service.h>
#include <pawl/store.h>
#include <pawl/wheel.h>

#define PAWL_VERSION_MAJOR 0
#define PAWL_VERSION_MINOR 1
#define PAWL_VERSION_PATCH 0
#define PAWL_VERSION       "0.1.0"

/* The same as one number, major * 1,000,000 + minor * 1,000 + patch: 0.1.0 is 1000. For #if. */
#define PAWL_VERSION_NUMBER \
	(PAWL_VERSION_MAJOR * 1000000 + PAWL_VERSION_MINOR * 1000 + PAWL_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the linked library, in the form of PAWL_VERSION. Never NULL. */
PAWL_API const char *pawl_version(void);

/* The same in the form of PAWL_VERSION_NUMBER. */
PAWL_API int pawl_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
