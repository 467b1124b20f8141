/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int input_open(struct input *input, const char *path)
{
	input->fd = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	input->name = path ? path : "stdin";
	input->ended = false;
	input->number = 0;
	input->skipping = false;
	input->from = input->to = 0;
	return input->fd < 0 ? -errno : 0;
}

void input_close(struct input *input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	input->fd = -1;
}

/* The rest of a line moves to the front. It is at most a line and a carriage return, so there is room for more. */
static void make_room(struct input *input)
{
	memmove(input->buffer, input->buffer + input->from, input->to - input->from);
	input->to -= input->from;
	input->from = 0;
}

size_t input_give(struct input *input, const char *text)
{
	size_t size;

	make_room(input);
	size = strnlen(text, sizeof(input->buffer) - input->to);
	memcpy(input->buffer + input->to, text, size);
	input->to += size;
	return size;
}

int input_read(struct input *input)
{
	ssize_t size;

	make_room(input);
	size = read(input->fd, input->buffer + input->to, sizeof(input->buffer) - input->to);
	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	input->to += (size_t)size;
	input->ended = size == 0;
	return 0;
}

/* The next `size` bytes as a line, without a carriage return at its end. */
static struct span line_of(const struct input *input, size_t size)
{
	const char *text = input->buffer + input->from;

	return (struct span){text, size > 0 && text[size - 1] == '\r' ? size - 1 : size};
}

static enum input_result next_line(struct input *input, size_t size, struct span *line)
{
	bool too_long;

	*line = line_of(input, size);
	too_long = input->skipping || line->length > INPUT_LINE_MAX;
	input->from += size;
	input->skipping = false;
	input->number++;
	return too_long ? INPUT_TOO_LONG : INPUT_LINE;
}

/* The end of the line has not been read yet. Keep the bytes, unless the line is already too long. */
static enum input_result without_newline(struct input *input, struct span *line)
{
	size_t size = input->to - input->from;

	if (input->ended && (size > 0 || input->skipping))
		return next_line(input, size, line);
	if (line_of(input, size).length > INPUT_LINE_MAX || input->skipping) {
		input->skipping = true;
		input->from = input->to;
	}
	return INPUT_NONE;
}

enum input_result input_next(struct input *input, struct span *line)
{
	char *start = input->buffer + input->from;
	char *newline = memchr(start, '\n', input->to - input->from);
	enum input_result result;

	if (!newline)
		return without_newline(input, line);
	result = next_line(input, (size_t)(newline - start), line);
	input->from++;
	return result;
}
