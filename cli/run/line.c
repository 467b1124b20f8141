/* SPDX-License-Identifier: MIT */
#include "line.h"

#include <string.h>

#include "../text/duration.h"
#include "../text/timestamp.h"

static const char when_expected[] =
        DURATION_EXPECTED ", or @ and a moment, or 'every' and a duration";
static const char name_expected[] = "1 to 255 bytes without blanks";

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct span *rest)
{
	while (rest->length > 0 && is_blank(*rest->text)) {
		rest->text++;
		rest->length--;
	}
}

/* Takes what stands before the next blank, and that one blank: the text may begin with more. */
static struct span take_word(struct span *rest)
{
	struct span word = {rest->text, 0};

	while (word.length < rest->length && !is_blank(word.text[word.length]))
		word.length++;
	rest->text += word.length;
	rest->length -= word.length;
	if (rest->length > 0) {
		rest->text++;
		rest->length--;
	}
	return word;
}

static bool fail(struct line_error *error, const char *what, struct span value, const char *wrong,
                 const char *expected)
{
	*error = (struct line_error){
	        .what = what, .wrong = wrong, .expected = expected, .value = value};
	return false;
}

static bool equals(struct span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

/* The name after the first character of the word. */
static bool parse_name(struct span word, struct line *line, struct line_error *error)
{
	line->name = (struct span){word.text + 1, word.length - 1};
	if (line->name.length == 0 || line->name.length > LINE_NAME_MAX)
		return fail(error, "name", line->name, "it is too short or too long",
		            name_expected);
	return true;
}

static bool parse_moment(struct span word, struct line *line, struct line_error *error)
{
	struct span moment = {word.text + 1, word.length - 1};
	struct timestamp stamp = {0};
	const char *wrong = timestamp_parse(moment.text, moment.length, &stamp);

	if (!wrong && !stamp.zoned)
		wrong = "it has no zone";
	if (wrong)
		return fail(error, "moment", moment, wrong, TIMESTAMP_EXPECTED);
	line->kind = LINE_AT;
	line->ns = stamp.ns;
	return true;
}

static bool parse_period(struct span *rest, struct line *line, struct line_error *error)
{
	struct span word;
	const char *wrong;

	skip_blanks(rest);
	word = take_word(rest);
	wrong = duration_parse(word.text, word.length, &line->ns);
	if (!wrong && line->ns == 0)
		wrong = "it is 0";
	if (wrong)
		return fail(error, "period", word, wrong, DURATION_EXPECTED);
	line->kind = LINE_EVERY;
	return true;
}

static bool parse_delay(struct span word, struct line *line, struct line_error *error)
{
	const char *wrong = duration_parse(word.text, word.length, &line->ns);

	if (wrong)
		return fail(error, "delay", word, wrong, when_expected);
	line->kind = LINE_AFTER;
	return true;
}

static bool parse_when(struct span word, struct span *rest, struct line *line,
                       struct line_error *error)
{
	if (word.length > 0 && word.text[0] == '@')
		return parse_moment(word, line, error);
	if (equals(word, "every"))
		return parse_period(rest, line, error);
	return parse_delay(word, line, error);
}

static bool parse_cancel(struct span word, struct span rest, struct line *line,
                         struct line_error *error)
{
	line->kind = LINE_CANCEL;
	if (!parse_name(word, line, error))
		return false;
	skip_blanks(&rest);
	if (rest.length > 0)
		return fail(error, "text after !NAME", rest, "there is none", "nothing");
	return true;
}

bool line_parse(struct span source, struct line *line, struct line_error *error)
{
	struct span rest = source, word;

	*line = (struct line){.kind = LINE_NOTHING};
	if (memchr(source.text, '\0', source.length))
		return fail(error, "line", (struct span){source.text, 0}, "it contains a zero byte",
		            "text");
	skip_blanks(&rest);
	if (rest.length == 0 || *rest.text == '#')
		return true;
	word = take_word(&rest);
	if (word.text[0] == '!')
		return parse_cancel(word, rest, line, error);
	if (word.text[0] == '=') {
		if (!parse_name(word, line, error))
			return false;
		skip_blanks(&rest);
		word = take_word(&rest);
	}
	if (!parse_when(word, &rest, line, error))
		return false;
	line->text = rest;
	return true;
}

/* In many logs a blank stands between the date and the time: then a stamp is two words. */
static struct span take_stamp(struct span *rest)
{
	struct span stamp = take_word(rest), time;

	if (stamp.length != strlen("2026-12-01") || stamp.text[4] != '-')
		return stamp;
	time = take_word(rest);
	return (struct span){stamp.text, (size_t)(time.text + time.length - stamp.text)};
}

bool line_parse_stamped(struct span source, struct line *line, struct line_error *error)
{
	struct span rest = source, word;
	struct timestamp stamp = {0};
	const char *wrong;

	*line = (struct line){.kind = LINE_NOTHING};
	if (memchr(source.text, '\0', source.length))
		return fail(error, "line", (struct span){source.text, 0}, "it contains a zero byte",
		            "text");
	skip_blanks(&rest);
	if (rest.length == 0)
		return true;
	word = take_stamp(&rest);
	wrong = timestamp_parse(word.text, word.length, &stamp);
	if (wrong)
		return fail(error, "timestamp", word, wrong, TIMESTAMP_EXPECTED);
	*line = (struct line){.kind = LINE_AT, .ns = stamp.ns, .text = source};
	return true;
}
