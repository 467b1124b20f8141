/* SPDX-License-Identifier: MIT */
/* pawl/adapter.h: a struct pawl_loop in an event loop of your own. Call pawl_loop_pass() when its timer fires. */
#ifndef PAWL_ADAPTER_H
#define PAWL_ADAPTER_H

#include <pawl/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions by which pawl uses your event loop. `self` is yours, as passed to pawl_loop_open(). */
struct pawl_loop_adapter {
	uint64_t (*now)(void *self); /* the clock of all deadlines, in ns; it never goes back */
	void (*set_timer)(void *self, uint64_t at_ns); /* to this time only; PAWL_NEVER: off */
	void (*release)(void *self);                   /* end the timer, free `self` */
	void *reserved[4];                             /* must be NULL */
};

/*
 * Open a loop on this adapter, which must stay valid until the loop is closed. now() must honour options.count_sleep.
 *
 * 0         *loop is yours, to be closed with pawl_loop_close(), which calls release.
 * -EINVAL   options, options.due or a function of the adapter is NULL, or an option is out of its range.
 * -ENOMEM   there is no memory.
 *
 * After an error nothing is left behind, and `self` is still yours.
 */
PAWL_API PAWL_MUST_USE int pawl_loop_open(struct pawl_loop **loop,
                                          const struct pawl_loop_adapter *adapter, void *self,
                                          const struct pawl_loop_options *options);

/* As pawl_loop_pass(), with a time that the event loop has read already: never later than its clock's present time. */
PAWL_API size_t pawl_loop_pass_at(struct pawl_loop *loop, uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
