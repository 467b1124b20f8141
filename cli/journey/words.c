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

static void tell(struct writer *w, const struct journey_step *step, const char *sentence);

/* What a letter after % stands for. */
static void put_part(struct writer *w, const struct journey_step *step, char letter)
{
	switch (letter) {
	case 't':
		put_time(w, step->time);
		break;
	case 'o':
		put_time(w, step->place.opens);
		break;
	case 'e':
		put_time(w, step->below_ends);
		break;
	case 'r': /* the rest of its time */
		put_time(w, step->due - step->time);
		break;
	case 'a': /* how long after its deadline */
		put_time(w, step->time - step->deadline);
		break;
	case 'b':
		put_number(w, step->place.level - 1);
		break;
	case 'd':
		put(w, "due at ");
		put_time(w, step->deadline);
		if (step->due != step->deadline) {
			put(w, ", rounded up to ");
			put_time(w, step->due);
		}
		break;
	case 's':
		put(w, "slot ");
		put_number(w, step->place.slot);
		put(w, " of level ");
		put_number(w, step->place.level);
		break;
	case 'p':
		put(w, "level ");
		put_number(w, step->place.level);
		put(w, ", slot ");
		put_number(w, step->place.slot);
		tell(w, step,
		     step->serves_again
		             ? ", which time has passed and which serves again: it opens at %o"
		             : ", which opens at %o");
	}
}

static void tell(struct writer *w, const struct journey_step *step, const char *sentence)
{
	for (; *sentence; sentence++)
		if (*sentence == '%')
			put_part(w, step, *++sentence);
		else
			put_char(w, *sentence);
}

static const char *sentence_of(const struct journey_step *step)
{
	switch (step->event) {
	case JOURNEY_PUT:
		return step->place.level > 0 ? "At %t it is armed, %d. Level %b holds what is due "
		                               "before %e, so it goes to %p."
		                             : "At %t it is armed, %d. It goes to %p.";
	case JOURNEY_LATE:
		return "At %t it is armed, %d. That is not after now, so it is due at once.";
	case JOURNEY_TOUCHED:
		return "At %t it is touched, and now %d. It stays in %s until that opens at %o, "
		       "and is put right then.";
	case JOURNEY_OPENED:
		return step->due > step->time ? "At %t %s opens: %r to go." : "At %t %s opens.";
	case JOURNEY_MOVED:
		return step->place.level < step->from_level ? "It moves down to %p."
		                                            : "It is put on %p.";
	case JOURNEY_DUE:
		return step->deadline < step->time
		               ? "At %t it is due, %a after its deadline and never before it."
		               : "At %t it is due.";
	case JOURNEY_CANCELLED:
		return step->waiting ? "At %t it is cancelled: it leaves %s at once, and nothing "
		                       "of it stays."
		                     : "At %t it is cancelled, due but not popped yet: it will "
		                       "not be.";
	case JOURNEY_IDLE:
		return "At %t it is cancelled, but it was not armed.";
	}
	return "";
}

size_t journey_words(const struct journey_step *step, journey_time_fn *write_time, char *text,
                     size_t size)
{
	struct writer w = {.text = text, .size = size, .write_time = write_time};

	tell(&w, step, sentence_of(step));
	if (size > 0)
		text[w.length < size ? w.length : size - 1] = '\0';
	return w.length;
}
