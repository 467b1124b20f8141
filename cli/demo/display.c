/* SPDX-License-Identifier: MIT */
#include "display.h"

#include <inttypes.h>
#include <pawl/wheel.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../text/duration.h"
#include "../text/figures.h"

#define BAR_WIDTH   50
#define ROW_WIDTH   40
#define LINES_DRAWN 4
#define NO_WRAP     "\033[?7l"
#define WRAP        "\033[?7h"

struct late {
	char p50[DURATION_TEXT], p99[DURATION_TEXT], max[DURATION_TEXT];
};

static struct late late_of(const struct jobs *jobs)
{
	struct pawl_histogram lateness;
	struct late late;

	pawl_service_get_lateness(jobs->service, &lateness);
	duration_format(pawl_histogram_percentile(&lateness, 50), late.p50);
	duration_format(pawl_histogram_percentile(&lateness, 99), late.p99);
	duration_format(lateness.max, late.max);
	return late;
}

void display_begin(struct display *d, const struct jobs *jobs, unsigned workers, uint64_t seed)
{
	*d = (struct display){.terminal = terminal_of(STDOUT_FILENO), .start = clock_now()};
	d->next_line = d->start + PAWL_SECOND;
	/* A frame is written in one piece, so that a signal does not leave half of one. */
	setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
	printf("%s%s task%s in %s: a third cancelled, some refreshed, some periodic%s\n",
	       d->terminal.bold, GROUPED(jobs->count), PLURAL(jobs->count), EXACTLY(jobs->span),
	       d->terminal.plain);
	printf("%sworkers %u, seed %" PRIu64 "%s\n\n", d->terminal.dim, workers, seed,
	       d->terminal.plain);
	fflush(stdout);
}

static void print_progress_bar(const struct display *d, double part, const char *elapsed)
{
	unsigned eighths = (unsigned)(part * BAR_WIDTH * 8);
	unsigned width = d->terminal.utf8 ? (eighths + 7) / 8 : eighths / 8;

	printf("  %s", d->terminal.accent);
	print_bar(stdout, d->terminal.utf8, eighths);
	printf("%s%s", d->terminal.plain, d->terminal.dim);
	for (; width < BAR_WIDTH; width++)
		fputs(d->terminal.utf8 ? "░" : ".", stdout);
	printf("%s %3.0f %%  %s\033[K\n", d->terminal.plain, part * 100, elapsed);
}

/* Without wrapping: on a narrow terminal a wrapped line would break the way back up. */
static void draw_live(struct display *d, const struct jobs *jobs,
                      const struct pawl_service_stats *stats, double part, const char *elapsed)
{
	const struct terminal *t = &d->terminal;
	struct late late = late_of(jobs);

	if (d->drawn)
		printf("\033[%dA", LINES_DRAWN);
	d->drawn = true;
	printf(NO_WRAP);
	print_progress_bar(d, part, elapsed);
	printf("  pending %s%9s%s  fired %s%9s%s  cancelled %9s  refreshed %7s\033[K\n", t->bold,
	       GROUPED(stats->pending), t->plain, t->bold, GROUPED(stats->ran), t->plain,
	       GROUPED(jobs->cancelled), GROUPED(jobs->refreshed));
	printf("  late p50 %-8s p99 %-8s max %-8s  %s wake-up%s, %s spurious\033[K\n", late.p50,
	       late.p99, late.max, GROUPED(stats->wakeups), PLURAL(stats->wakeups),
	       GROUPED(stats->empty_wakeups));
	printf("  moved before their slot opened %s%9s%s, when it did %9s\033[K\n", t->bold,
	       GROUPED(stats->moved_ahead), t->plain, GROUPED(stats->moved_at_opening));
	printf(WRAP);
}

static void write_line(struct display *d, const struct jobs *jobs,
                       const struct pawl_service_stats *stats, double part, const char *elapsed)
{
	struct late late = late_of(jobs);

	printf("%7s  %3.0f %%  pending %s, fired %s, cancelled %s; ", elapsed, part * 100,
	       GROUPED(stats->pending), GROUPED(stats->ran), GROUPED(stats->cancelled));
	printf("late p50 %s, p99 %s, max %s; %s wake-up%s; ", late.p50, late.p99, late.max,
	       GROUPED(stats->wakeups), PLURAL(stats->wakeups));
	printf("moved ahead %s, at an opening %s\n", GROUPED(stats->moved_ahead),
	       GROUPED(stats->moved_at_opening));
	d->next_line += PAWL_SECOND;
}

void display_progress(struct display *d, const struct jobs *jobs,
                      const struct pawl_service_stats *stats)
{
	uint64_t now = clock_now();
	double part = (double)jobs_over(jobs, stats->ran) / (double)jobs_once(jobs);
	const char *elapsed = LASTING(now - d->start);

	part = part < 1 ? part : 1;
	if (d->terminal.live)
		draw_live(d, jobs, stats, part, elapsed);
	else if (now >= d->next_line)
		write_line(d, jobs, stats, part, elapsed);
	fflush(stdout);
}

static void print_histogram(const struct display *d, const struct verdict *v)
{
	uint64_t most = 1, all = 0;
	unsigned first = JOBS_BOUNDS, last = 0;

	for (unsigned i = 0; i <= JOBS_BOUNDS; i++) {
		all += v->lateness[i];
		most = v->lateness[i] > most ? v->lateness[i] : most;
		if (v->lateness[i] > 0) {
			first = i < first ? i : first;
			last = i;
		}
	}
	printf("\n  How late they were, the periodic ones aside\n");
	for (unsigned i = first; i <= last && all > 0; i++) {
		const char *bound =
		        EXACTLY(jobs_bounds_us[i < JOBS_BOUNDS ? i : JOBS_BOUNDS - 1] * 1000);

		printf("  %s %-7s %9s %5.1f %%  %s", i < JOBS_BOUNDS ? "below " : "beyond", bound,
		       GROUPED(v->lateness[i]), 100.0 * (double)v->lateness[i] / (double)all,
		       d->terminal.accent);
		print_bar(stdout, d->terminal.utf8,
		          (unsigned)((double)v->lateness[i] / (double)most * ROW_WIDTH * 8));
		printf("%s\n", d->terminal.plain);
	}
}

void display_interruption(const struct display *d, uint64_t dropped)
{
	printf("\n%sInterrupted: %s pending task%s dropped.%s\n", d->terminal.bold,
	       GROUPED(dropped), dropped == 1 ? " was" : "s were", d->terminal.plain);
}

/* Two accounts: the service's, and that of the tasks themselves. */
static bool print_account(const struct jobs *jobs, const struct pawl_service_stats *s,
                          const struct verdict *v)
{
	uint64_t once = jobs->armed - jobs->periodic;

	printf("  armed      %10s = %s ran + %s cancelled + %s dropped\n", GROUPED(s->armed),
	       GROUPED(s->ran), GROUPED(s->cancelled), GROUPED(s->dropped + s->pending));
	printf("  once       %10s = %s ran + %s cancelled + %s dropped + %s lost\n", GROUPED(once),
	       GROUPED(once - jobs->cancelled - v->dropped_once - v->lost),
	       GROUPED(jobs->cancelled), GROUPED(v->dropped_once), GROUPED(v->lost));
	printf("  periodic   %10s   ran %s time%s\n", GROUPED(jobs->periodic),
	       GROUPED(v->periodic_runs), PLURAL(v->periodic_runs));
	printf("  refreshed  %10s   %s too late\n", GROUPED(jobs->refreshed),
	       GROUPED(v->refreshed_late));
	if (jobs->cancelled_late > 0)
		printf("  too late   %10s   to be cancelled: they had run\n",
		       GROUPED(jobs->cancelled_late));
	return s->armed == s->ran + s->cancelled + s->dropped && s->ran == v->runs &&
	       s->dropped == v->dropped;
}

static void print_fault(const struct terminal *t, const char *name, uint64_t count)
{
	printf("   %s%s %s%s", count ? t->bad : t->good, name, GROUPED(count), t->plain);
}

bool display_summary(struct display *d, const struct jobs *jobs,
                     const struct pawl_service_stats *stats, const struct verdict *v)
{
	const struct terminal *t = &d->terminal;
	struct late late = late_of(jobs);
	bool adds_up;

	printf("\n");
	adds_up = print_account(jobs, stats, v);
	printf("  wake-ups   %10s   %s spurious\n", GROUPED(stats->wakeups),
	       GROUPED(stats->empty_wakeups));
	printf("  moved      %10s = %s before their slot opened + %s when it did\n",
	       GROUPED(stats->moved_ahead + stats->moved_at_opening), GROUPED(stats->moved_ahead),
	       GROUPED(stats->moved_at_opening));
	printf("  late              p50 %s, p99 %s, max %s\n", late.p50, late.p99, late.max);
	print_histogram(d, v);
	printf("\n");
	print_fault(t, "early", v->early);
	print_fault(t, "lost", v->lost);
	print_fault(t, "run twice", v->twice);
	print_fault(t, "run after cancel", v->after_cancel);
	printf("   %s%s%s\n", adds_up ? t->good : t->bad,
	       adds_up ? "the numbers add up" : "the numbers do not add up", t->plain);
	return adds_up && v->early + v->lost + v->twice + v->after_cancel == 0;
}
