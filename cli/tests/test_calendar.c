/* SPDX-License-Identifier: MIT */
/*
 * Lines by the calendar through days that pass in no time: the linker puts another clock_gettime in place (--wrap). And the
 * wall clock is set while lines wait.
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/wheel.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../tests/support/test.h"
#include "../../tests/support/wheels.h"
#include "../run/state.h"
#include "../run/wall.h"

#define NOON 1774699200 /* 2026-03-28T12:00Z, the day before clocks go forward in Berlin */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static int64_t wall, running; /* in seconds */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	*time = (struct timespec){.tv_sec = (time_t)(clock == CLOCK_REALTIME ? wall : running)};
	return 0;
}

/* A pipe that reads these lines, without a command around it. */
static struct pipe *reading(const char *lines)
{
	static const struct pipe_options options = {.speed = 1.0};
	struct pipe *p = calloc(1, sizeof(*p));
	int fds[2];

	wall = NOON;
	running = 5000;
	p->options = &options;
	p->wheel =
	        wheel_with(&(struct pawl_wheel_options){.start = (uint64_t)running * PAWL_SECOND});
	EXPECT_EQ(pipe(fds), 0);
	EXPECT_EQ(write(fds[1], lines, strlen(lines)), strlen(lines));
	close(fds[1]);
	p->input.fd = fds[0];
	p->input.name = "lines";
	pipe_read_input(p);
	close(fds[0]);
	EXPECT_EQ(p->counts.bad, 0);
	return p;
}

static bool free_entry(struct pawl_timer *timer, void *wheel)
{
	pawl_wheel_cancel(wheel, timer);
	free(timer);
	return true;
}

static void drop(struct pipe *p)
{
	pawl_wheel_each(p->wheel, free_entry, p->wheel);
	names_close(&p->names);
	zones_close(&p->zones);
	free(p->wheel);
	free(p);
}

/* Let it pass, and fire what is due; the text that came out. */
static const char *output_after(struct pipe *p, int64_t seconds)
{
	wall += seconds;
	running += seconds;
	p->output.used = 0;
	pipe_fire_due(p);
	p->output.buffer[p->output.used] = '\0';
	return p->output.buffer;
}

static void set_clock(struct pipe *p, int64_t to)
{
	wall = to;
	EXPECT(wall_rearm(p->wheel, (uint64_t)running * PAWL_SECOND, (uint64_t)wall * PAWL_SECOND));
}

static void every_night_has_one_run(void)
{
	struct pipe *p = reading("daily[Europe/Berlin] 02:30 backup\n");
	static const int64_t due[] = {1774746000, 1774830600, 1774917000}; /* 03:00, then 02:30 */
	int fired = 0;

	while (wall < NOON + 3 * 86400) {
		const char *text = output_after(p, 60);

		if (*text) {
			EXPECT_STR(text, "backup\n");
			EXPECT(fired < 3);
			EXPECT_EQ(wall, due[fired % 3]);
			fired++;
		}
	}
	EXPECT_EQ(fired, 3);
	EXPECT_EQ(pawl_wheel_count(p->wheel), 1);
	drop(p);
}

static void missed_times_are_left_out(void)
{
	struct pipe *p = reading("cron[UTC] 0 * * * * hour\n");

	EXPECT_STR(output_after(p, 3599), "");
	EXPECT_STR(output_after(p, 5 * 3600), "hour\n");
	EXPECT_STR(output_after(p, 0), "");
	EXPECT_STR(output_after(p, 1), "hour\n");
	drop(p);
}

static void a_clock_that_is_set_back_makes_no_time_come_again(void)
{
	struct pipe *p = reading("cron[UTC] 0 * * * * hour\n");

	EXPECT_STR(output_after(p, 3600), "hour\n");
	set_clock(p, NOON + 3590);
	EXPECT_STR(output_after(p, 10), "");
	EXPECT_STR(output_after(p, 3599), "");
	EXPECT_STR(output_after(p, 1), "hour\n");
	drop(p);
}

static void a_clock_that_is_set_forward_is_followed(void)
{
	struct pipe *p = reading("daily[UTC] 18:00 evening\n");

	set_clock(p, NOON + 6 * 3600 - 1);
	EXPECT_STR(output_after(p, 0), "");
	EXPECT_STR(output_after(p, 1), "evening\n");
	set_clock(p, NOON + 3 * 86400); /* two evenings were passed over: they are one */
	EXPECT_STR(output_after(p, 0), "evening\n");
	EXPECT_STR(output_after(p, 0), "");
	EXPECT_STR(output_after(p, 6 * 3600), "evening\n");
	drop(p);
}

static void lines_by_the_calendar_have_names(void)
{
	struct pipe *p = reading("=a cron[UTC] 0 * * * * old\n=a cron[UTC] 30 * * * * new\n"
	                         "=b daily[UTC] 12:30 never\n!b\n");

	EXPECT_EQ(pawl_wheel_count(p->wheel), 1);
	EXPECT_EQ(p->counts.replaced, 1);
	EXPECT_EQ(p->counts.cancelled, 1);
	EXPECT_STR(output_after(p, 1800), "new\n");
	EXPECT_STR(output_after(p, 1800), "");
	EXPECT_STR(output_after(p, 1800), "new\n");
	drop(p);
}

/* At 2554-07-21T23:17Z, after the last evening before the end of time. */
static void a_line_without_a_next_time_is_kept_while_its_command_runs(void)
{
	static const struct pipe_options options = {.command = "true", .speed = 1.0};
	struct pipe *p = reading("=a daily[UTC] 23:00 evening\n");

	p->options = &options;
	EXPECT_EQ(children_open(&p->children, options.command, 1), 0);
	set_clock(p, INT64_C(18446744073) - 1000);
	output_after(p, 0);
	EXPECT_EQ(pawl_wheel_count(p->wheel), 0);
	EXPECT(!names_find(&p->names, (struct span){"a", 1}));
	EXPECT_EQ(p->children.running, 1);
	EXPECT_EQ(p->children.list[0].entry->command, COMMAND_OUTLIVES_LINE);
	while (p->children.running > 0)
		pipe_reap(p);
	EXPECT_EQ(p->counts.failed, 0);
	children_close(&p->children);
	drop(p);
}

static struct entry *waiting(struct pawl_wheel *wheel, enum line_kind kind, uint64_t ns,
                             uint64_t deadline)
{
	struct line line = {.kind = kind, .ns = ns, .text = {"x", 1}};
	struct entry *entry = entry_new(&line, 1);

	pawl_wheel_arm_at(wheel, &entry->timer, deadline);
	return entry;
}

static void only_wall_clock_times_move_with_the_wall_clock(void)
{
	static const struct {
		uint64_t wall, soon, late;
	} cases[] = {
	        {100000, 2000, 10000}, /* not set at all */
	        {101500, 1000, 8500},  /* forward, beyond the first: that is due now */
	        {105000, 1000, 5000},  {200000, 1000, 1000}, {50000, 52000, 60000}, /* back */
	        {0, 102000, 110000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pawl_wheel *wheel = wheel_of_20(1000);
		/* At 1000 the wall shows 100000. */
		struct entry *soon = waiting(wheel, LINE_AT, 101000, 2000);
		struct entry *late = waiting(wheel, LINE_AT, 109000, 10000);
		struct entry *after = waiting(wheel, LINE_AFTER, 101000, 3000);
		struct entry *every = waiting(wheel, LINE_EVERY, 101000, 4000);

		EXPECT(wall_rearm(wheel, 1000, cases[i].wall));
		EXPECT_EQ(soon->timer.deadline, cases[i].soon);
		EXPECT_EQ(late->timer.deadline, cases[i].late);
		EXPECT_EQ(after->timer.deadline, 3000);
		EXPECT_EQ(every->timer.deadline, 4000);
		EXPECT_EQ(pawl_wheel_count(wheel), 4);
		EXPECT_SOUND(wheel);
		free(soon);
		free(late);
		free(after);
		free(every);
		free(wheel);
	}
}

static void equal_times_keep_their_order(void)
{
	enum { COUNT = 100 };
	struct pawl_wheel *wheel = wheel_of_20(0);
	struct entry *entries[COUNT];

	/* Read one after the other: some before a slot of level 1 was near, some after. */
	for (unsigned i = 0; i < COUNT; i++) {
		pawl_wheel_advance(wheel, i, 0);
		entries[i] = waiting(wheel, LINE_AT, 1500, 500);
	}
	EXPECT(wall_rearm(wheel, COUNT, 1200));
	pawl_wheel_advance(wheel, COUNT + 300, 0);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(pawl_wheel_pop(wheel) == &entries[i]->timer);
		free(entries[i]);
	}
	free(wheel);
}

static void an_empty_wheel_has_nothing_to_put_right(void)
{
	struct pawl_wheel *wheel = wheel_of_20(0);

	EXPECT(wall_rearm(wheel, 5, 5));
	EXPECT_EQ(pawl_wheel_count(wheel), 0);
	free(wheel);
}

static void deadlines_do_not_wrap(void)
{
	EXPECT_EQ(wall_deadline(10, 5, 20), 5);
	EXPECT_EQ(wall_deadline(20, 5, 20), 5);
	EXPECT_EQ(wall_deadline(21, 5, 20), 6);
	EXPECT_EQ(wall_deadline(PAWL_NEVER - 1, 5, 0), PAWL_NEVER - 1);
	EXPECT_EQ(wall_deadline(PAWL_NEVER - 1, PAWL_NEVER - 1, 0), PAWL_NEVER - 1);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(every_night_has_one_run),
	        TEST(missed_times_are_left_out),
	        TEST(a_clock_that_is_set_back_makes_no_time_come_again),
	        TEST(a_clock_that_is_set_forward_is_followed),
	        TEST(lines_by_the_calendar_have_names),
	        TEST(a_line_without_a_next_time_is_kept_while_its_command_runs),
	        TEST(only_wall_clock_times_move_with_the_wall_clock),
	        TEST(equal_times_keep_their_order),
	        TEST(an_empty_wheel_has_nothing_to_put_right),
	        TEST(deadlines_do_not_wrap),
	};

	return RUN_TESTS(tests);
}
