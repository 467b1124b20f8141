/* SPDX-License-Identifier: MIT */
#include "sim_disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
/* Thousands of stores are opened: memory that is kept from reuse for long would be new pages each time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}
#endif

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct sim_disk *sim_of(struct disk *disk)
{
	return (struct sim_disk *)disk;
}

/* Whether this call fails. */
static int fails(struct sim_disk *sim)
{
	size_t call = sim->calls++;

	return call == sim->fail_at || (sim->fail_on && call > sim->fail_at) ? sim->fail_with : 0;
}

static struct sim_step *note(struct sim_disk *sim, enum sim_kind kind, int file)
{
	struct sim_step *step;

	if (sim->step_count == sim->step_room) {
		sim->step_room = sim->step_room ? 2 * sim->step_room : 64;
		sim->steps = must(realloc(sim->steps, sim->step_room * sizeof(*sim->steps)));
	}
	step = &sim->steps[sim->step_count++];
	*step = (struct sim_step){.kind = kind, .file = file};
	return step;
}

static int find(const struct sim_disk *sim, const char *name)
{
	for (int i = 0; i < sim->name_count; i++)
		if (strcmp(sim->names[i].name, name) == 0)
			return i;
	return -1;
}

static void set_name(struct sim_disk *sim, const char *name, int file)
{
	int at = find(sim, name);

	if (at < 0)
		at = sim->name_count++;
	if (at >= SIM_NAMES)
		abort();
	snprintf(sim->names[at].name, sizeof(sim->names[at].name), "%s", name);
	sim->names[at].file = file;
}

static void drop_name(struct sim_disk *sim, const char *name)
{
	int at = find(sim, name);

	if (at >= 0)
		sim->names[at] = sim->names[--sim->name_count];
}

static void grow(struct sim_file *file, size_t size)
{
	file->size = size > file->size ? size : file->size;
}

static void put_bytes(struct sim_file *file, size_t offset, const unsigned char *data, size_t size)
{
	size_t end = offset + size;

	grow(file, end);
	if (end > file->have) {
		file->data = must(realloc(file->data, end));
		memset(file->data + file->have, 0, end - file->have);
		file->have = end;
	}
	memcpy(file->data + offset, data, size);
}

static int add_file(struct sim_disk *sim)
{
	sim->files = must(realloc(sim->files, (size_t)(sim->file_count + 1) * sizeof(*sim->files)));
	sim->files[sim->file_count] = (struct sim_file){0};
	return sim->file_count++;
}

/* A file that is emptied is another one from then on. (On a disk its old bytes may come back: none of them is used.) */
static int open_file(struct disk *disk, const char *name, enum disk_mode mode)
{
	struct sim_disk *sim = sim_of(disk);
	int at = find(sim, name), error = fails(sim);

	if (error)
		return error;
	if (at >= 0 && mode != DISK_MAKE)
		return sim->names[at].file;
	if (mode == DISK_READ)
		return -ENOENT;
	at = add_file(sim);
	set_name(sim, name, at);
	snprintf(note(sim, SIM_NAME, at)->to, 32, "%s", name);
	return at;
}

static int64_t read_file(struct disk *disk, int file, void *data, size_t size, uint64_t offset)
{
	struct sim_disk *sim = sim_of(disk);
	const struct sim_file *from = &sim->files[file];
	int error = sim->reads ? fails(sim) : 0;
	size_t here;

	if (error)
		return error;
	if (offset >= from->size)
		return 0;
	size = from->size - offset < size ? from->size - (size_t)offset : size;
	here = offset >= from->have ? 0 : from->have - (size_t)offset;
	here = here < size ? here : size;
	if (here)
		memcpy(data, from->data + offset, here);
	memset((char *)data + here, 0, size - here);
	return (int64_t)size;
}

static bool has_space(struct sim_disk *sim, const struct sim_file *file, size_t end)
{
	size_t more = end > file->size ? end - file->size : 0;

	if (sim->space == UINT64_MAX)
		return true;
	if (more > sim->space)
		return false;
	sim->space -= more;
	return true;
}

/* A write that fails has written its first half. */
static int write_file(struct disk *disk, int file, const void *data, size_t size, uint64_t offset)
{
	struct sim_disk *sim = sim_of(disk);
	int error = fails(sim);
	struct sim_step *step;

	if (!error && !has_space(sim, &sim->files[file], (size_t)offset + size))
		error = -ENOSPC;
	size = error ? size / 2 : size;
	if (size == 0)
		return error;
	put_bytes(&sim->files[file], (size_t)offset, data, size);
	step = note(sim, SIM_WRITE, file);
	step->offset = (size_t)offset;
	step->size = size;
	step->data = must(malloc(size));
	memcpy(step->data, data, size);
	return error;
}

static int allocate_file(struct disk *disk, int file, uint64_t size)
{
	struct sim_disk *sim = sim_of(disk);
	int error = fails(sim);

	if (!error && !has_space(sim, &sim->files[file], (size_t)size))
		error = -ENOSPC;
	if (error)
		return error;
	grow(&sim->files[file], (size_t)size);
	note(sim, SIM_GROW, file)->size = (size_t)size;
	return 0;
}

static int sync_file(struct disk *disk, int file)
{
	struct sim_disk *sim = sim_of(disk);
	int error;

	if (sim->meanwhile)
		sim->meanwhile(sim->meanwhile_arg);
	error = fails(sim);
	if (!error)
		note(sim, SIM_SYNC, file);
	return error;
}

static void close_file(struct disk *disk, int file)
{
	(void)disk;
	(void)file;
}

static int rename_file(struct disk *disk, const char *from, const char *to)
{
	struct sim_disk *sim = sim_of(disk);
	int at = find(sim, from), error = fails(sim), file;
	struct sim_step *step;

	if (error || at < 0)
		return error ? error : -ENOENT;
	file = sim->names[at].file;
	drop_name(sim, from);
	set_name(sim, to, file);
	step = note(sim, SIM_RENAME, file);
	snprintf(step->from, 32, "%s", from);
	snprintf(step->to, 32, "%s", to);
	return 0;
}

static int remove_file(struct disk *disk, const char *name)
{
	struct sim_disk *sim = sim_of(disk);
	int at = find(sim, name), error = fails(sim);

	if (error || at < 0)
		return error ? error : -ENOENT;
	if (sim->space != UINT64_MAX)
		sim->space += sim->files[sim->names[at].file].size;
	drop_name(sim, name);
	snprintf(note(sim, SIM_REMOVE, 0)->from, 32, "%s", name);
	return 0;
}

static int sync_names(struct disk *disk)
{
	int error = fails(sim_of(disk));

	if (!error)
		note(sim_of(disk), SIM_SYNC_NAMES, 0);
	return error;
}

static int list_files(struct disk *disk, void (*each)(const char *name, void *arg), void *arg)
{
	struct sim_disk *sim = sim_of(disk);
	struct sim_name names[SIM_NAMES];
	int count = sim->name_count;

	memcpy(names, sim->names, sizeof(names));
	for (int i = 0; i < count; i++)
		each(names[i].name, arg);
	return 0;
}

static void release(struct disk *disk)
{
	(void)disk;
}

void sim_init(struct sim_disk *sim)
{
	memset(sim, 0, sizeof(*sim));
	sim->disk = (struct disk){open_file,  read_file,  write_file,  allocate_file,
	                          sync_file,  close_file, rename_file, remove_file,
	                          sync_names, list_files, release};
	sim->space = UINT64_MAX;
	sim->fail_at = SIZE_MAX;
}

static void free_files(struct sim_file *files, int count)
{
	for (int i = 0; i < count; i++)
		free(files[i].data);
	free(files);
}

void sim_free(struct sim_disk *sim)
{
	free_files(sim->files, sim->file_count);
	free_files(sim->first, sim->first_count);
	for (size_t i = 0; i < sim->step_count; i++)
		free(sim->steps[i].data);
	free(sim->steps);
}

struct sim_file *sim_find(struct sim_disk *sim, const char *name)
{
	int at = find(sim, name);

	return at < 0 ? NULL : &sim->files[sim->names[at].file];
}

/* Whether a sync of its file, or of the names, comes after this step and before the crash. */
static bool is_safe(const struct sim_disk *sim, size_t step, size_t end)
{
	const struct sim_step *it = &sim->steps[step];
	bool name = it->kind == SIM_NAME || it->kind == SIM_RENAME || it->kind == SIM_REMOVE;

	for (size_t i = step + 1; i < end; i++)
		if (name ? sim->steps[i].kind == SIM_SYNC_NAMES
		         : sim->steps[i].kind == SIM_SYNC && sim->steps[i].file == it->file)
			return true;
	return false;
}

static size_t pieces_of(const struct sim_step *step)
{
	if (step->kind == SIM_SYNC || step->kind == SIM_SYNC_NAMES)
		return 0;
	if (step->kind != SIM_WRITE)
		return 1;
	return (step->offset + step->size - 1) / SIM_PIECE - step->offset / SIM_PIECE + 1;
}

size_t sim_doubts(const struct sim_disk *sim, size_t step)
{
	size_t doubts = 0;

	for (size_t i = 0; i < step; i++)
		if (!is_safe(sim, i, step))
			doubts += pieces_of(&sim->steps[i]);
	return doubts;
}

/* The part of a write in its piece number `piece`. */
static void write_piece(struct sim_file *file, const struct sim_step *step, size_t piece)
{
	size_t begin = (step->offset / SIM_PIECE + piece) * SIM_PIECE, end = begin + SIM_PIECE;

	begin = begin < step->offset ? step->offset : begin;
	end = end < step->offset + step->size ? end : step->offset + step->size;
	put_bytes(file, begin, step->data + (begin - step->offset), end - begin);
}

static void do_step(struct sim_disk *to, const struct sim_step *step, size_t piece)
{
	switch (step->kind) {
	case SIM_WRITE:
		write_piece(&to->files[step->file], step, piece);
		break;
	case SIM_GROW:
		grow(&to->files[step->file], step->size);
		break;
	case SIM_RENAME:
		drop_name(to, step->from);
		set_name(to, step->to, step->file);
		break;
	case SIM_NAME:
		set_name(to, step->to, step->file);
		break;
	case SIM_REMOVE:
		drop_name(to, step->from);
		break;
	default:
		break;
	}
}

static struct sim_file *copy_files(const struct sim_file *files, int count)
{
	struct sim_file *copy = must(calloc((size_t)count + 1, sizeof(*copy)));

	for (int i = 0; i < count; i++) {
		copy[i] = files[i];
		copy[i].data = files[i].have ? must(malloc(files[i].have)) : NULL;
		if (files[i].have)
			memcpy(copy[i].data, files[i].data, files[i].have);
	}
	return copy;
}

/* Only the files with a name are there after a crash, and they are all safe. */
static void begin_anew(struct sim_disk *sim)
{
	struct sim_file *files = must(calloc((size_t)sim->name_count + 1, sizeof(*files)));

	for (int i = 0; i < sim->name_count; i++) {
		struct sim_file *from = &sim->files[sim->names[i].file];

		files[i] = *from;
		from->data = NULL;
		files[i].named = true;
		snprintf(files[i].name, sizeof(files[i].name), "%s", sim->names[i].name);
		sim->names[i].file = i;
	}
	free_files(sim->files, sim->file_count);
	sim->files = files;
	sim->file_count = sim->name_count;
	sim->first = copy_files(files, sim->file_count);
	sim->first_count = sim->file_count;
}

void sim_crash(const struct sim_disk *sim, size_t step, bool (*answer)(size_t doubt, void *arg),
               void *arg, struct sim_disk *to)
{
	size_t doubt = 0;

	sim_init(to);
	to->files = copy_files(sim->first, sim->first_count);
	to->files = must(realloc(to->files, (size_t)(sim->file_count + 1) * sizeof(*to->files)));
	memset(to->files + sim->first_count, 0,
	       (size_t)(sim->file_count - sim->first_count) * sizeof(*to->files));
	to->file_count = sim->file_count;
	for (int i = 0; i < sim->first_count; i++)
		if (sim->first[i].named)
			set_name(to, sim->first[i].name, i);
	for (size_t i = 0; i < step; i++) {
		bool safe = is_safe(sim, i, step);

		for (size_t piece = 0; piece < pieces_of(&sim->steps[i]); piece++)
			if (safe || answer(doubt++, arg))
				do_step(to, &sim->steps[i], piece);
	}
	begin_anew(to);
}
