/* SPDX-License-Identifier: MIT */
/* The cost of a live view: without a socket, with a socket and no viewer, and with a viewer that asks once a second. */
#define _GNU_SOURCE
#include "workloads.h"

#include <dirent.h>
#include <errno.h>
#include <pawl/inspect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The viewer is a process of its own, so that its CPU time is not counted. It ends with the service, or its parent. */
static void view(const char *path, pid_t parent)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	static char answer[1 << 16];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ssize_t size;

	strcpy(address.sun_path, path);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (getppid() != parent)
			_exit(0);
		sleep_for(MILLISECOND);
	}
	for (;;) {
		sleep_for(SECOND / 2);
		if (send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
			_exit(0);
		do {
			size = read(fd, answer, sizeof(answer));
			if (size <= 0)
				_exit(0);
		} while (answer[size - 1] != '\n');
		sleep_for(SECOND / 2);
	}
}

static pid_t begin_viewer(const char *path)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		fail("no process for a viewer: %s", strerror(errno));
	if (child == 0)
		view(path, parent);
	return child;
}

/* CPU time of the thread of that name, or 0: the first figure of its schedstat. */
static uint64_t cpu_of_thread(const char *name)
{
	DIR *directory = opendir("/proc/self/task");
	uint64_t found = 0;
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL) {
		char path[300], text[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(text, sizeof(text), file))
			text[strcspn(text, "\n")] = '\0';
		if (file)
			fclose(file);
		if (strcmp(text, name) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(text, sizeof(text), file))
			found = strtoull(text, NULL, 10);
		if (file)
			fclose(file);
	}
	if (directory)
		closedir(directory);
	return found;
}

static void arm(struct steady *steady, uint32_t i, uint64_t delay_ns)
{
	steady->peer->arm(steady->self, &steady->objects[i], delay_ns);
}

struct inspected inspect_run(struct object *objects, uint32_t rate, uint32_t ms,
                             enum inspection inspection, uint64_t seed)
{
	const struct service_peer *peer = &service_peer_pawl;
	struct inspected inspected = {.tasks = rate / 1000 * ms};
	struct steady steady = {.peer = peer, .objects = objects, .random = {seed}, .arm = arm};
	pid_t viewer = 0;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/pawl-bench-%d", (int)getpid());
	if (inspection == VIEWED)
		viewer = begin_viewer(path);
	steady.self = open_service(peer, &(struct service_setup){0});
	if (inspection != CLOSED && pawl_service_inspect(service_of(steady.self), path) != 0)
		fail("the service cannot be inspected at %s", path);
	inspected.cpu_ns = run_at_rate(&steady, rate, ms);
	inspected.view_ns = cpu_of_thread("pawl-inspect");
	peer->close(steady.self);
	if (viewer)
		waitpid(viewer, NULL, 0);
	return inspected;
}
