/* SPDX-License-Identifier: MIT */
/* disk.h on POSIX systems: a directory, and a lock on the file `lock` in it. */
#define _GNU_SOURCE
#include "disk.h"

#include "system.h"

#include <errno.h>

#ifdef PAWL_ON_POSIX
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct directory {
	struct disk disk;
	int fd, lock;
};

static int fd_of(struct disk *disk)
{
	return ((struct directory *)disk)->fd;
}

static int result_of(int returned)
{
	return returned < 0 ? -errno : returned;
}

static int open_file(struct disk *disk, const char *name, enum disk_mode mode)
{
	static const int flags[] = {O_RDONLY, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_TRUNC};
	int fd;

	do
		fd = openat(fd_of(disk), name, flags[mode] | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (fd < 0 && errno == EINTR);
	return result_of(fd);
}

static int64_t read_file(struct disk *disk, int file, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;
	ssize_t part = 1;

	(void)disk;
	while (done < size && part != 0) {
		part = pread(file, (char *)data + done, size - done, (off_t)(offset + done));
		if (part < 0 && errno != EINTR)
			return -errno;
		done += part > 0 ? (size_t)part : 0;
	}
	return (int64_t)done;
}

static int write_file(struct disk *disk, int file, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	(void)disk;
	while (done < size) {
		ssize_t part = pwrite(file, (const char *)data + done, size - done,
		                      (off_t)(offset + done));

		if (part < 0 && errno != EINTR)
			return -errno;
		if (part == 0)
			return -EIO;
		done += part > 0 ? (size_t)part : 0;
	}
	return 0;
}

/* Zeroes by hand, where the file system cannot reserve space. */
static int write_zeroes(struct disk *disk, int file, uint64_t size)
{
	static const char zeroes[64 * 1024];
	int error = 0;

	for (uint64_t at = 0; !error && at < size; at += sizeof(zeroes))
		error = write_file(
		        disk, file, zeroes,
		        size - at < sizeof(zeroes) ? (size_t)(size - at) : sizeof(zeroes), at);
	return error;
}

static int allocate_file(struct disk *disk, int file, uint64_t size)
{
#ifdef PAWL_ON_LINUX
	int error;

	do
		error = result_of(fallocate(file, 0, 0, (off_t)size));
	while (error == -EINTR);
	if (error != -EOPNOTSUPP && error != -ENOSYS)
		return error;
#endif
	return write_zeroes(disk, file, size);
}

/* macOS's fsync leaves the data in the disk's cache. */
static int sync_fd(int fd)
{
	int result;

	do {
#if defined(F_FULLFSYNC)
		result = fcntl(fd, F_FULLFSYNC);
#elif defined(PAWL_ON_LINUX)
		result = fdatasync(fd);
#else
		result = fsync(fd);
#endif
	} while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

static int sync_file(struct disk *disk, int file)
{
	(void)disk;
	return sync_fd(file);
}

static void close_file(struct disk *disk, int file)
{
	(void)disk;
	close(file);
}

static int rename_file(struct disk *disk, const char *from, const char *to)
{
	return result_of(renameat(fd_of(disk), from, fd_of(disk), to));
}

static int remove_file(struct disk *disk, const char *name)
{
	return result_of(unlinkat(fd_of(disk), name, 0));
}

static int sync_names(struct disk *disk)
{
	return fsync(fd_of(disk)) < 0 ? -errno : 0;
}

static int list_files(struct disk *disk, void (*each)(const char *name, void *arg), void *arg)
{
	int fd = openat(fd_of(disk), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int error;

	if (!stream) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	while ((void)(errno = 0), (entry = readdir(stream)) != NULL)
		if (entry->d_name[0] != '.')
			each(entry->d_name, arg);
	error = -errno;
	closedir(stream);
	return error;
}

static void release(struct disk *disk)
{
	struct directory *directory = (struct directory *)disk;

	if (directory->lock >= 0)
		close(directory->lock);
	close(directory->fd);
	free(directory);
}

/* A directory without the file has never been open, or is a copy without it: nobody can have it open. */
static int lock_directory(struct directory *directory, int make)
{
	int flags = make ? O_RDWR | O_CREAT : O_RDONLY;

	directory->lock = openat(directory->fd, "lock", flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (directory->lock < 0)
		return errno == ENOENT && !make ? 0 : -errno;
	if (flock(directory->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static int sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
	int fd, error;

	if (!parent)
		return -ENOMEM;
	fd = open(*parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = fd < 0 || fsync(fd) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	free(parent);
	return error;
}

static int make_directory(const char *path)
{
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return sync_parent(path);
}

int pawl__system_disk_open(struct disk **disk, const char *path, int make)
{
	static const struct disk calls = {open_file,  read_file,  write_file,  allocate_file,
	                                  sync_file,  close_file, rename_file, remove_file,
	                                  sync_names, list_files, release};
	struct directory *directory;
	int error = make ? make_directory(path) : 0;

	if (error)
		return error;
	directory = malloc(sizeof(*directory));
	if (!directory)
		return -ENOMEM;
	directory->disk = calls;
	directory->lock = -1;
	directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = directory->fd < 0 ? -errno : lock_directory(directory, make);
	if (error) {
		if (directory->lock >= 0)
			close(directory->lock);
		if (directory->fd >= 0)
			close(directory->fd);
		free(directory);
		return error;
	}
	*disk = &directory->disk;
	return 0;
}

#else
int pawl__system_disk_open(struct disk **disk, const char *path, int make)
{
	(void)disk;
	(void)path;
	(void)make;
	return -ENOTSUP;
}
#endif
