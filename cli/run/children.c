/* SPDX-License-Identifier: MIT */
/*
 * A command reads the text from a file without a name, not from a pipe: so we never wait until it is read, and a
 * command that does not read it causes no SIGPIPE.
 */
#define _GNU_SOURCE
#include "children.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "PAWL_TEXT="

extern char **environ;

/* Without a PAWL_TEXT. Two entries are left free: for our PAWL_TEXT, and NULL. */
static int copy_environment(struct children *children)
{
	size_t count = 0;

	while (environ[count])
		count++;
	children->environment = calloc(count + 2, sizeof(char *));
	if (!children->environment)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], VARIABLE, strlen(VARIABLE)) != 0)
			children->environment[children->variables++] = environ[i];
	return 0;
}

int children_open(struct children *children, const char *command, unsigned size)
{
	int error;

	*children = (struct children){.command = command, .size = size};
	children->list = calloc(size, sizeof(*children->list));
	error = children->list ? copy_environment(children) : -ENOMEM;
	if (error)
		children_close(children);
	return error;
}

void children_close(struct children *children)
{
	free(children->list);
	free(children->environment);
	*children = (struct children){0};
}

static bool write_whole(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t size = write(fd, text, length);

		if (size < 0 && errno != EINTR)
			return false;
		text += size > 0 ? size : 0;
		length -= size > 0 ? (size_t)size : 0;
	}
	return true;
}

/* A file with the text and its newline, positioned at its start; or -errno. */
static int file_of(const struct entry *entry)
{
	int fd = memfd_create("pawl", MFD_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	if (write_whole(fd, entry_text(entry), (size_t)entry->text_length + 1) &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* SIGPIPE is ignored in this process, and must not be ignored in the command. */
static int spawn(struct children *children, int input, pid_t *pid)
{
	char *arguments[] = {"sh", "-c", (char *)children->command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	error = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments,
	                    children->environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* "PAWL_TEXT=..." without the newline; NULL: no memory. */
static char *variable_of(const struct entry *entry)
{
	char *variable = malloc(strlen(VARIABLE) + entry->text_length + 1);

	if (!variable)
		return NULL;
	memcpy(variable, VARIABLE, strlen(VARIABLE));
	memcpy(variable + strlen(VARIABLE), entry_text(entry), entry->text_length);
	variable[strlen(VARIABLE) + entry->text_length] = '\0';
	return variable;
}

static struct child *free_child(struct children *children)
{
	struct child *child = children->list;

	while (child->pid != 0)
		child++;
	return child;
}

int children_start(struct children *children, struct entry *entry)
{
	int input = file_of(entry), error;
	char *variable = input < 0 ? NULL : variable_of(entry);
	pid_t pid = 0;

	if (!variable) {
		error = input < 0 ? input : -ENOMEM;
	} else {
		children->environment[children->variables] = variable;
		error = spawn(children, input, &pid);
	}
	if (!error) {
		*free_child(children) = (struct child){
		        .pid = pid,
		        .number = entry->number,
		        .entry = entry_repeats(entry) ? entry : NULL,
		};
		children->running++;
	}
	free(variable);
	if (input >= 0)
		close(input);
	return error;
}

static struct child *child_of(struct children *children, pid_t pid)
{
	for (unsigned i = 0; i < children->size; i++)
		if (children->list[i].pid == pid)
			return &children->list[i];
	return NULL;
}

/* A shell that replaced itself by this program (exec) may have had children of its own: these are ignored. */
bool children_reap(struct children *children, struct child *child, int *status)
{
	struct child *ended = NULL;
	pid_t pid;

	while (!ended && (pid = waitpid(-1, status, WNOHANG)) > 0)
		ended = child_of(children, pid);
	if (!ended)
		return false;
	*child = *ended;
	ended->pid = 0;
	children->running--;
	return true;
}

void children_terminate(struct children *children)
{
	for (unsigned i = 0; i < children->size; i++)
		if (children->list[i].pid != 0)
			kill(children->list[i].pid, SIGTERM);
}
