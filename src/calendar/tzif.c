/* SPDX-License-Identifier: MIT */
/*
 * Reads TZif data (RFC 9636). The data is not trusted: every count is checked against the size before anything is read.
 * The rest of the calendar relies on these checks:
 *
 *  - the changes are in order, and within EVER;
 *  - offsets are from OFFSET_MIN to OFFSET_MAX;
 *  - the days and times of the yearly changes are in their ranges.
 *
 * Changes of a zone's name that keep its offset are left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../system/system.h"
#include "error.h"
#include "zone.h"

#define DIRECTORY     "/usr/share/zoneinfo/"
#define OWN_ZONE      "/etc/localtime"
#define ZONE_NAME_MAX 255
#define FILE_MAX      16384 /* bytes; the largest file of tzdata has 4 KiB */
#define HEADER_SIZE   44

/* The data, how far it is read, and where errors go. */
struct reader {
	const unsigned char *data;
	size_t size, at;
	struct pawl_calendar_error *error;
};

/* The counts of a header, in its order. */
struct header {
	uint32_t isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt;
	unsigned char version;
};

#define fail(r, ...) pawl__calendar_fail((r)->error, (r)->at, __VA_ARGS__)

static uint32_t get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* From two's complement, without implementation-defined conversions. */
static int64_t signed64(uint64_t value)
{
	return value >> 63 ? -(int64_t)~value - 1 : (int64_t)value;
}

static int64_t get_time(const unsigned char *p, size_t width)
{
	if (width == 4)
		return signed64((uint64_t)get32(p) << 32) / (INT64_C(1) << 32);
	return signed64((uint64_t)get32(p) << 32 | get32(p + 4));
}

/* How many bytes are not read yet, for a text. */
static unsigned long rest_of(const struct reader *r)
{
	return (unsigned long)(r->size - r->at);
}

static int read_header(struct reader *r, struct header *h)
{
	const unsigned char *p = r->data + r->at;

	if (r->size - r->at < HEADER_SIZE)
		return fail(r, "TZif: there are %lu bytes; expected a header of %d", rest_of(r),
		            HEADER_SIZE);
	if (memcmp(p, "TZif", 4) != 0)
		return fail(r, "TZif: the header begins with other bytes; expected TZif");
	*h = (struct header){get32(p + 20), get32(p + 24), get32(p + 28), get32(p + 32),
	                     get32(p + 36), get32(p + 40), p[4]};
	r->at += HEADER_SIZE;
	return 0;
}

/* The size of the data after a header, if times have this width. 32-bit counts do not overflow it. */
static uint64_t body_size(const struct header *h, size_t width)
{
	return (uint64_t)h->timecnt * (width + 1) + (uint64_t)h->typecnt * 6 + h->charcnt +
	       (uint64_t)h->leapcnt * (width + 4) + h->isstdcnt + h->isutcnt;
}

static int check_counts(const struct reader *r, const struct header *h, size_t width)
{
	if (body_size(h, width) > r->size - r->at)
		return fail(r, "TZif: there are %lu bytes of data; its header announces more",
		            rest_of(r));
	if (h->typecnt < 1 || h->typecnt > 256)
		return fail(r, "TZif: there are %lu types of local time; expected 1 to 256",
		            (unsigned long)h->typecnt);
	if (h->leapcnt > 0)
		return fail(r, "TZif: it counts leap seconds, %lu of them; expected 0",
		            (unsigned long)h->leapcnt);
	return 0;
}

/* The offset of each type. */
static int read_types(struct reader *r, const struct header *h, const unsigned char *types,
                      int32_t offsets[256])
{
	for (uint32_t i = 0; i < h->typecnt; i++) {
		int64_t offset = get_time(types + 6 * (size_t)i, 4);

		r->at = (size_t)(types - r->data) + 6 * (size_t)i;
		if (offset < OFFSET_MIN || offset > OFFSET_MAX)
			return fail(r, "TZif: an offset is %ld s; expected %d to %d", (long)offset,
			            OFFSET_MIN, OFFSET_MAX);
		offsets[i] = (int32_t)offset;
	}
	return 0;
}

static int add_change(struct reader *r, struct pawl_zone *zone, int64_t at, int32_t offset)
{
	int32_t last = zone->count > 0 ? zone->offset[zone->count - 1] : zone->before;

	if (offset == last)
		return 0;
	if (zone->count == PAWL_ZONE_CHANGES)
		return fail(r,
		            "TZif: the offset changes more often than expected, at most %d times",
		            PAWL_ZONE_CHANGES);
	zone->at[zone->count] = at;
	zone->offset[zone->count++] = offset;
	return 0;
}

static int read_changes(struct reader *r, const struct header *h, size_t width,
                        struct pawl_zone *zone)
{
	const unsigned char *times = r->data + r->at, *indices = times + h->timecnt * width;
	int32_t offsets[256] = {0}; /* offsets[0] is always read; not every compiler sees that */
	int64_t last = -EVER;
	int error = read_types(r, h, indices + h->timecnt, offsets);

	if (!error)
		zone->before = offsets[0];
	for (uint32_t i = 0; i < h->timecnt && !error; i++) {
		int64_t at = get_time(times + i * width, width);

		r->at = (size_t)(times - r->data) + i * width;
		if (at <= last || at >= EVER)
			return fail(r, "TZif: change %lu is out of order or of range",
			            (unsigned long)i);
		if (indices[i] >= h->typecnt)
			return fail(r, "TZif: change %lu is to type %d; expected 0 to %lu",
			            (unsigned long)i, indices[i], (unsigned long)h->typecnt - 1);
		error = add_change(r, zone, at, offsets[indices[i]]);
		last = at;
	}
	zone->yearly_from = last;
	zone->standard = zone->count > 0 ? zone->offset[zone->count - 1] : zone->before;
	return error;
}

static int peek(const struct reader *r)
{
	return r->at < r->size ? r->data[r->at] : -1;
}

/* Skip this character. false: another one is there. */
static bool accept(struct reader *r, char c)
{
	if (peek(r) != c)
		return false;
	r->at++;
	return true;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* One to three digits, at most `max`. */
static bool read_number(struct reader *r, int max, int *number)
{
	int digits = 0;

	*number = 0;
	for (; digits < 3 && is_digit(peek(r)); digits++)
		*number = *number * 10 + (r->data[r->at++] - '0');
	return digits > 0 && *number <= max;
}

/* Skip a name: letters; or letters, digits, + and - in angle brackets. */
static bool read_name(struct reader *r)
{
	bool quoted = accept(r, '<');
	size_t start = r->at;

	while (is_letter(peek(r)) ||
	       (quoted && (is_digit(peek(r)) || peek(r) == '+' || peek(r) == '-')))
		r->at++;
	return r->at - start >= 3 && (!quoted || accept(r, '>'));
}

/* [+-]hh[:mm[:ss]] as seconds. */
static bool read_time(struct reader *r, int max_hours, int32_t *seconds)
{
	int sign = accept(r, '-') ? -1 : 1, hours, minutes = 0, rest = 0;

	if (sign > 0)
		accept(r, '+');
	if (!read_number(r, max_hours, &hours) ||
	    (accept(r, ':') &&
	     (!read_number(r, 59, &minutes) || (accept(r, ':') && !read_number(r, 59, &rest)))))
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60 + rest);
	return true;
}

static bool read_between(struct reader *r, int min, int max, int *number)
{
	return read_number(r, max, number) && *number >= min;
}

/* Mm.w.d, Jn or n; then /time. Without it the time is 02:00. */
static bool read_change_day(struct reader *r, struct pawl_zone_change *change)
{
	int month = 0, week = 0, weekday = 0, day = 0;
	bool good;

	change->second = 2 * 3600;
	if (accept(r, 'M')) {
		change->form = BY_MONTH;
		good = read_between(r, 1, 12, &month) && accept(r, '.') &&
		       read_between(r, 1, 5, &week) && accept(r, '.') &&
		       read_number(r, 6, &weekday);
	} else if (accept(r, 'J')) {
		change->form = BY_JULIAN_DAY;
		good = read_between(r, 1, 365, &day);
	} else {
		change->form = BY_DAY;
		good = read_number(r, 365, &day);
	}
	change->month = (uint8_t)month;
	change->week = (uint8_t)week;
	change->weekday = (uint8_t)weekday;
	change->day = day;
	return good && (!accept(r, '/') || read_time(r, 167, &change->second));
}

/* std offset [dst [offset] , change , change], where offsets count to the west. */
static bool read_rule(struct reader *r, struct pawl_zone *zone)
{
	int32_t west;

	if (!read_name(r) || !read_time(r, 24, &west))
		return false;
	zone->standard = -west;
	zone->changes_yearly = peek(r) != '\n';
	if (!zone->changes_yearly)
		return true;
	zone->summer = zone->standard + 3600;
	if (!read_name(r))
		return false;
	if (peek(r) != ',') {
		if (!read_time(r, 24, &west))
			return false;
		zone->summer = -west;
	}
	return accept(r, ',') && read_change_day(r, &zone->yearly[0]) && accept(r, ',') &&
	       read_change_day(r, &zone->yearly[1]);
}

/* After the data: a newline, a rule for the time after the last change, which may be empty, a newline. */
static int read_footer(struct reader *r, struct pawl_zone *zone)
{
	size_t before = r->at;
	bool good = accept(r, '\n');

	if (good && peek(r) != '\n')
		good = read_rule(r, zone);
	if (good && accept(r, '\n'))
		return 0;
	return fail(r, "TZif: bad POSIX TZ string at byte %lu of the last line",
	            (unsigned long)(r->at - before));
}

/* Version 1 has 32-bit times. Later versions repeat these for old readers, and then have all again with 64 bits. */
static int read_all(struct reader *r, struct pawl_zone *zone)
{
	struct header h = {0};
	size_t width = 4, end;
	int error = read_header(r, &h);

	if (!error && h.version != 0) {
		width = 8;
		if (body_size(&h, 4) > r->size - r->at)
			return fail(r,
			            "TZif: there are %lu bytes of data; its header announces more",
			            rest_of(r));
		r->at += (size_t)body_size(&h, 4);
		error = read_header(r, &h);
	}
	if (!error)
		error = check_counts(r, &h, width);
	if (error)
		return error;
	end = r->at + (size_t)body_size(&h, width);
	error = read_changes(r, &h, width, zone);
	r->at = end;
	return error || width == 4 ? error : read_footer(r, zone);
}

int pawl_zone_parse(struct pawl_zone *zone, const void *data, size_t size,
                    struct pawl_calendar_error *error)
{
	struct reader r = {.data = data, .size = size, .error = error};
	struct pawl_zone found = {0};
	int code = read_all(&r, &found);

	if (!code)
		*zone = found;
	return code;
}

/* The name must not lead out of the directory. On Windows a backslash is a slash, and a colon ends a drive's name. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > ZONE_NAME_MAX || name[0] == '/' || name[0] == '.')
		return false;
	return !strstr(name, "/.") && !strpbrk(name, "\\:");
}

/* It reads one byte more than allowed, to notice a file that is too large. */
static int load_file(struct pawl_zone *zone, const char *path, struct pawl_calendar_error *error)
{
	unsigned char data[FILE_MAX + 1];
	int64_t size = pawl__system_read_file(path, data, sizeof(data));

	if (size < 0) {
		pawl__calendar_fail(
		        error, 0, "the zone's file %.80s %s", path,
		        size == -ENOENT || size == -ENOTDIR
		                ? "does not exist; expected a name such as Europe/Berlin"
		        : size == -EISDIR ? "is a directory; expected a zone"
		                          : "cannot be read");
		return (int)size;
	}
	if (size > FILE_MAX)
		return pawl__calendar_fail(error, FILE_MAX,
		                           "the zone's file %.80s has more than %d bytes", path,
		                           FILE_MAX);
	return pawl_zone_parse(zone, data, (size_t)size, error);
}

/* A machine without /etc/localtime is in UTC, as in libc. */
static int load_own(struct pawl_zone *zone, struct pawl_calendar_error *error)
{
	int code = load_file(zone, OWN_ZONE, error);

	if (code != -ENOENT)
		return code;
	pawl_zone_utc(zone);
	return 0;
}

int pawl_zone_load(struct pawl_zone *zone, const char *name, struct pawl_calendar_error *error)
{
	char path[sizeof(DIRECTORY) + ZONE_NAME_MAX];

	if (!name)
		return load_own(zone, error);
	if (!is_name(name))
		return pawl__calendar_fail(
		        error, 0,
		        "the zone is '%.40s'; expected a name such as Europe/Berlin, "
		        "of 1 to 255 bytes, below " DIRECTORY,
		        name);
	if (strcmp(name, "UTC") == 0) {
		pawl_zone_utc(zone);
		return 0;
	}
	snprintf(path, sizeof(path), "%s%s", DIRECTORY, name);
	return load_file(zone, path, error);
}
