/* SPDX-License-Identifier: MIT */
/*
 * A fake kqueue for Linux, by the manual page kqueue(2). It is an epoll, to which each event adds a descriptor: a
 * timerfd, a signalfd, or the descriptor that is to be read. What the adapter and its example do not use is EINVAL.
 */
#define _GNU_SOURCE
#include "sys/event.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NS_PER_SECOND INT64_C(1000000000)
#define EVENTS        64

/* An event that was added. */
struct note {
	struct note *next;
	int kqueue, fd;
	struct kevent event;
};

static struct note *notes;

int kqueue(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static struct note **find(int kqueue, const struct kevent *event)
{
	struct note **at = &notes;

	while (*at && ((*at)->kqueue != kqueue || (*at)->event.ident != event->ident ||
	               (*at)->event.filter != event->filter))
		at = &(*at)->next;
	return at;
}

/* By the address that epoll returned. The note may be gone since then. */
static struct note **find_note(const struct note *note)
{
	struct note **at = &notes;

	while (*at && *at != note)
		at = &(*at)->next;
	return at;
}

static void forget(struct note **at)
{
	struct note *note = *at;

	epoll_ctl(note->kqueue, EPOLL_CTL_DEL, note->fd, NULL);
	if (note->event.filter != EVFILT_READ)
		close(note->fd);
	*at = note->next;
	free(note);
}

/* A closed descriptor leaves the kqueue. By now its number may belong to another one. */
static bool still_open(struct note *note)
{
	struct epoll_event readable = {.events = EPOLLIN, .data.ptr = note};

	return epoll_ctl(note->kqueue, EPOLL_CTL_MOD, note->fd, &readable) == 0;
}

/* A kqueue sees an ignored signal, too. Here the signal is blocked, so that it stays pending. */
static int open_signal(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_fd(const struct kevent *event)
{
	switch (event->filter) {
	case EVFILT_TIMER:
		return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	case EVFILT_SIGNAL:
		return open_signal((int)event->ident);
	default:
		return (int)event->ident;
	}
}

static bool valid(const struct kevent *event)
{
	switch (event->filter) {
	case EVFILT_TIMER:
#ifdef NOTE_NSECONDS
		return event->flags == (EV_ADD | EV_ONESHOT) && event->fflags == NOTE_NSECONDS &&
		       event->data > 0;
#else
		return event->flags == (EV_ADD | EV_ONESHOT) && event->fflags == 0 &&
		       event->data > 0;
#endif
	case EVFILT_SIGNAL:
	case EVFILT_READ:
		return event->flags == EV_ADD && event->fflags == 0 && event->data == 0;
	default:
		return false;
	}
}

static struct note *make(int kqueue, const struct kevent *event)
{
	struct note *note = calloc(1, sizeof(*note));
	struct epoll_event readable = {.events = EPOLLIN, .data.ptr = note};

	if (!note)
		abort();
	note->kqueue = kqueue;
	note->fd = open_fd(event);
	if (epoll_ctl(kqueue, EPOLL_CTL_ADD, note->fd, &readable) == 0)
		return note;
	if (event->filter != EVFILT_READ)
		close(note->fd);
	free(note);
	errno = EBADF;
	return NULL;
}

/* Setting the timerfd also clears its expiry. */
static void start(const struct note *note)
{
#ifdef NOTE_NSECONDS
	int64_t ns = note->event.data;
#else
	int64_t ns = note->event.data * 1000000;
#endif
	struct itimerspec after = {.it_value = {.tv_sec = (time_t)(ns / NS_PER_SECOND),
	                                        .tv_nsec = (long)(ns % NS_PER_SECOND)}};

	timerfd_settime(note->fd, 0, &after, NULL);
}

static int change(int kqueue, const struct kevent *event)
{
	struct note **at = find(kqueue, event);
	struct note *note = *at;

	if (event->flags == EV_DELETE) {
		if (!note) {
			errno = ENOENT;
			return -1;
		}
		forget(at);
		return 0;
	}
	if (!valid(event)) {
		errno = EINVAL;
		return -1;
	}
	if (note && !still_open(note)) {
		forget(at);
		note = NULL;
	}
	if (!note) {
		note = make(kqueue, event);
		if (!note)
			return -1;
		note->next = notes;
		notes = note;
	}
	note->event = *event;
	if (event->filter == EVFILT_TIMER)
		start(note);
	return 0;
}

/* Whether the event did happen: a timer may have been started again since epoll saw it. */
static bool consume(struct note **at)
{
	struct signalfd_siginfo info;
	uint64_t times;

	switch ((*at)->event.filter) {
	case EVFILT_TIMER:
		return read((*at)->fd, &times, sizeof(times)) == sizeof(times);
	case EVFILT_SIGNAL:
		return read((*at)->fd, &info, sizeof(info)) == sizeof(info);
	default:
		return true;
	}
}

int kevent(int kqueue, const struct kevent *changes, int change_count, struct kevent *events,
           int event_count, const struct timespec *timeout)
{
	struct epoll_event seen[EVENTS];
	int wait = timeout ? (int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000) : -1;
	int count, consumed = 0;

	for (int i = 0; i < change_count; i++)
		if (change(kqueue, &changes[i]) != 0)
			return -1;
	if (event_count == 0)
		return 0;
	count = epoll_wait(kqueue, seen, event_count < EVENTS ? event_count : EVENTS, wait);
	for (int i = 0; i < count; i++) {
		struct note **at = find_note(seen[i].data.ptr);

		if (!*at || !consume(at))
			continue;
		events[consumed++] = (*at)->event;
		if ((*at)->event.flags & EV_ONESHOT)
			forget(at);
	}
	return count < 0 ? -1 : consumed;
}
