/* SPDX-License-Identifier: MIT */
/*
 * A directory of files as a table of functions, so that a test can be the disk.
 *
 * Files are flat names. A handle is 0 or more. Every call returns 0 or -errno, unless it says otherwise. After a crash a
 * file has all that was written before its last sync, and any part of the rest. A name that was made, renamed or removed
 * is so for good once sync_names() has returned.
 */
#ifndef PAWL_SYSTEM_DISK_H
#define PAWL_SYSTEM_DISK_H

#include <stddef.h>
#include <stdint.h>

enum disk_mode {
	DISK_READ,  /* an existing file */
	DISK_WRITE, /* for reading and writing; it is made if there is none */
	DISK_MAKE,  /* the same, and empty */
};

struct disk {
	int (*open)(struct disk *disk, const char *name, enum disk_mode mode); /* the handle */
	/* Read up to `size` bytes. Returns how many: fewer only at the end of the file. */
	int64_t (*read)(struct disk *disk, int file, void *data, size_t size, uint64_t offset);
	/* Write all of it. After an error any part may have been written. */
	int (*write)(struct disk *disk, int file, const void *data, size_t size, uint64_t offset);
	/* Let the file have `size` bytes, zeroes at first, whose writing needs no further space. */
	int (*allocate)(struct disk *disk, int file, uint64_t size);
	int (*sync)(struct disk *disk, int file);
	void (*close)(struct disk *disk, int file);
	int (*rename)(struct disk *disk, const char *from, const char *to);
	int (*remove)(struct disk *disk, const char *name);
	int (*sync_names)(struct disk *disk);
	int (*list)(struct disk *disk, void (*each)(const char *name, void *arg), void *arg);
	void (*release)(struct disk *disk); /* give the directory free for another process */
};

/*
 * The directory `path`, locked: one process at a time has it, and opens it once. With `make` it is made if its parent
 * exists; without it nothing is written. -EBUSY: it is locked. -ENOTSUP: the system has no POSIX files.
 */
int pawl__system_disk_open(struct disk **disk, const char *path, int make);

#endif
