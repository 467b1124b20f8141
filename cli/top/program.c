/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void write_name(const struct program *program, uint64_t address, bool *first, FILE *to)
{
	const char *name = symbols_name(program->symbols, address);

	if (address == 0)
		return;
	fprintf(to, "%s\"0x%" PRIx64 "\":\"", *first ? "" : ",", address);
	for (; *name; name++)
		fprintf(to, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
	putc('"', to);
	*first = false;
}

/*
 * The snapshot without its last brace. snapshot_read() has refused the control characters that JSON must escape; DEL and
 * U+0080 to U+009F, which JSON allows and a terminal obeys, are escaped here.
 */
static void write_members(const char *text, FILE *to)
{
	const char *end = strrchr(text, '}'), *plain = text;

	for (const char *at = text; at < end; at++) {
		const unsigned char *byte = (const unsigned char *)at;
		bool wide = byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0;

		if (!wide && byte[0] != 0x7F)
			continue;
		fwrite(plain, 1, (size_t)(at - plain), to);
		fprintf(to, "\\u%04x", byte[wide]);
		at += wide;
		plain = at + 1;
	}
	fwrite(plain, 1, (size_t)(end - plain), to);
}

void program_write_json(const struct program *program, const struct snapshot *snapshot, FILE *to)
{
	bool first = true;

	write_members(program->link.text, to);
	fputs(",\"names\":{", to);
	for (unsigned i = 0; i < snapshot->function_count; i++)
		write_name(program, snapshot->functions[i].address, &first, to);
	if (snapshot->slowest_address)
		write_name(program, snapshot->slowest_address, &first, to);
	fputs("}}\n", to);
}
