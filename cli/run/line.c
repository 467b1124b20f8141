/* SPDX-License-Identifier: MIT */
#include "line.h"

#include <pawl/wheel.h>
#include <string.h>

#include "../text/duration.h"
#include "../text/timestamp.h"
#include "zones.h"

#define EXPRESSION_MAX 255
#define FIELDS         5 /* of a cron expression: a sixth would be text */

static const char when_expected[] =
        "a delay as 250ms, 1.5s or 1h30m (ns, us, ms, s, m, h or d), 18:00, 'tomorrow' and a time, "
        "@ and a date, 'every' and a delay, 'daily' or 'cron'";
static const char time_expected[] =
        "ISO 8601 as 2026-12-01T09:00Z, 2026-12-01T10:00:00.5+01:00 or "
        "2026-12-01T10:00[Europe/Berlin], or seconds since 1970 (13 digits: ms, 16: us, 19: ns), "
        "from 1970 to 2554";
static const char zone_expected[] = "a zone in brackets, as [Europe/Berlin], or the option --zone";
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

/* Remove the next word and the one blank after it from `rest`. Further blanks belong to the text. */
static struct span next_word(struct span *rest)
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
	error->what = what;
	error->wrong = wrong; /* may be in error->calendar */
	error->expected = expected;
	error->value = value;
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

/* Remove a zone in brackets from the end of the word. false: there is none. */
static bool split_zone_name(struct span *word, struct span *name)
{
	const char *bracket = word->length > 0 ? memchr(word->text, '[', word->length) : NULL;

	if (!bracket || word->text[word->length - 1] != ']')
		return false;
	name->text = bracket + 1;
	name->length = (size_t)(word->text + word->length - 1 - name->text);
	word->length = (size_t)(bracket - word->text);
	return true;
}

/* Remove the zone from the end of the word. Without one *zone is the fallback, which may be NULL. */
static bool split_zone(struct span *word, struct zones *zones, const struct pawl_zone **zone,
                       struct line_error *error)
{
	struct span name;

	*zone = zones->fallback;
	if (!split_zone_name(word, &name))
		return true;
	*zone = zones_find(zones, name, &error->calendar);
	return *zone || fail(error, "zone", name, error->calendar.text, NULL);
}

/*
 * From a local time. If clocks never show it, its fraction of a second does not count. Returns what is wrong, or NULL.
 */
static const char *wall_of_local(const struct pawl_zone *zone, uint64_t local, uint64_t *ns)
{
	int64_t seconds = (int64_t)(local / PAWL_SECOND), time = pawl_zone_time(zone, seconds);
	uint64_t fraction =
	        time + pawl_zone_offset(zone, time) == seconds ? local % PAWL_SECOND : 0;

	if (time < 0 || (uint64_t)time >= UINT64_MAX / PAWL_SECOND)
		return "it is before 1970 or after 2554";
	*ns = (uint64_t)time * PAWL_SECOND + fraction;
	return NULL;
}

static bool parse_time(struct span word, struct zones *zones, struct line *line,
                       struct line_error *error)
{
	struct span whole = {word.text + 1, word.length - 1}, stem = whole;
	const struct pawl_zone *zone;
	struct timestamp stamp = {0};
	const char *wrong;

	if (!split_zone(&stem, zones, &zone, error))
		return false;
	wrong = timestamp_parse(stem.text, stem.length, &stamp);
	if (!wrong && stamp.zoned && stem.length < whole.length)
		wrong = "it has an offset and a zone";
	else if (!wrong && !stamp.zoned)
		wrong = zone ? wall_of_local(zone, stamp.ns, &stamp.ns) : "it has no zone";
	if (wrong)
		return fail(error, "time", whole, wrong, time_expected);
	line->kind = LINE_AT;
	line->ns = stamp.ns;
	return true;
}

static struct span without_zone(struct span word)
{
	struct span zone;

	split_zone_name(&word, &zone);
	return word;
}

/* Whether the word is the name, with or without a zone after it. */
static bool is_keyword(struct span word, const char *name)
{
	return equals(without_zone(word), name);
}

/* Remove the next `count` words, with the blanks between them, from `rest`. */
static struct span next_words(struct span *rest, int count)
{
	struct span words = {0}, word;

	for (int i = 0; i < count; i++) {
		skip_blanks(rest);
		if (i == 0)
			words.text = rest->text;
		word = next_word(rest);
		if (word.length > 0)
			words.length = (size_t)(word.text + word.length - words.text);
	}
	return words;
}

static bool is_cron_word(struct span rest)
{
	skip_blanks(&rest);
	return rest.length > 0 && *rest.text == '@';
}

typedef int rule_parser(struct pawl_calendar_rule *rule, const char *text,
                        struct pawl_calendar_error *error);

/* A rule in the zone of the keyword, from the expression after it. */
static bool parse_rule(struct span keyword, struct span expression, rule_parser *parser,
                       struct zones *zones, struct line *line, struct line_error *error)
{
	char text[EXPRESSION_MAX + 1];

	if (!split_zone(&keyword, zones, &line->timetable.zone, error))
		return false;
	if (!line->timetable.zone)
		return fail(error, "rule", keyword, "it has no zone", zone_expected);
	if (expression.length > EXPRESSION_MAX)
		return fail(error, "rule", expression, "it is too long", "at most 255 bytes");
	if (expression.length > 0)
		memcpy(text, expression.text, expression.length);
	text[expression.length] = '\0';
	if (parser(&line->timetable.rule, text, &error->calendar) != 0)
		return fail(error, "rule", expression, error->calendar.text, NULL);
	if (timetable_next(&line->timetable, 0) == PAWL_NEVER)
		return fail(error, "rule", expression, "it never fires", "a date that comes");
	line->kind = LINE_CALENDAR;
	return true;
}

static bool parse_period(struct span *rest, struct line *line, struct line_error *error)
{
	struct span word;
	const char *wrong;

	skip_blanks(rest);
	word = next_word(rest);
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

/* 18:00, in the zone after it, or in the fallback, or else in the machine's own. */
static bool parse_clock(struct span word, struct span expression, enum line_kind kind,
                        struct zones *zones, struct line *line, struct line_error *error)
{
	const struct pawl_zone *fallback = zones->fallback;
	bool good;

	if (!fallback)
		zones->fallback = zones_find(zones, (struct span){"local", 5}, &error->calendar);
	good = parse_rule(word, expression, pawl_calendar_daily, zones, line, error);
	zones->fallback = fallback;
	line->kind = kind;
	return good;
}

/* A time of day with or without a zone, such as 18:00[Europe/Berlin]. */
static bool is_clock(struct span word)
{
	word = without_zone(word);
	return word.length > 1 && word.text[0] >= '0' && word.text[0] <= '9' &&
	       memchr(word.text, ':', word.length);
}

static bool parse_when(struct span word, struct span *rest, struct zones *zones, struct line *line,
                       struct line_error *error)
{
	if (word.length > 0 && word.text[0] == '@')
		return parse_time(word, zones, line, error);
	if (equals(word, "in"))
		return parse_delay(next_words(rest, 1), line, error);
	if (is_clock(word))
		return parse_clock(word, without_zone(word), LINE_TODAY, zones, line, error);
	if (is_keyword(word, "tomorrow"))
		return parse_clock(word, next_words(rest, 1), LINE_TOMORROW, zones, line, error);
	if (equals(word, "every"))
		return parse_period(rest, line, error);
	if (is_keyword(word, "daily"))
		return parse_rule(word, next_words(rest, 1), pawl_calendar_daily, zones, line,
		                  error);
	if (is_keyword(word, "cron"))
		return parse_rule(word, next_words(rest, is_cron_word(*rest) ? 1 : FIELDS),
		                  pawl_calendar_parse, zones, line, error);
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
		return fail(error, "text after !NAME", rest, "it is not allowed", "nothing");
	return true;
}

bool line_parse(struct span source, struct zones *zones, struct line *line,
                struct line_error *error)
{
	struct span rest = source, word;

	*line = (struct line){.kind = LINE_NOTHING};
	if (memchr(source.text, '\0', source.length))
		return fail(error, "line", (struct span){source.text, 0}, "it contains a zero byte",
		            "text");
	skip_blanks(&rest);
	if (rest.length == 0 || *rest.text == '#')
		return true;
	line->source = rest;
	word = next_word(&rest);
	if (word.text[0] == '!')
		return parse_cancel(word, rest, line, error);
	if (word.text[0] == '=') {
		if (!parse_name(word, line, error))
			return false;
		skip_blanks(&rest);
		word = next_word(&rest);
	}
	if (!parse_when(word, &rest, zones, line, error))
		return false;
	line->text = rest;
	return true;
}

/* Tomorrow begins when the zone's clocks first show its midnight, or a later time. */
static uint64_t tomorrow(const struct pawl_zone *zone, uint64_t wall)
{
	int64_t now = (int64_t)(wall / PAWL_SECOND), local = now + pawl_zone_offset(zone, now);

	return (uint64_t)pawl_zone_time(zone, (local / 86400 + 1) * 86400) * PAWL_SECOND;
}

void line_resolve(struct line *line, uint64_t wall)
{
	if (line->kind == LINE_TOMORROW)
		wall = tomorrow(line->timetable.zone, wall) - 1;
	else if (line->kind != LINE_TODAY && line->kind != LINE_CALENDAR)
		return;
	line->ns = timetable_next(&line->timetable, wall);
	if (line->kind != LINE_CALENDAR)
		line->kind = LINE_AT;
}

/* In many logs a blank is between the date and the time: then the stamp is two words. */
static struct span next_stamp(struct span *rest)
{
	struct span stamp = next_word(rest), time;

	if (stamp.length != strlen("2026-12-01") || stamp.text[4] != '-')
		return stamp;
	time = next_word(rest);
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
	word = next_stamp(&rest);
	wrong = timestamp_parse(word.text, word.length, &stamp);
	if (wrong)
		return fail(error, "timestamp", word, wrong, TIMESTAMP_EXPECTED);
	*line = (struct line){.kind = LINE_AT, .ns = stamp.ns, .text = source};
	return true;
}
