/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../src/base/utf8.h"
#include "../wait/wait.h"

enum { ANSWER_MAX = 1 << 26 }; /* bytes */

__attribute__((format(printf, 2, 3))) static bool fail(struct program *program, const char *format,
                                                       ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(program->wrong, sizeof(program->wrong), format, list);
	va_end(list);
	return false;
}

bool program_fits(struct program *program)
{
	const char *path = program->path;
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (*path == '\0') /* to the kernel it would be a name that any user can take */
		return fail(program, "the path of the socket is empty; expected 1 to %zu bytes",
		            most);
	if (strlen(path) <= most)
		return true;
	return fail(program, "the path has %zu bytes; that of a socket has at most %zu: '%.99s'",
	            strlen(path), most, path);
}

bool program_connect(struct program *program, unsigned seconds)
{
	const struct timeval patience = {.tv_sec = seconds};
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	program->fd = -1;
	program->seconds = seconds;
	if (!program_fits(program))
		return false;
	strcpy(address.sun_path, program->path);
	program->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (program->fd >= 0 &&
	    setsockopt(program->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    setsockopt(program->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
	    connect(program->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	return fail(program, "cannot connect to '%s': %s%s", program->path, strerror(errno),
	            errno == ECONNREFUSED ? "; its process is gone, or does not serve there" : "");
}

void program_disconnect(struct program *program)
{
	if (program->fd >= 0)
		close(program->fd);
	free(program->text);
	symbols_close(program->symbols);
	program->fd = -1;
	program->text = NULL;
	program->room = 0;
	program->symbols = NULL;
}

static bool make_room(struct program *program)
{
	size_t room = program->room ? 2 * program->room : 65536;
	char *text;

	if (program->size + 1 < program->room)
		return true;
	text = realloc(program->text, room);
	if (!text)
		return false;
	program->text = text;
	program->room = room;
	return true;
}

static bool fail_at_end(struct program *program, ssize_t size)
{
	if (size == 0)
		return fail(program,
		            "'%s' has closed the connection: its service was stopped, or has 8 "
		            "viewers already",
		            program->path);
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return fail(program, "'%s' has not answered for %u seconds", program->path,
		            program->seconds);
	return fail(program, "'%s' does not answer: %s", program->path, strerror(errno));
}

/* The time limit is for the whole answer: one that comes byte by byte would never end otherwise. */
static bool ask(struct program *program)
{
	uint64_t end_ms = clock_ms() + UINT64_C(1000) * program->seconds;

	if (send(program->fd, "\n", 1, MSG_NOSIGNAL) != 1)
		return fail_at_end(program, errno == EPIPE ? 0 : -1);
	program->size = 0;
	do {
		ssize_t size;

		if (program->size > ANSWER_MAX)
			return fail(program, "the answer of '%s' is longer than %d bytes",
			            program->path, ANSWER_MAX);
		if (!make_room(program))
			return fail(program, "no memory for the answer of '%s'", program->path);
		size = wait_for(program->fd, POLLIN, end_ms)
		               ? recv(program->fd, program->text + program->size,
		                      program->room - program->size - 1, 0)
		               : -1;
		if (size <= 0)
			return fail_at_end(program, size < 0 && errno == ECONNRESET ? 0 : size);
		program->size += (size_t)size;
	} while (program->text[program->size - 1] != '\n');
	program->text[--program->size] = '\0';
	return true;
}

static bool read_answer(struct program *program, struct snapshot *snapshot)
{
	if (snapshot_read(snapshot, program->text))
		return true;
	fail(program,
	     "what '%s' answers is no snapshot of a service, or is of another version of pawl: "
	     "%.40s",
	     program->path, program->text);
	blank_controls(program->wrong);
	return false;
}

static bool find_symbols(struct program *program, const struct snapshot *snapshot)
{
	if (!program->symbols)
		program->symbols = symbols_open(snapshot->process);
	return program->symbols || fail(program, "no memory for names");
}

struct snapshot *program_ask(struct program *program)
{
	struct snapshot *snapshot = malloc(sizeof(*snapshot));

	if (!snapshot) {
		fail(program, "no memory for a snapshot");
		return NULL;
	}
	if (ask(program) && read_answer(program, snapshot) && find_symbols(program, snapshot))
		return snapshot;
	free(snapshot);
	return NULL;
}

/*
 * Up to `end`, as UTF-8: each byte that is not valid UTF-8 becomes U+FFFD. DEL and U+0080 to U+009F, which JSON allows and
 * a terminal obeys, are escaped.
 */
static void write_characters(const char *text, const char *end, FILE *to)
{
	const char *plain = text; /* from here to `text` nothing is changed */

	while (text < end) {
		const unsigned char *byte = (const unsigned char *)text;
		size_t length = utf8_length(byte, (size_t)(end - text));
		bool wide = length == 2 && byte[0] == 0xC2 && byte[1] < 0xA0;

		if (length > 0 && !wide && byte[0] != 0x7F) {
			text += length;
			continue;
		}
		fwrite(plain, 1, (size_t)(text - plain), to);
		fprintf(to, "\\u%04x", length > 0 ? byte[wide] : 0xFFFDu);
		text += length > 0 ? length : 1;
		plain = text;
	}
	fwrite(plain, 1, (size_t)(end - plain), to);
}

static void write_name(const struct program *program, uint64_t address, bool *first, FILE *to)
{
	const char *name = symbols_name(program->symbols, address);

	if (address == 0)
		return;
	fprintf(to, "%s\"0x%" PRIx64 "\":\"", *first ? "" : ",", address);
	while (*name) {
		const char *special = name + strcspn(name, "\"\\");

		write_characters(name, special, to);
		if (*special)
			fprintf(to, "\\%c", *special++);
		name = special;
	}
	putc('"', to);
	*first = false;
}

static bool has_function(const struct snapshot *snapshot, uint64_t address)
{
	for (unsigned i = 0; i < snapshot->function_count; i++)
		if (snapshot->functions[i].address == address)
			return true;
	return false;
}

void program_write_json(const struct program *program, const struct snapshot *snapshot, FILE *to)
{
	const char *text = program->text;
	bool first = true;

	/* Without its last brace. snapshot_read() has refused the control characters that JSON must escape. */
	write_characters(text, strrchr(text, '}'), to);
	fputs(",\"names\":{", to);
	for (unsigned i = 0; i < snapshot->function_count; i++)
		write_name(program, snapshot->functions[i].address, &first, to);
	if (!has_function(snapshot, snapshot->slowest_address))
		write_name(program, snapshot->slowest_address, &first, to);
	fputs("}}\n", to);
}
