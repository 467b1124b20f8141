/* SPDX-License-Identifier: MIT */
/* make_store DIR: makes a store for test_store.py: four tasks in two queues, due in 2030, and a dead one. */
#include <pawl/store.h>
#include <stdio.h>
#include <string.h>

#define YEAR_2030 (UINT64_C(1893456000) * PAWL_SECOND)

static struct pawl_store *store;

static uint64_t put(const char *queue, uint64_t at_ms, const char *payload)
{
	uint64_t id = 0;
	int error = pawl_store_put_at(store, queue, YEAR_2030 + at_ms * PAWL_MS, payload,
	                              strlen(payload), &id);

	if (error)
		fprintf(stderr, "make_store: put: %s\n", strerror(-error));
	return id;
}

static int bury_one(void)
{
	struct pawl_store_task task;

	if (pawl_store_put_at(store, "mail", PAWL_SECOND, "spam", 4, NULL) != 0 ||
	    pawl_store_take(store, "mail", PAWL_MINUTE, 0, &task, 1) != 1)
		return 1;
	return pawl_store_bury(store, &task, "no\taddress");
}

int main(int argc, char **argv)
{
	const struct pawl_store_options options = {.manual = true, .log_size = 256 * 1024};
	char long_payload[301];

	memset(long_payload, 'x', 300);
	long_payload[300] = '\0';
	if (argc != 2 || pawl_store_open(&store, argv[1], &options) != 0)
		return 2;
	put("mail", 0, "tea");
	put("mail", 1, "bread\n\x1b[31m\xff\xc2\x9b\xc3\xa4");
	put("jobs", 2, "");
	put("jobs", 3, long_payload);
	pawl_store_cancel(store, put("jobs", 4, "cancelled"));
	if (bury_one() != 0)
		return 1;
	pawl_store_close(store);
	return 0;
}
