/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "wall.h"
#include "../../src/base/saturate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FAR INT64_C(9000000000) /* seconds since 1970: the year 2255 */

/* The wait must end when the clock is set, and not by its time. */
static void start_wait(int fd)
{
	struct itimerspec spec = {.it_value = {.tv_sec = FAR}};

	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, NULL);
}

int wall_open(void)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	start_wait(fd);
	return fd;
}

void wall_read(int fd)
{
	uint64_t count;

	/* ECANCELED: the clock was set. */
	if (read(fd, &count, sizeof(count)) >= 0 || errno == ECANCELED)
		start_wait(fd);
}

uint64_t wall_deadline(uint64_t time, uint64_t now, uint64_t wall)
{
	if (time <= wall)
		return now;
	return deadline_after(now, time - wall);
}

/* During pawl_wheel_each() only the present timer may be changed. So they are collected first. */
struct collection {
	struct pawl_wheel *wheel;
	struct entry **list; /* NULL: only count */
	size_t count;
};

static bool collect(struct pawl_timer *timer, void *arg)
{
	struct collection *collection = arg;
	struct entry *entry = (struct entry *)timer;

	if (!entry_waits_for_wall(entry))
		return true;
	if (collection->list) {
		pawl_wheel_cancel(collection->wheel, timer);
		collection->list[collection->count] = entry;
	}
	collection->count++;
	return true;
}

bool wall_rearm(struct pawl_wheel *wheel, uint64_t now, uint64_t wall)
{
	struct collection collection = {.wheel = wheel};

	pawl_wheel_each(wheel, collect, &collection);
	if (collection.count == 0)
		return true;
	collection.list = malloc(collection.count * sizeof(struct entry *));
	if (!collection.list)
		return false;
	collection.count = 0;
	pawl_wheel_each(wheel, collect, &collection);
	for (size_t i = 0; i < collection.count; i++)
		pawl_wheel_arm_at(wheel, &collection.list[i]->timer,
		                  wall_deadline(collection.list[i]->ns, now, wall));
	free(collection.list);
	return true;
}
