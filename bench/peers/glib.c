/* SPDX-License-Identifier: MIT */
/*
 * GLib's main loop: a source for each timer, made when it is armed and destroyed when it is cancelled, as
 * g_timeout_add and g_source_remove do. Sources have no order: each pass of the loop looks at all.
 */
#include "peer.h"

#include <glib.h>
#include <stdlib.h>

struct self {
	GMainContext *context;
	gint64 opened_us;
	peer_fired_fn *fired;
	void *arg;
};

struct source {
	GSource source; /* first */
	struct self *self;
	struct timer *timer;
};

struct timer {
	struct source *source; /* NULL: idle */
};

/* GLib has no limit, but with so many a pass of its loop takes milliseconds. */
static size_t limit(void)
{
	return 100000;
}

static void *open_context(const struct peer *peer, size_t capacity)
{
	struct self *self = calloc(1, sizeof(*self));

	(void)peer;
	(void)capacity;
	if (self) {
		self->context = g_main_context_new();
		self->opened_us = g_get_monotonic_time();
	}
	return self;
}

/* This also destroys its sources. */
static void close_context(void *self)
{
	struct self *opened = self;

	g_main_context_unref(opened->context);
	free(opened);
}

static gboolean on_source(GSource *base, GSourceFunc callback, gpointer data)
{
	struct source *source = (struct source *)base;
	struct timer *timer = source->timer;

	(void)callback;
	(void)data;
	timer->source = NULL;
	source->self->fired(timer, source->self->arg);
	return G_SOURCE_REMOVE;
}

static GSourceFuncs functions = {.dispatch = on_source};

static gint64 ready_us(const struct self *self, uint64_t deadline)
{
	return self->opened_us + (gint64)deadline * 1000;
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	struct self *opened = self;
	struct timer *mine = timer;
	GSource *base = g_source_new(&functions, sizeof(struct source));

	mine->source = (struct source *)base;
	mine->source->self = opened;
	mine->source->timer = mine;
	g_source_set_ready_time(base, ready_us(opened, deadline));
	g_source_attach(base, opened->context);
	g_source_unref(base); /* the context has it now */
}

static void cancel(void *self, void *timer)
{
	struct timer *mine = timer;

	(void)self;
	g_source_destroy(&mine->source->source);
	mine->source = NULL;
}

static void refresh(void *self, void *timer, uint64_t deadline)
{
	struct timer *mine = timer;

	g_source_set_ready_time(&mine->source->source, ready_us(self, deadline));
}

static void pass(void *self, peer_fired_fn *fired, void *arg)
{
	struct self *opened = self;

	opened->fired = fired;
	opened->arg = arg;
	g_main_context_iteration(opened->context, FALSE);
}

const struct peer peer_glib = {
        .name = "glib",
        .about = "GLib's main loop: a source each timer; an unordered list",
        .timer_size = sizeof(struct timer),
        .limit = limit,
        .keeps_memory = true, /* GSlice */
        .open = open_context,
        .close = close_context,
        .arm = arm,
        .cancel = cancel,
        .refresh = refresh,
        .pass = pass,
};
