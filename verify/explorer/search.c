/* SPDX-License-Identifier: MIT */
/*
 * Decisions. An execution asks for one wherever it could go on in more than one way: which thread, which store a load
 * sees, whether an allocation fails. Option 0 is the plain one: the present thread goes on, a load sees the newest
 * store, an allocation succeeds.
 *
 *	depth first   all executions with at most k preemptions, and so many old values and failures.
 *	              The list of decisions is a path in a tree; the next execution takes the same path
 *	              up to the last decision that has an option left, and there the next option.
 *	priorities    probabilistic concurrency testing (Burckhardt and others, 2010): each thread has a
 *	              random priority, the highest one runs, and at depth - 1 random decisions the thread
 *	              that runs drops to the lowest. A defect that takes d ordered events is found with a
 *	              probability of at least 1 / (threads * decisions^(d - 1)), usually far more often.
 *	random        at each point a switch with the probability that the seed has drawn
 *	replay        as a list says
 *
 * docs/design/schedules.md says how a seed is written.
 */
#include "explorer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_DEPTH = 10, NO_LIMIT = 1 << 30 };

static struct decisions *decisions(void)
{
	return &explorer->decisions;
}

void search_begin(enum search search, uint64_t seed, unsigned depth)
{
	struct decisions *d = decisions();

	d->search = search;
	d->seed = seed;
	d->depth = depth;
	d->known = d->count = 0;
}

/* A seed as far as it is read. */
struct seed {
	const char *rest;
	char wrong[160]; /* the text found at the rest, and the text expected there */
};

static bool __attribute__((format(printf, 2, 3)))
expected(struct seed *seed, const char *format, ...)
{
	const char *quote = *seed->rest ? "'" : "", *at = *seed->rest ? seed->rest : "the end";
	int length = snprintf(seed->wrong, sizeof(seed->wrong), "at %s%.40s%s expected ", quote, at,
	                      quote);
	va_list args;

	va_start(args, format);
	vsnprintf(seed->wrong + length, sizeof(seed->wrong) - (size_t)length, format, args);
	va_end(args);
	return false;
}

static bool parse_sign(struct seed *seed, char sign)
{
	if (*seed->rest != sign)
		return expected(seed, "'%c'", sign);
	seed->rest++;
	return true;
}

static bool parse_number(struct seed *seed, const char *what, uint64_t least, uint64_t most,
                         uint64_t *number)
{
	char *rest;

	errno = 0;
	*number = strtoull(seed->rest, &rest, 10);
	if (*seed->rest < '0' || *seed->rest > '9' || errno || *number < least || *number > most)
		return expected(seed, "%s from %" PRIu64 " to %" PRIu64, what, least, most);
	seed->rest = rest;
	return true;
}

/* The next decision, after those that are known, and its option: at most all threads and the clock. */
static bool parse_decision(struct seed *seed)
{
	struct decisions *d = decisions();
	uint64_t index, chosen;

	if (d->known == MAX_CHOICES)
		return expected(seed, "nothing more");
	if ((d->known && !parse_sign(seed, ',')) ||
	    !parse_number(seed, "a decision", d->known, MAX_CHOICES - 1, &index) ||
	    !parse_sign(seed, ':') || !parse_number(seed, "an option", 1, MAX_THREADS, &chosen))
		return false;
	d->list[index].chosen = (uint16_t)chosen;
	d->known = (unsigned)index + 1;
	return true;
}

static bool parse_decisions(struct seed *seed)
{
	struct decisions *d = decisions();

	search_begin(REPLAY, 0, 0);
	memset(d->list, 0, sizeof(d->list));
	while (*seed->rest)
		if (!parse_decision(seed))
			return false;
	return true;
}

static bool parse_random(struct seed *seed, enum search search)
{
	uint64_t depth = 0, number;

	if (search == PRIORITIES &&
	    (!parse_number(seed, "a depth", 1, MAX_DEPTH, &depth) || !parse_sign(seed, '.')))
		return false;
	if (!parse_number(seed, "a number", 0, UINT64_MAX, &number))
		return false;
	if (*seed->rest)
		return expected(seed, "nothing more");
	search_begin(search, number, (unsigned)depth);
	return true;
}

static bool parse_seed(struct seed *seed)
{
	switch (*seed->rest) {
	case 'd':
		seed->rest++;
		return parse_decisions(seed);
	case 'p':
		seed->rest++;
		return parse_random(seed, PRIORITIES);
	case 'r':
		seed->rest++;
		return parse_random(seed, RANDOM);
	default:
		return expected(seed, "a seed like r5, p3.5, d12:1,40:2 or d");
	}
}

const char *search_replay(const char *text)
{
	static struct seed seed;

	seed.rest = text;
	return parse_seed(&seed) ? NULL : seed.wrong;
}

/* As far as the last decision that has an option left, and there the next option. */
bool search_next(void)
{
	struct decisions *d = decisions();
	unsigned last = d->count;

	while (last > 0 && d->list[last - 1].chosen + 1u >= d->list[last - 1].options)
		last--;
	d->known = last;
	if (last > 0)
		d->list[last - 1].chosen++;
	return last > 0;
}

static void begin_priorities(struct decisions *d)
{
	uint32_t expected = d->expected ? d->expected : 1;

	d->clock_priority = random_next(&d->random) | UINT64_C(1) << 63;
	for (unsigned i = 0; i + 1 < d->depth; i++)
		d->changes[i] = (uint32_t)random_below(&d->random, expected);
}

void search_execution(void)
{
	struct decisions *d = decisions();
	bool bounded = d->search == DEPTH_FIRST;

	d->count = 0;
	d->preemptions = bounded ? d->most_preemptions : NO_LIMIT;
	d->old_values = bounded ? d->most_old_values : NO_LIMIT;
	d->failures = 0;
	d->random.state = d->seed ^ RANDOM_STEP * (d->depth + 1);
	d->switches = 2u << random_below(&d->random, 5);
	if (d->search == PRIORITIES)
		begin_priorities(d);
}

uint64_t search_priority(void)
{
	return random_next(&decisions()->random) | UINT64_C(1) << 63;
}

static _Noreturn void refuse(const char *format, ...)
{
	va_list args;

	explorer->running = false;
	fflush(stdout);
	fprintf(stderr, "%s: ", explorer->program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": this is not the program that the seed came from.\n"
	                "A seed holds for one build. After a change, search again.\n");
	_exit(2);
}

void search_check_replayed(void)
{
	const struct decisions *d = decisions();

	if (d->search == REPLAY && d->known > d->count)
		refuse("decision %u was never reached", d->known - 1);
}

/* One decision more, among those that the limits leave. */
static unsigned decide(unsigned options, unsigned allowed, unsigned wanted)
{
	struct decisions *d = decisions();
	unsigned chosen = wanted;

	if (d->count == MAX_CHOICES)
		fail("livelock: %d decisions, and no end", MAX_CHOICES);
	if (d->search == DEPTH_FIRST || d->search == REPLAY)
		chosen = d->count < d->known ? d->list[d->count].chosen : 0;
	if (chosen >= options && d->search == REPLAY)
		refuse("decision %u has options 0 to %u, not %u", d->count, options - 1, chosen);
	if (d->search == DEPTH_FIRST && d->count < d->known && d->list[d->count].options != allowed)
		fail("decision %u had %u options before, and now %u: the scenario depends on more "
		     "than the seed",
		     d->count, d->list[d->count].options, allowed);
	if (chosen >= allowed)
		chosen = 0;
	d->list[d->count++] = (struct decision){(uint16_t)allowed, (uint16_t)chosen};
	return chosen;
}

static uint64_t priority_of(unsigned candidate)
{
	return candidate == CLOCK ? decisions()->clock_priority
	                          : explorer->threads[candidate].priority;
}

static void drop_priority(void)
{
	struct decisions *d = decisions();

	for (unsigned i = 0; i + 1 < d->depth; i++)
		if (d->changes[i] <= d->count) {
			present()->priority = d->depth - 1 - i;
			d->changes[i] = UINT32_MAX;
		}
	if (present()->yields)
		present()->priority = 0;
}

static unsigned highest(const unsigned *candidates, unsigned count)
{
	unsigned best = 0;

	drop_priority();
	for (unsigned i = 1; i < count; i++)
		if (priority_of(candidates[i]) > priority_of(candidates[best]))
			best = i;
	if (candidates[best] == CLOCK)
		decisions()->clock_priority = random_next(&decisions()->random);
	return best;
}

static unsigned at_random(unsigned count, bool present_first)
{
	struct decisions *d = decisions();

	if (present_first && random_below(&d->random, d->switches))
		return 0;
	return (unsigned)random_below(&d->random, count);
}

/*
 * Which of the candidates goes on. That it is another one than the present thread, though that could, is a preemption;
 * and so it is if time passes though a thread could go on, or if a thread that yields goes on though another could:
 * else a loop that yields would have executions without end.
 */
unsigned search_schedule(const unsigned *candidates, unsigned count, bool present_first)
{
	struct decisions *d = decisions();
	bool clock = candidates[count - 1] == CLOCK;
	unsigned threads = count - clock, allowed = count, chosen, wanted = 0;
	bool yields = threads > 1 && candidates[threads - 1] == explorer->present;

	if (count == 1)
		return 0;
	if (!d->preemptions)
		allowed = present_first ? 1 : threads - yields;
	if (d->search == PRIORITIES)
		wanted = highest(candidates, count);
	else if (d->search == RANDOM)
		wanted = at_random(count, present_first);
	chosen = decide(count, allowed, wanted);
	if (chosen && (present_first || candidates[chosen] == CLOCK ||
	               candidates[chosen] == explorer->present))
		d->preemptions--;
	return chosen;
}

static unsigned *limit_of(enum choice choice)
{
	struct decisions *d = decisions();

	switch (choice) {
	case OLD_VALUE:
	case SPURIOUS:
		return &d->old_values;
	case SPIN:
		return &d->preemptions;
	case ALLOCATION:
		return &d->failures;
	default:
		return NULL;
	}
}

/* Every choice but that of the thread. */
unsigned search_choose(enum choice choice, unsigned options)
{
	static const uint8_t one_of[CHOICES] = {
	        [OLD_VALUE] = 4, [ALLOCATION] = 8, [SIGNALLED] = 1, [SPURIOUS] = 16, [SPIN] = 4};
	struct decisions *d = decisions();
	unsigned *limit = limit_of(choice), wanted = 0, chosen;

	if (options < 2 || (choice == ALLOCATION && !d->failures))
		return 0;
	if (random_below(&d->random, one_of[choice]) == 0)
		wanted = (unsigned)random_below(&d->random, options);
	chosen = decide(options, limit && !*limit ? 1 : options, wanted);
	if (chosen && limit)
		--*limit;
	return chosen;
}

void explore_failures(unsigned most)
{
	decisions()->failures = most;
}

void search_print_seed(void)
{
	struct decisions *d = decisions();
	bool first = true;

	if (d->search == RANDOM) {
		printf("r%" PRIu64, d->seed);
		return;
	}
	if (d->search == PRIORITIES) {
		printf("p%u.%" PRIu64, d->depth, d->seed);
		return;
	}
	printf("d");
	for (unsigned i = 0; i < d->count; i++)
		if (d->list[i].chosen) {
			printf("%s%u:%u", first ? "" : ",", i, d->list[i].chosen);
			first = false;
		}
}
