/* SPDX-License-Identifier: MIT */
#include "script.h"

#include "workloads.h"

#include <stdlib.h>
#include <string.h>

bool script_open(struct script *script, const struct peer *peer, uint64_t seed)
{
	*script = (struct script){.peer = peer, .random = {seed}};
	script->objects = aligned_alloc(CACHE_LINE, SCRIPT_TIMERS * MAX_OBJECT_SIZE);
	if (!script->objects)
		return false;
	memset(script->objects, 0, SCRIPT_TIMERS * MAX_OBJECT_SIZE);
	memset(script->due, 0xff, sizeof(script->due)); /* PEER_NEVER */
	script->self = peer->open(peer, SCRIPT_TIMERS);
	return script->self != NULL;
}

void script_close(struct script *script)
{
	if (script->self)
		script->peer->close(script->self);
	free(script->objects);
}

static void *timer_at(const struct script *script, size_t i)
{
	return script->objects + i * MAX_OBJECT_SIZE;
}

size_t script_number(const struct script *script, const void *timer)
{
	size_t i = (size_t)((const unsigned char *)timer - script->objects) / MAX_OBJECT_SIZE;

	return i < SCRIPT_TIMERS && timer == timer_at(script, i) ? i : SCRIPT_TIMERS;
}

void script_operate(struct script *script, uint32_t i, uint64_t deadline, uint64_t due)
{
	void *timer = timer_at(script, i);

	if (script->due[i] == PEER_NEVER) {
		script->peer->arm(script->self, timer, deadline);
		script->due[i] = due;
	} else if (random_below32(&script->random, 3)) {
		script->peer->refresh(script->self, timer, deadline);
		script->due[i] = due;
	} else {
		script->peer->cancel(script->self, timer);
		script->due[i] = PEER_NEVER;
	}
}

uint64_t script_first(const struct script *script)
{
	uint64_t first = PEER_NEVER;

	for (size_t i = 0; i < SCRIPT_TIMERS; i++)
		if (script->due[i] < first)
			first = script->due[i];
	return first;
}
