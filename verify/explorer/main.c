/* SPDX-License-Identifier: MIT */
/* One scenario after the other, one search after the other, one execution after the other. */
#include "explorer.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_DEPTH = 3, LAST_DEPTH = 10 };

struct explorer *explorer;

struct arguments {
	const char *scenario;  /* NULL: all */
	const char *seed;      /* NULL: search */
	const char *of_search; /* the last option given that only a search uses; NULL: none */
	uint64_t first_seed;
	uint64_t times; /* so many times the executions of each search */
	uint64_t most;  /* but at most so many */
	uint64_t hang_seconds;
	int help, list, trace, strong; /* whether they are given */
	bool no_depth_first;
};

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

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

/* All executions with so few preemptions and old values, or the first `most`. Returns whether these were all. */
static bool search_within(unsigned preemptions, unsigned old_values, uint64_t most)
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
	printf("  at most %u preemption%s, %u old value%s: %s %" PRIu64 " execution%s\n",
	       preemptions, plural(preemptions), old_values, plural(old_values),
	       all ? "all" : "the first", executions, plural(executions));
	return all;
}

/* If the executions with so many preemptions are too many, those with one more are not begun. */
static void search_depth_first(uint64_t most)
{
	bool all = most > 0;

	for (unsigned preemptions = 1; preemptions <= 3 && all; preemptions++)
		all = search_within(preemptions, 0, most);
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
		       " execution%s\n",
		       FIRST_DEPTH, LAST_DEPTH, first_seed, most, plural(most));
}

static void search_random(uint64_t most, uint64_t first_seed)
{
	for (uint64_t i = 0; i < most; i++) {
		search_begin(RANDOM, first_seed + i, 0);
		execution_run();
	}
	if (most)
		printf("  at random, seeds from %" PRIu64 ": %" PRIu64 " execution%s\n", first_seed,
		       most, plural(most));
}

static void replay(const struct arguments *arguments)
{
	const struct decisions *decisions = &explorer->decisions;

	if (decisions->search == PRIORITIES) {
		uint64_t seed = decisions->seed;
		unsigned depth = decisions->depth;

		run_plain();
		search_begin(PRIORITIES, seed, depth);
	}
	execution_run();
	search_check_replayed();
	if (arguments->trace)
		report_schedule();
	printf("  seed %s: passed\n", arguments->seed);
}

/* Returns if all executions passed. */
static void run_scenario(const struct arguments *arguments, const struct explore_scenario *scenario)
{
	explorer->scenario = scenario;
	explorer->executions = explorer->forgotten = 0;
	printf("%s\n", scenario->name);
	fflush(stdout);
	if (arguments->seed) {
		replay(arguments);
		return;
	}
	run_plain();
	if (!arguments->no_depth_first)
		search_depth_first(bound(arguments, scenario->depth_first, 10000));
	search_priorities(bound(arguments, scenario->priorities, 4000), arguments->first_seed);
	search_random(bound(arguments, scenario->random, 2000), arguments->first_seed);
	if (explorer->forgotten)
		printf("  %" PRIu64 " access%s forgotten: more than %d to the same eight bytes\n",
		       explorer->forgotten, explorer->forgotten == 1 ? " was" : "es were",
		       ACCESSES);
}

static void init(const char *program, const struct arguments *arguments)
{
	memory_init();
	explorer->program = program;
	explorer->strong = arguments->strong;
	explorer->hang_seconds = (unsigned)arguments->hang_seconds;
	fibers_init();
	report_init();
	memcpy(explorer->data_copy, explorer->data, explorer->data_size);
}

static void print_usage(const char *program)
{
	printf("usage: %s [OPTION...]\n"
	       "Run each scenario under many schedules, until one fails.\n\n"
	       "  --list            print the names of the scenarios\n"
	       "  --scenario NAME   run only this scenario\n"
	       "  --seed SEED       repeat one execution. A report prints its seed:\n"
	       "                      r5           at random, seed 5\n"
	       "                      p3.5         by priorities, depth 3, seed 5\n"
	       "                      d12:1,40:2   at decision 12 take option 1, at 40 option 2,\n"
	       "                                   elsewhere option 0\n"
	       "                      d            take option 0 everywhere\n"
	       "                    A seed holds for one build. After a change, search again.\n"
	       "  --trace           with --seed: print the schedule even if the execution passes\n"
	       "  --strong          a load always sees the newest store\n"
	       "  --hang SECONDS    report a thread that runs so long between two steps (60)\n"
	       "  --help            print this\n\n"
	       "For a search, so not with --seed:\n"
	       "  --first-seed N    the first seed by priorities and at random (1); 0: from the\n"
	       "                    clock. It does not change the depth-first search.\n"
	       "  --times N         make N times as many executions (1)\n"
	       "  --most N          make at most N executions in each search\n"
	       "  --no-depth-first  leave out the depth-first search\n",
	       program);
}

static bool __attribute__((format(printf, 2, 3)))
refuse(const char *program, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; see --help\n");
	return false;
}

static bool parse_number(char **argv, const char *name, uint64_t least, uint64_t most,
                         uint64_t *number)
{
	char *rest;

	errno = 0;
	*number = strtoull(optarg, &rest, 10);
	if (*optarg >= '0' && *optarg <= '9' && !*rest && !errno && *number >= least &&
	    *number <= most)
		return true;
	return refuse(argv[0], "--%s %s: it takes a number from %" PRIu64 " to %" PRIu64, name,
	              optarg, least, most);
}

static bool wanted(const struct arguments *arguments, const struct explore_scenario *scenario)
{
	return !arguments->scenario || strcmp(arguments->scenario, scenario->name) == 0;
}

static bool any_wanted(const struct arguments *arguments, const struct explore_scenario *scenarios,
                       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wanted(arguments, &scenarios[i]))
			return true;
	return false;
}

/* Whether the arguments go together. */
static bool check(int argc, char **argv, const struct arguments *arguments,
                  const struct explore_scenario *scenarios, size_t count)
{
	if (optind < argc)
		return refuse(argv[0], "%s: it takes options only", argv[optind]);
	if (!any_wanted(arguments, scenarios, count))
		return refuse(argv[0], "--scenario %s is not one of those that --list prints",
		              arguments->scenario);
	if (arguments->seed && !arguments->scenario && count > 1)
		return refuse(argv[0], "--seed needs --scenario");
	if (arguments->seed && arguments->of_search)
		return refuse(argv[0], "--seed %s repeats one execution: it does not go with --%s",
		              arguments->seed, arguments->of_search);
	if (arguments->trace && !arguments->seed)
		return refuse(argv[0], "--trace needs --seed");
	return true;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
	const struct option options[] = {
	        {"help", no_argument, &arguments->help, true},
	        {"list", no_argument, &arguments->list, true},
	        {"trace", no_argument, &arguments->trace, true},
	        {"strong", no_argument, &arguments->strong, true},
	        {"scenario", required_argument, NULL, 's'},
	        {"seed", required_argument, NULL, 'r'},
	        {"first-seed", required_argument, NULL, 'f'},
	        {"times", required_argument, NULL, 't'},
	        {"most", required_argument, NULL, 'm'},
	        {"no-depth-first", no_argument, NULL, 'd'},
	        {"hang", required_argument, NULL, 'a'},
	        {NULL, 0, NULL, 0},
	};
	bool good = true;
	int option, index = 0;

	while (good && (option = getopt_long(argc, argv, "", options, &index)) != -1) {
		const char *name = options[index].name;

		if (option && strchr("ftmd", option))
			arguments->of_search = name;
		switch (option) {
		case 0:
			break;
		case 's':
			arguments->scenario = optarg;
			break;
		case 'r':
			arguments->seed = optarg;
			break;
		case 'f':
			good = parse_number(argv, name, 0, UINT64_MAX, &arguments->first_seed);
			break;
		case 't':
			good = parse_number(argv, name, 1, 1000000, &arguments->times);
			break;
		case 'm':
			good = parse_number(argv, name, 1, UINT64_MAX, &arguments->most);
			break;
		case 'd':
			arguments->no_depth_first = true;
			break;
		case 'a':
			good = parse_number(argv, name, 1, 86400, &arguments->hang_seconds);
			break;
		default:
			good = false; /* getopt_long has said why */
			fprintf(stderr, "%s: see --help\n", argv[0]);
		}
	}
	if (arguments->first_seed == 0)
		arguments->first_seed = (uint64_t)time(NULL) << 20;
	return good;
}

static void list(const struct explore_scenario *scenarios, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s\n", scenarios[i].name);
}

static int run(const char *program, const struct arguments *arguments,
               const struct explore_scenario *scenarios, size_t count)
{
	init(program, arguments);
	if (arguments->seed) {
		const char *wrong = search_replay(arguments->seed);

		if (wrong) {
			refuse(program, "--seed %s: %s", arguments->seed, wrong);
			return 2;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (wanted(arguments, &scenarios[i]))
			run_scenario(arguments, &scenarios[i]);
	return 0;
}

int explore_main(int argc, char **argv, const struct explore_scenario *scenarios, size_t count)
{
	struct arguments arguments = {
	        .first_seed = 1, .times = 1, .most = UINT64_MAX, .hang_seconds = 60};

	if (!parse(argc, argv, &arguments) ||
	    (!arguments.help && !check(argc, argv, &arguments, scenarios, count)))
		return 2;
	if (arguments.help)
		print_usage(argv[0]);
	else if (arguments.list)
		list(scenarios, count);
	else
		return run(argv[0], &arguments, scenarios, count);
	return 0;
}
