/* SPDX-License-Identifier: MIT */
/*
 * A store that the first version of the format made: format-1.txt has its files in hexadecimal. It must be readable for
 * ever. `test_store_format --write` prints such a file; format-1.txt itself stays as it is.
 */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

#define START      UINT64_C(1700000000000000000)
#define LINE_BYTES 48u

static const char *path;
static struct sim_disk disk;
static struct pawl_clock_manual manual;
static struct pawl_store *store;

static void set_clock(uint64_t now)
{
	pawl_clock_manual_init(&manual);
	pawl_clock_manual_set_wall(&manual,
	                           (struct timespec){.tv_sec = (time_t)(now / PAWL_SECOND)});
}

static void open_store(void)
{
	char problem[PAWL_STORE_PROBLEM] = "";
	const struct pawl_store_options options = {.clock = &manual.clock,
	                                           .manual = true,
	                                           .memory = 256 << 10,
	                                           .log_size = 256 << 10,
	                                           .problem = problem};

	EXPECT_EQ(pawl__store_open_on(&store, &disk.disk, &options), 0);
	EXPECT_STR(problem, "");
}

static void take(struct pawl_store_task *task)
{
	EXPECT_EQ(pawl_store_take(store, "mail", PAWL_MINUTE, 0, task, 1), 1);
}

/* Every kind of record: in the checkpoint, in slots, and in the log after it. */
static void make(void)
{
	struct pawl_store_task task;
	uint64_t far, near;

	set_clock(START);
	sim_init(&disk);
	open_store();
	pawl_store_put(store, "mail", 0, "dead", 4, NULL);
	take(&task);
	pawl_store_bury(store, &task, "no such address");
	pawl_store_put(store, "mail", 3 * PAWL_HOUR, "moved down", 10, NULL);
	pawl_store_put(store, "mail", 3 * PAWL_HOUR, "cancelled", 9, &far);
	pawl_store_put(store, "mail", 1000 * PAWL_HOUR, "far", 3, NULL);
	pawl_store_put(store, "other", PAWL_MINUTE, "near", 4, NULL);
	store->want_checkpoint = true;
	pawl_store_poll(store);
	pawl_store_cancel(store, far);
	pawl_clock_manual_advance(&manual, 3 * PAWL_HOUR - PAWL_MINUTE);
	pawl_store_poll(store);
	pawl_store_put(store, "mail", 0, "retried", 7, NULL);
	take(&task);
	pawl_store_retry(store, &task, 50 * PAWL_HOUR);
	pawl_store_put(store, "third", 0, "", 0, &near);
	pawl_store_close(store);
}

static void write_files(void)
{
	printf("# SPDX-License-Identifier: MIT\n# A store of format 1: see test_format.c.\n");
	for (int i = 0; i < disk.name_count; i++) {
		const struct sim_file *file = &disk.files[disk.names[i].file];

		printf("file %s\n", disk.names[i].name);
		for (size_t at = 0; at < file->have; at++)
			printf("%02x%s", file->data[at],
			       at % LINE_BYTES == LINE_BYTES - 1 || at + 1 == file->have ? "\n"
			                                                                 : "");
	}
}

static void read_files(void)
{
	FILE *text = fopen(path, "r");
	char line[200], name[32];
	int file = -1;
	size_t size = 0;

	sim_init(&disk);
	while (text && fgets(line, sizeof(line), text)) {
		unsigned char bytes[LINE_BYTES];
		size_t count = 0;

		if (sscanf(line, "file %31s", name) == 1) {
			file = disk.disk.open(&disk.disk, name, DISK_MAKE);
			size = 0;
			continue;
		}
		for (; *line != '#' && sscanf(line + 2 * count, "%2hhx", &bytes[count]) == 1;
		     count++)
			;
		if (count)
			EXPECT_EQ(disk.disk.write(&disk.disk, file, bytes, count, size), 0);
		size += count;
	}
	EXPECT(text != NULL && size > 0);
	fclose(text);
}

static void a_store_of_the_first_format_has_its_tasks(void)
{
	static const struct {
		const char *queue, *payload, *reason;
		uint64_t due;
		unsigned tries;
	} expected[] = {
	        {"other", "near", NULL, START + PAWL_MINUTE, 0},
	        {"third", "", NULL, START + 3 * PAWL_HOUR - PAWL_MINUTE, 0},
	        {"mail", "moved down", NULL, START + 3 * PAWL_HOUR, 0},
	        {"mail", "retried", NULL, START + 53 * PAWL_HOUR - PAWL_MINUTE, 1},
	        {"mail", "far", NULL, START + 1000 * PAWL_HOUR, 0},
	};
	struct pawl_store_task tasks[8];

	read_files();
	set_clock(START + 3 * PAWL_HOUR);
	open_store();
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_PENDING, NULL, 0, 0, tasks, 8), 5);
	for (size_t i = 0; i < 5; i++) {
		EXPECT_STR(tasks[i].queue, expected[i].queue);
		EXPECT_STR(tasks[i].payload, expected[i].payload);
		EXPECT_EQ(tasks[i].due_ns, expected[i].due);
		EXPECT_EQ(tasks[i].tries, expected[i].tries);
		pawl_store_release(store, &tasks[i]);
	}
	EXPECT_EQ(pawl_store_list(store, PAWL_STORE_DEAD, NULL, 0, 0, tasks, 8), 1);
	EXPECT_STR(tasks[0].payload, "dead");
	EXPECT_STR(tasks[0].reason, "no such address");
	pawl_store_release(store, &tasks[0]);
	take(&tasks[0]);
	EXPECT_STR(tasks[0].payload, "moved down");
	EXPECT_EQ(pawl_store_ack(store, &tasks[0]), 0);
	pawl_store_close(store);
	sim_free(&disk);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {TEST(a_store_of_the_first_format_has_its_tasks)};

	if (argc == 2 && strcmp(argv[1], "--write") == 0) {
		make();
		write_files();
		sim_free(&disk);
		return 0;
	}
	path = argc == 2 ? argv[1] : "format-1.txt";
	return RUN_TESTS(tests);
}
