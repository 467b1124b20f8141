/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32, FORMAT = 1 };

/* A position in the text. Once something is wrong, nothing more is read. */
struct reader {
	const char *at;
	unsigned depth;
	bool wrong;
};

static char peek(struct reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' ||
	       *reader->at == '\r')
		reader->at++;
	return reader->wrong ? '\0' : *reader->at;
}

static bool accept(struct reader *reader, char expected)
{
	if (peek(reader) != expected)
		return false;
	reader->at++;
	return true;
}

static void expect(struct reader *reader, char expected)
{
	if (!accept(reader, expected))
		reader->wrong = true;
}

static void add(char *text, size_t size, size_t *used, unsigned byte)
{
	if (*used + 1 < size)
		text[(*used)++] = (char)byte;
}

/* The character of four hexadecimal digits, in UTF-8. */
static void add_character(char *text, size_t size, size_t *used, unsigned code)
{
	if (code < 0x80) {
		add(text, size, used, code);
	} else if (code < 0x800) {
		add(text, size, used, 0xC0 | code >> 6);
		add(text, size, used, 0x80 | (code & 0x3F));
	} else {
		add(text, size, used, 0xE0 | code >> 12);
		add(text, size, used, 0x80 | (code >> 6 & 0x3F));
		add(text, size, used, 0x80 | (code & 0x3F));
	}
}

/* Those of ASCII, and U+0080 to U+009F. */
void blank_controls(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++)
		if (*at < 0x20 || *at == 0x7F)
			*at = ' ';
		else if (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0)
			at[0] = at[1] = ' ';
}

/* A string that is longer than `size` is cut. A control character must be escaped, as in all JSON. */
static void read_string(struct reader *reader, char *text, size_t size)
{
	size_t used = 0;

	expect(reader, '"');
	while (!reader->wrong && *reader->at != '"') {
		char digits[5] = "";

		if ((unsigned char)*reader->at < 0x20) {
			reader->wrong = true;
		} else if (*reader->at != '\\') {
			add(text, size, &used, (unsigned char)*reader->at++);
		} else if (reader->at[1] == 'u' && strnlen(reader->at, 6) == 6) {
			memcpy(digits, reader->at + 2, 4);
			add_character(text, size, &used, (unsigned)strtoul(digits, NULL, 16));
			reader->at += 6;
		} else if (reader->at[1] !=
		           '\0') { /* a character that stands for itself, or a control */
			add(text, size, &used,
			    strchr("bfnrt", reader->at[1]) ? ' ' : (unsigned char)reader->at[1]);
			reader->at += 2;
		} else {
			reader->wrong = true;
		}
	}
	if (size > 0) {
		text[used] = '\0';
		blank_controls(text);
	}
	if (!reader->wrong)
		reader->at++;
}

static uint64_t read_number(struct reader *reader)
{
	char *end;
	uint64_t number;

	peek(reader);
	number = strtoull(reader->at, &end, 10);
	if (end == reader->at || *reader->at == '-')
		reader->wrong = true;
	reader->at = end;
	return reader->wrong ? 0 : number;
}

static uint64_t read_address(struct reader *reader)
{
	char text[32];

	read_string(reader, text, sizeof(text));
	return strtoull(text, NULL, 0);
}

typedef void read_member(struct reader *reader, const char *name, void *to);
typedef void read_element(struct reader *reader, void *to);

static void read_object(struct reader *reader, read_member *member, void *to)
{
	char name[64];

	expect(reader, '{');
	if (accept(reader, '}'))
		return;
	do {
		read_string(reader, name, sizeof(name));
		expect(reader, ':');
		member(reader, name, to);
	} while (accept(reader, ','));
	expect(reader, '}');
}

static void read_list(struct reader *reader, read_element *element, void *to)
{
	expect(reader, '[');
	if (accept(reader, ']'))
		return;
	do
		element(reader, to);
	while (accept(reader, ','));
	expect(reader, ']');
}

static void skip_value(struct reader *reader, void *nothing);

static void skip_member(struct reader *reader, const char *name, void *nothing)
{
	(void)name;
	skip_value(reader, nothing);
}

/* A number, true, false or null. */
static void skip_word(struct reader *reader)
{
	size_t length = strspn(reader->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

	if (length == 0)
		reader->wrong = true;
	reader->at += length;
}

static void skip_value(struct reader *reader, void *nothing)
{
	char first = peek(reader);

	if (++reader->depth > DEPTH_MAX)
		reader->wrong = true;
	else if (first == '{')
		read_object(reader, skip_member, nothing);
	else if (first == '[')
		read_list(reader, skip_value, nothing);
	else if (first == '"')
		read_string(reader, NULL, 0);
	else
		skip_word(reader);
	reader->depth--;
}

/* A member that is a number, and its offset in the struct. */
struct field {
	const char *name;
	size_t offset;
};

#define FIELD(type, name)                          \
	{                                          \
#name, offsetof(struct type, name) \
	}
#define COUNTOF(array) (sizeof(array) / sizeof((array)[0]))

static bool read_field(struct reader *reader, const char *name, const struct field *fields,
                       size_t count, void *to)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, fields[i].name) == 0) {
			uint64_t number = read_number(reader);

			memcpy((char *)to + fields[i].offset, &number, sizeof(number));
			return true;
		}
	return false;
}

static void read_cell(struct reader *reader, void *to)
{
	struct cells *cells = to;
	struct cell *cell = &cells->cell[cells->used < CELLS_MAX ? cells->used++ : CELLS_MAX - 1];

	expect(reader, '[');
	cell->end_ns = read_number(reader);
	expect(reader, ',');
	cell->count = read_number(reader);
	expect(reader, ']');
}

static void read_cells(struct reader *reader, const char *name, void *to)
{
	static const struct field fields[] = {FIELD(cells, count), FIELD(cells, max_ns)};

	if (strcmp(name, "cells") == 0)
		read_list(reader, read_cell, to);
	else if (!read_field(reader, name, fields, COUNTOF(fields), to))
		skip_value(reader, NULL);
}

static void read_due(struct reader *reader, void *to)
{
	struct snapshot *snapshot = to;
	struct due *due =
	        &snapshot->due[snapshot->due_count < DUE_MAX ? snapshot->due_count++ : DUE_MAX - 1];

	expect(reader, '[');
	if (peek(reader) == 'n') {
		skip_value(reader, NULL);
		due->within_ns = UINT64_MAX;
	} else {
		due->within_ns = read_number(reader);
	}
	expect(reader, ',');
	due->count = read_number(reader);
	expect(reader, ',');
	due->margin = read_number(reader);
	expect(reader, ']');
}

static void read_function_member(struct reader *reader, const char *name, void *to)
{
	static const struct field fields[] = {FIELD(function, pending), FIELD(function, margin),
	                                      FIELD(function, runs), FIELD(function, total_ns),
	                                      FIELD(function, longest_ns)};

	if (strcmp(name, "function") == 0)
		((struct function *)to)->address = read_address(reader);
	else if (!read_field(reader, name, fields, COUNTOF(fields), to))
		skip_value(reader, NULL);
}

static void read_function(struct reader *reader, void *to)
{
	struct snapshot *snapshot = to;
	struct function function = {0};

	read_object(reader, read_function_member, &function);
	if (snapshot->function_count < FUNCTIONS_MAX)
		snapshot->functions[snapshot->function_count++] = function;
}

static void read_run_member(struct reader *reader, const char *name, void *to)
{
	static const struct field fields[] = {FIELD(run, worker), FIELD(run, deadline_ns),
	                                      FIELD(run, start_ns), FIELD(run, took_ns)};

	if (strcmp(name, "function") == 0)
		((struct run *)to)->address = read_address(reader);
	else if (!read_field(reader, name, fields, COUNTOF(fields), to))
		skip_value(reader, NULL);
}

static void read_run(struct reader *reader, void *to)
{
	struct snapshot *snapshot = to;
	struct run run = {0};

	read_object(reader, read_run_member, &run);
	if (snapshot->latest_count < LATEST_MAX)
		snapshot->latest[snapshot->latest_count++] = run;
}

static void read_key_member(struct reader *reader, const char *name, void *to)
{
	struct key *key = to;

	if (strcmp(name, "hash") == 0)
		read_string(reader, key->hash, sizeof(key->hash));
	else if (strcmp(name, "operation") == 0)
		read_string(reader, key->operation, sizeof(key->operation));
	else if (strcmp(name, "waiting") == 0)
		key->waiting = read_number(reader);
	else
		skip_value(reader, NULL);
}

static void read_key(struct reader *reader, void *to)
{
	struct purgatory *purgatory = to;
	struct key key = {.hash = ""};

	read_object(reader, read_key_member, &key);
	if (purgatory->key_count < KEYS_MAX)
		purgatory->keys[purgatory->key_count++] = key;
}

static void read_purgatory_member(struct reader *reader, const char *name, void *to)
{
	static const struct field fields[] = {
	        FIELD(purgatory, watched),
	        FIELD(purgatory, delayed),
	        FIELD(purgatory, expired),
	        FIELD(purgatory, completed_by_try),
	        FIELD(purgatory, completed_by_check),
	        FIELD(purgatory, completed_by_call),
	};

	if (strcmp(name, "keys") == 0)
		read_list(reader, read_key, to);
	else if (!read_field(reader, name, fields, COUNTOF(fields), to))
		skip_value(reader, NULL);
}

static void read_purgatory(struct reader *reader, void *to)
{
	struct snapshot *snapshot = to;

	if (snapshot->purgatory_count == PURGATORIES_MAX)
		skip_value(reader, NULL);
	else
		read_object(reader, read_purgatory_member,
		            &snapshot->purgatories[snapshot->purgatory_count++]);
}

static void read_slowest_member(struct reader *reader, const char *name, void *to)
{
	struct snapshot *snapshot = to;

	if (strcmp(name, "function") == 0)
		snapshot->slowest_address = read_address(reader);
	else if (strcmp(name, "took_ns") == 0)
		snapshot->slowest_ns = read_number(reader);
	else
		skip_value(reader, NULL);
}

static void read_snapshot_member(struct reader *reader, const char *name, void *to)
{
	static const struct field fields[] = {
	        FIELD(snapshot, format),    FIELD(snapshot, process),
	        FIELD(snapshot, now_ns),    FIELD(snapshot, tick_ns),
	        FIELD(snapshot, workers),   FIELD(snapshot, shards),
	        FIELD(snapshot, armed),     FIELD(snapshot, ran),
	        FIELD(snapshot, cancelled), FIELD(snapshot, dropped),
	        FIELD(snapshot, pending),   FIELD(snapshot, sampled),
	        FIELD(snapshot, wakeups),   FIELD(snapshot, empty_wakeups),
	};
	struct snapshot *snapshot = to;

	if (strcmp(name, "pawl") == 0)
		read_string(reader, snapshot->version, sizeof(snapshot->version));
	else if (strcmp(name, "name") == 0)
		read_string(reader, snapshot->name, sizeof(snapshot->name));
	else if (strcmp(name, "due") == 0)
		read_list(reader, read_due, snapshot);
	else if (strcmp(name, "functions") == 0)
		read_list(reader, read_function, snapshot);
	else if (strcmp(name, "latest") == 0)
		read_list(reader, read_run, snapshot);
	else if (strcmp(name, "lateness") == 0)
		read_object(reader, read_cells, &snapshot->lateness);
	else if (strcmp(name, "run_time") == 0)
		read_object(reader, read_cells, &snapshot->run_time);
	else if (strcmp(name, "slowest") == 0)
		read_object(reader, read_slowest_member, snapshot);
	else if (strcmp(name, "purgatories") == 0)
		read_list(reader, read_purgatory, snapshot);
	else if (!read_field(reader, name, fields, COUNTOF(fields), snapshot))
		skip_value(reader, NULL);
}

bool snapshot_read(struct snapshot *snapshot, const char *text)
{
	struct reader reader = {.at = text};

	memset(snapshot, 0, sizeof(*snapshot));
	read_object(&reader, read_snapshot_member, snapshot);
	return !reader.wrong && peek(&reader) == '\0' && snapshot->format == FORMAT;
}

/* How many a cell has counted since `before`. *at is a cursor in the cells of `before`, which have the same order. */
static uint64_t counted_since(const struct cell *cell, const struct cells *before, unsigned *at)
{
	while (before && *at < before->used && before->cell[*at].end_ns < cell->end_ns)
		++*at;
	if (!before || *at == before->used || before->cell[*at].end_ns != cell->end_ns ||
	    before->cell[*at].count > cell->count)
		return cell->count;
	return cell->count - before->cell[*at].count;
}

uint64_t cells_percentile(const struct cells *now, const struct cells *before, double percent)
{
	uint64_t all = 0, seen = 0, last = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < now->used; i++)
		all += counted_since(&now->cell[i], before, &at);
	at = 0;
	for (unsigned i = 0; i < now->used; i++) {
		uint64_t count = counted_since(&now->cell[i], before, &at);

		seen += count;
		last = count ? now->cell[i].end_ns : last;
		if (seen > 0 && (double)seen >= (double)all * percent / 100)
			break;
	}
	return last < now->max_ns ? last : now->max_ns;
}
