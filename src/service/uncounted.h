/* SPDX-License-Identifier: MIT */
/* What the service does for the purgatory alone. */
#ifndef PAWL_SERVICE_UNCOUNTED_H
#define PAWL_SERVICE_UNCOUNTED_H

#include <pawl/service.h>

/*
 * Arm a task that has just been initialised and that no other thread arms: once, without a place under
 * max_pending, and without the care that it takes where several threads arm a task. Cancels may race with it.
 *
 * 0           it is pending (or runs already).
 * -ESHUTDOWN  the service was stopped. Nothing has changed.
 */
int pawl__service_arm_uncounted(struct pawl_service *service, struct pawl_task *task,
                                uint64_t delay_ns);

/*
 * Inside the function of such a task: whether it was called because stop takes the task out, and not because
 * its time has come. The user's `dropped`, who knows nothing of the task, does not get it.
 */
bool pawl__service_drops(const struct pawl_task *task);

#endif
