/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../wait/wait.h"

enum { ANSWER_MAX = 1 << 26 }; /* bytes */

__attribute__((format(printf, 2, 3))) static bool fail(struct link *link, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(link->wrong, sizeof(link->wrong), format, list);
	va_end(list);
	return false;
}

bool link_fits(struct link *link, const char *path)
{
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (*path == '\0') /* to the kernel it would be a name that any user can take */
		return fail(link, "the path of the socket is empty; expected 1 to %zu bytes", most);
	if (strlen(path) <= most)
		return true;
	return fail(link, "the path has %zu bytes; that of a socket has at most %zu: '%.99s'",
	            strlen(path), most, path);
}

bool link_open(struct link *link, const char *path, unsigned seconds)
{
	const struct timeval patience = {.tv_sec = seconds};
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*link = (struct link){.fd = -1, .seconds = seconds};
	if (!link_fits(link, path))
		return false;
	strcpy(address.sun_path, path);
	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (link->fd >= 0 &&
	    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
	    connect(link->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	return fail(link, "cannot connect to '%s': %s%s", path, strerror(errno),
	            errno == ECONNREFUSED ? "; its process is gone, or does not serve there" : "");
}

void link_close(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	free(link->text);
	link->fd = -1;
	link->text = NULL;
}

static bool make_room(struct link *link)
{
	size_t room = link->room ? 2 * link->room : 65536;
	char *text = link->room - link->size > 1 ? link->text : realloc(link->text, room);

	if (!text)
		return false;
	link->room = text == link->text && link->room - link->size > 1 ? link->room : room;
	link->text = text;
	return true;
}

static bool fail_at_end(struct link *link, const char *path, ssize_t size)
{
	if (size == 0)
		return fail(link,
		            "'%s' has closed the connection: its service was stopped, or has 8 "
		            "viewers already",
		            path);
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return fail(link, "'%s' has not answered for %u seconds", path, link->seconds);
	return fail(link, "'%s' does not answer: %s", path, strerror(errno));
}

/* The time limit is for the whole answer: one that comes byte by byte would never end otherwise. */
bool link_ask(struct link *link, const char *path)
{
	uint64_t end_ms = clock_ms() + UINT64_C(1000) * link->seconds;

	if (send(link->fd, "\n", 1, MSG_NOSIGNAL) != 1)
		return fail_at_end(link, path, errno == EPIPE ? 0 : -1);
	link->size = 0;
	do {
		ssize_t size;

		if (link->size > ANSWER_MAX)
			return fail(link, "the answer of '%s' is longer than %d bytes", path,
			            ANSWER_MAX);
		if (!make_room(link))
			return fail(link, "no memory for the answer of '%s'", path);
		size = wait_for(link->fd, POLLIN, end_ms) ? recv(link->fd, link->text + link->size,
		                                                 link->room - link->size - 1, 0)
		                                          : -1;
		if (size <= 0)
			return fail_at_end(link, path, size < 0 && errno == ECONNRESET ? 0 : size);
		link->size += (size_t)size;
	} while (link->text[link->size - 1] != '\n');
	link->text[--link->size] = '\0';
	return true;
}
