/* SPDX-License-Identifier: MIT */
/* Calls that end the program are made in a child process. */
#ifndef PAWL_TESTS_LAST_WORDS_H
#define PAWL_TESTS_LAST_WORDS_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/*
 * Calls act(arg) in a child. Returns what it wrote to stderr before it ended by abort(), until the next call; "" if it
 * did neither. To do only one of the two is a failure.
 */
static inline char *last_words(void (*act)(const void *arg), const void *arg)
{
	static char words[4096];
	int fds[2], status = 0;
	size_t length = 0;
	ssize_t part;
	pid_t child;

	if (pipe(fds) || (child = fork()) < 0)
		abort();
	if (child == 0) {
		dup2(fds[1], STDERR_FILENO);
		act(arg);
		_exit(0);
	}
	close(fds[1]);
	while ((part = read(fds[0], words + length, sizeof(words) - 1 - length)) > 0)
		length += (size_t)part; /* musl writes it in pieces */
	words[length] = '\0';
	close(fds[0]);
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, length > 0);
	return words;
}

#endif
