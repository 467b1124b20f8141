/* SPDX-License-Identifier: MIT */
/* The part of a BSD's <sys/event.h> that the adapter, its example and its test use, for the fake kqueue beside it. */
#ifndef FAKE_SYS_EVENT_H
#define FAKE_SYS_EVENT_H

#include <stdint.h>
#include <time.h>

#define EVFILT_READ   (-1)
#define EVFILT_SIGNAL (-6)
#define EVFILT_TIMER  (-7)

#define EV_ADD     0x0001
#define EV_DELETE  0x0002
#define EV_ONESHOT 0x0010

#ifndef FAKE_MILLISECONDS
#define NOTE_NSECONDS 0x0008
#endif

struct kevent {
	uintptr_t ident;
	short filter;
	unsigned short flags;
	unsigned int fflags;
	int64_t data;
	void *udata;
};

#define EV_SET(event, Ident, Filter, Flags, Fflags, Data, Udata) \
	(*(event) = (struct kevent){.ident = (Ident),            \
	                            .filter = (Filter),          \
	                            .flags = (Flags),            \
	                            .fflags = (Fflags),          \
	                            .data = (Data),              \
	                            .udata = (Udata)})

int kqueue(void);
int kevent(int kqueue, const struct kevent *changes, int change_count, struct kevent *events,
           int event_count, const struct timespec *timeout);

#endif
