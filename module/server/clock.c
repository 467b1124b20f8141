/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include "redis_module.h"

static bool set;
static uint64_t set_to;

uint64_t clock_now(void)
{
	return set ? set_to : (uint64_t)RedisModule_Milliseconds();
}

void clock_set(uint64_t ms)
{
	set = true;
	set_to = ms;
}

bool clock_is_set(void)
{
	return set;
}
