/* SPDX-License-Identifier: MIT */
/*
 * A thousand cache entries expire. An entry may live a tenth longer than it has to. With such a window the program
 * wakes up 29 times; without it, for every entry.
 */
#include <pawl/pawl.h>
#include <stdio.h>

#define ENTRIES 1000

struct entry {
	struct pawl_task expiry; /* first: a task is its entry */
	uint64_t lives_ns;
};

static struct entry entries[ENTRIES];
static struct pawl_clock_manual hands;
static unsigned expired, early, late;

static void expire(struct pawl_task *task)
{
	uint64_t now = hands.clock.now(&hands.clock);
	const struct entry *entry = (struct entry *)task;

	expired++;
	early += now < entry->lives_ns;
	late += now > entry->lives_ns + entry->lives_ns / 10;
}

/* From 10 to 70 seconds. */
static uint64_t life_of(unsigned entry)
{
	return 10 * PAWL_SECOND + entry * UINT64_C(7919) % 1000 * 60 * PAWL_SECOND / 1000;
}

/* Returns how often the program woke up. */
static unsigned run(struct pawl_service *service)
{
	unsigned wake_ups = 0;
	uint64_t next;

	while ((next = pawl_service_next(service)) != PAWL_NEVER) {
		pawl_clock_manual_advance(&hands, next - pawl_service_now(service));
		wake_ups += pawl_service_poll(service, 0) > 0;
	}
	return wake_ups;
}

static void try_with(uint64_t tenths)
{
	struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                       .clock = &hands.clock};
	struct pawl_service *service;

	pawl_clock_manual_init(&hands);
	if (pawl_service_open(&service, &options) != 0)
		return;
	expired = early = late = 0;
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct entry *entry = &entries[i];
		uint64_t lives = entry->lives_ns = life_of(i);

		pawl_task_init(&entry->expiry, expire);
		pawl_service_arm_within(service, &entry->expiry, lives,
		                        lives + tenths * lives / 10);
	}
	printf("a window of %d %%: ", (int)(10 * tenths));
	printf("%u wake-ups", run(service));
	printf(", %u expired, %u early, %u late\n", expired, early, late);
	pawl_service_close(service, NULL);
}

int main(void)
{
	try_with(0);
	try_with(1);
	return 0;
}
