/* SPDX-License-Identifier: MIT */
/*
 * Journeys for a terminal: each step as a sentence, and the timer's level as a strip of slots.
 *
 *	level 2   ○ [1] · · · · · · · · · · · · · · · · · ·   400 ms a slot
 *
 * ○ is the slot of the present time.
 */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "../../src/base/saturate.h"
#include "../text/duration.h"
#include "../text/terminal.h"
#include "explain.h"

#define TEXT_WIDTH 78
#define STRIP_MAX  20 /* levels with more slots are shown in part... */
#define NEARBY     4  /* ...and then this many on both sides of the timer's slot */
#define WIDTH_MAX  12 /* bytes for a slot's width after a strip; a longer one has its own line */

struct style {
	FILE *out;
	struct terminal terminal;
	const char *slot, *current, *gap;
};

/* Words that begin at column `indent` and wrap before TEXT_WIDTH. Returns the last column. */
static unsigned print_wrapped(const struct style *s, unsigned indent, unsigned column,
                              const char *text)
{
	while (*text) {
		unsigned length = (unsigned)strcspn(text, " ");

		if (column > indent && column + 1 + length > TEXT_WIDTH) {
			fprintf(s->out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', s->out);
			column++;
		}
		fprintf(s->out, "%.*s", (int)length, text);
		column += length;
		text += length + (text[length] == ' ');
	}
	return column;
}

static bool is_shown(const struct journey_level *level, unsigned slot, unsigned chosen)
{
	unsigned distance = slot > chosen ? slot - chosen : chosen - slot;

	return level->slots <= STRIP_MAX || distance <= NEARBY || slot == level->current ||
	       slot == 0 || slot == level->slots - 1;
}

static void print_slots(const struct style *s, const struct journey_level *level, unsigned chosen)
{
	const struct terminal *t = &s->terminal;
	bool in_gap = false;

	for (unsigned slot = 0; slot < level->slots; slot++) {
		bool shown = is_shown(level, slot, chosen);

		if (!shown && !in_gap)
			fprintf(s->out, " %s%s%s", t->dim, s->gap, t->plain);
		else if (shown && slot == chosen)
			fprintf(s->out, " %s[%u]%s", t->accent, slot, t->plain);
		else if (shown && slot == level->current)
			fprintf(s->out, " %s", s->current);
		else if (shown)
			fprintf(s->out, " %s%s%s", t->dim, s->slot, t->plain);
		in_gap = !shown;
	}
}

static void print_strip(const struct style *s, const struct explanation *e,
                        const struct explained *timer, const struct journey_step *step)
{
	struct journey_level level =
	        journey_level_at(&timer->journey, step->place.level, step->time);
	const char *width = EXACTLY(saturating_product(level.slot_ticks, e->options.tick));

	fprintf(s->out, "\n    %slevel %-2u%s ", s->terminal.bold, level.level, s->terminal.plain);
	print_slots(s, &level, step->place.slot);
	fprintf(s->out, "%s   %s%s a slot%s\n\n", strlen(width) > WIDTH_MAX ? "\n           " : "",
	        s->terminal.dim, width, s->terminal.plain);
}

/* A step that puts the timer somewhere ends a paragraph, and the strip follows. */
static void print_timer(const struct style *s, const struct explanation *e,
                        const struct explained *timer)
{
	char text[512];
	unsigned column = 0;

	fprintf(s->out, "%s%s%s\n\n", s->terminal.bold, EXACTLY(timer->delay), s->terminal.plain);
	for (unsigned i = 0; i < timer->count; i++) {
		const struct journey_step *step = &timer->steps[i];

		journey_words(step, duration_exact, text, sizeof(text));
		if (column == 0)
			column = (unsigned)fprintf(s->out, "  ");
		column = print_wrapped(s, 2, column, text);
		if (step->event == JOURNEY_PUT || step->event == JOURNEY_MOVED) {
			fputc('\n', s->out);
			print_strip(s, e, timer, step);
			column = 0;
		}
	}
	fputc('\n', s->out);
}

void explain_in_text(FILE *out, const struct explanation *e)
{
	struct style s = {.out = out, .terminal = terminal_of(fileno(out))};

	s.slot = s.terminal.utf8 ? "·" : ".";
	s.current = s.terminal.utf8 ? "○" : "o";
	s.gap = s.terminal.utf8 ? "…" : "..";
	for (size_t i = 0; i < e->count; i++) {
		if (i > 0)
			fputc('\n', out);
		print_timer(&s, e, &e->timers[i]);
	}
	fprintf(out,
	        "\n%s[n] the slot that the timer sits in   %s the slot of the present time%s\n",
	        s.terminal.dim, s.current, s.terminal.plain);
}
