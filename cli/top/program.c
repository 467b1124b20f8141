/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/utf8.h"

bool program_connect(struct program *program, unsigned seconds)
{
	return link_open(&program->link, program->path, seconds);
}

void program_disconnect(struct program *program)
{
	link_close(&program->link);
	symbols_close(program->symbols);
	program->symbols = NULL;
}

static bool read_answer(struct program *program, struct snapshot *snapshot)
{
	struct link *link = &program->link;

	if (snapshot_read(snapshot, link->text))
		return true;
	snprintf(link->wrong, sizeof(link->wrong),
	         "what '%s' answers is no snapshot of a service, or is of another version of pawl: "
	         "%.40s",
	         program->path, link->text);
	blank_controls(link->wrong);
	return false;
}

static bool find_symbols(struct program *program, const struct snapshot *snapshot)
{
	if (!program->symbols)
		program->symbols = symbols_open(snapshot->process);
	if (!program->symbols)
		snprintf(program->link.wrong, sizeof(program->link.wrong), "no memory for names");
	return program->symbols;
}

struct snapshot *program_ask(struct program *program)
{
	struct snapshot *snapshot = malloc(sizeof(*snapshot));

	if (!snapshot) {
		snprintf(program->link.wrong, sizeof(program->link.wrong),
		         "no memory for a snapshot");
		return NULL;
	}
	if (link_ask(&program->link, program->path) && read_answer(program, snapshot) &&
	    find_symbols(program, snapshot))
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
	const char *text = program->link.text;
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
