/* SPDX-License-Identifier: MIT */
/* The live view of a service: what a snapshot says, which users may connect, and what viewers cannot do. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../src/base/random.h"
#include "../support/services.h"
#include "../support/snapshots.h"

enum { FUNCTIONS = 3, PENDING_TASKS = 300 };

static void first_function(struct pawl_task *task)
{
	(void)task;
}

static void second_function(struct pawl_task *task)
{
	(void)!__atomic_load_n(&task->internal, __ATOMIC_RELAXED); /* unlike the first one */
}

static void slow_function(struct pawl_task *task)
{
	struct note *note = note_from(task);

	pawl_clock_manual_advance(&note->fixture->clock, 7 * MS);
}

static pawl_task_fn *const functions[FUNCTIONS] = {first_function, second_function, slow_function};

static void inspect(struct fixture *fixture, struct viewer *viewer)
{
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), 0);
	viewer_open(viewer, socket_path());
}

/* The whole of a snapshot, where every list is short. */
struct model {
	uint64_t due[CELLS_DUE], pending[FUNCTIONS], all;
};

static void expect_like(const struct viewer *viewer, const struct model *model)
{
	uint64_t due[CELLS_DUE];

	EXPECT_EQ(number_in(viewer->text, "pending"), model->all);
	EXPECT_EQ(number_in(viewer->text, "sampled"), model->all);
	due_of(viewer, due);
	for (unsigned i = 0; i < CELLS_DUE; i++)
		EXPECT_EQ(due[i], model->due[i]);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		EXPECT_EQ(pending_of(viewer, functions[i]), model->pending[i]);
}

/* From two seconds to weeks, so that no list is long. */
static uint64_t any_delay(struct random *random)
{
	return 2 * SECOND + random_below(random, UINT64_C(1) << (31 + random_below(random, 20)));
}

static uint64_t seed;

IN_EVERY_MODE(every_pending_task_is_in_its_cell_and_with_its_function)
{
	struct random random = {seed};
	struct note *notes = new_notes(fixture, PENDING_TASKS);
	struct model model = {0};
	struct viewer viewer;

	inspect(fixture, &viewer);
	for (unsigned i = 0; i < PENDING_TASKS; i++) {
		uint64_t delay = any_delay(&random);
		unsigned function = (unsigned)random_below(&random, FUNCTIONS);

		pawl_task_init(&notes[i].task, functions[function]);
		EXPECT_EQ(arm(&notes[i], delay), 0);
		if (random_below(&random, 4) == 0) {
			cancel(&notes[i]);
			continue;
		}
		if (random_below(&random, 4) == 0) {
			delay = any_delay(&random);
			touch(&notes[i], delay);
		}
		model.all++;
		model.due[cell_of(delay)]++;
		model.pending[function]++;
	}
	EXPECT(ask(&viewer));
	expect_like(&viewer, &model);
	viewer_close(&viewer);
}

IN_EVERY_MODE(a_due_task_that_waits_for_a_worker_is_overdue)
{
	struct note *notes = new_notes(fixture, 3);
	struct gates gates;
	struct viewer viewer;
	uint64_t due[CELLS_DUE];

	inspect(fixture, &viewer);
	shut_gates(&gates, fixture);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(arm(&notes[i], 5 * MS), 0);
	pawl_clock_manual_advance(&fixture->clock, 5 * MS);
	for (unsigned i = 0; i < 2; i++) { /* while still on the wheels, and when made due */
		EXPECT(ask(&viewer));
		due_of(&viewer, due);
		EXPECT_EQ(due[0], 3);
		EXPECT_EQ(number_in(viewer.text, "sampled"), 3);
		expect_counts(fixture->service, 3 + workers_of(fixture), workers_of(fixture), 0, 0);
	}
	EXPECT_EQ(sum_due(&viewer), 3);
	open_gates(&gates, fixture);
	viewer_close(&viewer);
}

IN_EVERY_MODE(a_task_for_a_time_of_the_wall_clock_is_due_then)
{
	struct viewer viewer;
	struct note *note = new_note(fixture);
	uint64_t due[CELLS_DUE];

	inspect(fixture, &viewer);
	EXPECT_EQ(arm_wall(note, 2 * 3600), 0);
	EXPECT(ask(&viewer));
	due_of(&viewer, due);
	EXPECT_EQ(due[cell_of(2 * HOUR)], 1);
	EXPECT_EQ(sum_due(&viewer), 1);
	viewer_close(&viewer);
}

IN_EVERY_MODE(more_functions_than_there_is_room_for_add_up)
{
	enum { MANY = 400 };
	static struct pawl_task tasks[MANY];
	struct viewer viewer;

	inspect(fixture, &viewer);
	for (unsigned i = 0; i < MANY; i++) { /* they never run */
		pawl_task_init(&tasks[i], (pawl_task_fn *)(uintptr_t)(0x10000 + 64 * i));
		EXPECT_EQ(pawl_service_arm(fixture->service, &tasks[i], HOUR + i * SECOND), 0);
	}
	EXPECT(ask(&viewer));
	EXPECT_EQ(sum_functions(&viewer), MANY);
	EXPECT(strstr(viewer.text, "{\"function\":\"\","));
	viewer_close(&viewer);
}

IN_EVERY_MODE(runs_are_noted_while_a_viewer_is_attached)
{
	struct note *slow = new_note(fixture), *quick = new_note(fixture);
	struct viewer viewer;
	const char *latest;
	char name[32];

	pawl_task_init(&slow->task, slow_function);
	pawl_task_init(&quick->task, first_function);
	arm(quick, MS);
	advance_and_settle(fixture, MS); /* there is no viewer */
	inspect(fixture, &viewer);
	EXPECT(!function_in(&viewer, first_function));
	for (unsigned i = 0; i < 3; i++) {
		arm(slow, MS);
		advance_and_settle(fixture, MS);
	}
	arm(quick, MS);
	advance_and_settle(fixture, MS);
	EXPECT(ask(&viewer));
	EXPECT_EQ(number_in(viewer.text, "ran"), 5);
	EXPECT_EQ(number_of(&viewer, slow_function, "runs"), 3);
	EXPECT_EQ(number_of(&viewer, slow_function, "total_ns"), 21 * MS);
	EXPECT_EQ(number_of(&viewer, slow_function, "longest_ns"), 7 * MS);
	EXPECT_EQ(number_of(&viewer, first_function, "runs"), 1);
	latest = member(viewer.text, "latest");
	name_of(first_function, name);
	EXPECT(strncmp(latest + strlen("[{\"function\":"), name, strlen(name)) == 0);
	EXPECT_EQ(number_in(latest, "start_ns"), fixture_now(fixture));
	EXPECT_EQ(number_in(latest, "deadline_ns"), fixture_now(fixture));
	name_of(slow_function, name);
	EXPECT(strncmp(member(member(viewer.text, "slowest"), "function"), name, strlen(name)) ==
	       0);
	EXPECT_EQ(number_in(member(viewer.text, "slowest"), "took_ns"), 7 * MS);
	EXPECT_EQ(number_in(member(viewer.text, "lateness"), "count"), 5);
	viewer_close(&viewer);
}

/* The ring has gone round many times; the counts have lost nothing. */
IN_EVERY_MODE(the_latest_of_many_runs_are_the_newest)
{
	enum { MANY = 1000 };
	struct note *notes = new_notes(fixture, MANY);
	struct viewer viewer;
	const char *found;
	uint64_t last = UINT64_MAX;
	unsigned count = 0;

	inspect(fixture, &viewer);
	for (unsigned i = 0; i < MANY; i++) {
		pawl_task_init(&notes[i].task, first_function);
		EXPECT_EQ(arm(&notes[i], (i + 1) * MS), 0);
	}
	for (unsigned i = 0; i < MANY; i++)
		advance_and_settle(fixture, MS);
	EXPECT(ask(&viewer));
	EXPECT_EQ(number_of(&viewer, first_function, "runs"), MANY);
	EXPECT_EQ(number_of(&viewer, first_function, "pending"), 0);
	for (found = member(viewer.text, "latest"); (found = strstr(found, "\"start_ns\":"));
	     found++) {
		uint64_t start = number_in(found, "start_ns");

		EXPECT(start <= last);
		last = start;
		count++;
	}
	EXPECT_EQ(count, 16);
	EXPECT_EQ(last, fixture_now(fixture) - 15 * MS);
	viewer_close(&viewer);
}

/* Not every run of a batch is noted, but a later note counts the runs before it: at most 31 of a worker are missing. */
IN_EVERY_MODE(all_but_the_last_few_of_many_runs_are_counted)
{
	enum { MANY = 1000 };
	static struct pawl_task tasks[MANY];
	uint64_t runs[2] = {0};
	struct viewer viewer;

	inspect(fixture, &viewer);
	for (unsigned i = 0; i < MANY; i++) {
		pawl_task_init(&tasks[i], functions[i % 7 == 0]);
		EXPECT_EQ(pawl_service_arm(fixture->service, &tasks[i], MS), 0);
	}
	advance_and_settle(fixture, MS);
	EXPECT(ask(&viewer));
	for (unsigned i = 0; i < 2; i++) {
		runs[i] = number_of(&viewer, functions[i], "runs");
		EXPECT(runs[i] > 0);
	}
	EXPECT_EQ(number_in(viewer.text, "ran"), MANY);
	EXPECT(runs[0] + runs[1] <= MANY);
	EXPECT(runs[0] + runs[1] >= MANY - 31 * workers_of(fixture));
	viewer_close(&viewer);
}

IN_EVERY_MODE(when_the_last_viewer_has_left_nothing_is_noted)
{
	struct viewer first, second;
	struct note *note = new_note(fixture);

	inspect(fixture, &first);
	viewer_close(&first);
	/* The thread of the view removes the journals; it sees the new viewer later. */
	EXPECT_EQ(pawl_service_inspect(fixture->service, NULL), 0);
	pawl_task_init(&note->task, first_function);
	arm(note, MS);
	advance_and_settle(fixture, MS);
	inspect(fixture, &second);
	EXPECT(!function_in(&second, first_function));
	arm(note, MS);
	advance_and_settle(fixture, MS);
	EXPECT(ask(&second));
	EXPECT_EQ(number_of(&second, first_function, "runs"), 1);
	viewer_close(&second);
}

/* The snapshot of a service of this name has it as `shown`. */
static void expect_name(const char *name, const char *shown)
{
	struct fixture fixture;
	struct viewer viewer;
	char expected[128];

	fixture_open(&fixture, &(struct pawl_service_options){.name = name});
	inspect(&fixture, &viewer);
	snprintf(expected, sizeof(expected), "\"name\":\"%s\",", shown);
	if (!strstr(viewer.text, expected))
		fprintf(stderr, "%s is not in %.150s\n", expected, viewer.text);
	EXPECT(strstr(viewer.text, expected));
	viewer_close(&viewer);
	fixture_close(&fixture);
}

#define FFFD "\\ufffd"

static void a_byte_that_is_not_utf_8_becomes_a_replacement_character(void)
{
	expect_name("caf\xc3\xa9", "caf\xc3\xa9");
	expect_name("\xf0\x9f\x98\x80\xef\xbf\xbd", "\xf0\x9f\x98\x80\xef\xbf\xbd");
	expect_name("a\x80\xc3", "a" FFFD FFFD);
	expect_name("\xc3(\xe2\x82", FFFD "(" FFFD FFFD);
	expect_name("\xc0\xaf\xe0\x80\xaf", FFFD FFFD FFFD FFFD FFFD); /* overlong */
	expect_name("\xed\xa0\x80", FFFD FFFD FFFD);                   /* a surrogate */
	expect_name("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD);          /* beyond U+10FFFF */
	expect_name("\xf8\x90\x80\x80", FFFD FFFD FFFD FFFD);          /* first bytes that */
	expect_name("\xfc\x80\x80\x80", FFFD FFFD FFFD FFFD);          /* UTF-8 does not have */
	expect_name("\xff\x80\x80\x80", FFFD FFFD FFFD FFFD);
}

/* Paths and files */

static mode_t mode_of(const char *path)
{
	struct stat file;

	return lstat(path, &file) == 0 ? file.st_mode : 0;
}

IN_EVERY_MODE(the_socket_is_the_users_alone_and_goes_with_the_service)
{
	mode_t before = umask(0);

	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), 0);
	umask(before);
	EXPECT_EQ(mode_of(socket_path()), S_IFSOCK | 0600);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), -EBUSY);
	EXPECT_EQ(pawl_service_inspect(fixture->service, "/tmp/elsewhere"), -EBUSY);
	EXPECT_EQ(pawl_service_inspect(fixture->service, NULL), 0);
	EXPECT_EQ(mode_of(socket_path()), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, NULL), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), 0);
	end(fixture);
	EXPECT_EQ(mode_of(socket_path()), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), -ECANCELED);
	EXPECT_EQ(mode_of(socket_path()), 0);
}

IN_MODE(a_path_that_cannot_be_is_refused, .workers = 1)
{
	char longest[109] = "/tmp/";

	memset(longest + 5, 'x', 103);
	EXPECT_EQ(pawl_service_inspect(fixture->service, longest), -ENAMETOOLONG);
	EXPECT_EQ(pawl_service_inspect(fixture->service, ""), -ENOENT);
	EXPECT_EQ(pawl_service_inspect(fixture->service, "/nowhere/at/all"), -ENOENT);
	EXPECT_EQ(pawl_service_inspect(fixture->service, "/dev/null/socket"), -ENOTDIR);
	longest[107] = '\0'; /* as long as it may be */
	EXPECT_EQ(pawl_service_inspect(fixture->service, longest), 0);
	EXPECT_EQ(mode_of(longest), S_IFSOCK | 0600);
	end(fixture);
	EXPECT_EQ(mode_of(longest), 0);
}

IN_MODE(a_file_that_is_no_socket_is_never_removed, .workers = 1)
{
	int fd = open(socket_path(), O_CREAT | O_EXCL | O_WRONLY, 0644);

	EXPECT(write(fd, "dear", 4) == 4);
	close(fd);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), -EEXIST);
	EXPECT_EQ(mode_of(socket_path()), S_IFREG | 0644);
	unlink(socket_path());
	EXPECT_EQ(symlink("/nowhere", socket_path()), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), -EEXIST);
	EXPECT_EQ(mode_of(socket_path()), S_IFLNK | 0777);
	unlink(socket_path());
}

static int bound_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, socket_path());
	EXPECT_EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void the_socket_of_a_dead_process_is_replaced_and_a_live_one_is_not(void)
{
	struct pawl_service *first = service_with(NULL), *second = service_with(NULL);
	struct viewer viewer;
	pid_t child = fork();

	if (child == 0) /* it binds, listens, and is gone */
		_exit(listen(bound_socket(), 1));
	EXPECT_EQ(waitpid(child, &(int){0}, 0), child);
	EXPECT_EQ(mode_of(socket_path()) & S_IFMT, S_IFSOCK);
	EXPECT_EQ(pawl_service_inspect(first, socket_path()), 0);
	EXPECT_EQ(mode_of(socket_path()), S_IFSOCK | 0600);
	EXPECT_EQ(pawl_service_inspect(second, socket_path()), -EADDRINUSE);
	viewer_open(&viewer, socket_path());
	viewer_close(&viewer);
	pawl_service_close(second, NULL);
	EXPECT_EQ(mode_of(socket_path()), S_IFSOCK | 0600);
	pawl_service_close(first, NULL);
}

struct starter {
	struct pawl_service *service;
	pthread_barrier_t *together;
	int answer;
};

static void *inspect_together(void *arg)
{
	struct starter *starter = arg;

	pthread_barrier_wait(starter->together);
	starter->answer = pawl_service_inspect(starter->service, socket_path());
	return NULL;
}

static void one_of_several_concurrent_inspects_wins(void)
{
	enum { STARTERS = 4, TIMES = 300 };
	struct starter starters[STARTERS];
	pthread_t threads[STARTERS];
	pthread_barrier_t together;
	struct viewer viewer;

	pthread_barrier_init(&together, NULL, STARTERS);
	for (unsigned i = 0; i < STARTERS; i++)
		starters[i] = (struct starter){service_with(NULL), &together, 0};
	for (unsigned n = 0; n < TIMES; n++) {
		unsigned serve = 0;

		if (n % 2)
			close(bound_socket()); /* a dead one is left there */
		for (unsigned i = 0; i < STARTERS; i++)
			pthread_create(&threads[i], NULL, inspect_together, &starters[i]);
		for (unsigned i = 0; i < STARTERS; i++)
			pthread_join(threads[i], NULL);
		for (unsigned i = 0; i < STARTERS; i++) {
			serve += starters[i].answer == 0;
			EXPECT(starters[i].answer == 0 || starters[i].answer == -EADDRINUSE);
		}
		EXPECT_EQ(serve, 1);
		viewer_open(&viewer, socket_path());
		viewer_close(&viewer);
		for (unsigned i = 0; i < STARTERS; i++)
			EXPECT_EQ(pawl_service_inspect(starters[i].service, NULL), 0);
	}
	for (unsigned i = 0; i < STARTERS; i++)
		pawl_service_close(starters[i].service, NULL);
	pthread_barrier_destroy(&together);
}

IN_MODE(a_directory_that_stays_locked_does_not_block_inspect, .workers = 1)
{
	char directory[64];
	int fd;

	strcpy(directory, socket_path());
	*strrchr(directory, '/') = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY);
	EXPECT_EQ(flock(fd, LOCK_EX), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), 0);
	close(fd);
}

IN_MODE(a_socket_that_replaced_ours_is_not_removed, .workers = 1)
{
	EXPECT_EQ(pawl_service_inspect(fixture->service, socket_path()), 0);
	unlink(socket_path());
	close(open(socket_path(), O_CREAT | O_EXCL | O_WRONLY, 0600));
	end(fixture);
	EXPECT_EQ(mode_of(socket_path()), S_IFREG | 0600);
	unlink(socket_path());
}

IN_MODE(a_socket_at_a_relative_path_is_removed_after_chdir, .workers = 1)
{
	int before = open(".", O_RDONLY | O_DIRECTORY);
	char directory[64], *name;

	strcpy(directory, socket_path());
	name = strrchr(directory, '/');
	*name++ = '\0';
	EXPECT_EQ(chdir(directory), 0);
	EXPECT_EQ(pawl_service_inspect(fixture->service, name), 0);
	EXPECT_EQ(mode_of(socket_path()), S_IFSOCK | 0600);
	EXPECT_EQ(fchdir(before), 0);
	end(fixture);
	EXPECT_EQ(mode_of(socket_path()), 0);
	close(before);
}

/* Viewers that behave badly */

IN_MODE(every_line_is_answered_once_whatever_it_says, .workers = 1)
{
	struct viewer viewer;
	char *line = malloc(1 << 20);
	int flags;

	memset(line, 'x', 1 << 20);
	inspect(fixture, &viewer);
	for (size_t sent = 0; sent < 1 << 20;) /* a megabyte without an end */
		sent += (size_t)send(viewer.fd, line + sent, (1 << 20) - sent, MSG_NOSIGNAL);
	EXPECT(ask(&viewer));
	EXPECT(send(viewer.fd, "half a li", 9, MSG_NOSIGNAL) == 9);
	EXPECT(send(viewer.fd, "ne\n\n", 4, MSG_NOSIGNAL) == 4);
	for (unsigned lines = 0; lines < 2;) {
		ssize_t size = read(viewer.fd, line, 1 << 20);

		EXPECT(size > 0);
		for (ssize_t i = 0; i < size; i++)
			lines += line[i] == '\n';
	}
	flags = fcntl(viewer.fd, F_GETFL);
	fcntl(viewer.fd, F_SETFL, flags | O_NONBLOCK);
	EXPECT(read(viewer.fd, line, 1) < 0); /* and nothing more */
	free(line);
	viewer_close(&viewer);
}

/* A viewer that never reads, more viewers than there is room for, and viewers that leave before their answer. */
IN_MODE(bad_viewers_are_no_harm_to_a_good_one, .workers = 1)
{
	enum { CROWD = 30 };
	struct viewer good;
	int deaf, crowd[CROWD];
	unsigned refused = 0;
	char byte;

	inspect(fixture, &good);
	deaf = connect_to(socket_path());
	for (unsigned i = 0; i < 1000; i++)
		(void)!send(deaf, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (unsigned i = 0; i < CROWD; i++) {
		crowd[i] = connect_to(socket_path());
		(void)!send(crowd[i], "\n", 1, MSG_NOSIGNAL);
		refused += recv(crowd[i], &byte, 1, 0) <= 0;
	}
	EXPECT_EQ(refused, CROWD - 6); /* 8, of which the good one and the deaf one are two */
	EXPECT(ask(&good));
	for (unsigned i = 0; i < CROWD; i++)
		close(crowd[i]);
	for (unsigned i = 0; i < 100; i++) {
		int leaver = connect_to(socket_path());

		(void)!send(leaver, "\n\n\n", i % 4, MSG_NOSIGNAL);
		close(leaver);
	}
	close(deaf);
	EXPECT(ask(&good));
	viewer_close(&good);
}

IN_EVERY_MODE(stop_ends_the_view_of_those_that_look)
{
	struct viewer viewer;
	int deaf;

	inspect(fixture, &viewer);
	deaf = connect_to(socket_path());
	for (unsigned i = 0; i < 1000; i++)
		(void)!send(deaf, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	end(fixture);
	EXPECT(!ask(&viewer));
	EXPECT_EQ(connect_to(socket_path()), -ENOENT);
	viewer_close(&viewer);
	close(deaf);
}

/* It has all descriptors of the process, as a child does before exec. */
IN_MODE(a_child_process_does_not_hold_up_the_end, .workers = 1)
{
	struct viewer viewer;
	pid_t child;

	inspect(fixture, &viewer);
	child = fork();
	if (child == 0) {
		close(viewer.fd);
		sleep(60); /* or until it is killed */
		_exit(0);
	}
	end(fixture);
	EXPECT(!ask(&viewer)); /* it was told */
	viewer_close(&viewer);
	kill(child, SIGKILL);
	EXPECT_EQ(waitpid(child, &(int){0}, 0), child);
}

/* At the same time as everything else */

enum { ARMERS = 3, ROUNDS = 3000 };

static void arm_again(struct pawl_task *task)
{
	struct note *note = note_from(task);

	if (__atomic_add_fetch(&note->number, 1, __ATOMIC_SEQ_CST) < ROUNDS / 10)
		pawl_service_arm(note->fixture->service, task, 1000);
}

static void *arm_and_cancel(void *arg)
{
	struct fixture *fixture = arg;
	struct note notes[16];

	for (unsigned i = 0; i < COUNTOF(notes); i++) {
		note_init(&notes[i], fixture);
		pawl_task_init(&notes[i].task, arm_again);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct note *note = &notes[i % COUNTOF(notes)];

		arm(note, i % 5 ? i * 1000 : i * SECOND);
		if (i % 3 == 0)
			cancel(note);
	}
	for (unsigned i = 0; i < COUNTOF(notes); i++) {
		__atomic_store_n(&notes[i].number, ROUNDS, __ATOMIC_SEQ_CST);
		cancel_wait(&notes[i]);
	}
	return NULL;
}

static void *look_often(void *stop)
{
	struct viewer viewer;
	uint64_t armed = 0;

	while (!__atomic_load_n((bool *)stop, __ATOMIC_SEQ_CST)) {
		viewer_open(&viewer, socket_path());
		for (unsigned i = 0; i < 10; i++) {
			uint64_t now;

			EXPECT(ask(&viewer));
			now = number_in(viewer.text, "armed");
			EXPECT(now >= armed);
			armed = now;
			EXPECT_EQ(number_in(viewer.text, "armed"),
			          number_in(viewer.text, "ran") +
			                  number_in(viewer.text, "cancelled") +
			                  number_in(viewer.text, "dropped") +
			                  number_in(viewer.text, "pending"));
		}
		viewer_close(&viewer);
	}
	return NULL;
}

static void snapshots_add_up_while_threads_arm_and_cancel(void)
{
	const struct pawl_service_options options = {.workers = 2, .shards = 2, .tick_ns = 1000};
	struct fixture fixture = {.service = service_with(&options)};
	pthread_t armers[ARMERS], viewer;
	bool stop = false;

	EXPECT_EQ(pawl_service_inspect(fixture.service, socket_path()), 0);
	pthread_create(&viewer, NULL, look_often, &stop);
	for (unsigned i = 0; i < ARMERS; i++)
		pthread_create(&armers[i], NULL, arm_and_cancel, &fixture);
	for (unsigned i = 0; i < ARMERS; i++)
		pthread_join(armers[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	pthread_join(viewer, NULL);
	pawl_service_close(fixture.service, NULL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
	        TEST(every_pending_task_is_in_its_cell_and_with_its_function),
	        TEST(a_due_task_that_waits_for_a_worker_is_overdue),
	        TEST(a_task_for_a_time_of_the_wall_clock_is_due_then),
	        TEST(more_functions_than_there_is_room_for_add_up),
	        TEST(runs_are_noted_while_a_viewer_is_attached),
	        TEST(the_latest_of_many_runs_are_the_newest),
	        TEST(all_but_the_last_few_of_many_runs_are_counted),
	        TEST(when_the_last_viewer_has_left_nothing_is_noted),
	        TEST(a_byte_that_is_not_utf_8_becomes_a_replacement_character),
	        TEST(the_socket_is_the_users_alone_and_goes_with_the_service),
	        TEST(a_path_that_cannot_be_is_refused),
	        TEST(a_file_that_is_no_socket_is_never_removed),
	        TEST(the_socket_of_a_dead_process_is_replaced_and_a_live_one_is_not),
	        TEST(one_of_several_concurrent_inspects_wins),
	        TEST(a_directory_that_stays_locked_does_not_block_inspect),
	        TEST(a_socket_that_replaced_ours_is_not_removed),
	        TEST(a_socket_at_a_relative_path_is_removed_after_chdir),
	        TEST(every_line_is_answered_once_whatever_it_says),
	        TEST(bad_viewers_are_no_harm_to_a_good_one),
	        TEST(stop_ends_the_view_of_those_that_look),
	        TEST(a_child_process_does_not_hold_up_the_end),
	        TEST(snapshots_add_up_while_threads_arm_and_cancel),
	};
	int code;

	test_usage(argc, argv, "[--seed N]");
	seed = test_number(argc, argv, "--seed", "PAWL_SEED", 20);
	printf("seed %" PRIu64 "\n", seed);
	code = RUN_TESTS(tests);
	remove_socket_directory();
	return code;
}
