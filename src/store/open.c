/* SPDX-License-Identifier: MIT */
/*
 * Opening a store: the options, and the recovery. Checking one that is not open reads it in the same way.
 *
 *	1  the records of the checkpoint are made, then those of the logs from the one on that it names
 *	2  a new checkpoint is made, which begins a new log
 *	3  files that it does not know are removed
 *
 * The last log ends at its first frame that is not whole: a commit that was not synced may be torn, or missing though
 * a later one is there. But a frame that a later frame knows as synced was whole once: then the file is damaged. The same is true
 * of all logs but the last, which were synced to their end.
 *
 * A crash in a recovery loses nothing: it changes only the ends of slots, beyond what the old checkpoint knows.
 */
#define _GNU_SOURCE
#include "layout.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

/* For the user: what is wrong. */
static void say(const struct pawl_store *store, const char *format, ...)
{
	va_list arguments;

	if (!store->options.problem)
		return;
	va_start(arguments, format);
	vsnprintf(store->options.problem, PAWL_STORE_PROBLEM, format, arguments);
	va_end(arguments);
}

void pawl__damage(struct pawl_store *store, const char *file, uint64_t offset, const char *problem)
{
	store->stats.damaged++;
	say(store, "%s, offset %llu: %s", file, (unsigned long long)offset, problem);
	if (store->options.report)
		store->options.report(file, offset, problem, store->options.report_arg);
}

/* Damage in a recovery: it fails, unless it is to save what is whole. */
static int damaged(struct pawl_store *store, const char *file, uint64_t offset, const char *problem)
{
	pawl__damage(store, file, offset, problem);
	return store->options.salvage ? 0 : -EBADMSG;
}

static int apply_queue(struct pawl_store *store, struct reader *record)
{
	uint32_t number = (uint32_t)read_le(record, 4);
	size_t size = (size_t)read_le(record, 1);
	const char *name = (const char *)read_data(record, size);
	struct queue *queue;
	int error = record->bad ? -EBADMSG : pawl__queue_get(store, name, size, &queue);

	if (error || queue->number != NO_NUMBER)
		return error ? error : -EBADMSG;
	pawl__queue_number(store, queue);
	return queue->number == number ? 0 : -EBADMSG;
}

static int apply_slot(struct pawl_store *store, struct reader *record)
{
	uint32_t serial = (uint32_t)read_le(record, 4);
	unsigned level = (unsigned)read_le(record, 1);
	uint64_t begin = read_le(record, 8), end = read_le(record, 8);
	struct slot *slot;

	if (record->bad || pawl__slot_find(store, serial) ||
	    (level > MAX_LEVEL && level != NEAR && level != BACKLOG) ||
	    (level == BACKLOG && begin >= store->queue_count))
		return -EBADMSG;
	slot = pawl__slot_add(store, serial, level, begin, end);
	if (!slot)
		return -ENOMEM;
	slot->logged = true;
	return 0;
}

static int apply_put(struct pawl_store *store, struct reader *record)
{
	struct stored stored = {.id = read_le(record, 8), .due = read_le(record, 8)};
	const struct slot *slot = pawl__slot_find(store, (uint32_t)(stored.id >> 32));
	struct task *task = NULL;

	stored.queue = (uint32_t)read_le(record, 4);
	stored.size = (uint32_t)read_le(record, 4);
	stored.payload = read_data(record, stored.size);
	if (record->bad || !slot || stored.queue >= store->queue_count ||
	    pawl__lives(store, stored.id))
		return -EBADMSG;
	if (slot->level == NEAR) {
		task = pawl__task_new(&stored, store->queues[stored.queue]);
		if (!task)
			return -ENOMEM;
	}
	return pawl__put(store, &stored, task);
}

static int apply_move(struct pawl_store *store, struct reader *record)
{
	struct task *task = pawl__task_find(store, read_le(record, 8));
	uint64_t due = read_le(record, 8);
	uint32_t serial = (uint32_t)read_le(record, 4);
	enum why why = (enum why)read_le(record, 1);
	struct slot *slot = serial == NO_SLOT ? NULL : pawl__slot_find(store, serial);
	int error;

	if (record->bad || !task || (serial != NO_SLOT && !slot))
		return -EBADMSG;
	error = slot ? pawl__slot_promise(store, slot, task->size) : 0;
	if (!error)
		pawl__task_move(store, task, due, slot, why);
	return error;
}

static int apply_bury(struct pawl_store *store, struct reader *record)
{
	struct task *task = pawl__task_find(store, read_le(record, 8));
	size_t size = (size_t)read_le(record, 1);
	const char *text = (const char *)read_data(record, size);
	char *reason;

	if (record->bad || !task)
		return -EBADMSG;
	reason = copy_text(text, size);
	if (!reason)
		return -ENOMEM;
	pawl__task_bury(store, task, reason);
	return 0;
}

static int apply_open(struct pawl_store *store, struct reader *record)
{
	struct slot *slot = pawl__slot_find(store, (uint32_t)read_le(record, 4));
	struct opening opening = {read_le(record, 8), read_le(record, 8), 0};

	opening.level = (unsigned)read_le(record, 1);
	if (record->bad || !slot || slot->level == NEAR || opening.to > slot->size ||
	    (opening.level > MAX_LEVEL && opening.level != NEAR))
		return -EBADMSG;
	return pawl__slot_reopen(store, slot, opening);
}

static int apply_task(struct pawl_store *store, struct reader *record, bool dead)
{
	const struct stored stored = read_task(record, dead);
	struct task *task;

	if (record->bad || stored.queue >= store->queue_count || !pawl__lives(store, stored.id) ||
	    pawl__task_find(store, stored.id))
		return -EBADMSG;
	task = pawl__task_new(&stored, store->queues[stored.queue]);
	if (task && dead)
		task->reason = copy_text(stored.reason, stored.reason_size);
	if (!task || (dead && !task->reason)) {
		free(task);
		return -ENOMEM;
	}
	pawl__task_insert(store, task);
	return 0;
}

static int apply_head(struct pawl_store *store, struct reader *record)
{
	struct pawl_store_stats *stats = &store->stats;
	uint64_t *const numbers[] = {&store->log_from, &store->log.sequence, &store->unit,
	                             &stats->put,      &stats->acked,        &stats->cancelled,
	                             &stats->buried,   &stats->requeued};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = read_le(record, 8);
	store->serial_from = (uint32_t)read_le(record, 4);
	return record->bad || store->unit == 0 ? -EBADMSG : 0;
}

static int apply_file(struct pawl_store *store, struct reader *record)
{
	struct slot *slot = pawl__slot_find(store, (uint32_t)read_le(record, 4)), unknown;

	slot = slot ? slot : &unknown;
	slot->births = (uint32_t)read_le(record, 4);
	slot->size = read_le(record, 8);
	slot->opened = read_le(record, 8);
	slot->records = read_le(record, 8);
	slot->first_due = read_le(record, 8);
	slot->made = slot->size > slot->opened;
	return record->bad || slot == &unknown || slot->opened < FILE_HEADER ||
	                       slot->opened > slot->size
	               ? -EBADMSG
	               : 0;
}

static int apply_bits(struct pawl_store *store, struct reader *record)
{
	uint64_t first = read_le(record, 4) << 32;
	const unsigned char *chunk;
	int error = 0;

	first |= read_le(record, 4) * CHUNK;
	chunk = read_data(record, CHUNK / 8);
	for (unsigned bit = 0; chunk && !error && bit < CHUNK; bit++)
		if (chunk[bit / 8] >> bit % 8 & 1)
			error = pawl__birth(store, first + bit);
	return chunk ? error : -EBADMSG;
}

static int apply(struct pawl_store *store, struct reader *record)
{
	enum record letter = (enum record)read_le(record, 1);
	struct task *task;
	uint64_t id;

	switch (letter) {
	case RECORD_QUEUE:
		return apply_queue(store, record);
	case RECORD_SLOT:
		return apply_slot(store, record);
	case RECORD_PUT:
		return apply_put(store, record);
	case RECORD_END:
		id = read_le(record, 8);
		pawl__end(store, id, (enum why)read_le(record, 1));
		return record->bad ? -EBADMSG : 0;
	case RECORD_TRY:
		task = pawl__task_find(store, read_le(record, 8));
		if (task)
			pawl__task_try(store, task);
		return task ? 0 : -EBADMSG;
	case RECORD_MOVE:
		return apply_move(store, record);
	case RECORD_BURY:
		return apply_bury(store, record);
	case RECORD_OPEN:
		return apply_open(store, record);
	case RECORD_SYNCED:
		read_le(record, 8);
		return record->bad ? -EBADMSG : 0;
	case RECORD_TASK:
	case RECORD_DEAD:
		return apply_task(store, record, letter == RECORD_DEAD);
	case RECORD_HEAD:
		return apply_head(store, record);
	case RECORD_FILE:
		return apply_file(store, record);
	case RECORD_BITS:
		return apply_bits(store, record);
	case RECORD_LAST:
		store->complete = true;
		return 0;
	}
	return -EBADMSG;
}

/* Make the changes of a frame. A salvage passes over records that rest on what is damaged. */
static int apply_frame(struct pawl_store *store, const char *name, struct frames *frames)
{
	int error = 0;

	if (store->checking && !strchr("HQSZ", *frames->body.at))
		frames->body.at = frames->body.end;
	while (!error && frames->body.at < frames->body.end) {
		error = apply(store, &frames->body);
		if (error == -EBADMSG)
			error = damaged(store, name, frames->offset, "a record that does not fit");
	}
	frames->offset = frames->next;
	return error;
}

/* The files of the directory. */
struct names {
	uint64_t first_log, last_log; /* 0: none */
	bool checkpoint, slots;
};

/* A salvage gets the salt from another file if the header of the checkpoint is damaged. */
static uint64_t salt_of_log(struct pawl_store *store, uint64_t number)
{
	char name[FILE_NAME];
	struct frames frames;

	pawl__log_name(name, number);
	pawl__frames_open(store, &frames, name, LOG_MAGIC, ANY_NUMBER);
	pawl__frames_close(&frames);
	return frames.salt;
}

static int read_checkpoint(struct pawl_store *store, const struct names *names)
{
	unsigned char header[FILE_HEADER];
	struct frames frames;
	int error = pawl__frames_open(store, &frames, "checkpoint", CHECKPOINT_MAGIC, ANY_NUMBER);
	int got = 1;
	uint64_t expected = 0;

	if (error == -EBADMSG) {
		error = damaged(store, "checkpoint", 0, "a damaged header");
		frames.salt = salt_of_log(store, names->first_log);
		frames.seed = file_header(header, frames.salt, CHECKPOINT_MAGIC, 0);
	}
	if (error == -ENOTSUP)
		say(store,
		    "checkpoint has format %u, which a later version of pawl made; this one has %u",
		    frames.format, FORMAT);
	store->salt = frames.salt;
	while (!error && !store->complete) {
		got = pawl__frames_peek(&frames);
		if (got < 0 && got != -EBADMSG) {
			error = got;
		} else if (got == 1 && (frames.sequence == expected || store->options.salvage)) {
			expected = frames.sequence + 1;
			error = apply_frame(store, "checkpoint", &frames);
		} else {
			error = damaged(store, "checkpoint", frames.offset, "a damaged frame");
			if (!pawl__frames_skip(&frames, expected))
				break;
		}
	}
	pawl__frames_close(&frames);
	if (store->serial_from > store->next_serial)
		store->next_serial = store->serial_from;
	return error;
}

/*
 * The frame at the offset is not whole, or is not the next one. Returns whether a later one knows the next one as
 * synced. Then the frames go on from the first whole one.
 */
static bool was_synced(struct frames *frames, uint64_t next)
{
	uint64_t first = 0;
	bool synced = false;

	while (!synced && pawl__frames_skip(frames, next)) {
		first = first ? first : frames->offset;
		read_le(&frames->body, 1);
		synced = read_le(&frames->body, 8) >= next;
		frames->offset = frames->next;
	}
	if (synced)
		pawl__frames_seek(frames, first);
	return synced;
}

static int read_log(struct pawl_store *store, uint64_t number)
{
	char name[FILE_NAME];
	struct frames frames;
	int error, got;

	pawl__log_name(name, number);
	error = pawl__frames_open(store, &frames, name, LOG_MAGIC, number);
	if (error == -ENOENT) {
		error = damaged(store, name, 0, "missing");
		pawl__frames_close(&frames);
		return error;
	}
	/* A log that was never used may have no header. */
	if (error == -EBADMSG)
		error = number == store->log_from || was_synced(&frames, store->log.sequence + 1)
		                ? damaged(store, name, 0, "a damaged header")
		                : 0;
	while (!error) {
		uint64_t next = store->log.sequence + 1;

		got = pawl__frames_peek(&frames);
		if (got < 0 && got != -EBADMSG) {
			error = got;
		} else if (got == 1 && (frames.sequence == next ||
		                        (store->options.salvage && frames.sequence > next))) {
			store->log.sequence = frames.sequence;
			error = apply_frame(store, name, &frames);
		} else {
			uint64_t offset = frames.offset;

			if (!was_synced(&frames, next))
				break;
			error = damaged(store, name, offset, "a damaged commit");
			store->log.sequence = next;
		}
	}
	pawl__frames_close(&frames);
	return error;
}

/* The number of a file `kind.number`. */
static bool number_of(const char *name, const char *kind, uint64_t *number)
{
	size_t length = strlen(kind);
	char *end;

	if (strncmp(name, kind, length) != 0 || name[length] < '0' || name[length] > '9')
		return false;
	*number = strtoull(name + length, &end, 10);
	return *end == '\0';
}

static void see_name(const char *name, void *arg)
{
	struct names *names = arg;
	uint64_t number;

	names->checkpoint |= strcmp(name, "checkpoint") == 0;
	names->slots |= number_of(name, "slot.", &number);
	if (!number_of(name, "log.", &number))
		return;
	names->first_log =
	        names->first_log && names->first_log < number ? names->first_log : number;
	names->last_log = names->last_log > number ? names->last_log : number;
}

/* Files that the new checkpoint does not know. */
static void remove_name(const char *name, void *arg)
{
	struct pawl_store *store = arg;
	const struct slot *slot;
	uint64_t number;

	if (number_of(name, "slot.", &number)) {
		slot = number < NO_SLOT ? pawl__slot_find(store, (uint32_t)number) : NULL;
		if (slot && slot->made)
			return;
	} else if (!number_of(name, "log.", &number) || number == store->log.number) {
		return;
	}
	store->disk->remove(store->disk, name);
}

/* A slot whose file is missing is found now, not in a year. */
static int look_for_slots(struct pawl_store *store)
{
	char name[FILE_NAME];
	int error = 0;

	for (size_t i = 0; i < store->slot_count && !error; i++) {
		struct slot *slot = store->slots[i];
		struct frames frames;
		unsigned char last;

		if (!slot->made)
			continue;
		pawl__slot_name(name, slot->serial);
		error = pawl__frames_open(store, &frames, name, SLOT_MAGIC, slot->serial);
		if (!error &&
		    store->disk->read(store->disk, frames.file, &last, 1, slot->size - 1) != 1)
			error = -EBADMSG;
		pawl__frames_close(&frames);
		if (error == -ENOENT) { /* nothing is left of it */
			slot->opened = slot->size;
			slot->records = 0;
		}
		if (error == -ENOENT || error == -EBADMSG)
			error = damaged(store, name, 0, "missing, cut off, or a damaged header");
	}
	return error;
}

/* Whether a log has frames, or anything else after its header. */
static bool was_used(struct pawl_store *store, uint64_t number)
{
	char name[FILE_NAME];
	struct frames frames;
	bool used;

	pawl__log_name(name, number);
	used = pawl__frames_open(store, &frames, name, LOG_MAGIC, ANY_NUMBER) == 0 &&
	       pawl__frames_peek(&frames) != 0;
	pawl__frames_close(&frames);
	return used;
}

/* There is no checkpoint: a new store, or one whose making was cut off. */
static int begin(struct pawl_store *store, const struct names *names)
{
	bool used = names->slots;

	for (uint64_t i = names->first_log; i && i <= names->last_log && !used; i++)
		used = was_used(store, i);
	if (used) {
		pawl__damage(store, "checkpoint", 0, "missing"); /* with the names of all queues */
		return -EBADMSG;
	}
	return pawl__system_random(&store->salt, sizeof(store->salt));
}

/* Read all of it. */
static int read_all(struct pawl_store *store, struct names *names)
{
	int error = store->disk->list(store->disk, see_name, names);

	store->recovering = true;
	if (!error)
		error = names->checkpoint ? read_checkpoint(store, names) : begin(store, names);
	if (!store->log_from) /* unknown to a salvage */
		store->log_from = names->first_log;
	if (!error && names->checkpoint)
		error = look_for_slots(store);
	if (names->last_log < store->log_from)
		names->last_log = store->log_from; /* it is missing */
	for (uint64_t i = store->log_from; !error && names->checkpoint && i <= names->last_log; i++)
		error = read_log(store, i);
	store->recovering = false;
	return error;
}

static int recover(struct pawl_store *store)
{
	struct names names = {0};
	uint64_t unit = store->unit;
	int error = read_all(store, &names);

	if (error)
		return error;
	store->unit = unit;
	memset(store->places, 0, sizeof(store->places));
	store->log.number = names.last_log;
	store->log.sequence += UINT64_C(1) << 32; /* fences grow, also if frames were lost */
	store->log_from = names.last_log + 1;
	error = pawl__store_checkpoint(store);
	if (!error)
		error = store->disk->list(store->disk, remove_name, store);
	return error;
}

/* One option: its default if it is 0, or a message if it is out of its range. */
static int set_option(struct pawl_store *store, const char *name, uint64_t *value,
                      uint64_t otherwise, uint64_t least, uint64_t most)
{
	if (*value == 0)
		*value = otherwise;
	if (*value >= least && *value <= most)
		return 0;
	say(store, "options.%s is %llu, allowed are %llu to %llu", name, (unsigned long long)*value,
	    (unsigned long long)least, (unsigned long long)most);
	return -EINVAL;
}

static int set_size(struct pawl_store *store, const char *name, size_t *value, uint64_t otherwise,
                    uint64_t least, uint64_t most)
{
	uint64_t wide = *value;
	int error = set_option(store, name, &wide, otherwise, least, most);

	*value = (size_t)wide;
	return error;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int set_options(struct pawl_store *store)
{
	struct pawl_store_options *options = &store->options;
	uint64_t payload;
	int error;

	if (!reserved_are_zero(options->reserved)) {
		say(store, "options.reserved is not 0");
		return -EINVAL;
	}
	if (options->clock &&
	    (!options->clock->now || !options->clock->wait || !options->clock->wake)) {
		say(store, "options.clock lacks a function");
		return -EINVAL;
	}
	error = set_option(store, "width_ns", &options->width_ns, 10 * PAWL_MINUTE, PAWL_SECOND,
	                   24 * PAWL_HOUR);
	if (!error)
		error = set_size(store, "memory", &options->memory, 16u << 20, 256u << 10,
		                 least_of(SIZE_MAX / 2, UINT64_C(64) << 30));
	if (!error)
		error = set_size(store, "log_size", &options->log_size, 32u << 20, 256u << 10,
		                 1u << 30);
	payload = least_of(least_of(options->memory, options->log_size) / 16, 16u << 20);
	if (!error)
		error = set_size(store, "max_payload", &options->max_payload,
		                 least_of(payload, 64u << 10), 1, payload);
	if (!error)
		error = set_size(store, "max_dead", &options->max_dead, 10000, 1, 1000000);
	store->unit = options->width_ns >> 4 * FINEST;
	return error;
}

static void *wheel_memory(const struct pawl_store *store, struct pawl_wheel **wheel, uint64_t start)
{
	const struct pawl_wheel_options options = {.tick = TICK, .start = start};
	size_t size = pawl_wheel_footprint(&options);
	void *memory = malloc(size);

	*wheel = memory ? pawl_wheel_init(memory, size, &options) : NULL;
	CHECKED(pawl__wheel_own(*wheel, store));
	(void)store;
	return *wheel;
}

static void free_wheel(struct pawl_wheel *wheel)
{
	CHECKED(pawl__object_forget(A_WHEEL, wheel));
	free(wheel);
}

static int make_memory(struct pawl_store *store)
{
	size_t buckets = 16;

	while (buckets < store->options.memory / BUCKET_MEMORY)
		buckets *= 2;
	store->bucket_mask = buckets - 1;
	store->buckets = calloc(buckets, sizeof(*store->buckets));
	if (!store->buckets || !wheel_memory(store, &store->wheel, 0) ||
	    !wheel_memory(store, &store->leases, store->clock->now(store->clock)) ||
	    !wheel_memory(store, &store->takers, store->clock->now(store->clock)))
		return -ENOMEM;
	return pawl__system_random(store->secret, sizeof(store->secret));
}

static void free_queue(struct pawl_store *store, struct queue *queue)
{
	(void)store;
	condition_destroy(&queue->arrived);
	free(queue);
}

static void free_store(struct pawl_store *store)
{
	void *self = store;

	for (size_t i = 0; store->buckets && i <= store->bucket_mask; i++)
		while (store->buckets[i]) {
			struct task *task = store->buckets[i];

			store->buckets[i] = task->next;
			pawl__task_free(task);
		}
	for (size_t i = 0; i < store->slot_count; i++)
		pawl__slot_free(store->slots[i]);
	pawl__queues_each(store, free_queue);
	if (store->fd >= 0)
		pawl__system_timer_close(store->fd);
	if (store->log.file >= 0)
		store->disk->close(store->disk, store->log.file);
	if (store->disk)
		store->disk->release(store->disk);
	__atomic_compare_exchange_n(&store->clock->service, &self, NULL, false, __ATOMIC_ACQ_REL,
	                            __ATOMIC_ACQUIRE);
	bytes_free(&store->log.buffer);
	bytes_free(&store->log.writing);
	condition_destroy(&store->log.idle);
	condition_destroy(&store->work);
	condition_destroy(&store->done);
	mutex_destroy(&store->mutex);
	free_wheel(store->wheel);
	free_wheel(store->leases);
	free_wheel(store->takers);
	free(store->buckets);
	free(store->slots);
	free(store->queues);
	free(store->by_name);
	free(store);
}

static struct pawl_store *new_store(const struct pawl_store_options *options)
{
	struct pawl_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->options = *options;
	store->fd = store->log.file = -1;
	store->near_serial = NO_SLOT;
	store->next_serial = 1;
	store->files_at = PAWL_NEVER;
	store->clock = options->clock ? options->clock : &store->own_clock.clock;
	pawl_clock_monotonic_init(&store->own_clock);
	mutex_init(&store->mutex);
	condition_init(&store->log.idle);
	condition_init(&store->work);
	condition_init(&store->done);
	return store;
}

static int start(struct pawl_store *store)
{
	int error = make_memory(store);

	if (error)
		return error;
	mutex_lock(&store->mutex);
	error = recover(store);
	if (!error) {
		pawl__store_tick(store);
		store->files_wanted = true;
		if (store->options.manual)
			pawl__store_files(store);
	}
	mutex_unlock(&store->mutex);
	return error || store->options.manual ? error : pawl__threads_start(store);
}

/* On this disk, which is the store's from now on, also after an error; or, if it is NULL, in this directory. */
static int open_store(struct pawl_store **to, struct disk *disk, const char *directory,
                      const struct pawl_store_options *options)
{
	struct pawl_store *store = new_store(options);
	void *nobody = NULL;
	int error;

	if (!store) {
		if (disk)
			disk->release(disk);
		return -ENOMEM;
	}
	store->disk = disk;
	error = set_options(store);
	if (!error && !disk)
		error = pawl__system_disk_open(&store->disk, directory, true);
	if (!error && !__atomic_compare_exchange_n(&store->clock->service, &nobody, store, false,
	                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		say(store, "another service or store has options.clock");
		error = -EBUSY;
	}
	if (!error)
		error = start(store);
	if (error) {
		free_store(store);
		return error;
	}
	store->options.problem = NULL; /* it was for open */
	CHECKED(pawl__object_note(A_STORE, store, NULL));
	*to = store;
	return 0;
}

int pawl__store_open_on(struct pawl_store **store, struct disk *disk,
                        const struct pawl_store_options *options)
{
	return open_store(store, disk, NULL, options);
}

int pawl_store_open(struct pawl_store **store, const char *directory,
                    const struct pawl_store_options *options)
{
	static const struct pawl_store_options defaults;
	char unread[PAWL_STORE_PROBLEM], *problem;
	int error;

	options = options ? options : &defaults;
	problem = options->problem ? options->problem : unread;
	*problem = '\0';
	error = open_store(store, NULL, directory, options);
	if (error && !*problem)
		snprintf(problem, PAWL_STORE_PROBLEM, "%s: %s", directory,
		         error == -EBUSY ? "the store is open already" : strerror(-error));
	return error;
}

void pawl_store_close(struct pawl_store *store)
{
	if (!store)
		return;
	IN_STORE(store);
	pawl_store_stop(store);
	if (store->threads) {
		pawl__system_thread_join(&store->clock_thread);
		pawl__system_thread_join(&store->file_thread);
	}
	mutex_lock(&store->mutex);
	pawl__log_wait(store, store->log.sequence, true);
	mutex_unlock(&store->mutex);
	CHECKED(pawl__object_forget(A_STORE, store));
	free_store(store);
}

/* Each frame of a slot that was not opened. */
static int check_slot(struct pawl_store *store, const struct slot *slot)
{
	char name[FILE_NAME];
	struct frames frames;
	int error = pawl__slot_frames(store, &frames, slot), got;

	pawl__slot_name(name, slot->serial);
	while (!error && frames.offset < frames.end) {
		got = pawl__frames_peek(&frames);
		if (got < 0 && got != -EBADMSG) {
			error = got;
		} else if (got == 1 && frames.sequence == frames.offset) {
			frames.offset = frames.next;
		} else {
			pawl__damage(store, name, frames.offset, "a damaged task");
			pawl__frames_skip(&frames, 0);
		}
	}
	pawl__frames_close(&frames);
	return error == -ENOENT || error == -EBADMSG ? 0 : error; /* that was reported */
}

/* What a salvage would find, without its changes. */
int pawl_store_check(const char *directory,
                     void (*report)(const char *file, uint64_t offset, const char *problem,
                                    void *arg),
                     void *arg)
{
	const struct pawl_store_options options = {
	        .report = report, .report_arg = arg, .salvage = true, .manual = true};
	struct names names = {0};
	struct pawl_store *store;
	struct disk *disk;
	int error = pawl__system_disk_open(&disk, directory, false);

	if (error)
		return error;
	store = new_store(&options);
	if (!store) {
		disk->release(disk);
		return -ENOMEM;
	}
	store->disk = disk;
	store->checking = true;
	store->unit = 1; /* until the checkpoint says */
	mutex_lock(&store->mutex);
	error = read_all(store, &names);
	for (size_t i = 0; !error && i < store->slot_count; i++)
		if (store->slots[i]->made)
			error = check_slot(store, store->slots[i]);
	mutex_unlock(&store->mutex);
	if (!error)
		error = store->stats.damaged < INT_MAX ? (int)store->stats.damaged : INT_MAX;
	free_store(store);
	return !names.checkpoint && !names.last_log && !names.slots ? -ENOENT : error;
}
