/* SPDX-License-Identifier: MIT */
/* The test header.must-use compiles this, and expects the compiler to warn of the ignored result. */
#include <pawl/epoll.h>

void open_and_forget(struct pawl_loop **loop, const struct pawl_loop_options *options)
{
	pawl_epoll_open(loop, options);
}
