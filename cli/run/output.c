/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"

/* Standard output is shared: another process may have made it non-blocking. */
static void wait_until_writable(void)
{
	struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};

	poll(&fd, 1, -1);
}

int output_trouble(short revents)
{
	if (revents & POLLNVAL)
		return -EBADF;
	/* A pipe without a reader returns POLLERR, a closed socket POLLHUP, a terminal both. */
	return revents & (POLLERR | POLLHUP) ? -EPIPE : 0;
}

/*
 * A pipe without a reader fails with EPIPE, a connection with ECONNRESET, a terminal with EIO. A disk also fails with
 * EIO, but without POLLHUP.
 */
static int write_error(int error)
{
	struct pollfd fd = {.fd = STDOUT_FILENO, .events = 0};

	if ((error == ECONNRESET || error == EIO) && poll(&fd, 1, 0) > 0)
		return output_trouble(fd.revents);
	return -error;
}

static size_t write_some(struct output *output, const char *text, size_t length)
{
	ssize_t size = write(STDOUT_FILENO, text, length);

	if (size >= 0)
		return (size_t)size;
	if (errno == EAGAIN)
		wait_until_writable();
	else if (errno != EINTR)
		output->error = write_error(errno);
	if (signals_interrupts() > 0)
		output->error = -EINTR;
	return 0;
}

void output_flush(struct output *output)
{
	size_t done = 0;

	while (done < output->used && !output->error)
		done += write_some(output, output->buffer + done, output->used - done);
	memmove(output->buffer, output->buffer + done, output->used - done);
	output->used -= done;
}

void output_put(struct output *output, const char *text, size_t length)
{
	while (length > 0 && !output->error) {
		size_t room = sizeof(output->buffer) - output->used;
		size_t part = length < room ? length : room;

		memcpy(output->buffer + output->used, text, part);
		output->used += part;
		text += part;
		length -= part;
		if (length > 0)
			output_flush(output);
	}
}

uint64_t output_left(const struct output *output)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < output->used; i++)
		lines += output->buffer[i] == '\n';
	return lines;
}
