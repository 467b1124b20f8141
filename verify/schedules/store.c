/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the store. Each is a few calls on two to four threads, and what must hold whatever the schedule: a call
 * that returned 0 is on the disk, a task is in one pair of hands at a time, no take sleeps while a task is due.
 *
 * The disk is in memory, and knows what is synced. At its end a scenario opens a second store twice: on what a power
 * failure would leave, and on the files after a close.
 */
#define _GNU_SOURCE
#include "../../src/store/layout.h"
#include "scenario.h"

/* The disk. */

#define MAX_FILES 12
#define FILE_SIZE 4096u
#define PIECE     256u

struct file {
	unsigned char now[FILE_SIZE], synced[FILE_SIZE];
	size_t size, synced_size;
};

struct name {
	char text[FILE_NAME];
	int file;
};

struct memory_disk {
	struct disk disk; /* first */
	struct file files[MAX_FILES];
	int file_count;
	struct name names[MAX_FILES], synced_names[MAX_FILES]; /* text "": free */
};

/* The disk takes part in no race: a system's disk is behind system calls. So its own memory is accessed by functions
 * that the explorer does not see. It sees the caller's memory. */
#define UNSEEN __attribute__((no_sanitize_thread, noinline))

UNSEEN static void copy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

UNSEEN static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

UNSEEN static struct name *find_name(struct name *names, const char *text)
{
	for (int i = 0; i < MAX_FILES; i++)
		if (same(names[i].text, text))
			return &names[i];
	return NULL;
}

static struct memory_disk *of(struct disk *disk)
{
	return (struct memory_disk *)disk;
}

UNSEEN static int make_file(struct memory_disk *memory, struct name *name, const char *text)
{
	if (!name)
		name = find_name(memory->names, "");
	EXPLORE_EXPECT(name && memory->file_count < MAX_FILES);
	copy(name->text, text, FILE_NAME);
	name->file = memory->file_count;
	return memory->file_count++;
}

UNSEEN static int memory_open(struct disk *disk, const char *text, enum disk_mode mode)
{
	struct name *name = find_name(of(disk)->names, text);
	char padded[FILE_NAME] = {0};

	explore_point();
	for (size_t i = 0; text[i]; i++)
		padded[i] = text[i];
	if (mode == DISK_MAKE || (mode == DISK_WRITE && !name))
		return make_file(of(disk), name, padded);
	return name ? name->file : -ENOENT;
}

UNSEEN static size_t size_of(struct disk *disk, int file)
{
	return of(disk)->files[file].size;
}

static int64_t memory_read(struct disk *disk, int file, void *data, size_t size, uint64_t offset)
{
	unsigned char piece[PIECE];
	size_t have = size_of(disk, file), part;

	have = offset < have ? have - (size_t)offset : 0;
	size = size < have ? size : have;
	for (size_t done = 0; done < size; done += part) {
		part = size - done < PIECE ? size - done : PIECE;
		copy(piece, of(disk)->files[file].now + offset + done, part);
		memcpy((unsigned char *)data + done, piece, part);
	}
	return (int64_t)size;
}

UNSEEN static void grow(struct disk *disk, int file, size_t size)
{
	struct file *grown = &of(disk)->files[file];

	EXPLORE_EXPECT(size <= FILE_SIZE);
	grown->size = grown->size > size ? grown->size : size;
}

static int memory_write(struct disk *disk, int file, const void *data, size_t size, uint64_t offset)
{
	unsigned char piece[PIECE];
	size_t part;

	explore_point();
	grow(disk, file, (size_t)offset + size);
	for (size_t done = 0; done < size; done += part) {
		part = size - done < PIECE ? size - done : PIECE;
		memcpy(piece, (const unsigned char *)data + done, part);
		copy(of(disk)->files[file].now + offset + done, piece, part);
	}
	return 0;
}

/* To the store the end of a file is as good as zeroes. */
static int memory_allocate(struct disk *disk, int file, uint64_t size)
{
	(void)disk, (void)file, (void)size;
	return 0;
}

UNSEEN static int memory_sync(struct disk *disk, int file)
{
	struct file *synced = &of(disk)->files[file];

	explore_point();
	copy(synced->synced, synced->now, synced->size);
	synced->synced_size = synced->size;
	return 0;
}

static void memory_close(struct disk *disk, int file)
{
	(void)disk, (void)file;
}

UNSEEN static int memory_rename(struct disk *disk, const char *from, const char *to)
{
	struct name *old = find_name(of(disk)->names, to), *name = find_name(of(disk)->names, from);

	explore_point();
	if (old)
		old->text[0] = '\0';
	for (size_t i = 0; i == 0 || to[i - 1]; i++)
		name->text[i] = to[i];
	return 0;
}

UNSEEN static int memory_remove(struct disk *disk, const char *text)
{
	struct name *name = find_name(of(disk)->names, text);

	explore_point();
	if (name)
		name->text[0] = '\0';
	return name ? 0 : -ENOENT;
}

UNSEEN static int memory_sync_names(struct disk *disk)
{
	explore_point();
	copy(of(disk)->synced_names, of(disk)->names, sizeof(of(disk)->names));
	return 0;
}

static int memory_list(struct disk *disk, void (*each)(const char *name, void *arg), void *arg)
{
	char text[FILE_NAME];

	for (int i = 0; i < MAX_FILES; i++) {
		copy(text, of(disk)->names[i].text, sizeof(text));
		if (text[0])
			each(text, arg);
	}
	return 0;
}

static void memory_release(struct disk *disk)
{
	(void)disk;
}

static const struct disk calls = {
        .open = memory_open,
        .read = memory_read,
        .write = memory_write,
        .allocate = memory_allocate,
        .sync = memory_sync,
        .close = memory_close,
        .rename = memory_rename,
        .remove = memory_remove,
        .sync_names = memory_sync_names,
        .list = memory_list,
        .release = memory_release,
};

static struct memory_disk disk = {.disk = calls}, after_crash = {.disk = calls};

/* The power fails now: `after_crash` gets what is synced. */
UNSEEN static void crash(void)
{
	copy(after_crash.names, disk.synced_names, sizeof(disk.names));
	copy(after_crash.synced_names, disk.synced_names, sizeof(disk.names));
	after_crash.file_count = disk.file_count;
	for (int i = 0; i < disk.file_count; i++) {
		struct file *file = &after_crash.files[i], *from = &disk.files[i];

		copy(file->now, from->synced, from->synced_size);
		copy(file->synced, from->synced, from->synced_size);
		file->size = file->synced_size = from->synced_size;
	}
}

UNSEEN static bool contains(const struct file *file, const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	for (size_t i = 0; i + length <= file->synced_size; i++) {
		size_t j = 0;

		while (j < length && file->synced[i + j] == (unsigned char)text[j])
			j++;
		if (j == length)
			return true;
	}
	return false;
}

/* Whether a synced file with a synced name has this payload. */
UNSEEN static bool is_durable(const char *payload)
{
	for (int i = 0; i < MAX_FILES; i++)
		if (disk.synced_names[i].text[0] &&
		    contains(&disk.files[disk.synced_names[i].file], payload))
			return true;
	return false;
}

/* The store. */

#define QUEUE      "queue"
#define BY_POLL    true
#define BY_THREADS false

/* For scenarios without the store's threads: all executions with at most two preemptions. */
#define SMALL .depth_first = 2000, .priorities = 1500, .random = 500

static struct pawl_store *store;

static int open_on(struct pawl_store **to, struct memory_disk *on, struct pawl_clock_manual *clock,
                   bool manual)
{
	const struct pawl_store_options options = {.memory = 256u << 10,
	                                           .log_size = 256u << 10,
	                                           .clock = &clock->clock,
	                                           .manual = manual};

	return pawl__store_open_on(to, &on->disk, &options);
}

static void open_store(bool manual)
{
	pawl_clock_manual_init(&clock_by_hand);
	advance_clock(PAWL_HOUR);
	EXPLORE_EXPECT_EQ(open_on(&store, &disk, &clock_by_hand, manual), 0);
}

static uint64_t put(const char *payload, uint64_t delay)
{
	uint64_t id = 0;

	EXPLORE_EXPECT_EQ(pawl_store_put(store, QUEUE, delay, payload, strlen(payload), &id), 0);
	EXPLORE_EXPECT(is_durable(payload));
	return id;
}

static int take(struct pawl_store_task *task, uint64_t lease, uint64_t wait)
{
	int count = pawl_store_take(store, QUEUE, lease, wait, task, 1);

	EXPLORE_EXPECT(count == 0 || count == 1 || count == -ECANCELED);
	return count;
}

/* A store on these files has so many tasks, and gives out each. */
static void expect_files(struct memory_disk *on, int least, int most)
{
	static struct pawl_store_task tasks[64];
	struct pawl_clock_manual clock;
	struct pawl_store *second;
	struct pawl_store_stats stats;
	int count;

	pawl_clock_manual_init(&clock);
	pawl_clock_manual_advance(&clock, 72 * PAWL_HOUR);
	EXPLORE_EXPECT_EQ(open_on(&second, on, &clock, BY_POLL), 0);
	pawl_store_get_stats(second, &stats, sizeof(stats));
	count = pawl_store_take(second, QUEUE, PAWL_HOUR, 0, tasks, 64);
	EXPLORE_EXPECT_EQ(stats.pending, count);
	EXPLORE_EXPECT(count >= least);
	EXPLORE_EXPECT(count <= most);
	for (int i = 0; i < count; i++)
		EXPLORE_EXPECT_EQ(pawl_store_release(second, &tasks[i]), 0);
	pawl_store_close(second);
}

/* The threads are joined. All calls have returned, so a power failure takes nothing away. */
static void end_with(int tasks)
{
	crash();
	pawl_store_close(store);
	expect_files(&after_crash, tasks, tasks);
	expect_files(&disk, tasks, tasks);
}

static int taken; /* by all threads */

THREAD(put_one, put("one", 0))
THREAD(put_two, put("two", 0))
THREAD(put_far, put("far", 24 * PAWL_HOUR))
THREAD(poll_store, pawl_store_poll(store))
THREAD(stop_store, pawl_store_stop(store))

static void take_and_ack(uint64_t wait)
{
	struct pawl_store_task task;

	if (take(&task, PAWL_HOUR, wait) != 1)
		return;
	add(&taken);
	EXPLORE_EXPECT_EQ(pawl_store_ack(store, &task), 0);
}

THREAD(take_one, take_and_ack(0))
THREAD(wait_and_take, take_and_ack(PAWL_NEVER))

/* Two puts are durable when they return, also if one thread syncs for both. */
SCENARIO(put_against_put, SMALL)
{
	open_store(BY_POLL);
	start(put_one, NULL);
	start(put_two, NULL);
	join_all();
	end_with(2);
}

SCENARIO(put_against_put_and_put, FEWER)
{
	open_store(BY_POLL);
	start(put_one, NULL);
	start(put_two, NULL);
	start(put_far, NULL);
	join_all();
	end_with(3);
}

/* A task goes to one of two takes. */
SCENARIO(take_against_take, SMALL)
{
	open_store(BY_POLL);
	put("one", 0);
	start(take_one, NULL);
	start(take_one, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(taken, 1);
	end_with(0);
}

/* A take that waits gets the task that is put. */
SCENARIO(put_against_waiting_take, FEWER)
{
	open_store(BY_THREADS);
	start(wait_and_take, NULL);
	put("one", 0);
	join_all();
	EXPLORE_EXPECT_EQ(taken, 1);
	end_with(0);
}

/* The clock thread tells the take that waits. */
SCENARIO(delayed_put_against_waiting_take, FEWER)
{
	open_store(BY_THREADS);
	start(wait_and_take, NULL);
	put("one", MS);
	advance_clock(MS);
	join_all();
	EXPLORE_EXPECT_EQ(taken, 1);
	end_with(0);
}

/* Each of two takes that wait gets one of two tasks. */
SCENARIO(two_puts_against_two_waiting_takes, FEWER)
{
	open_store(BY_THREADS);
	start(wait_and_take, NULL);
	start(wait_and_take, NULL);
	put("one", 0);
	put("two", 0);
	join_all();
	EXPLORE_EXPECT_EQ(taken, 2);
	end_with(0);
}

static struct pawl_store_task held;
static int result;

THREAD(ack_held, result = pawl_store_ack(store, &held))

static void open_with_lease(void)
{
	open_store(BY_POLL);
	put("one", 0);
	EXPLORE_EXPECT_EQ(take(&held, MS, 0), 1);
}

static void lapse_and_take(void)
{
	advance_clock(MS);
	take_and_ack(0);
}

THREAD(take_after_lapse, lapse_and_take())

/* Either the ack is in time, or another take gets the task. */
SCENARIO(ack_against_lapse, SMALL)
{
	open_with_lease();
	start(ack_held, NULL);
	start(take_after_lapse, NULL);
	join_all();
	EXPLORE_EXPECT(result == (taken ? -ETIMEDOUT : 0));
	end_with(0);
}

/* The same, if the clock thread ends the lease. */
SCENARIO(ack_against_clock_thread, FEWER)
{
	struct pawl_store_task task;

	open_store(BY_THREADS);
	put("one", 0);
	EXPLORE_EXPECT_EQ(take(&held, MS, 0), 1);
	start(ack_held, NULL);
	advance_clock(MS);
	join_all();
	if (result == 0) {
		EXPLORE_EXPECT_EQ(take(&task, MS, 0), 0);
	} else {
		EXPLORE_EXPECT_EQ(result, -ETIMEDOUT);
		EXPLORE_EXPECT_EQ(take(&task, MS, 0), 1);
		EXPLORE_EXPECT_EQ(task.tries, 2);
		EXPLORE_EXPECT_EQ(pawl_store_release(store, &task), 0);
	}
	end_with(result ? 1 : 0);
}

static uint64_t id;

THREAD(cancel_it, result = pawl_store_cancel(store, id))

/* Either the cancel removes the task, or the take has it. */
SCENARIO(cancel_against_take, SMALL)
{
	open_store(BY_POLL);
	id = put("one", 0);
	start(cancel_it, NULL);
	start(take_one, NULL);
	join_all();
	EXPLORE_EXPECT(taken ? result == -EBUSY || result == -ENOENT : result == 0);
	end_with(0);
}

/* Of two cancels one removes the task. The refusal of the other is final, too. */
static int removed;

static void cancel(void)
{
	int error = pawl_store_cancel(store, id);

	if (error) {
		EXPLORE_EXPECT_EQ(error, -ENOENT);
		crash(); /* the first cancel is durable, although it may not have returned */
		result = error;
	} else {
		add(&removed);
	}
}

THREAD(cancel_once, cancel())

SCENARIO(cancel_against_cancel, SMALL)
{
	open_store(BY_POLL);
	id = put("one", 0);
	start(cancel_once, NULL);
	start(cancel_once, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(removed, 1);
	EXPLORE_EXPECT_EQ(result, -ENOENT);
	pawl_store_close(store);
	expect_files(&after_crash, 0, 0);
	expect_files(&disk, 0, 0);
}

static void wait_for_stop(void)
{
	struct pawl_store_task task;

	EXPLORE_EXPECT_EQ(take(&task, PAWL_HOUR, PAWL_NEVER), -ECANCELED);
}

THREAD(take_until_stop, wait_for_stop())

/* A stop ends a take that waits. */
SCENARIO(stop_against_waiting_take, FEWER)
{
	open_store(BY_THREADS);
	put("one", MS);
	start(take_until_stop, NULL);
	pawl_store_stop(store);
	join_all();
	end_with(1);
}

THREAD(try_put, result = pawl_store_put(store, QUEUE, 0, "one", 3, NULL))

/* A put either is refused, or is durable after the close. */
SCENARIO(stop_against_put, FEWER)
{
	open_store(BY_THREADS);
	start(try_put, NULL);
	start(stop_store, NULL);
	join_all();
	EXPLORE_EXPECT(result == 0 || result == -ECANCELED);
	end_with(result ? 0 : 1);
}

/* Checkpoints. */

static void want_checkpoint(void)
{
	mutex_lock(&store->mutex);
	store->want_checkpoint = true;
	pawl__store_want_files(store);
	mutex_unlock(&store->mutex);
}

static int returned, returned_before_crash;

static void put_and_count(void)
{
	put("one", 0);
	add(&returned);
	put("far", 24 * PAWL_HOUR);
	add(&returned);
}

static void crash_now(void)
{
	returned_before_crash = get(&returned);
	crash();
}

THREAD(put_twice, put_and_count())
THREAD(fail_power, crash_now())

/* Puts while the file thread makes a checkpoint. */
SCENARIO(put_against_file_thread, FEWER)
{
	open_store(BY_THREADS);
	put("old", 0);
	start(put_one, NULL);
	want_checkpoint();
	join_all();
	end_with(2);
}

/* The power fails at any step of a checkpoint. */
SCENARIO(put_and_checkpoint_against_crash, FEWER)
{
	open_store(BY_POLL);
	put("old", 0);
	want_checkpoint();
	start(put_twice, NULL);
	start(poll_store, NULL);
	start(fail_power, NULL);
	join_all();
	expect_files(&after_crash, 1 + returned_before_crash, 3);
	pawl_store_close(store);
	expect_files(&disk, 3, 3);
}

/* A checkpoint begins the next log while threads write to the last one. */
SCENARIO(two_puts_against_checkpoint, FEWER)
{
	open_store(BY_POLL);
	want_checkpoint();
	start(put_one, NULL);
	start(put_two, NULL);
	start(poll_store, NULL);
	join_all();
	end_with(2);
}

/* A task ends while a checkpoint writes it. */
SCENARIO(cancel_against_checkpoint, FEWER)
{
	open_store(BY_POLL);
	put("old", 0);
	id = put("one", 0);
	want_checkpoint();
	start(cancel_it, NULL);
	start(poll_store, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(result, 0);
	end_with(1);
}

/* Of two polls one makes the checkpoint. */
SCENARIO(poll_against_poll, FEWER)
{
	open_store(BY_POLL);
	put("old", 0);
	want_checkpoint();
	start(poll_store, NULL);
	start(poll_store, NULL);
	start(put_one, NULL);
	join_all();
	end_with(2);
}

/* Tasks until a put needs a checkpoint. Returns how many. The log is smaller than an option may say. */
static int fill_log(void)
{
	int count = 0;

	store->options.log_size = 3000;
	store->want_checkpoint = true; /* as it is half full, but nobody has come to it yet */
	while (store->log.offset < 2240) {
		EXPLORE_EXPECT_EQ(pawl_store_put(store, QUEUE, 0, "old", 3, NULL), 0);
		count++;
	}
	return count;
}

/* One of two puts makes the checkpoint that both need. */
SCENARIO(put_against_put_with_full_log, FEWER)
{
	int count;

	open_store(BY_POLL);
	count = fill_log();
	start(put_one, NULL);
	start(put_two, NULL);
	join_all();
	end_with(count + 2);
}

/* A put waits for the checkpoint of the file thread. */
SCENARIO(put_with_full_log_against_file_thread, FEWER)
{
	int count;

	open_store(BY_POLL);
	count = fill_log();
	store->options.manual = false;
	EXPLORE_EXPECT_EQ(pawl__threads_start(store), 0);
	put("one", 0);
	end_with(count + 1);
}

/* A slot opens while tasks are put into it and removed. */
static void open_slots(void)
{
	advance_clock(24 * PAWL_HOUR);
	pawl_store_poll(store);
}

THREAD(poll_later, open_slots())

SCENARIO(cancel_and_put_against_opening_slot, FEWER)
{
	open_store(BY_POLL);
	id = put("one", 24 * PAWL_HOUR);
	put("old", 24 * PAWL_HOUR);
	start(poll_later, NULL);
	start(cancel_it, NULL);
	start(put_far, NULL);
	join_all();
	EXPLORE_EXPECT_EQ(result, 0);
	end_with(2);
}

/* Of two polls one opens the slot. */
SCENARIO(poll_against_poll_that_opens_slot, FEWER)
{
	open_store(BY_POLL);
	put("one", 24 * PAWL_HOUR);
	start(poll_later, NULL);
	start(poll_store, NULL);
	join_all();
	pawl_store_poll(store);
	take_and_ack(0);
	take_and_ack(0);
	EXPLORE_EXPECT_EQ(taken, 1);
	end_with(0);
}

/* A close after a stop frees all, also without a call in between. */
SCENARIO(close_after_stop, FEWER)
{
	open_store(BY_THREADS);
	put("one", MS);
	want_checkpoint();
	pawl_store_stop(store);
	end_with(1);
}

int main(int argc, char **argv)
{
	return explore_main(argc, argv, scenarios, scenario_count);
}
