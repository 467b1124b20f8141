/* SPDX-License-Identifier: MIT */
/* A viewer of a service that is inspected: asks for snapshots, and finds numbers in them. */
#ifndef PAWL_TESTS_VIEWER_H
#define PAWL_TESTS_VIEWER_H

#include <errno.h>
#include <pawl/inspect.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

struct viewer {
	int fd;
	char *text; /* the last snapshot */
	size_t room;
};

/* A path in a directory of this process's own. */
static inline const char *socket_path(void)
{
	static char path[64];

	if (!path[0]) {
		strcpy(path, "/tmp/pawl-view-XXXXXX");
		if (!mkdtemp(path))
			abort();
		strcat(path, "/socket");
	}
	return path;
}

static inline void remove_socket_directory(void)
{
	char directory[64];

	strcpy(directory, socket_path());
	*strrchr(directory, '/') = '\0';
	EXPECT_EQ(rmdir(directory), 0); /* nothing is left in it */
}

/* A descriptor, or -errno. */
static inline int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* One line, however many pieces it comes in. False: the connection was closed. */
static inline bool read_snapshot(struct viewer *viewer)
{
	size_t size = 0;

	for (;;) {
		ssize_t part;

		if (viewer->room - size < 2) {
			viewer->room = 2 * viewer->room + 65536;
			viewer->text = realloc(viewer->text, viewer->room);
		}
		part = read(viewer->fd, viewer->text + size, viewer->room - size - 1);
		if (part <= 0)
			return false;
		size += (size_t)part;
		viewer->text[size] = '\0';
		if (viewer->text[size - 1] == '\n')
			return true;
	}
}

static inline bool ask(struct viewer *viewer)
{
	return send(viewer->fd, "\n", 1, MSG_NOSIGNAL) == 1 && read_snapshot(viewer);
}

/* The first answer shows that it is attached. */
static inline void viewer_open(struct viewer *viewer, const char *path)
{
	*viewer = (struct viewer){.fd = connect_to(path)};
	EXPECT(viewer->fd >= 0);
	EXPECT(ask(viewer));
}

static inline void viewer_close(struct viewer *viewer)
{
	close(viewer->fd);
	free(viewer->text);
}

/* Where the value of the first member of that name begins, after `from`. */
static inline const char *member(const char *from, const char *name)
{
	char quoted[64];
	const char *found;

	snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	found = strstr(from, quoted);
	EXPECT(found);
	return found ? found + strlen(quoted) : "";
}

static inline uint64_t number_in(const char *from, const char *name)
{
	return strtoull(member(from, name), NULL, 10);
}

#endif
