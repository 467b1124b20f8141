/* SPDX-License-Identifier: MIT */
/*
 * Reading TZif data, valid and not. The linker replaces some functions (--wrap): malloc, calloc and realloc count their
 * calls, since the calendar must not allocate; open and read fail when a test wants it.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/base/random.h"
#include "../support/test.h"
#include "images.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static unsigned allocations;

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	allocations++;
	return __real_realloc(memory, size);
}

int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __real_read(int fd, void *data, size_t size);

static const char *missing;     /* a file that is not there; NULL: none */
static int read_error;          /* errno of the reads that fail */
static int read_errors, pieces; /* so many reads fail; then so many read a byte */

int __wrap_open(const char *path, int flags, ...)
{
	if (!missing || strcmp(path, missing) != 0)
		return __real_open(path, flags);
	errno = ENOENT;
	return -1;
}

ssize_t __wrap_read(int fd, void *data, size_t size)
{
	if (read_errors > 0) {
		read_errors--;
		errno = read_error;
		return -1;
	}
	if (pieces > 0) {
		pieces--;
		return __real_read(fd, data, 1);
	}
	return __real_read(fd, data, size);
}

static struct image image;

/* In memory of exactly that size, so that a sanitizer notices a read beyond its end. */
static int parse_exactly(struct pawl_zone *zone, const struct image *from, size_t size,
                         struct pawl_calendar_error *error)
{
	unsigned char *copy = malloc(size ? size : 1);
	int code;

	memcpy(copy, from->data, size);
	code = pawl_zone_parse(zone, copy, size, error);
	free(copy);
	return code;
}

static void expect_refused(size_t size, const char *wrong)
{
	struct pawl_calendar_error error = {0};
	struct pawl_zone zone, before;

	memset(&zone, 0x5a, sizeof(zone));
	before = zone;
	EXPECT_EQ(parse_exactly(&zone, &image, size, &error), -EINVAL);
	EXPECT_STR(error.text, wrong);
	EXPECT(error.position <= size);
	EXPECT(memcmp(&zone, &before, sizeof(zone)) == 0);
	EXPECT_EQ(parse_exactly(&zone, &image, size, NULL), -EINVAL);
}

static void utc_needs_nothing(void)
{
	struct pawl_zone zone, loaded;

	memset(&zone, 0x5a, sizeof(zone));
	memset(&loaded, 0x5a, sizeof(loaded));
	pawl_zone_utc(&zone);
	EXPECT_EQ(pawl_zone_load(&loaded, "UTC", NULL), 0);
	for (int64_t time = -70000000000; time < 260000000000; time += 123456789) {
		EXPECT_EQ(pawl_zone_offset(&zone, time), 0);
		EXPECT_EQ(pawl_zone_offset(&loaded, time), 0);
	}
	EXPECT_EQ(pawl_zone_time(&zone, 1234567890), 1234567890);
}

static const struct change some[] = {{-2000000000, 3600},
                                     {-1000000000, 7200},
                                     {0, 7200},
                                     {1000000000, -3600},
                                     {2000000000, 1800}};

static void expect_some(const struct pawl_zone *zone, int32_t after)
{
	EXPECT_EQ(pawl_zone_offset(zone, -2000000001), 321);
	EXPECT_EQ(pawl_zone_offset(zone, -2000000000), 3600);
	EXPECT_EQ(pawl_zone_offset(zone, -1000000001), 3600);
	EXPECT_EQ(pawl_zone_offset(zone, -1000000000), 7200);
	EXPECT_EQ(pawl_zone_offset(zone, 0), 7200);
	EXPECT_EQ(pawl_zone_offset(zone, 999999999), 7200);
	EXPECT_EQ(pawl_zone_offset(zone, 1000000000), -3600);
	EXPECT_EQ(pawl_zone_offset(zone, 1999999999), -3600);
	EXPECT_EQ(pawl_zone_offset(zone, 2000000000), after);
	EXPECT_EQ(pawl_zone_offset(zone, 9000000000), after);
}

static void all_versions_are_read(void)
{
	struct pawl_zone zone;

	image_make(&image, 321, some, 5, NULL);
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	expect_some(&zone, 1800);
	image_make(&image, 321, some, 5, ""); /* an empty last line: the last offset goes on */
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	expect_some(&zone, 1800);
	image_make(&image, 321, some, 5, "XXX-9");
	for (char version = '2'; version <= '4'; version++) {
		image.data[4] = (unsigned char)version;
		EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
		expect_some(&zone, 9 * 3600);
	}
}

/* The rule of the last line begins at the last change, even if that changed only the name. */
static void the_last_line_counts_from_the_last_change(void)
{
	static const struct change changes[] = {{1000, 3600}, {5000, 3600}};
	struct pawl_zone zone;

	image_make(&image, 0, changes, 2, "XXX-2");
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	EXPECT_EQ(pawl_zone_offset(&zone, 999), 0);
	EXPECT_EQ(pawl_zone_offset(&zone, 1000), 3600);
	EXPECT_EQ(pawl_zone_offset(&zone, 4999), 3600);
	EXPECT_EQ(pawl_zone_offset(&zone, 5000), 7200);
	EXPECT_EQ(zone.count, 1);
}

static void truncated_data_is_refused_at_every_length(void)
{
	struct pawl_calendar_error error;
	struct pawl_zone zone;

	image_make(&image, 321, some, 5, "CET-1CEST,M3.5.0,M10.5.0/3");
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	for (size_t size = 0; size < image.size; size++) {
		error.text[0] = '\0';
		EXPECT_EQ(parse_exactly(&zone, &image, size, &error), -EINVAL);
		EXPECT(strncmp(error.text, "TZif: ", 6) == 0);
	}
	image_make(&image, 321, some, 5, NULL);
	for (size_t size = 0; size < image.size; size++)
		EXPECT_EQ(parse_exactly(&zone, &image, size, &error), -EINVAL);
	image_make(&image, 0, NULL, 0, "UTC0");
	expect_refused(0, "TZif: there are 0 bytes; expected a header of 44");
	expect_refused(43, "TZif: there are 43 bytes; expected a header of 44");
	expect_refused(50, "TZif: there are 6 bytes of data; its header announces more");
}

/* Where the second header of a version 2 image begins. */
#define SECOND_HEADER (44 + 6 + 4)

static void errors_are_named(void)
{
	static const char *const bad[] = {"x",
	                                  "XXX",
	                                  "XX5",
	                                  "XXX25",
	                                  "XXX5:60",
	                                  "XXX5YYY",
	                                  "<XXX5",
	                                  "XXX5YYY,",
	                                  "XXX5YYY,M3.5.0",
	                                  "XXX5YYY,M3.5.0,M10.5.0,",
	                                  "XXX5YYY,M13.5.0,M10.5.0",
	                                  "XXX5YYY,M3.6.0,M10.5.0",
	                                  "XXX5YYY,M3.5.7,M10.5.0",
	                                  "XXX5YYY,M0.5.0,M10.5.0",
	                                  "XXX5YYY,M3.0.0,M10.5.0",
	                                  "XXX5YYY,J0,J365",
	                                  "XXX5YYY,J366,J365",
	                                  "XXX5YYY,366,J365",
	                                  "XXX5YYY,M3.5.0/168,M10.5.0",
	                                  "XXX5YYY,M3.5.0/2:60,M10.5.0",
	                                  "XXX5YYY4:00:60,M3.5.0,M10.5.0",
	                                  " XXX5",
	                                  "XXX5 "};
	struct pawl_calendar_error error;
	struct pawl_zone zone;

	image_make(&image, 0, some, 5, "UTC0");
	image.data[0] = 'X';
	expect_refused(image.size, "TZif: the header begins with other bytes; expected TZif");
	image_make(&image, 0, some, 5, "UTC0");
	image.data[SECOND_HEADER] = 'X';
	expect_refused(image.size, "TZif: the header begins with other bytes; expected TZif");
	image_make(&image, 0, NULL, 0, NULL);
	image.data[39] = 0; /* typecnt */
	expect_refused(image.size, "TZif: there are 0 types of local time; expected 1 to 256");
	image_make(&image, 0, NULL, 0, "UTC0");
	memset(image.data + SECOND_HEADER + 28, 0, 4);
	image.data[SECOND_HEADER + 31] = 1; /* leapcnt */
	image.size += 12;
	expect_refused(image.size, "TZif: it counts leap seconds, 1 of them; expected 0");
	image_make(&image, 0, (const struct change[]){{5, 1}, {5, 2}}, 2, "UTC0");
	expect_refused(image.size, "TZif: change 1 is out of order or of range");
	image_make(&image, 0, (const struct change[]){{INT64_MIN, 1}}, 1, "UTC0");
	expect_refused(image.size, "TZif: change 0 is out of order or of range");
	image_make(&image, 0, (const struct change[]){{INT64_MAX, 1}}, 1, "UTC0");
	expect_refused(image.size, "TZif: change 0 is out of order or of range");
	image_make(&image, 0, (const struct change[]){{5, 93600}}, 1, "UTC0");
	expect_refused(image.size, "TZif: an offset is 93600 s; expected -89999 to 93599");
	image_make(&image, INT32_MIN, NULL, 0, "UTC0");
	expect_refused(image.size, "TZif: an offset is -2147483648 s; expected -89999 to 93599");
	image_make(&image, 0, some, 1, "UTC0");
	image.data[SECOND_HEADER + 44 + 8] = 2; /* the type of the first change */
	expect_refused(image.size, "TZif: change 0 is to type 2; expected 0 to 1");
	image_make(&image, 0, NULL, 0, "XXX5YYY4:00:60,M3.5.0,M10.5.0");
	expect_refused(image.size, "TZif: bad POSIX TZ string at byte 15 of the last line");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (zone_of(&zone, bad[i], &error) != -EINVAL ||
		    !strstr(error.text, "TZif: bad POSIX TZ string at byte ")) {
			fprintf(stderr, "the last line '%s' is accepted\n", bad[i]);
			test_failed();
		}
}

static void last_lines_of_every_form_are_read(void)
{
	static const struct {
		const char *line;
		int64_t january, july; /* offsets */
	} good[] = {
	        {"UTC0", 0, 0},
	        {"<-03>3", -10800, -10800},
	        {"<+0545>-5:45", 20700, 20700},
	        {"XXX-24:59:59", 89999, 89999},
	        {"XXX24:59:59", -89999, -89999},
	        {"XXX+5", -18000, -18000},
	        {"EST5EDT,M3.2.0,M11.1.0", -18000, -14400},
	        {"EST5EDT,M3.2.0/2,M11.1.0/02:00:00", -18000, -14400},
	        {"NZST-12NZDT,M9.5.0,M4.1.0/3", 46800, 43200},
	        {"IST-1GMT0,M10.5.0,M3.5.0/1", 0, 3600},
	        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -7200, -3600},
	        {"XXX0YYY-2,J60,J300", 0, 7200},
	        {"XXX0YYY-2,59,299/-5", 0, 7200},
	        {"XXX0YYY-2,J60/167:59:59,J300/-167:59:59", 0, 7200},
	};
	struct pawl_zone zone;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct pawl_calendar_error error = {0};

		EXPECT_EQ(zone_of(&zone, good[i].line, &error), 0);
		EXPECT_STR(error.text, "");
		for (int year = 1970; year < 2370; year++) {
			int64_t january = (int64_t)((year - 1970) * 365.2425 + 14) * 86400;

			EXPECT_EQ(pawl_zone_offset(&zone, january), good[i].january);
			EXPECT_EQ(pawl_zone_offset(&zone, january + 180 * 86400), good[i].july);
		}
	}
}

/* 1024 fit, 1025 do not; changes that keep the offset do not count. */
static void there_is_room_for_1024_changes(void)
{
	static struct change changes[3000];
	struct pawl_zone zone;

	for (uint32_t i = 0; i < 3000; i++)
		changes[i] = (struct change){i * 100, i % 255 % 2 ? 0 : 3600};
	for (uint32_t i = 0; i < 3000; i++)
		changes[i].offset = i % 255 == 254 ? 60 : changes[i].offset;
	image_make(&image, 0, changes, 1024, "UTC0");
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	EXPECT_EQ(zone.count, 1024);
	for (uint32_t i = 0; i < 1023; i++)
		EXPECT_EQ(pawl_zone_offset(&zone, changes[i].at), changes[i].offset);
	image_make(&image, 0, changes, 1025, "UTC0");
	expect_refused(image.size,
	               "TZif: the offset changes more often than expected, at most 1024 times");
	for (uint32_t i = 0; i < 3000; i++)
		changes[i].offset = 3600;
	image_make(&image, 0, changes, 3000, "UTC0");
	EXPECT_EQ(parse_exactly(&zone, &image, image.size, NULL), 0);
	EXPECT_EQ(zone.count, 1);
}

/* Any zone that was accepted answers, and its answers agree with each other. */
static void expect_sane(const struct pawl_zone *zone, struct random *random)
{
	for (int i = 0; i < 8; i++) {
		int64_t time = (int64_t)random_below(random, 8000000000) - 4000000000;
		int32_t offset = pawl_zone_offset(zone, time);

		EXPECT(offset >= -89999 && offset <= 93599);
		EXPECT(pawl_zone_time(zone, time + offset) <= time);
	}
}

static void broken_bytes_do_no_harm(void)
{
	uint64_t seed = 1;
	struct random random = {seed};
	static struct image good;
	struct pawl_zone zone;

	printf("    seed %" PRIu64 "\n", seed);
	image_make(&good, 321, some, 5, "CET-1CEST,M3.5.0,M10.5.0/3");
	for (int i = 0; i < 100000; i++) {
		image = good;
		for (uint64_t k = random_below(&random, 4) + 1; k > 0; k--)
			image.data[random_below(&random, image.size)] =
			        (unsigned char)random_next(&random);
		if (parse_exactly(&zone, &image,
		                  random_below(&random, 4)
		                          ? image.size
		                          : (size_t)random_below(&random, image.size),
		                  NULL) == 0)
			expect_sane(&zone, &random);
	}
}

static void expect_not_loaded(const char *name, int code, const char *wrong)
{
	struct pawl_calendar_error error = {0};
	struct pawl_zone zone, before;

	memset(&zone, 0x5a, sizeof(zone));
	before = zone;
	EXPECT_EQ(pawl_zone_load(&zone, name, &error), code);
	EXPECT_STR(error.text, wrong);
	EXPECT(memcmp(&zone, &before, sizeof(zone)) == 0);
	EXPECT_EQ(pawl_zone_load(&zone, name, NULL), code);
}

static void names_lead_nowhere_but_to_zones(void)
{
	static const char *const bad[] = {"",
	                                  "/etc/localtime",
	                                  "../passwd",
	                                  "Europe/../../passwd",
	                                  "Europe/.hidden",
	                                  ".",
	                                  "Europe/.",
	                                  "Europe\\..\\..\\passwd",
	                                  "C:passwd"};
	char text[400], name[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
		         "the zone is '%s'; expected a name such as Europe/Berlin, of 1 to 255 "
		         "bytes, "
		         "below /usr/share/zoneinfo/",
		         bad[i]);
		expect_not_loaded(bad[i], -EINVAL, text);
	}
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	snprintf(text, sizeof(text),
	         "the zone is '%.40s'; expected a name such as Europe/Berlin, of 1 to 255 bytes, "
	         "below /usr/share/zoneinfo/",
	         name);
	expect_not_loaded(name, -EINVAL, text);
	expect_not_loaded("Europe/Atlantis", -ENOENT,
	                  "the zone's file /usr/share/zoneinfo/Europe/Atlantis does not exist; "
	                  "expected a name such as Europe/Berlin");
}

static void zones_of_the_machine_are_loaded(void)
{
	struct pawl_calendar_error error = {0};
	struct pawl_zone zone;

	EXPECT_EQ(pawl_zone_load(&zone, "Europe/Berlin", &error), 0);
	EXPECT_STR(error.text, "");
	EXPECT_EQ(pawl_zone_offset(&zone, 1774745999), 3600); /* 2026-03-29T00:59:59Z */
	EXPECT_EQ(pawl_zone_offset(&zone, 1774746000), 7200);
	expect_not_loaded(
	        "Europe", -EISDIR,
	        "the zone's file /usr/share/zoneinfo/Europe is a directory; expected a zone");
	expect_not_loaded("zone.tab", -EINVAL,
	                  "the zone's file /usr/share/zoneinfo/zone.tab has more than 16384 bytes");
	expect_not_loaded("iso3166.tab", -EINVAL,
	                  "TZif: the header begins with other bytes; expected TZif");
}

static void a_machine_without_a_zone_is_in_utc(void)
{
	struct pawl_zone zone;

	memset(&zone, 0x5a, sizeof(zone));
	missing = "/etc/localtime";
	EXPECT_EQ(pawl_zone_load(&zone, NULL, NULL), 0);
	EXPECT_EQ(pawl_zone_offset(&zone, 1774746000), 0);
	missing = NULL;
	EXPECT_EQ(pawl_zone_load(&zone, NULL, NULL), 0);
}

static void reads_may_be_interrupted_short_or_fail(void)
{
	struct pawl_zone zone;

	read_error = EINTR;
	read_errors = 3;
	pieces = 100;
	EXPECT_EQ(pawl_zone_load(&zone, "Europe/Berlin", NULL), 0);
	EXPECT_EQ(pawl_zone_offset(&zone, 1774746000), 7200);
	EXPECT_EQ(read_errors + pieces, 0);
	read_error = EIO;
	read_errors = 2;
	expect_not_loaded("Europe/Berlin", -EIO,
	                  "the zone's file /usr/share/zoneinfo/Europe/Berlin cannot be read");
	EXPECT_EQ(read_errors, 0);
}

static void nothing_allocates(void)
{
	struct pawl_calendar_error error;
	struct pawl_calendar_rule rule;
	struct pawl_zone zone;
	unsigned before = allocations;

	EXPECT_EQ(pawl_zone_load(&zone, "Europe/Berlin", &error), 0);
	EXPECT(pawl_zone_load(&zone, "Europe/Atlantis", &error) < 0);
	EXPECT_EQ(pawl_calendar_parse(&rule, "0 0 29 2 *", &error), 0);
	EXPECT(pawl_calendar_parse(&rule, "0 0 32 2 *", &error) < 0);
	EXPECT(pawl_calendar_daily(&rule, "99:00", &error) < 0);
	EXPECT(pawl_calendar_next(&rule, &zone, 0) > 0);
	EXPECT_EQ(allocations, before);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(utc_needs_nothing),
	        TEST(all_versions_are_read),
	        TEST(the_last_line_counts_from_the_last_change),
	        TEST(truncated_data_is_refused_at_every_length),
	        TEST(errors_are_named),
	        TEST(last_lines_of_every_form_are_read),
	        TEST(there_is_room_for_1024_changes),
	        TEST(broken_bytes_do_no_harm),
	        TEST(names_lead_nowhere_but_to_zones),
	        TEST(zones_of_the_machine_are_loaded),
	        TEST(a_machine_without_a_zone_is_in_utc),
	        TEST(reads_may_be_interrupted_short_or_fail),
	        TEST(nothing_allocates),
	};

	return RUN_TESTS(tests);
}
