/* SPDX-License-Identifier: MIT */
/*
 * A store in a loop of one's own, by its descriptor: here with poll(2); epoll, libuv and libevent watch it in the same
 * way. Three tasks are put; the second one fails at first.
 */
#include <pawl/store.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static unsigned done;

static void put(struct pawl_store *store, uint64_t ms, const char *text)
{
	if (pawl_store_put(store, "jobs", ms * PAWL_MS, text, strlen(text), NULL) != 0)
		printf("%s was not kept\n", text);
}

static void work(struct pawl_store *store, struct pawl_store_task *task)
{
	printf("%s, try %u\n", (const char *)task->payload, task->tries);
	if (task->tries == 1 && task->size == 6) {
		pawl_store_retry(store, task, 100 * PAWL_MS);
		return;
	}
	pawl_store_ack(store, task);
	done++;
}

int main(void)
{
	struct pawl_store *store;
	struct pawl_store_task tasks[16];
	struct pollfd watched = {.events = POLLIN};

	if (pawl_store_open(&store, "jobs", NULL) != 0)
		return 1;
	put(store, 0, "first");
	put(store, 50, "second");
	put(store, 500, "third");
	watched.fd = pawl_store_fd(store);
	while (watched.fd >= 0 && done < 3 && poll(&watched, 1, -1) == 1) {
		int count = pawl_store_take(store, "jobs", PAWL_MINUTE, 0, tasks, 16);

		if (count < 0)
			break;
		for (int i = 0; i < count; i++)
			work(store, &tasks[i]);
	}
	pawl_store_close(store);
	return done == 3 ? 0 : 1;
}
