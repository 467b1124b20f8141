/* SPDX-License-Identifier: MIT */
/*
 * One thread, one wheel, one poll. The wheel's time is CLOCK_BOOTTIME, so that a delay goes on while the machine is
 * suspended.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <pawl/wheel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../text/arguments.h"
#include "../text/duration.h"
#include "../text/figures.h"
#include "signals.h"
#include "state.h"
#include "wall.h"

#define REPLAY_AHEAD 65536u /* lines on the wheel; the others stay in their file */

void pipe_fail(struct pipe *p, const char *what, int error)
{
	complain("%s: %s", what, strerror(error));
	p->stop = STOP_FAILED;
}

static uint64_t lines_left(const struct pipe *p)
{
	return pawl_wheel_count(p->wheel) + output_left(&p->output);
}

static void print_statistics(const struct pipe *p)
{
	const struct counts *c = &p->counts;

	fprintf(stderr, "pawl: read %" PRIu64 " line%s, %" PRIu64 " of them bad; ", c->read,
	        PLURAL(c->read), c->bad);
	fprintf(stderr, "fired %" PRIu64 ", replaced %" PRIu64 ", cancelled %" PRIu64 ", ",
	        c->fired, c->replaced, c->cancelled);
	fprintf(stderr, "pending %zu; late by %s on average, %s at most",
	        pawl_wheel_count(p->wheel), LASTING(c->fired ? c->late_sum / c->fired : 0),
	        LASTING(c->late_max));
	if (p->options->command)
		fprintf(stderr, "; commands running %u, failed %" PRIu64 ", runs skipped %" PRIu64,
		        p->children.running, c->failed, c->skipped);
	fputc('\n', stderr);
}

/* After the first signal running commands may end; the second one waits for nothing. */
static void handle_interrupts(struct pipe *p)
{
	int interrupts = signals_interrupts();
	uint64_t left = lines_left(p);

	if (interrupts == 0)
		return;
	if (interrupts > 1 || p->children.running == 0) {
		p->stop = STOP_INTERRUPTED;
	} else if (!p->announced) {
		p->announced = true;
		complain("interrupted; waiting for %u running command%s, a second signal ends "
		         "them; %" PRIu64 " line%s left",
		         p->children.running, PLURAL(p->children.running), left,
		         left == 1 ? " is" : "s are");
	}
}

static void handle_signals(struct pipe *p)
{
	signals_read();
	pipe_reap(p);
	if (signals_asked())
		print_statistics(p);
	handle_interrupts(p);
}

static bool wants_input(const struct pipe *p)
{
	if (p->input.ended || signals_interrupts() > 0)
		return false;
	return !p->options->replay || pawl_wheel_count(p->wheel) < REPLAY_AHEAD;
}

static void set_timer(struct pipe *p, uint64_t time)
{
	struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(time / PAWL_SECOND),
	                                       .tv_nsec = (long)(time % PAWL_SECOND)}};

	timerfd_settime(p->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* A replay does not depend on the wall clock. */
static void rearm_by_wall(struct pipe *p)
{
	wall_read(p->wall_fd);
	if (!p->options->replay &&
	    !wall_rearm(p->wheel, clock_ns(CLOCK_BOOTTIME), clock_ns(CLOCK_REALTIME)))
		complain("no memory to rearm lines after the clock was set");
}

/* Until there is input or a signal, a line is due and can fire, or the reader of the output is gone. */
static bool wait_for_something(struct pipe *p)
{
	uint64_t next = pipe_can_fire(p) ? pawl_wheel_next(p->wheel) : PAWL_NEVER;
	bool now = next <= clock_ns(CLOCK_BOOTTIME);
	struct pollfd fds[] = {
	        {.fd = wants_input(p) ? p->input.fd : -1, .events = POLLIN},
	        {.fd = signals_fd(), .events = POLLIN},
	        {.fd = next < PAWL_NEVER && !now ? p->timer_fd : -1, .events = POLLIN},
	        {.fd = p->options->command ? -1 : STDOUT_FILENO, .events = 0},
	        {.fd = p->wall_fd, .events = POLLIN},
	};

	if (fds[2].fd >= 0)
		set_timer(p, next);
	if (poll(fds, 5, now ? 0 : -1) < 0)
		return false;
	if (fds[3].revents)
		p->output.error = output_trouble(fds[3].revents);
	if (fds[4].revents)
		rearm_by_wall(p);
	return fds[0].revents != 0;
}

static bool is_over(const struct pipe *p)
{
	return p->stop ||
	       (p->input.ended && pawl_wheel_count(p->wheel) == 0 && p->children.running == 0);
}

static void check_output(struct pipe *p)
{
	output_flush(&p->output);
	if (p->output.error == -EPIPE)
		p->stop = STOP_CLOSED;
	else if (p->output.error && p->output.error != -EINTR)
		pipe_fail(p, "standard output", -p->output.error);
}

static void loop(struct pipe *p)
{
	while (!is_over(p)) {
		bool input = wait_for_something(p);

		handle_signals(p);
		pipe_fire_due(p);
		if (input && !p->stop)
			pipe_read_input(p);
		check_output(p);
	}
}

static int open_wheel(struct pipe *p)
{
	struct pawl_wheel_options options = {.start = clock_ns(CLOCK_BOOTTIME)};
	size_t size = pawl_wheel_footprint(&options);

	p->wheel = pawl_wheel_init(malloc(size), size, &options);
	return p->wheel ? 0 : -ENOMEM;
}

static int open_all(struct pipe *p)
{
	int error = open_wheel(p);

	p->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (!error && p->timer_fd < 0)
		error = -errno;
	p->wall_fd = wall_open();
	if (!error && p->wall_fd < 0)
		error = p->wall_fd;
	if (!error)
		error = signals_open();
	if (!error && p->options->command)
		error = children_open(&p->children, p->options->command,
		                      (unsigned)p->options->jobs);
	return error;
}

static bool free_entry(struct pawl_timer *timer, void *wheel)
{
	pawl_wheel_cancel(wheel, timer);
	free(timer); /* the first member of its entry */
	return true;
}

/* free_entry() frees the entries on the wheel. */
static void free_outlived(struct child *child)
{
	if (child->pid && child->entry && child->entry->command == COMMAND_OUTLIVES_LINE)
		free(child->entry);
}

static void close_all(struct pipe *p)
{
	for (unsigned i = 0; i < p->children.size; i++)
		free_outlived(&p->children.list[i]);
	if (p->wheel)
		pawl_wheel_each(p->wheel, free_entry, p->wheel);
	children_close(&p->children);
	names_close(&p->names);
	zones_close(&p->zones);
	input_close(&p->input);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	if (p->wall_fd >= 0)
		close(p->wall_fd);
	free(p->wheel);
}

static void complain_of_the_rest(const char *why, uint64_t lines)
{
	complain("%s; %" PRIu64 " line%s left", why, lines, lines == 1 ? " was" : "s were");
}

static int conclude(struct pipe *p)
{
	switch (p->stop) {
	case STOP_INTERRUPTED:
		complain_of_the_rest("interrupted", lines_left(p));
		children_terminate(&p->children);
		return EXIT_INTERRUPTED + signals_last();
	case STOP_STRICT:
		complain_of_the_rest("stopped at a bad line", lines_left(p));
		return EXIT_FAULT;
	case STOP_FAILED:
		return EXIT_FAULT;
	default:
		return p->counts.bad + p->counts.failed > 0 ? EXIT_FAULT : EXIT_FINE;
	}
}

/* The zone of --zone. */
static bool open_zone(struct pipe *p)
{
	struct pawl_calendar_error error;

	if (!p->options->zone)
		return true;
	p->zones.fallback = zones_find(
	        &p->zones, (struct span){p->options->zone, strlen(p->options->zone)}, &error);
	if (!p->zones.fallback)
		complain("run: --zone is '%s': %s", p->options->zone, error.text);
	return p->zones.fallback != NULL;
}

/* For someone who has started it without input, and would see nothing. */
static void hint(const struct pipe *p)
{
	struct pollfd fd = {.fd = p->input.fd, .events = POLLIN};

	if (p->input.ended || p->options->replay || !isatty(p->input.fd) || !isatty(STDERR_FILENO))
		return;
	if (poll(&fd, 1, 0) == 0)
		complain("type lines such as '5s tea', and Ctrl-D at the end; 'pawl help run' "
		         "tells more");
}

int pipe_run(const struct pipe_options *options)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int error = p ? input_open(&p->input, options->path) : -ENOMEM, code = EXIT_FAULT;

	if (error) {
		complain("run: cannot read %s: %s",
		         options->path ? options->path : "standard input", strerror(-error));
		free(p);
		return EXIT_FAULT;
	}
	p->options = options;
	error = open_all(p);
	if (!open_zone(p)) {
		code = EXIT_USAGE;
	} else if (error) {
		complain("run: cannot begin: %s", strerror(-error));
	} else {
		pipe_read_lines(p);
		hint(p);
		loop(p);
		code = conclude(p);
	}
	close_all(p);
	free(p);
	return code;
}
