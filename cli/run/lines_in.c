/* SPDX-License-Identifier: MIT */
/* Input lines: parsed, named and armed. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/saturate.h"
#include "state.h"
#include "wall.h"
#include "zones.h"

#define VALUE_MAX 60 /* bytes of a bad value that are shown */

static void print_value(struct span value)
{
	size_t length = value.length < VALUE_MAX ? value.length : VALUE_MAX;

	for (size_t i = 0; i < length; i++)
		fputc(value.text[i] >= ' ' && value.text[i] != 127 ? value.text[i] : '?', stderr);
	if (length < value.length)
		fputs("...", stderr);
}

static void report_bad(struct pipe *p, const struct line_error *error)
{
	fprintf(stderr, "%s:%" PRIu64 ": bad %s", p->input.name, p->input.number, error->what);
	if (error->value.length > 0) {
		fputs(" '", stderr);
		print_value(error->value);
		fputc('\'', stderr);
	}
	fprintf(stderr, ": %s", error->wrong);
	if (error->expected)
		fprintf(stderr, "; expected %s", error->expected);
	fputc('\n', stderr);
	p->counts.bad++;
	if (p->options->strict)
		p->stop = STOP_STRICT;
}

/* The first line is due now. The others keep their distance from it, divided by the speed. */
static uint64_t replayed(struct pipe *p, uint64_t stamp, uint64_t now)
{
	if (!p->based) {
		p->based = true;
		p->base_stamp = stamp;
		p->base_time = now;
	}
	if (stamp <= p->base_stamp)
		return now;
	stamp -= p->base_stamp;
	if (p->options->speed != 1.0) {
		double distance = ceil((double)stamp / p->options->speed);

		stamp = distance < 0x1p63 ? (uint64_t)distance : PAWL_NEVER;
	}
	return deadline_after(p->base_time, stamp);
}

static uint64_t deadline_of(struct pipe *p, const struct line *line)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);

	if (p->options->replay)
		return replayed(p, line->ns, now);
	if (line->kind == LINE_AT || line->kind == LINE_CALENDAR)
		return wall_deadline(line->ns, now, clock_ns(CLOCK_REALTIME));
	return deadline_after(now, line->ns);
}

static void keep_line(struct pipe *p, const struct line *line)
{
	struct entry *entry = entry_new(line, p->input.number);
	struct entry *old = line->name.length ? names_find(&p->names, line->name) : NULL;

	if (!entry || (line->name.length && !names_add(&p->names, entry))) {
		free(entry);
		pipe_fail(p, "a line cannot be kept", ENOMEM);
		return;
	}
	if (old) {
		p->counts.replaced++;
		pipe_remove(p, old);
	}
	pawl_wheel_arm_at(p->wheel, &entry->timer, deadline_of(p, line));
}

/* A name that has fired already or never existed is not an error: the writer of the line cannot know. */
static void cancel_name(struct pipe *p, struct span name)
{
	struct entry *entry = names_find(&p->names, name);

	if (!entry)
		return;
	p->counts.cancelled++;
	pipe_remove(p, entry);
}

static void handle_line(struct pipe *p, struct span source)
{
	struct line_error error;
	struct line line;
	bool good = p->options->replay ? line_parse_stamped(source, &line, &error)
	                               : line_parse(source, &p->zones, &line, &error);

	p->counts.read++;
	if (good && !p->options->replay)
		line_resolve(&line, clock_ns(CLOCK_REALTIME));
	if (!good)
		report_bad(p, &error);
	else if (line.kind == LINE_CANCEL)
		cancel_name(p, line.name);
	else if (line.kind != LINE_NOTHING)
		keep_line(p, &line);
}

static void report_too_long(struct pipe *p)
{
	static const struct line_error error = {
	        .what = "line", .wrong = "it is too long", .expected = "at most 65536 bytes"};

	p->counts.read++;
	report_bad(p, &error);
}

static void handle_lines(struct pipe *p)
{
	enum input_result result;
	struct span line;

	while (!p->stop && (result = input_next(&p->input, &line)) != INPUT_NONE) {
		if (result == INPUT_LINE)
			handle_line(p, line);
		else
			report_too_long(p);
	}
}

static void give(struct pipe *p, const char *text)
{
	while (*text && !p->stop) {
		text += input_give(&p->input, text);
		handle_lines(p);
	}
}

/* In messages -e stands for the file. */
void pipe_read_lines(struct pipe *p)
{
	const char *name = p->input.name;

	p->input.name = "-e";
	for (size_t i = 0; i < p->options->lines.count; i++) {
		give(p, p->options->lines.list[i]);
		give(p, "\n");
	}
	p->input.name = name;
	p->input.number = 0;
	p->input.ended = p->options->no_input;
}

void pipe_read_input(struct pipe *p)
{
	int error = input_read(&p->input);

	if (error)
		pipe_fail(p, p->input.name, -error);
	else
		handle_lines(p);
}
