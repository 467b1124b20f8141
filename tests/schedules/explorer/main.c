/* SPDX-License-Identifier: MIT */
/* One scenario after the other, one search after the other, one execution after the other. */
#include "explorer.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_DEPTH = 3, LAST_DEPTH = 10 };

struct explorer *explorer;

struct arguments {
	const char *scenario; /* NULL: all */
	const char *seed;     /* NULL: search */
	uint64_t first_seed;
	uint64_t times; /* so many times the executions of each search */
	uint64_t most;  /* but at most so many */
	bool list, trace, strong;
};

/* How many executions a search may make. */
static uint64_t bound(const struct arguments *arguments, unsigned given, unsigned standard)
{
	uint64_t executions = given == EXPLORE_NONE ? 0 : given ? given : standard;

	executions *= arguments->times;
	return executions < arguments->most ? executions : arguments->most;
}

/* The plain execution says how many decisions there are. */
static void run_plain(void)
{
	search_begin(REPLAY, 0, 0);
	execution_run();
	explorer->decisions.expected = explorer->decisions.count;
}

/* All executions with so few preemptions and old values, or the first `most`. */
static void search_within(unsigned preemptions, unsigned old_values, uint64_t most)
{
	uint64_t executions = 0;
	bool all = false;

	search_begin(DEPTH_FIRST, 0, 0);
	explorer->decisions.most_preemptions = preemptions;
	explorer->decisions.most_old_values = old_values;
	while (!all && executions < most) {
		execution_run();
		executions++;
		all = !search_next();
	}
	printf("  at most %u preemptions, %u old values: %s %" PRIu64 " executions\n", preemptions,
	       old_values, all ? "all" : "the first", executions);
}

static void search_depth_first(uint64_t most)
{
	for (unsigned preemptions = 1; preemptions <= 3 && most; preemptions++)
		search_within(preemptions, 0, most);
	if (most && !explorer->strong)
		search_within(1, 1, most);
}

static void search_priorities(uint64_t most, uint64_t first_seed)
{
	for (uint64_t i = 0; i < most; i++) {
		search_begin(PRIORITIES, first_seed + i,
		             FIRST_DEPTH + (unsigned)(i % (LAST_DEPTH - FIRST_DEPTH + 1)));
		execution_run();
	}
	if (most)
		printf("  by priorities, depth %d to %d, seeds from %" PRIu64 ": %" PRIu64
		       " executions\n",
		       FIRST_DEPTH, LAST_DEPTH, first_seed, most);
}

static void search_random(uint64_t most, uint64_t first_seed)
{
	for (uint64_t i = 0; i < most; i++) {
		search_begin(RANDOM, first_seed + i, 0);
		execution_run();
	}
	if (most)
		printf("  at random, seeds from %" PRIu64 ": %" PRIu64 " executions\n", first_seed,
		       most);
}

static int replay(const struct arguments *arguments)
{
	if (!search_replay(arguments->seed)) {
		fprintf(stderr,
		        "explorer: --seed %s is no seed: r5, p3.5 (depth 1 to 10) or d12:1,40:2\n",
		        arguments->seed);
		return 2;
	}
	if (explorer->decisions.search == PRIORITIES) {
		run_plain();
		search_replay(arguments->seed);
	}
	execution_run();
	if (arguments->trace)
		report_schedule();
	printf("  seed %s: passed\n", arguments->seed);
	return 0;
}

static int run_scenario(const struct arguments *arguments, const struct explore_scenario *scenario)
{
	explorer->scenario = scenario;
	explorer->executions = 0;
	printf("%s\n", scenario->name);
	fflush(stdout);
	if (arguments->seed)
		return replay(arguments);
	run_plain();
	search_depth_first(bound(arguments, scenario->depth_first, 10000));
	search_priorities(bound(arguments, scenario->priorities, 8000), arguments->first_seed);
	search_random(bound(arguments, scenario->random, 4000), arguments->first_seed);
	return 0;
}

static void init(const char *program, const struct arguments *arguments)
{
	memory_init();
	explorer->program = program;
	explorer->strong = arguments->strong;
	fibers_init();
	report_init();
	memcpy(explorer->data_copy, explorer->data, explorer->data_size);
}

static int usage(void)
{
	fprintf(stderr, "usage: [--list] [--scenario NAME] [--seed SEED] [--first-seed N] [--times "
	                "N] [--most N] "
	                "[--trace] [--strong]\n"
	                "  --scenario NAME  this one only\n"
	                "  --seed SEED      repeat one execution: r5, p3.5 or d12:1,40:2\n"
	                "  --first-seed N   where the random searches begin; 0: by the clock\n"
	                "  --times N        N times as many executions, 1 to 1000000\n"
	                "  --most N         but at most N a search\n"
	                "  --trace          with --seed: show the schedule, though it passes\n"
	                "  --strong         a load sees the newest store\n");
	return 2;
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	char *rest;

	*number = strtoull(text, &rest, 10);
	return *text >= '0' && *text <= '9' && !*rest && *number >= least && *number <= most;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
	        {"list", no_argument, NULL, 'l'},
	        {"scenario", required_argument, NULL, 's'},
	        {"seed", required_argument, NULL, 'r'},
	        {"first-seed", required_argument, NULL, 'f'},
	        {"times", required_argument, NULL, 't'},
	        {"most", required_argument, NULL, 'm'},
	        {"trace", no_argument, NULL, 'v'},
	        {"strong", no_argument, NULL, 'g'},
	        {NULL, 0, NULL, 0},
	};
	bool good = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'l':
			arguments->list = true;
			break;
		case 's':
			arguments->scenario = optarg;
			break;
		case 'r':
			arguments->seed = optarg;
			break;
		case 'f':
			good &= parse_number(optarg, 0, UINT64_MAX, &arguments->first_seed);
			break;
		case 't':
			good &= parse_number(optarg, 1, 1000000, &arguments->times);
			break;
		case 'm':
			good &= parse_number(optarg, 1, UINT64_MAX, &arguments->most);
			break;
		case 'v':
			arguments->trace = true;
			break;
		case 'g':
			arguments->strong = true;
			break;
		default:
			good = false;
		}
	}
	if (arguments->first_seed == 0)
		arguments->first_seed = (uint64_t)time(NULL) << 20;
	return good && optind == argc && (!arguments->seed || arguments->scenario);
}

int explore_main(int argc, char **argv, const struct explore_scenario *scenarios, size_t count)
{
	struct arguments arguments = {.first_seed = 1, .times = 1, .most = UINT64_MAX};
	bool found = false;
	int status = 0;

	if (!parse(argc, argv, &arguments))
		return usage();
	init(argv[0], &arguments);
	for (size_t i = 0; i < count && !status; i++) {
		if (arguments.list)
			printf("%s\n", scenarios[i].name);
		if (arguments.list ||
		    (arguments.scenario && strcmp(arguments.scenario, scenarios[i].name) != 0))
			continue;
		found = true;
		status = run_scenario(&arguments, &scenarios[i]);
	}
	if (!arguments.list && !found) {
		fprintf(stderr, "explorer: there is no scenario '%s'; see --list\n",
		        arguments.scenario ? arguments.scenario : "");
		return 2;
	}
	return status;
}
