/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include "peer.h"
#include "workloads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	REPETITIONS_LARGE = 3, /* above this many timers: */
	LARGE = 1000000,
	STEPS_PER_TICK = 1000,
	STEPS_PER_TICK_QUICK = 100,
};

static void each_row(void (*fn)(const char *key, void *arg), void *arg)
{
	const char *last = "";

	for (size_t i = 0; i < workload_count * ROWS_PER_WORKLOAD; i++) {
		const struct row *row =
		        &workloads[i / ROWS_PER_WORKLOAD].rows[i % ROWS_PER_WORKLOAD];

		if (!row->key || strcmp(row->key, last) == 0)
			continue;
		fn(row->key, arg);
		last = row->key;
	}
}

static void each_peer(void (*fn)(const char *name, void *arg), void *arg)
{
	for (size_t i = 0; i < peer_count; i++)
		fn(peers[i]->name, arg);
}

static void print_name(const char *name, void *stream)
{
	fprintf(stream, " %s", name);
}

static void help(void)
{
	puts("usage: pawl-bench-wheel [options]\n"
	     "\n"
	     "Measures pawl's wheel against other structures: median ns an operation.\n"
	     "\n"
	     "  --quick           about a minute: up to 1,000,000 timers, 3 repetitions, and in "
	     "churn\n"
	     "                    and refresh 100 steps a tick instead of 1,000\n"
	     "  --n N[,N...]      how many timers; default 1000,100000,1000000,10000000\n"
	     "  --reps R          repetitions; default 5, and 3 above 1,000,000 timers\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --help            this\n");
	fputs("workloads:", stdout);
	each_row(print_name, stdout);
	puts("\n\npeers (*: only when named):");
	for (size_t i = 0; i < peer_count; i++)
		printf("%c %-12s %s\n", peers[i]->on_request ? '*' : ' ', peers[i]->name,
		       peers[i]->about);
}

static void refuse(const char *option, const char *value)
{
	fprintf(stderr, "pawl-bench-wheel: %s: bad value '%s'; allowed:", option, value);
}

static uint32_t parse_number(const char *option, const char *text, uint32_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end && value >= 1 && value <= most)
		return (uint32_t)value;
	refuse(option, text);
	fprintf(stderr, " a whole number from 1 to %u\n", most);
	exit(2);
}

static void parse_sizes(struct options *options, char *list)
{
	options->size_count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		uint32_t n = parse_number("--n", item, MAX_TIMERS);

		if (options->size_count == MAX_SIZES) {
			refuse("--n", item);
			fprintf(stderr, " at most %d sizes\n", MAX_SIZES);
			exit(2);
		}
		options->sizes[options->size_count++] = n;
	}
}

struct lookup {
	const char *name;
	bool found;
};

static void look(const char *name, void *arg)
{
	struct lookup *lookup = arg;

	if (strcmp(name, lookup->name) == 0)
		lookup->found = true;
}

static void parse_names(struct names *names, const char *option, char *list,
                        void (*each)(void (*)(const char *, void *), void *))
{
	names->count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		struct lookup lookup = {.name = item};

		each(look, &lookup);
		if (!lookup.found) {
			refuse(option, item);
			each(print_name, stderr);
			fputs(" (a list with commas between)\n", stderr);
			exit(2);
		}
		if (names->count == 0 || !names_have(names, item)) /* an empty list has all */
			names->name[names->count++] = item;
	}
}

bool names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return names->count == 0;
}

uint32_t options_repetitions(const struct options *options, uint32_t n)
{
	if (options->repetitions)
		return options->repetitions;
	return n > LARGE ? REPETITIONS_LARGE : REPETITIONS;
}

/* What --quick leaves to be said by other options, whichever comes first. */
static void fill_in(struct options *options, bool quick)
{
	static const uint32_t sizes[] = {1000, 100000, 1000000, 10000000};

	options->steps_per_tick = quick ? STEPS_PER_TICK_QUICK : STEPS_PER_TICK;
	if (quick && !options->repetitions)
		options->repetitions = REPETITIONS_QUICK;
	if (options->size_count)
		return;
	options->size_count = quick ? 3 : 4;
	memcpy(options->sizes, sizes, sizeof(sizes));
}

static _Noreturn void usage_error(const char *what, const char *argument)
{
	fprintf(stderr,
	        "pawl-bench-wheel: %s '%s'; allowed: --quick --n --reps --only --peers --help\n",
	        what, argument);
	exit(2);
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
	        {"quick", no_argument, NULL, 'q'},
	        {"n", required_argument, NULL, 'n'},
	        {"reps", required_argument, NULL, 'r'},
	        {"only", required_argument, NULL, 'o'},
	        {"peers", required_argument, NULL, 'p'},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	bool quick = false;
	int option;

	*options = (struct options){0};
	while ((option = getopt_long(argc, argv, "-:", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			quick = true;
			break;
		case 'n':
			parse_sizes(options, optarg);
			break;
		case 'r':
			options->repetitions = parse_number("--reps", optarg, MAX_REPETITIONS);
			break;
		case 'o':
			parse_names(&options->rows, "--only", optarg, each_row);
			break;
		case 'p':
			parse_names(&options->peers, "--peers", optarg, each_peer);
			break;
		case 'h':
			help();
			exit(0);
		case ':':
			usage_error("a value is missing after", argv[optind - 1]);
		case 1:
			usage_error("unexpected argument", optarg);
		default:
			usage_error("unknown option", argv[optind - 1]);
		}
	}
	if (optind < argc)
		usage_error("unexpected argument", argv[optind]);
	fill_in(options, quick);
}
