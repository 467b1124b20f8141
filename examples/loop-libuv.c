/* SPDX-License-Identifier: MIT */
/* Timers in a loop of libuv. Their functions are in loop-peer.h, the same for every event loop. */
#define _GNU_SOURCE /* for uv.h, with -std=c11 */
#include <pawl/libuv.h>

#include "loop-peer.h"

int main(void)
{
	uv_loop_t uv;

	if (uv_loop_init(&uv) != 0 || pawl_libuv_open(&peer.loop, &uv, &options) != 0)
		return 1;
	start_timers();
	uv_run(&uv, UV_RUN_DEFAULT); /* it returns when nothing is armed */
	pawl_loop_close(peer.loop, NULL);
	uv_run(&uv, UV_RUN_DEFAULT); /* it frees the handles that were closed */
	return uv_loop_close(&uv);
}
