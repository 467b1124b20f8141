/* SPDX-License-Identifier: MIT */
/*
 * The wheel in a Linux kernel module: loading it counts a timer down, and says so in the kernel's log. A driver would
 * advance the wheel in its own thread or timer, under its own lock.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "pawl_wheel.h"

static struct pawl_timer timer;

static int __init wheel_example_init(void)
{
	size_t size = pawl_wheel_footprint(NULL);
	struct pawl_wheel *wheel = pawl_wheel_init(kmalloc(size, GFP_KERNEL), size, NULL);

	if (!wheel)
		return -ENOMEM;
	pawl_wheel_arm_at(wheel, &timer, 450);
	pawl_wheel_advance(wheel, 450, 0);
	pr_info("wheel_example: %s\n", pawl_wheel_pop(wheel) == &timer ? "due" : "not due");
	kfree(wheel);
	return 0;
}

static void __exit wheel_example_exit(void)
{
}

module_init(wheel_example_init);
module_exit(wheel_example_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("pawl's timing wheel in the kernel");
