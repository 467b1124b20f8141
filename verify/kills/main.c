/* SPDX-License-Identifier: MIT */
/* pawl-store-kills: kill -9 in a loop. See kills.h. */
#define _GNU_SOURCE
#include "kills.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A Tuesday in 2026. */
static const uint64_t BEGINNING = UINT64_C(1767700000) * PAWL_SECOND;

enum policy { EACH, TIMED, NEVER, POLICIES };
static const char *const policy_names[] = {"each", "timed", "never", "all", NULL};
static const uint64_t policy_ns[POLICIES] = {0, 20 * PAWL_MS, PAWL_NEVER};

static struct {
	uint64_t seconds, seed;
	int policy; /* POLICIES: all of them, at random */
	char directory[64];
} settings = {.seconds = 60, .policy = POLICIES};

static struct {
	uint64_t kills, kills_in_open, closes, kills_by[POLICIES];
	uint64_t checkpoints, moved, syncs, commits, lapsed, retried, most_files, most_pending;
} counts;

static struct shared *shared;

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void report(const char *file, uint64_t offset, const char *problem, void *arg)
{
	(void)arg;
	wrong(NULL, "damage was reported: %s, offset %" PRIu64 ": %s", file, offset, problem);
}

/* So small that slots, moves and checkpoints are many. */
static struct pawl_store_options options_for(enum policy policy)
{
	return (struct pawl_store_options){.sync_ns = policy_ns[policy],
	                                   .width_ns = PAWL_SECOND,
	                                   .memory = 256 * 1024,
	                                   .log_size = 256 * 1024,
	                                   .max_payload = MOST_PAYLOAD,
	                                   .report = report};
}

static pid_t start(const struct pawl_store_options *options, uint64_t seed, int *from)
{
	int ends[2];
	pid_t pid;

	fflush(stdout);
	if (pipe(ends) != 0 || (pid = fork()) < 0)
		wrong(NULL, "no child: %s", strerror(errno));
	if (pid == 0) {
		close(ends[0]);
		child_run(settings.directory, options, &model, shared, ends[1], seed);
		_exit(0);
	}
	close(ends[1]);
	*from = ends[0];
	return pid;
}

/* Hear what the child says, until then; false: it has ended. */
static bool hear_until(int from, uint64_t end_ms)
{
	static struct message messages[1024];
	static size_t have; /* bytes */
	char *bytes = (char *)messages;
	ssize_t got;

	for (;;) {
		uint64_t now = now_ms();
		struct pollfd ready = {.fd = from, .events = POLLIN};

		if (now >= end_ms)
			return true;
		if (poll(&ready, 1, (int)(end_ms - now < 1000 ? end_ms - now : 1000)) <= 0)
			continue;
		got = read(from, bytes + have, sizeof(messages) - have);
		if (got <= 0) {
			have = 0;
			return false;
		}
		have += (size_t)got;
		for (size_t i = 0; i < have / sizeof(*messages); i++)
			model_hear(&messages[i]);
		memmove(bytes, bytes + have / sizeof(*messages) * sizeof(*messages),
		        have % sizeof(*messages));
		have %= sizeof(*messages);
	}
}

static void end_child(pid_t pid, int from, bool killed)
{
	int status;

	if (killed)
		kill(pid, SIGKILL);
	hear_until(from, UINT64_MAX);
	close(from);
	if (waitpid(pid, &status, 0) != pid)
		wrong(NULL, "waitpid: %s", strerror(errno));
	if (killed ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
	           : !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		wrong(NULL, "the child ended by itself: status %x", (unsigned)status);
}

static void count_round(void)
{
	const struct pawl_store_stats *stats = &shared->stats;

	counts.checkpoints += stats->checkpoints;
	counts.moved += stats->moved;
	counts.syncs += stats->syncs;
	counts.commits += stats->commits;
	counts.lapsed += stats->lapsed;
	counts.retried += stats->retried;
	if (stats->slot_files > counts.most_files)
		counts.most_files = stats->slot_files;
	if (stats->pending > counts.most_pending)
		counts.most_pending = stats->pending;
}

/* A child that works, and is killed, or now and then closes the store. */
static void run_child(struct random *random, enum policy policy)
{
	const struct pawl_store_options options = options_for(policy);
	bool killed = random_below(random, 16) != 0;
	uint64_t most = random_below(random, 8) ? 200 : 2000;
	int from;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	shared->wall = model.wall;
	pid = start(&options, random_next(random), &from);
	if (hear_until(from, now_ms() + 1 + random_below(random, most))) {
		__atomic_store_n(&shared->stop, !killed, __ATOMIC_RELAXED);
		end_child(pid, from, killed);
	} else {
		wrong(NULL, "the child ended before it was killed");
	}
	counts.kills += killed;
	counts.kills_by[policy] += killed;
	counts.closes += !killed;
	count_round();
	model.wall = shared->wall;
}

/* Children that only open the store, and are killed in the recovery or soon after it. */
static void kill_recoveries(struct random *random, enum policy policy)
{
	const struct pawl_store_options options = options_for(policy);
	uint64_t times = random_below(random, 2) ? 0 : random_below(random, 4);

	for (uint64_t i = 0; i < times; i++) {
		struct timespec moment = {.tv_nsec = (long)random_below(random, 8000000)};
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			struct pawl_clock_manual clock;
			struct pawl_store_options own = options;
			struct pawl_store *store;

			pawl_clock_manual_init(&clock);
			own.clock = &clock.clock;
			if (pawl_store_open(&store, settings.directory, &own) != 0)
				_exit(1);
			for (;;)
				pause();
		}
		nanosleep(&moment, NULL);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			wrong(NULL, "a recovery failed before it was killed");
		counts.kills_in_open++;
	}
}

static void set_clock(struct pawl_clock_manual *clock)
{
	pawl_clock_manual_init(clock);
	pawl_clock_manual_set_wall(clock,
	                           (struct timespec){.tv_sec = (time_t)(model.wall / PAWL_SECOND),
	                                             .tv_nsec = (long)(model.wall % PAWL_SECOND)});
}

/* Open the store in this process, without threads. */
static struct pawl_store *open_store(struct pawl_clock_manual *clock)
{
	struct pawl_store_options options = options_for(NEVER);
	char problem[PAWL_STORE_PROBLEM] = "";
	struct pawl_store *store;
	int error;

	set_clock(clock);
	options.clock = &clock->clock;
	options.manual = true;
	options.problem = problem;
	error = pawl_store_open(&store, settings.directory, &options);
	if (error)
		wrong(NULL, "open failed: %s, %s", strerror(-error), problem);
	return store;
}

static void check_files(void)
{
	int damages = pawl_store_check(settings.directory, report, NULL);

	if (damages == -ENOENT && model.puts == 0)
		return; /* the first child was killed before it had made a store */
	if (damages)
		wrong(NULL, "pawl_store_check returned %d", damages);
}

static void compare_store(struct random *random)
{
	struct pawl_clock_manual clock;
	struct pawl_store *store = open_store(&clock);

	model_compare(store);
	model_thin_dead(store, random);
	if (random_below(random, 32) == 0)
		model_drain(store, &clock);
	for (int i = 0; model.live_count == 0 && i < 3; i++) {
		pawl_store_close(store); /* an empty store still knows its ids and fences */
		store = open_store(&clock);
	}
	pawl_store_close(store);
}

static void run_round(struct random *random, uint64_t round)
{
	enum policy policy = settings.policy < POLICIES ? (enum policy)settings.policy
	                                                : random_below(random, POLICIES);

	model_begin_round(round);
	if (random_below(random, 8) == 0) /* somebody sets the clock back */
		model.wall -= random_below(random, PAWL_HOUR);
	run_child(random, policy);
	kill_recoveries(random, policy);
	check_files();
	compare_store(random);
}

/* At the end nothing is left, also for the next process. */
static void finish(void)
{
	struct pawl_clock_manual clock;
	struct pawl_store *store = open_store(&clock);
	struct pawl_store_stats stats;

	model_drain(store, &clock);
	pawl_store_close(store);
	store = open_store(&clock);
	pawl_store_get_stats(store, &stats, sizeof(stats));
	pawl_store_close(store);
	if (stats.pending || stats.dead || stats.slot_files || stats.put != model.puts)
		wrong(NULL,
		      "at the end: %" PRIu64 " pending, %" PRIu64 " dead, %" PRIu64
		      " files, %" PRIu64 " put, of which %" PRIu64 " are known",
		      stats.pending, stats.dead, stats.slot_files, stats.put, model.puts);
	check_files();
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void print_counts(void)
{
	printf("store-kills: %" PRIu64 " kills (%" PRIu64 " sync each, %" PRIu64 " timed, %" PRIu64
	       " never), %" PRIu64 " more in a recovery, %" PRIu64 " closes\n",
	       counts.kills, counts.kills_by[EACH], counts.kills_by[TIMED], counts.kills_by[NEVER],
	       counts.kills_in_open, counts.closes);
	printf("store-kills: %" PRIu64 " tasks put, %" PRIu64 " deliveries, %" PRIu64
	       " retries, %" PRIu64 " lapsed leases; at most %" PRIu64 " pending\n",
	       model.puts, model.deliveries, counts.retried, counts.lapsed, counts.most_pending);
	printf("store-kills: %" PRIu64 " commits, %" PRIu64 " syncs, %" PRIu64
	       " checkpoints, %" PRIu32 " slots, at most %" PRIu64 " files at once, %" PRIu64
	       " moves\n",
	       counts.commits, counts.syncs, counts.checkpoints, model_slots(), counts.most_files,
	       counts.moved);
}

static uint64_t number_of(const char *option, const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 0);

	if (!*text || *end) {
		fprintf(stderr, "pawl-store-kills: %s: bad value '%s'\n", option, text);
		exit(2);
	}
	return number;
}

static int policy_of(const char *text)
{
	for (int i = 0; policy_names[i]; i++)
		if (strcmp(policy_names[i], text) == 0)
			return i;
	fprintf(stderr, "pawl-store-kills: --sync: bad value '%s'; allowed: each timed never all\n",
	        text);
	exit(2);
}

static void parse(int argc, char **argv)
{
	settings.seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--seconds") == 0) {
			settings.seconds = number_of(argv[i], value);
		} else if (strcmp(argv[i], "--seed") == 0) {
			settings.seed = number_of(argv[i], value);
		} else if (strcmp(argv[i], "--sync") == 0) {
			settings.policy = policy_of(value);
		} else {
			puts("usage: pawl-store-kills [--seconds N] [--seed S] [--sync "
			     "each|timed|never|all]\n"
			     "\n"
			     "Kills a process that uses a store, with kill -9, again and again, "
			     "and "
			     "compares the store with\n"
			     "a model. The seed gives the same work, but not the same moments: "
			     "those "
			     "are the machine's.");
			exit(strcmp(argv[i], "--help") == 0 ? 0 : 2);
		}
	}
}

/* Memory, if TMPDIR does not say otherwise: where a sync takes no time, a minute has more kills. */
static const char *temporary_directory(void)
{
	const char *chosen = getenv("TMPDIR");

	if (chosen)
		return chosen;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

int main(int argc, char **argv)
{
	struct random random;
	uint64_t end_ms, round = 0;

	parse(argc, argv);
	random.state = settings.seed;
	model.wall = BEGINNING;
	model.next_number = 1;
	snprintf(settings.directory, sizeof(settings.directory), "%.40s/pawl-kills.XXXXXX",
	         temporary_directory());
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (shared == MAP_FAILED || !mkdtemp(settings.directory))
		wrong(NULL, "%s: %s", settings.directory, strerror(errno));
	printf("store-kills: seed %" PRIu64 ", sync %s, %" PRIu64 " s, in %s\n", settings.seed,
	       policy_names[settings.policy], settings.seconds, settings.directory);
	for (end_ms = now_ms() + settings.seconds * 1000; now_ms() < end_ms;)
		run_round(&random, ++round);
	finish();
	print_counts();
	nftw(settings.directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	puts("store-kills: none lost, none back, none early");
	return 0;
}
