/* SPDX-License-Identifier: MIT */
/* pawl explain: sends each timer through a real wheel, with simulated time, and records what happens. */
#define _POSIX_C_SOURCE 200809L
#include "explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/saturate.h"
#include "../commands.h"
#include "../text/arguments.h"

static const char help[] =
        "usage: pawl explain [OPTION...] DELAY...\n"
        "\n"
        "Shows the journey of a timer with each DELAY through the levels of a timing\n"
        "wheel: its first slot, when each slot opens, where it moves, when it is due.\n"
        "A DELAY is a duration such as 450ms or 1.5s.\n"
        "\n"
        "  --tick DURATION    width of a slot of level 0 (default 1ms)\n"
        "  --wheel-size N     slots in a level, 2 to 4096 (default 20, as in Kafka)\n"
        "  --start DURATION   the wheel's time when the timers are armed (default 0ms)\n"
        "  --svg FILE         write a picture of the wheels to FILE instead of text;\n"
        "                     '-' is standard output\n"
        "  --help             this text\n";

struct arguments {
	uint64_t tick, wheel_size, start;
	const char *svg;
};

static void follow(struct explained *timer, struct pawl_wheel *wheel)
{
	uint64_t start = pawl_wheel_now(wheel);

	journey_arm(&timer->journey, saturating_sum(start, timer->delay), &timer->steps[0]);
	timer->count = 1;
	while (timer->journey.waiting) {
		journey_advance(wheel, PAWL_NEVER);
		timer->count += journey_look(&timer->journey, &timer->steps[timer->count]);
	}
}

static bool explain_one(struct explained *timer, const struct pawl_wheel_options *wheel_options)
{
	size_t size = pawl_wheel_footprint(wheel_options);
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, wheel_options);
	struct pawl_timer lone = {0};

	if (!wheel)
		return false;
	journey_begin(&timer->journey, wheel, wheel_options, &lone);
	follow(timer, wheel);
	free(wheel);
	return true;
}

static int explain_all(struct explanation *e, char **delays)
{
	for (size_t i = 0; i < e->count; i++)
		if (!argument_duration("DELAY", delays[i], 0, &e->timers[i].delay))
			return EXIT_USAGE;
	for (size_t i = 0; i < e->count; i++)
		if (!explain_one(&e->timers[i], &e->options)) {
			complain("there is no memory for a wheel of %u slots",
			         e->options.wheel_size);
			return EXIT_FAULT;
		}
	return EXIT_FINE;
}

static int write_svg(const char *path, const struct explanation *e)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
	bool written;

	if (!out) {
		complain("cannot write %s: %s", path, strerror(errno));
		return EXIT_FAULT;
	}
	explain_as_svg(out, e);
	if (out == stdout)
		return finish_output(EXIT_FINE);
	written = !ferror(out);
	if (fclose(out) == 0 && written)
		return EXIT_FINE;
	complain("cannot write %s: %s", path, strerror(errno));
	return EXIT_FAULT;
}

static int explain(const struct arguments *a, int count, char **delays)
{
	struct explanation e = {
	        .options = {.start = a->start,
	                    .tick = a->tick,
	                    .wheel_size = (uint32_t)a->wheel_size},
	        .count = (size_t)count,
	        .timers = calloc((size_t)count, sizeof(struct explained)),
	};
	int code = EXIT_FAULT;

	if (!e.timers)
		complain("there is no memory for %d timers", count);
	else
		code = explain_all(&e, delays);
	if (code == EXIT_FINE && a->svg) {
		code = write_svg(a->svg, &e);
	} else if (code == EXIT_FINE) {
		explain_in_text(stdout, &e);
		code = finish_output(EXIT_FINE);
	}
	free(e.timers);
	return code;
}

int command_explain(int argc, char **argv)
{
	struct arguments a = {.tick = 1000000, .wheel_size = 20};
	const struct setting settings[] = {
	        {"tick", .duration = &a.tick, .least = 1},
	        {"wheel-size", .number = &a.wheel_size, .least = 2, .most = 4096},
	        {"start", .duration = &a.start},
	        {"svg", .text = &a.svg},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (optind == argc) {
		complain("explain: there is no DELAY; expected one or more, as in 'pawl explain "
		         "450ms'");
		return EXIT_USAGE;
	}
	return explain(&a, argc - optind, argv + optind);
}
