/* SPDX-License-Identifier: MIT */
/*
 * Lines that are due: written, or given to a command. With --exec a due line stays on the wheel until its command can
 * start, so until then a later line can still replace or cancel it.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "signals.h"
#include "state.h"
#include "wall.h"
#include "zones.h"

#define PASS_MAX 10000u /* moves, and lines fired, before input and signals are checked again */

static void count_lateness(struct pipe *p, uint64_t late)
{
	p->counts.fired++;
	p->counts.late_sum += late;
	if (late > p->counts.late_max)
		p->counts.late_max = late;
}

static void start_command(struct pipe *p, struct entry *entry)
{
	int error = children_start(&p->children, entry);

	if (!error) {
		entry->command = entry_repeats(entry) ? COMMAND_RUNS : COMMAND_NONE;
		return;
	}
	p->counts.failed++;
	fprintf(stderr, "%s:%" PRIu64 ": the command cannot be started: %s\n", p->input.name,
	        entry->number, strerror(-error));
}

/* If the last command of a periodic line still runs, this run is skipped: commands would pile up. */
static void deliver(struct pipe *p, struct entry *entry)
{
	if (!p->options->command)
		output_put(&p->output, entry_text(entry), (size_t)entry->text_length + 1);
	else if (entry->command == COMMAND_NONE)
		start_command(p, entry);
	else
		p->counts.skipped++;
}

static uint64_t next_beat(const struct entry *entry, uint64_t now)
{
	uint64_t deadline = entry->timer.deadline;
	uint64_t beats = (now - deadline) / entry->ns + 1;

	return beats < (PAWL_NEVER - deadline) / entry->ns ? deadline + beats * entry->ns
	                                                   : PAWL_NEVER - 1;
}

/* If the wall clock was set back just now, this line is not due yet. */
static bool rearm_if_early(struct pipe *p, struct entry *entry, uint64_t now)
{
	uint64_t wall;

	if (!entry_waits_for_wall(entry) || p->options->replay)
		return false;
	wall = clock_ns(CLOCK_REALTIME);
	if (wall >= entry->ns)
		return false;
	pawl_wheel_arm_at(p->wheel, &entry->timer, wall_deadline(entry->ns, now, wall));
	return true;
}

/*
 * Arm the entry for the next time of the calendar, after the present and after the time that has fired: so a time does
 * not fire twice if the clock was set back, and missed times are skipped. false: there is no next time.
 */
static bool rearm_by_calendar(struct pipe *p, struct entry *entry, uint64_t now)
{
	struct timetable timetable = entry_timetable(entry);
	uint64_t wall = clock_ns(CLOCK_REALTIME);

	entry->ns = timetable_next(&timetable, wall > entry->ns ? wall : entry->ns);
	if (entry->ns == PAWL_NEVER)
		return false;
	pawl_wheel_arm_at(p->wheel, &entry->timer, wall_deadline(entry->ns, now, wall));
	return true;
}

void pipe_remove(struct pipe *p, struct entry *entry)
{
	names_remove(&p->names, entry);
	pawl_wheel_cancel(p->wheel, &entry->timer);
	if (entry->command == COMMAND_RUNS)
		entry->command = COMMAND_OUTLIVES_LINE;
	else
		free(entry);
}

static void fire(struct pipe *p, struct entry *entry, uint64_t now)
{
	if (rearm_if_early(p, entry, now))
		return;
	count_lateness(p, now - entry->timer.deadline);
	deliver(p, entry);
	if (entry->kind == LINE_EVERY)
		pawl_wheel_arm_at(p->wheel, &entry->timer, next_beat(entry, now));
	else if (entry->kind != LINE_CALENDAR || !rearm_by_calendar(p, entry, now))
		pipe_remove(p, entry);
}

bool pipe_can_fire(const struct pipe *p)
{
	if (p->stop || p->output.error || signals_interrupts() > 0)
		return false;
	return !p->options->command || p->children.running < p->children.size;
}

/* A periodic line is armed again for a time after now, so this ends. */
void pipe_fire_due(struct pipe *p)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	struct pawl_timer *timer;

	pawl_wheel_advance(p->wheel, now, PASS_MAX);
	for (unsigned i = 0; i < PASS_MAX && pipe_can_fire(p); i++) {
		timer = pawl_wheel_pop(p->wheel);
		if (!timer)
			return;
		fire(p, (struct entry *)timer, now);
	}
}

static void report_end(struct pipe *p, const struct child *child, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	p->counts.failed++;
	fprintf(stderr, "%s:%" PRIu64 ": the command ", p->input.name, child->number);
	if (WIFEXITED(status))
		fprintf(stderr, "exited with %d\n", WEXITSTATUS(status));
	else
		fprintf(stderr, "was ended by signal %d\n", WTERMSIG(status));
}

void pipe_reap(struct pipe *p)
{
	struct child child;
	int status;

	while (p->options->command && children_reap(&p->children, &child, &status)) {
		report_end(p, &child, status);
		if (child.entry && child.entry->command == COMMAND_OUTLIVES_LINE)
			free(child.entry);
		else if (child.entry)
			child.entry->command = COMMAND_NONE;
	}
}
