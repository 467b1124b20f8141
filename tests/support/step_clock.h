/* SPDX-License-Identifier: MIT */
/*
 * A clock for tests of how a service sleeps: it moves from one sleep of the service's thread to the next.
 *
 * step_clock_step() waits until a thread has nothing to do and sleeps, and then lets time pass until the end of that
 * sleep. If the thread sleeps without an end, no time passes.
 */
#ifndef PAWL_TESTS_STEP_CLOCK_H
#define PAWL_TESTS_STEP_CLOCK_H

#include <pawl/clock.h>
#include <pthread.h>

struct step_clock {
	struct pawl_clock clock; /* first: a clock is its step_clock */
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* anything below */
	uint64_t now, until;    /* until: when the sleep ends */
	bool asleep, woken;
};

static inline uint64_t step_clock_now(struct pawl_clock *clock)
{
	struct step_clock *self = (struct step_clock *)(void *)clock;
	uint64_t now;

	pthread_mutex_lock(&self->mutex);
	now = self->now;
	pthread_mutex_unlock(&self->mutex);
	return now;
}

static inline void step_clock_wait(struct pawl_clock *clock, uint64_t deadline)
{
	struct step_clock *self = (struct step_clock *)(void *)clock;

	pthread_mutex_lock(&self->mutex);
	self->until = deadline;
	while (!self->woken && self->now < deadline) {
		self->asleep = true;
		pthread_cond_broadcast(&self->changed);
		pthread_cond_wait(&self->changed, &self->mutex);
	}
	self->asleep = self->woken = false;
	pthread_mutex_unlock(&self->mutex);
}

static inline void step_clock_wake(struct pawl_clock *clock)
{
	struct step_clock *self = (struct step_clock *)(void *)clock;

	pthread_mutex_lock(&self->mutex);
	self->woken = true;
	self->asleep = false;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->mutex);
}

static inline void step_clock_init(struct step_clock *self)
{
	*self = (struct step_clock){
	        .clock = {step_clock_now, step_clock_wait, step_clock_wake, NULL}};
	pthread_mutex_init(&self->mutex, NULL);
	pthread_cond_init(&self->changed, NULL);
}

/* Returns the new time. */
static inline uint64_t step_clock_step(struct step_clock *self)
{
	uint64_t now;

	pthread_mutex_lock(&self->mutex);
	while (!self->asleep)
		pthread_cond_wait(&self->changed, &self->mutex);
	if (self->until != PAWL_NEVER) {
		self->now = self->until;
		self->asleep = false;
		pthread_cond_broadcast(&self->changed);
	}
	now = self->now;
	pthread_mutex_unlock(&self->mutex);
	return now;
}

#endif
