/* SPDX-License-Identifier: MIT */
/*
 * Reminders that survive: end this program by kill -9, or pull the plug, and start it again. It reads lines such as
 * `1500 tea`, milliseconds and a text, and writes the text when its time has come.
 */
#include <pawl/store.h>
#include <stdio.h>
#include <string.h>

/* Runs on a worker of the service. If the text cannot be written, it is tried again, five times in all. */
static void remind(struct pawl_store *store, struct pawl_store_task *task, void *arg)
{
	(void)arg;
	if (printf("%s\n", (const char *)task->payload) > 0 && fflush(stdout) == 0)
		pawl_store_ack(store, task);
	else if (task->tries < 5)
		pawl_store_retry(store, task, task->tries * PAWL_SECOND);
	else
		pawl_store_bury(store, task, "it cannot be written");
}

static void keep(struct pawl_store *store, char *line)
{
	unsigned long ms;
	int text, error;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lu %n", &ms, &text) != 1) {
		fprintf(stderr, "'%s' is not MILLISECONDS TEXT\n", line);
		return;
	}
	line += text;
	error = pawl_store_put(store, "reminders", ms * PAWL_MS, line, strlen(line), NULL);
	fprintf(stderr, "%s: %s\n", line, error ? strerror(-error) : "kept");
}

int main(int argc, char **argv)
{
	char line[1024], problem[PAWL_STORE_PROBLEM];
	const struct pawl_store_options options = {.problem = problem};
	struct pawl_store_attachment *attachment;
	struct pawl_service *service;
	struct pawl_store *store;

	if (pawl_service_open(&service, NULL) != 0)
		return 1;
	if (pawl_store_open(&store, argc > 1 ? argv[1] : "reminders", &options) != 0) {
		fprintf(stderr, "%s\n", problem);
		return 1;
	}
	if (pawl_store_attach(&attachment, store, service, "reminders", PAWL_MINUTE, 4, remind,
	                      NULL) != 0)
		return 1;
	while (fgets(line, sizeof(line), stdin))
		keep(store, line);
	pawl_store_detach(attachment); /* the end: what is left comes with the next start */
	pawl_store_close(store);
	pawl_service_close(service, NULL);
	return 0;
}
