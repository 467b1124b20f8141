/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Global, as signals are. */
static int pipe_ends[2];
static volatile sig_atomic_t interrupts, last, asked;

static void handle(int number)
{
	int saved = errno;

	if (number == SIGINT || number == SIGTERM) {
		interrupts = interrupts + 1;
		last = number;
	} else if (number == SIGUSR1) {
		asked = 1;
	}
	/* If the pipe is full, it is readable, which is enough. */
	if (write(pipe_ends[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

int signals_open(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGCHLD};
	struct sigaction action = {.sa_handler = handle};

	if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bool ends = numbers[i] == SIGINT || numbers[i] == SIGTERM;

		action.sa_flags = ends ? 0 : SA_RESTART;
		sigaction(numbers[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int signals_fd(void)
{
	return pipe_ends[0];
}

void signals_read(void)
{
	char bytes[64];

	while (read(pipe_ends[0], bytes, sizeof(bytes)) > 0)
		;
}

int signals_interrupts(void)
{
	return interrupts;
}

int signals_last(void)
{
	return last;
}

bool signals_asked(void)
{
	bool was = asked;

	asked = 0;
	return was;
}
