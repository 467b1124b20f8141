/* SPDX-License-Identifier: MIT */
/*
 * The steps of a journey as sentences. There is no C library, so it has a small writer of its own.
 */
#include "journey.h"

/* Writes the part of a text that fits, and counts all of it. */
struct writer {
	char *text;
	size_t size, length;
	journey_time_fn *write_time;
};

static void put_char(struct writer *w, char c)
{
	if (w->length + 1 < w->size)
		w->text[w->length] = c;
	w->length++;
}

static void put(struct writer *w, const char *text)
{
	while (*text)
		put_char(w, *text++);
}

static void put_number(struct writer *w, uint64_t number)
{
	if (number >= 10)
		put_number(w, number / 10);
	put_char(w, (char)('0' + number % 10));
}

static void put_time(struct writer *w, uint64_t time)
{
	char text[JOURNEY_TIME];

	w->write_time(time, text);
	put(w, text);
}

static void put_at(struct writer *w, const struct journey_step *step)
{
	put(w, "At ");
	put_time(w, step->time);
	put_char(w, ' ');
}

static void put_level(struct writer *w, unsigned level)
{
	put(w, "level ");
	put_number(w, level);
}

/* "level 2, slot 1, which opens at 400 ms" */
static void put_place(struct writer *w, const struct journey_step *step)
{
	put_level(w, step->place.level);
	put(w, ", slot ");
	put_number(w, step->place.slot);
	put(w, step->serves_again ? ", which time has passed and which serves again: it opens at "
	                          : ", which opens at ");
	put_time(w, step->place.opens);
}

/* "slot 1 of level 2" */
static void put_slot(struct writer *w, const struct journey_step *step)
{
	put(w, "slot ");
	put_number(w, step->place.slot);
	put(w, " of ");
	put_level(w, step->place.level);
}

/* "due at 2.5 ms, rounded up to 3 ms" */
static void put_due(struct writer *w, const struct journey_step *step)
{
	put(w, "due at ");
	put_time(w, step->deadline);
	if (step->due != step->deadline) {
		put(w, ", rounded up to ");
		put_time(w, step->due);
	}
}

static void tell_put(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is armed, ");
	put_due(w, step);
	put(w, ". ");
	if (step->place.level > 0) {
		put(w, "Level ");
		put_number(w, step->place.level - 1);
		put(w, " holds what is due before ");
		put_time(w, step->below_ends);
		put(w, ", so it");
	} else {
		put(w, "It");
	}
	put(w, " goes to ");
	put_place(w, step);
	put_char(w, '.');
}

static void tell_late(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is armed, ");
	put_due(w, step);
	put(w, ". That is not after now, so it is due at once.");
}

static void tell_touched(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is touched, and now ");
	put_due(w, step);
	put(w, ". It stays in ");
	put_slot(w, step);
	put(w, " until that opens at ");
	put_time(w, step->place.opens);
	put(w, ", and is put right then.");
}

static void tell_opened(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put_slot(w, step);
	put(w, " opens");
	if (step->due > step->time) {
		put(w, ": ");
		put_time(w, step->due - step->time);
		put(w, " to go");
	}
	put_char(w, '.');
}

static void tell_moved(struct writer *w, const struct journey_step *step)
{
	put(w, step->place.level < step->from_level ? "It moves down to " : "It is put on ");
	put_place(w, step);
	put_char(w, '.');
}

static void tell_due(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is due");
	if (step->deadline < step->time) {
		put(w, ", ");
		put_time(w, step->time - step->deadline);
		put(w, " after its deadline and never before it");
	}
	put_char(w, '.');
}

static void tell_cancelled(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is cancelled");
	if (step->waiting) {
		put(w, ": it leaves ");
		put_slot(w, step);
		put(w, " at once, and nothing of it stays.");
	} else {
		put(w, ", due but not popped yet: it will not be.");
	}
}

static void tell_idle(struct writer *w, const struct journey_step *step)
{
	put_at(w, step);
	put(w, "it is cancelled, but it was not armed.");
}

static void finish(struct writer *w)
{
	if (w->size > 0)
		w->text[w->length < w->size ? w->length : w->size - 1] = '\0';
}

size_t journey_words(const struct journey_step *step, journey_time_fn *write_time, char *text,
                     size_t size)
{
	struct writer w = {.text = text, .size = size, .write_time = write_time};

	switch (step->event) {
	case JOURNEY_PUT:
		tell_put(&w, step);
		break;
	case JOURNEY_LATE:
		tell_late(&w, step);
		break;
	case JOURNEY_TOUCHED:
		tell_touched(&w, step);
		break;
	case JOURNEY_OPENED:
		tell_opened(&w, step);
		break;
	case JOURNEY_MOVED:
		tell_moved(&w, step);
		break;
	case JOURNEY_DUE:
		tell_due(&w, step);
		break;
	case JOURNEY_CANCELLED:
		tell_cancelled(&w, step);
		break;
	case JOURNEY_IDLE:
		tell_idle(&w, step);
		break;
	}
	finish(&w);
	return w.length;
}
