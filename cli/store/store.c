/* SPDX-License-Identifier: MIT */
/* pawl store: check, list, stat and repair the directory of a store. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pawl/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/base/utf8.h"
#include "../commands.h"
#include "../text/arguments.h"
#include "../text/figures.h"
#include "store.h"

#define PAGE    1000u    /* tasks that are listed at once */
#define SHOWN   256u     /* bytes of a payload that are printed */
#define COUNTED 100000u  /* with more tasks than this, repair does not count them one by one */
#define MOST    1000000u /* of --count */

static const char help[] =
        "usage: pawl store check DIR\n"
        "       pawl store list [--dead] [--queue NAME] [--count N] DIR\n"
        "       pawl store stat DIR\n"
        "       pawl store repair DIR --into NEW\n"
        "\n"
        "  check           read every file, change nothing, and name each damage by its\n"
        "                  file and offset; the exit code is 1 if there is one\n"
        "  list            pending tasks by time: due, id, queue, tries, bytes, payload\n"
        "  stat            how many tasks there are, in which files\n"
        "  repair          copy the files, open the copy without what is damaged, and say\n"
        "                  what that was; DIR is not changed\n"
        "\n"
        "  --dead          list: dead tasks, each with its reason before the payload\n"
        "  --queue NAME    list: only the tasks of this queue\n"
        "  --count N       list: at most N tasks, 1 to 1000000; default 100\n"
        "  --into NEW      repair: a directory that does not exist yet\n"
        "  --help          this text\n"
        "\n"
        "DIR is the directory of a store that no process has open.\n";

struct arguments {
	const char *queue, *into;
	uint64_t count; /* 0: not given */
	bool dead;
};

static int see_file(const struct dirent *entry)
{
	return strcmp(entry->d_name, "checkpoint") == 0 || strncmp(entry->d_name, "log.", 4) == 0 ||
	       strncmp(entry->d_name, "slot.", 5) == 0;
}

bool store_is_there(const char *directory)
{
	struct dirent **names;
	int count = scandir(directory, &names, see_file, alphasort);

	if (count < 0) {
		complain("cannot read the directory %s: %s", directory, strerror(errno));
		return false;
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	if (count == 0)
		complain("%s is not a store: it has no checkpoint, log or slot file", directory);
	return count > 0;
}

/* Open would make a store where there is none. The log of this short use is small. */
bool store_open(struct pawl_store **store, const char *directory,
                const struct pawl_store_options *given)
{
	char problem[PAWL_STORE_PROBLEM];
	struct pawl_store_options opened = *given;
	int error;

	if (!store_is_there(directory))
		return false;
	opened.manual = true;
	opened.log_size = 256 * 1024;
	opened.problem = problem;
	error = pawl_store_open(store, directory, &opened);
	if (error == -EBADMSG)
		complain("%s: %s; try 'pawl store check %s'", directory, problem, directory);
	else if (error == -EBUSY)
		complain("%s is open in another process", directory);
	else if (error)
		complain("cannot open the store %s: %s", directory, strerror(-error));
	return error == 0;
}

void print_damage(const char *file, uint64_t offset, const char *what, void *arg)
{
	(void)arg;
	printf("%s, offset %" PRIu64 ": %s\n", file, offset, what);
}

/* How many places are damaged; -1: stderr says why that is unknown. */
static int check_files(const char *directory, pawl_store_damage_fn *report)
{
	int found = pawl_store_check(directory, report, NULL);

	if (found == -EBUSY)
		complain("%s is open in another process", directory);
	else if (found < 0)
		complain("cannot check the store %s: %s", directory, strerror(-found));
	return found < 0 ? -1 : found;
}

static void print_found(const char *directory, int found)
{
	if (found)
		printf("%s: %d damaged place%s\n", directory, found, PLURAL(found));
	else
		printf("%s: no damage\n", directory);
}

static int check(const char *directory, const struct arguments *a)
{
	int found = store_is_there(directory) ? check_files(directory, print_damage) : -1;

	(void)a;
	if (found < 0)
		return EXIT_USAGE;
	print_found(directory, found);
	return finish_output(found ? EXIT_FAULT : EXIT_FINE);
}

static void print_time(uint64_t ns)
{
	time_t seconds = (time_t)(ns / PAWL_SECOND);
	char text[64] = "never";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	printf("%s.%03uZ", text, (unsigned)(ns % PAWL_SECOND / PAWL_MS));
}

/* Whether the character would control a terminal, or look like one that was escaped. */
static bool is_control(const unsigned char *c, size_t length)
{
	return *c < ' ' || *c == 0x7f || *c == '\\' || (length == 2 && *c == 0xc2 && c[1] < 0xa0);
}

static void print_bytes(const void *bytes, size_t size)
{
	const unsigned char *at = bytes, *end = at + (size < SHOWN ? size : SHOWN);

	while (at < end) {
		size_t length = utf8_length(at, (size_t)(end - at));

		if (length && !is_control(at, length))
			fwrite(at, 1, length, stdout);
		else
			for (size_t i = 0; i < (length ? length : 1); i++)
				printf("\\x%02x", at[i]);
		at += length ? length : 1;
	}
	if (size > SHOWN)
		fputs("...", stdout);
}

static void print_task(const struct pawl_store_task *task)
{
	print_time(task->due_ns);
	printf("\t%" PRIu64 "\t", task->id);
	print_bytes(task->queue, strlen(task->queue));
	printf("\t%" PRIu32 "\t%" PRIu32 "\t", task->tries, task->size);
	if (task->reason) {
		print_bytes(task->reason, strlen(task->reason));
		putchar('\t');
	}
	print_bytes(task->payload, task->size);
	putchar('\n');
}

/* The place after which the next page begins. */
struct place {
	uint64_t due_ns, id;
};

/* Up to `max` tasks from a place on, which moves behind them. Returns how many, or -errno. */
static int list_page(struct pawl_store *store, const struct arguments *a, struct place *place,
                     size_t max, void (*each)(const struct pawl_store_task *task))
{
	static struct pawl_store_task tasks[PAGE];
	int count = pawl_store_list(store, a->dead ? PAWL_STORE_DEAD : PAWL_STORE_PENDING, a->queue,
	                            place->due_ns, place->id, tasks, max < PAGE ? max : PAGE);

	for (int i = 0; i < count; i++) {
		*place = (struct place){tasks[i].due_ns, tasks[i].id};
		if (each)
			each(&tasks[i]);
		pawl_store_release(store, &tasks[i]);
	}
	return count;
}

/* Returns how many there were, at most `max`; -errno after an error. */
static int64_t list_all(struct pawl_store *store, const struct arguments *a, uint64_t max,
                        void (*each)(const struct pawl_store_task *task))
{
	struct place place = {0, 0};
	uint64_t done = 0;
	int count = 1;

	while (done < max && count > 0) {
		count = list_page(store, a, &place, (size_t)(max - done), each);
		done += count > 0 ? (uint64_t)count : 0;
	}
	return count < 0 ? count : (int64_t)done;
}

static int list(const char *directory, const struct arguments *a)
{
	const struct pawl_store_options none = {0};
	struct pawl_store *store;
	int64_t listed;

	if (!store_open(&store, directory, &none))
		return EXIT_USAGE;
	listed = list_all(store, a, a->count ? a->count : 100, print_task);
	pawl_store_close(store);
	if (listed < 0)
		complain("cannot list %s: %s", directory, strerror((int)-listed));
	return finish_output(listed < 0 ? EXIT_FAULT : EXIT_FINE);
}

static void print_first(const struct pawl_store_task *task)
{
	printf("%-13s", "first due");
	print_time(task->due_ns);
	putchar('\n');
}

static int stat_store(const char *directory, const struct arguments *a)
{
	const struct pawl_store_options none = {0};
	struct pawl_store_stats stats;
	struct pawl_store *store;

	if (!store_open(&store, directory, &none))
		return EXIT_USAGE;
	pawl_store_get_stats(store, &stats, sizeof(stats));
	printf("%-13s%s\n", "pending", GROUPED(stats.pending));
	printf("%-13s%s\n", "due", GROUPED(stats.due));
	list_all(store, a, 1, print_first);
	printf("%-13s%s\n", "dead", GROUPED(stats.dead));
	printf("%-13s%s\n", "in memory", GROUPED(stats.in_memory));
	printf("%-13s%s\n", "slot files", GROUPED(stats.slot_files));
	printf("since the store was made:\n");
	printf("%-13s%s\n", "put", GROUPED(stats.put));
	printf("%-13s%s\n", "acknowledged", GROUPED(stats.acked));
	printf("%-13s%s\n", "cancelled", GROUPED(stats.cancelled));
	printf("%-13s%s\n", "buried", GROUPED(stats.buried));
	printf("%-13s%s\n", "requeued", GROUPED(stats.requeued));
	pawl_store_close(store);
	return finish_output(EXIT_FINE);
}

/* A damaged task of a file may still count as pending: with few tasks, those that can be read are counted. */
static void print_tasks(struct pawl_store *store, const char *directory)
{
	const struct arguments all = {0};
	struct pawl_store_stats stats;
	int64_t readable;

	pawl_store_get_stats(store, &stats, sizeof(stats));
	readable = stats.pending <= COUNTED ? list_all(store, &all, COUNTED, NULL) : -1;
	printf("%s: %s%s task%s pending, %s dead\n", directory, readable < 0 ? "at most " : "",
	       GROUPED(readable < 0 ? stats.pending : (uint64_t)readable),
	       PLURAL(readable < 0 ? stats.pending : (uint64_t)readable), GROUPED(stats.dead));
}

static int repair(const char *directory, const struct arguments *a)
{
	const struct pawl_store_options salvage = {.salvage = true};
	struct pawl_store *store;
	int found;

	if (!store_is_there(directory) || !store_copy(directory, a->into))
		return EXIT_USAGE;
	found = check_files(a->into, print_damage);
	if (found < 0)
		return EXIT_FAULT;
	print_found(directory, found);
	if (!store_open(&store, a->into, &salvage))
		return finish_output(EXIT_FAULT);
	print_tasks(store, a->into);
	pawl_store_close(store);
	return finish_output(EXIT_FINE);
}

static const struct verb {
	const char *name;
	int (*run)(const char *directory, const struct arguments *a);
} verbs[] = {{"check", check}, {"list", list}, {"stat", stat_store}, {"repair", repair}};

/* NULL: stderr says why. */
static const struct verb *verb_of(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(name, verbs[i].name) == 0)
			return &verbs[i];
	complain("store: unknown action '%s'; expected check, list, stat or repair", name);
	return NULL;
}

/* Whether the options are those of the action. */
static bool options_fit(const struct verb *verb, const struct arguments *a)
{
	const char *of_list = a->dead    ? "--dead"
	                      : a->queue ? "--queue"
	                      : a->count ? "--count"
	                                 : NULL;

	if (of_list && verb->run != list)
		complain("store %s: %s is an option of 'pawl store list'", verb->name, of_list);
	else if (a->into && verb->run != repair)
		complain("store %s: --into is an option of 'pawl store repair'", verb->name);
	else if (!a->into && verb->run == repair)
		complain("store repair: there is no --into NEW; expected a directory that does not "
		         "exist yet");
	else
		return true;
	return false;
}

int command_store(int argc, char **argv)
{
	struct arguments a = {0};
	const struct setting settings[] = {
	        {"dead", .flag = &a.dead},
	        {"queue", .text = &a.queue},
	        {"count", .number = &a.count, .least = 1, .most = MOST},
	        {"into", .text = &a.into},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);
	const struct verb *verb;

	if (code >= 0)
		return code;
	if (a.queue && (!*a.queue || strlen(a.queue) > 255)) {
		complain("--queue has %zu bytes; expected a name of 1 to 255 bytes",
		         strlen(a.queue));
		return EXIT_USAGE;
	}
	if (optind == argc) {
		complain("store: there is no action; expected check, list, stat or repair");
		return EXIT_USAGE;
	}
	verb = verb_of(argv[optind]);
	if (!verb || !options_fit(verb, &a))
		return EXIT_USAGE;
	if (argc - optind < 2) {
		complain("store %s: there is no DIR; expected the directory of a store",
		         verb->name);
		return EXIT_USAGE;
	}
	if (argc - optind > 2) {
		complain("store %s: '%s' is one DIR too many; expected one", verb->name,
		         argv[optind + 2]);
		return EXIT_USAGE;
	}
	return verb->run(argv[optind + 1], &a);
}
