/* SPDX-License-Identifier: MIT */
/* A copy of the files of a store, for a repair. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../text/arguments.h"
#include "store.h"

#define BLOCK (64 * 1024)

/* Write all of it. Returns 0 or -errno. */
static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t part = write(fd, data, size);

		if (part < 0 && errno != EINTR)
			return -errno;
		data += part > 0 ? part : 0;
		size -= part > 0 ? (size_t)part : 0;
	}
	return 0;
}

/* A block that cannot be read becomes zeroes: the check finds it, and the rest of the file is kept. */
static int copy_bytes(int from, int to, off_t size)
{
	static char block[BLOCK];
	int error = 0;

	for (off_t at = 0; at < size && !error; at += BLOCK) {
		size_t length = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
		ssize_t got = pread(from, block, length, at);

		if (got < 0 && errno != EIO)
			return -errno;
		if (got < (ssize_t)length)
			memset(block + (got > 0 ? got : 0), 0,
			       length - (size_t)(got > 0 ? got : 0));
		error = write_all(to, block, length);
	}
	return error || fsync(to) == 0 ? error : -errno;
}

static int copy_file(int from_directory, int to_directory, const char *name)
{
	int from = openat(from_directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), to, error;
	struct stat status;

	if (from < 0)
		return -errno;
	to = openat(to_directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = to < 0 || fstat(from, &status) < 0 ? -errno : copy_bytes(from, to, status.st_size);
	close(from);
	if (to >= 0 && close(to) < 0 && !error)
		error = -errno;
	return error;
}

/* The file `lock` is not copied: it has no content, and the next open makes one. */
static int copy_files(DIR *files, int into)
{
	const struct dirent *entry;
	int error = 0;

	while (!error && (errno = 0, entry = readdir(files)) != NULL)
		if (strcmp(entry->d_name, "checkpoint") == 0 ||
		    strncmp(entry->d_name, "log.", 4) == 0 ||
		    strncmp(entry->d_name, "slot.", 5) == 0)
			error = copy_file(dirfd(files), into, entry->d_name);
	if (!error && errno)
		error = -errno;
	return error || fsync(into) == 0 ? error : -errno;
}

/* The lock of src/system/disk.c, so that no process changes the files meanwhile. -1: there is no such file. */
static bool lock_store(const char *directory, DIR *files, int *lock)
{
	*lock = openat(dirfd(files), "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	complain("%s is open in another process", directory);
	return false;
}

static bool copy_into(const char *from, DIR *files, const char *into)
{
	int fd, error;

	if (mkdir(into, 0700) < 0) {
		complain("cannot make the directory %s of --into: %s", into,
		         errno == EEXIST ? "it exists; expected one that does not exist yet"
		                         : strerror(errno));
		return false;
	}
	fd = open(into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = fd < 0 ? -errno : copy_files(files, fd);
	if (fd >= 0)
		close(fd);
	if (error)
		complain("cannot copy %s into %s: %s", from, into, strerror(-error));
	return error == 0;
}

bool store_copy(const char *from, const char *into)
{
	DIR *files = opendir(from);
	int lock = -1;
	bool copied;

	if (!files) {
		complain("cannot read the directory %s: %s", from, strerror(errno));
		return false;
	}
	copied = lock_store(from, files, &lock) && copy_into(from, files, into);
	if (lock >= 0)
		close(lock);
	closedir(files);
	return copied;
}
