/* SPDX-License-Identifier: MIT */
/* Disks that fail, are full, or forget: at each call, and in each byte. */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "../support/test.h"
#include "sim_disk.h"

#define START UINT64_C(1700000000000000000)
#define TASKS 40

/* Which bytes are flipped: the sanitizer makes each open some twenty times slower. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 19u
#else
#define STRIDE 1u
#endif

static struct sim_disk disk;
static struct pawl_clock_manual manual;
static struct pawl_store *store;
static char problem[PAWL_STORE_PROBLEM];
static unsigned reports;
static char reported[64]; /* the file of the last report */

static void report(const char *file, uint64_t offset, const char *text, void *arg)
{
	(void)offset;
	(void)arg;
	EXPECT(*text != '\0');
	snprintf(reported, sizeof(reported), "%s", file);
	reports++;
}

static int open_store(bool salvage)
{
	const struct pawl_store_options options = {.clock = &manual.clock,
	                                           .manual = true,
	                                           .salvage = salvage,
	                                           .report = report,
	                                           .memory = 256 << 10,
	                                           .log_size = 256 << 10,
	                                           .problem = problem};

	problem[0] = reported[0] = '\0';
	reports = 0;
	return pawl__store_open_on(&store, &disk.disk, &options);
}

static void begin(void)
{
	pawl_clock_manual_init(&manual);
	pawl_clock_manual_set_wall(&manual, (struct timespec){.tv_sec = START / PAWL_SECOND});
	sim_init(&disk);
}

static void pass(uint64_t ns)
{
	pawl_clock_manual_advance(&manual, ns);
	pawl_store_poll(store);
}

/* What is known of each task: a put returned 0; an ack or a cancel returned 0; one returned an error. */
struct known {
	uint64_t id;
	bool put, gone, doubtful;
} known[TASKS];

static int put(size_t i, uint64_t delay)
{
	char text[8];
	int error;

	snprintf(text, sizeof(text), "%zu", i);
	error = pawl_store_put(store, "q", delay, text, strlen(text), &known[i].id);
	known[i].put = error == 0;
	known[i].doubtful = error != 0;
	return error;
}

/* Puts, takes, acks, cancels, retries, openings and checkpoints, until the disk has failed and a little longer. */
static void use_it(void)
{
	memset(known, 0, sizeof(known));
	for (size_t i = 0; i < TASKS; i++) {
		struct pawl_store_task task;

		put(i, i % 4 * 50 * PAWL_MINUTE);
		if (i % 5 == 4 && known[i - 2].put && !known[i - 2].gone) {
			int error = pawl_store_cancel(store, known[i - 2].id);

			known[i - 2].gone = error == 0;
			known[i - 2].doubtful |= error != 0 && error != -ENOENT && error != -EBUSY;
		}
		if (i % 3 == 2 && pawl_store_take(store, "q", PAWL_HOUR, 0, &task, 1) == 1) {
			size_t at = strtoul(task.payload, NULL, 10);
			bool retried = i % 2;
			int error = retried ? pawl_store_retry(store, &task, 3 * PAWL_HOUR)
			                    : pawl_store_ack(store, &task);

			EXPECT(!known[at].gone);
			known[at].gone |= error == 0 && !retried;
			known[at].doubtful |= error != 0;
		}
		if (i % 10 == 9) {
			store->want_checkpoint = true;
			pass(30 * PAWL_MINUTE);
		}
	}
}

/* Whatever a call has returned 0 for is so. */
static void check_it(bool damaged)
{
	struct pawl_store_task tasks[TASKS + 2];
	unsigned seen[TASKS + 2] = {0};
	int got = pawl_store_list(store, PAWL_STORE_PENDING, NULL, 0, 0, tasks, TASKS + 2);

	EXPECT(got >= 0);
	for (int i = 0; i < got; i++) {
		seen[strtoul(tasks[i].payload, NULL, 10)]++;
		pawl_store_release(store, &tasks[i]);
	}
	for (size_t i = 0; i < TASKS; i++) {
		EXPECT(seen[i] <= 1);
		if (known[i].doubtful)
			continue;
		if (!damaged)
			EXPECT_EQ(seen[i], known[i].put && !known[i].gone);
		else if (known[i].gone || !known[i].put)
			EXPECT_EQ(seen[i], 0);
	}
}

/* Each call in turn fails, once or from then on; then the machine gets a new disk cable. */
static void fail_at_each_call(int error, bool on)
{
	size_t failed = 0;

	for (size_t call = 0;; call++) {
		begin();
		EXPECT_EQ(open_store(false), 0);
		disk.calls = 0;
		disk.fail_at = call;
		disk.fail_with = error;
		disk.fail_on = on;
		use_it();
		failed = disk.calls;
		if (store->failed)
			EXPECT_EQ(pawl_store_put(store, "q", 0, "x", 1, NULL), store->failed);
		pawl_store_close(store);
		disk.fail_at = SIZE_MAX;
		disk.fail_on = false;
		EXPECT_EQ(open_store(false), 0);
		check_it(false);
		pawl_store_close(store);
		sim_free(&disk);
		if (test_failures) {
			printf("  call %zu\n", call);
			return;
		}
		if (call >= failed)
			break;
	}
	printf("  %zu calls\n", failed);
}

static void a_call_of_the_disk_that_fails_once_loses_nothing(void)
{
	fail_at_each_call(-EIO, false);
}

static void a_disk_that_fails_from_some_call_on_loses_nothing(void)
{
	fail_at_each_call(-EIO, true);
}

static void a_call_that_finds_no_space_once_loses_nothing(void)
{
	fail_at_each_call(-ENOSPC, false);
}

static struct pawl_store_stats stats(void)
{
	struct pawl_store_stats stats;

	pawl_store_get_stats(store, &stats, sizeof(stats));
	return stats;
}

static int no_descriptor(struct disk *of, const char *name, enum disk_mode mode)
{
	(void)of;
	(void)name;
	(void)mode;
	return -EMFILE;
}

static void without_descriptors_a_store_waits_for_some(void)
{
	int (*open)(struct disk * of, const char *name, enum disk_mode mode);
	unsigned refused = 0;

	begin();
	EXPECT_EQ(open_store(false), 0);
	memset(known, 0, sizeof(known));
	open = disk.disk.open;
	disk.disk.open = no_descriptor;
	for (size_t i = 0; i < TASKS; i++) {
		static char text[8000] = "some text";

		refused +=
		        pawl_store_put(store, "far", PAWL_HOUR * 24, text, sizeof(text), NULL) != 0;
	}
	EXPECT(refused > 0 && refused < TASKS);
	store->want_checkpoint = true;
	pass(0);
	EXPECT_EQ(stats().checkpoints, 1);
	disk.disk.open = open;
	EXPECT_EQ(put(0, 0), 0);
	pass(PAWL_SECOND);
	EXPECT_EQ(stats().checkpoints, 2);
	EXPECT_EQ(stats().pending, TASKS - refused + 1);
	pawl_store_close(store);
	EXPECT_EQ(open_store(false), 0);
	EXPECT_EQ(stats().pending, TASKS - refused + 1);
	pawl_store_close(store);
	sim_free(&disk);
}

static void an_open_that_fails_at_any_call_leaves_the_store_as_it_was(void)
{
	size_t calls = SIZE_MAX;

	for (size_t call = SIZE_MAX; (call == SIZE_MAX || call < calls) && !test_failures; call++) {
		begin();
		EXPECT_EQ(open_store(false), 0);
		use_it();
		pawl_store_close(store);
		disk.reads = true;
		disk.calls = 0;
		disk.fail_at = call;
		disk.fail_with = -EIO;
		if (open_store(false) == 0)
			pawl_store_close(store);
		calls = call == SIZE_MAX ? disk.calls : calls;
		disk.fail_at = SIZE_MAX;
		EXPECT_EQ(open_store(false), 0);
		check_it(false);
		pawl_store_close(store);
		sim_free(&disk);
	}
	printf("  %zu calls\n", calls);
}

static void a_sync_that_failed_is_final(void)
{
	struct pawl_store_task task;

	begin();
	EXPECT_EQ(open_store(false), 0);
	EXPECT_EQ(put(0, 0), 0);
	disk.calls = 0;
	disk.fail_at = 1; /* after the write */
	disk.fail_with = -EIO;
	EXPECT_EQ(put(1, 0), -EIO);
	EXPECT_EQ(disk.steps[disk.step_count - 1].kind, SIM_WRITE);
	disk.fail_at = SIZE_MAX;
	EXPECT_EQ(put(2, 0), -EIO);
	EXPECT_EQ(pawl_store_cancel(store, known[0].id), -EIO);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), -EIO);
	EXPECT_EQ(disk.steps[disk.step_count - 1].kind, SIM_WRITE); /* and nothing since */
	pawl_store_close(store);
	EXPECT_EQ(open_store(false), 0);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	pawl_store_close(store);
	sim_free(&disk);
}

/* The refused put made a slot that no record has. The checkpoint that fails must not count as its record. */
static void a_put_after_a_refused_one_and_a_failed_checkpoint_survives(void)
{
	struct pawl_store_change changes[2] = {
	        {.verb = PAWL_STORE_PUT, .queue = "q", .at_ns = START + 50 * PAWL_HOUR},
	        {.verb = PAWL_STORE_CANCEL, .id = UINT64_C(1) << 62},
	};
	struct pawl_store_task task;
	int error;

	begin();
	EXPECT_EQ(open_store(false), 0);
	EXPECT_EQ(pawl_store_commit(store, changes, 2), -ENOENT);
	disk.space = (256 << 10) + 10; /* for a log, and not for a checkpoint */
	store->want_checkpoint = true;
	pass(0);
	EXPECT(store->want_checkpoint);
	disk.space = UINT64_MAX;
	EXPECT_EQ(put(0, 50 * PAWL_HOUR), 0);
	pawl_store_close(store);
	error = open_store(false);
	EXPECT_EQ(error, 0);
	EXPECT_STR(problem, "");
	if (error)
		return;
	pass(50 * PAWL_HOUR);
	EXPECT_EQ(pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1), 1);
	EXPECT_EQ(pawl_store_ack(store, &task), 0);
	pawl_store_close(store);
	sim_free(&disk);
}

/* Puts stop at -ENOSPC and change nothing; takes, acks and cancels go on; with space, puts do, too. */
static void a_full_disk_refuses_puts_and_takes_acks(void)
{
	static char payload[4000];
	struct pawl_store_task task;
	struct pawl_store_stats before, after;
	unsigned acked = 0;
	uint64_t far = 0;
	int error = 0;

	begin();
	EXPECT_EQ(open_store(false), 0);
	disk.space = 300 << 10;
	for (unsigned i = 0; !error && i < 1000; i++)
		error = pawl_store_put(store, "q", i % 2 ? 0 : 100 * PAWL_HOUR, payload,
		                       sizeof(payload), i % 2 ? NULL : &far);
	EXPECT_EQ(error, -ENOSPC);
	disk.space = 0;
	pawl_store_get_stats(store, &before, sizeof(before));
	for (unsigned i = 0; i < 20; i++)
		EXPECT_EQ(pawl_store_put(store, "q", i * PAWL_HOUR, payload, sizeof(payload), NULL),
		          -ENOSPC);
	pawl_store_get_stats(store, &after, sizeof(after));
	EXPECT_EQ(after.pending, before.pending);
	EXPECT_EQ(after.put, before.put);
	EXPECT_EQ(pawl_store_cancel(store, far), 0);
	while (pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1) == 1) {
		EXPECT_EQ(pawl_store_ack(store, &task), 0);
		acked++;
	}
	EXPECT(acked > 10);
	disk.space = UINT64_MAX;
	pass(PAWL_SECOND);
	EXPECT_EQ(pawl_store_put(store, "q", 0, payload, sizeof(payload), NULL), 0);
	pawl_store_close(store);
	EXPECT_EQ(open_store(false), 0);
	pawl_store_get_stats(store, &after, sizeof(after));
	EXPECT_EQ(after.acked, acked);
	EXPECT_EQ(after.pending, before.pending - acked - 1 + 1);
	pawl_store_close(store);
	sim_free(&disk);
}

/* A refused commit makes a slot, a checkpoint without space has it, and a put goes there. */
static void a_slot_of_a_refused_commit_is_recorded_by_its_first_put(void)
{
	struct pawl_store_change changes[2] = {
	        {.verb = PAWL_STORE_PUT, .queue = "q", .at_ns = START + 100 * PAWL_HOUR},
	        {.verb = PAWL_STORE_CANCEL, .id = UINT64_C(1) << 62},
	};
	struct pawl_store_stats stats;
	int error;

	begin();
	EXPECT_EQ(open_store(false), 0);
	EXPECT_EQ(pawl_store_commit(store, changes, 2), -ENOENT);
	disk.space = (256 << 10) + 64; /* the next log, and the header of checkpoint.new */
	store->want_checkpoint = true;
	pass(0);
	EXPECT(store->no_room);
	EXPECT_EQ(put(0, 100 * PAWL_HOUR), 0);
	pawl_store_close(store);
	disk.space = UINT64_MAX;
	error = open_store(false);
	EXPECT_EQ(error, 0);
	EXPECT_STR(problem, "");
	if (!error) {
		pawl_store_get_stats(store, &stats, sizeof(stats));
		EXPECT_EQ(stats.pending, 1);
		pawl_store_close(store);
	}
	sim_free(&disk);
}

static bool everything(size_t doubt, void *arg)
{
	(void)doubt;
	(void)arg;
	return true;
}

/* Open a damaged copy of the disk. Either open names the damage, or a slot does when it opens, or nothing is wrong. */
static void try_damaged(const struct sim_disk *whole, const char *name, size_t offset, int flip)
{
	struct sim_file *file;
	struct pawl_store_task task;
	struct pawl_store_stats stats;
	unsigned reports_of_check;
	int error;

	for (int salvage = 0; salvage < 2; salvage++) {
		sim_crash(whole, whole->step_count, everything, NULL, &disk);
		file = sim_find(&disk, name);
		if (flip)
			file->data[offset] ^= (unsigned char)flip;
		else
			disk.disk.remove(&disk.disk, name);
		error = open_store(salvage);
		if (!salvage && error)
			EXPECT(error == -EBADMSG || error == -ENOTSUP);
		if (error) {
			EXPECT(problem[0] != '\0');
			EXPECT(strstr(problem, name) != NULL || !flip);
			EXPECT(!salvage || error == -ENOTSUP || !flip);
			sim_free(&disk);
			continue;
		}
		reports_of_check = reports;
		if (salvage == 0 && reports == 0) {
			/* The far tasks, too, must be right, or reported. */
			pass(400 * PAWL_HOUR);
			pawl_store_get_stats(store, &stats, sizeof(stats));
			check_it(stats.damaged > 0);
			EXPECT_EQ(stats.damaged, reports);
			if (reports > reports_of_check)
				EXPECT_STR(reported, name);
		} else {
			check_it(true);
		}
		while (pawl_store_take(store, "q", PAWL_MINUTE, 0, &task, 1) == 1)
			EXPECT_EQ(pawl_store_ack(store, &task), 0);
		pawl_store_close(store);
		sim_free(&disk);
		if (test_failures) {
			printf("  %s, offset %zu, flip %x\n", name, offset, flip);
			return;
		}
	}
}

/* A store with all kinds of records, its last log in use. */
static void make_whole(struct sim_disk *whole)
{
	begin();
	EXPECT_EQ(open_store(false), 0);
	use_it();
	store->want_checkpoint = true;
	pass(0);
	EXPECT_EQ(pawl_store_put(store, "q", 200 * PAWL_HOUR, "40", 2, NULL), 0);
	EXPECT_EQ(pawl_store_put(store, "q", 20 * PAWL_HOUR, "41", 2, NULL), 0);
	pawl_store_close(store);
	*whole = disk;
}

static void a_flipped_bit_is_found_wherever_it_is(void)
{
	struct sim_disk whole;
	size_t bytes = 0;

	make_whole(&whole);
	for (int i = 0; i < whole.name_count; i++) {
		const struct sim_file *file = sim_find(&whole, whole.names[i].name);

		for (size_t at = 0; at < file->have && !test_failures; at += STRIDE, bytes++)
			try_damaged(&whole, whole.names[i].name, at, 1 << at % 8);
	}
	printf("  %zu bytes of %d files\n", bytes, whole.name_count);
	sim_free(&whole);
}

/* A commit that a later one knows as synced was whole once: it is not the end of the log. */
static void a_damaged_commit_before_a_later_one_is_named(void)
{
	struct sim_file *log;

	begin();
	EXPECT_EQ(open_store(false), 0);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ(put(i, 0), 0);
	log = sim_find(&disk, "log.1");
	pawl_store_close(store);
	log->data[FILE_HEADER + FRAME_HEADER + 12] ^= 1;
	EXPECT_EQ(open_store(false), -EBADMSG);
	EXPECT_STR(problem, "log.1, offset 32: a damaged commit");
	sim_free(&disk);
}

static void a_file_that_vanished_is_named(void)
{
	struct sim_disk whole;

	make_whole(&whole);
	for (int i = 0; i < whole.name_count; i++) {
		try_damaged(&whole, whole.names[i].name, 0, 0);
		sim_crash(&whole, whole.step_count, everything, NULL, &disk);
		disk.disk.remove(&disk.disk, whole.names[i].name);
		EXPECT_EQ(open_store(false), -EBADMSG);
		EXPECT(strstr(problem, whole.names[i].name) == problem);
		sim_free(&disk);
	}
	sim_free(&whole);
}

static void a_later_format_is_refused(void)
{
	struct sim_disk whole;

	make_whole(&whole);
	sim_crash(&whole, whole.step_count, everything, NULL, &disk);
	sim_find(&disk, "checkpoint")->data[8]++;
	EXPECT_EQ(open_store(false), -ENOTSUP);
	EXPECT_STR(problem,
	           "checkpoint has format 2, which a later version of pawl made; this one has 1");
	EXPECT_EQ(disk.step_count, 0);
	sim_free(&disk);
	sim_free(&whole);
}

static void a_file_of_another_store_is_damage(void)
{
	struct sim_disk first, second;
	struct sim_file *to, *from;

	make_whole(&first);
	make_whole(&second);
	for (int i = 0; i < first.name_count; i++) {
		if (strncmp(first.names[i].name, "slot", 4) != 0)
			continue;
		sim_crash(&first, first.step_count, everything, NULL, &disk);
		to = sim_find(&disk, first.names[i].name);
		from = sim_find(&second, first.names[i].name);
		if (!from || from->have != to->have)
			continue;
		memcpy(to->data, from->data, to->have);
		EXPECT_EQ(open_store(false), -EBADMSG);
		sim_free(&disk);
	}
	sim_free(&first);
	sim_free(&second);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_call_of_the_disk_that_fails_once_loses_nothing),
	        TEST(a_disk_that_fails_from_some_call_on_loses_nothing),
	        TEST(a_call_that_finds_no_space_once_loses_nothing),
	        TEST(without_descriptors_a_store_waits_for_some),
	        TEST(an_open_that_fails_at_any_call_leaves_the_store_as_it_was),
	        TEST(a_sync_that_failed_is_final),
	        TEST(a_put_after_a_refused_one_and_a_failed_checkpoint_survives),
	        TEST(a_full_disk_refuses_puts_and_takes_acks),
	        TEST(a_slot_of_a_refused_commit_is_recorded_by_its_first_put),
	        TEST(a_flipped_bit_is_found_wherever_it_is),
	        TEST(a_damaged_commit_before_a_later_one_is_named),
	        TEST(a_file_that_vanished_is_named),
	        TEST(a_later_format_is_refused),
	        TEST(a_file_of_another_store_is_damage),
	};

	return RUN_TESTS(tests);
}
