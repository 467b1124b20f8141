/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include "arguments.h"
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
	BETWEEN = 10000, /* timers, which are as those above and below them: large objects only */
	STEPS_PER_TICK = 100,
	STEPS_PER_TICK_QUICK = 50,
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
	     "Measures pawl's wheel against other structures, libraries and the kernel: median ns "
	     "an\n"
	     "operation.\n"
	     "\n"
	     "  --quick           half a minute: 1,000 and 100,000 timers, 3 repetitions, and in "
	     "churn\n"
	     "                    and refresh 50 steps a tick instead of 100\n"
	     "  --n N[,N...]      how many timers; default 1000,100000,1000000, in objects of "
	     "192 bytes\n"
	     "                    also 10000, and of 64 bytes also 10000000\n"
	     "  --reps R          repetitions; default 5, and 3 above 1,000,000 timers\n"
	     "  --objects S[,S..] bytes of the objects that the timers are in; default 192,64\n"
	     "  --only W[,W...]   these workloads only, see below\n"
	     "  --peers P[,P...]  these peers only, see below\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --times           show how many seconds each workload of each peer took\n"
	     "  --verify          only verify the peers: each timer fires once, and not early\n"
	     "  --help            this\n");
	fputs("workloads:", stdout);
	each_row(print_name, stdout);
	puts("\n\npeers (*: only when named):");
	for (size_t i = 0; i < peer_count; i++)
		printf("%c %-12s %s\n", peers[i]->on_request ? '*' : ' ', peers[i]->name,
		       peers[i]->about);
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

static void parse_objects(struct options *options, char *list)
{
	options->object_count = 0;
	for (char *item; (item = strsep(&list, ",")) != NULL;) {
		uint32_t bytes = parse_number("--objects", item, MAX_OBJECT_SIZE);

		if (bytes % CACHE_LINE || options->object_count == MAX_SIZES) {
			refuse("--objects", item);
			fprintf(stderr, " at most %d multiples of %d up to %d\n", MAX_SIZES,
			        CACHE_LINE, MAX_OBJECT_SIZE);
			exit(2);
		}
		options->objects[options->object_count++] = bytes;
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

bool options_have(const struct options *options, uint32_t n, uint32_t object_size)
{
	if (!options->spare)
		return true;
	if (object_size > CACHE_LINE)
		return n <= LARGE;
	return n != BETWEEN;
}

uint32_t options_repetitions(const struct options *options, uint32_t n)
{
	if (options->repetitions)
		return options->repetitions;
	return n > LARGE ? REPETITIONS_LARGE : REPETITIONS;
}

static void default_sizes(struct options *options, bool quick)
{
	static const uint32_t sizes[] = {1000, BETWEEN, 100000, LARGE, 10000000};
	static const uint32_t sizes_quick[] = {1000, 100000};

	options->spare = true;
	options->size_count = quick ? 2 : 5;
	memcpy(options->sizes, quick ? sizes_quick : sizes, options->size_count * sizeof(sizes[0]));
}

static void default_objects(struct options *options, bool quick)
{
	static const uint32_t objects[] = {192, 64};

	options->object_count = quick ? 1 : 2;
	memcpy(options->objects, objects, sizeof(objects));
}

/* What --quick leaves to be said by other options, whichever comes first. */
static void fill_in(struct options *options, bool quick)
{
	options->steps_per_tick = quick ? STEPS_PER_TICK_QUICK : STEPS_PER_TICK;
	if (quick && !options->repetitions)
		options->repetitions = REPETITIONS_QUICK;
	if (!options->size_count)
		default_sizes(options, quick);
	if (!options->object_count)
		default_objects(options, quick);
}

#define ALLOWED "--quick --n --reps --objects --only --peers --csv --times --verify --help"

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
	        {"quick", no_argument, NULL, 'q'},
	        {"n", required_argument, NULL, 'n'},
	        {"reps", required_argument, NULL, 'r'},
	        {"objects", required_argument, NULL, 'b'},
	        {"csv", required_argument, NULL, 'c'},
	        {"verify", no_argument, NULL, 'v'},
	        {"only", required_argument, NULL, 'o'},
	        {"peers", required_argument, NULL, 'p'},
	        {"times", no_argument, NULL, 't'},
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
		case 'b':
			parse_objects(options, optarg);
			break;
		case 'c':
			options->csv = optarg;
			break;
		case 't':
			options->times = true;
			break;
		case 'v':
			options->only_verify = true;
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
			usage_error("a value is missing after", argv[optind - 1], ALLOWED);
		case 1:
			usage_error("unexpected argument", optarg, ALLOWED);
		default:
			usage_error("unknown option", argv[optind - 1], ALLOWED);
		}
	}
	if (optind < argc)
		usage_error("unexpected argument", argv[optind], ALLOWED);
	fill_in(options, quick);
}
