/* SPDX-License-Identifier: MIT */
/* A purgatory's beginning and end, and its numbers. */
#define _GNU_SOURCE
#include "trials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Threads are numbered as they first bring something, so that neighbours in time get different shards. */
unsigned pawl__purgatory_number_thread(void)
{
	static unsigned threads;

	pawl__purgatory_thread.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return pawl__purgatory_thread.number;
}

static unsigned shards_wanted(const struct pawl_service *service,
                              const struct pawl_purgatory_options *options)
{
	unsigned wanted = options ? options->shards : 0;
	unsigned hosts = pawl__service_hosts(service);
	unsigned shards = 1;

	if (wanted == 0)
		wanted = hosts < DEFAULT_SHARDS ? hosts : DEFAULT_SHARDS;
	while (shards < wanted)
		shards *= 2;
	return shards;
}

static int draw_secret(uint64_t secret[2])
{
	ssize_t drawn;

	do
		drawn = getrandom(secret, 16, 0);
	while (drawn < 0 && errno == EINTR);
	return drawn == 16 ? 0 : drawn < 0 ? -errno : -EIO;
}

static void *zeroed_lines(size_t size)
{
	void *memory = aligned_alloc(LINE, size);

	return memory ? memset(memory, 0, size) : NULL;
}

static int open_shards(struct pawl_purgatory *purgatory)
{
	purgatory->shards = zeroed_lines(purgatory->shard_count * sizeof(struct shard));
	if (!purgatory->shards)
		return -ENOMEM;
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		purgatory->shards[i].host = pawl__service_host(purgatory->service, i);
		purgatory->shards[i].purgatory = purgatory;
		purgatory->shards[i].number = i;
	}
	return 0;
}

int pawl_purgatory_open(struct pawl_purgatory **opened, struct pawl_service *service,
                        const struct pawl_purgatory_options *options)
{
	struct pawl_purgatory *purgatory;
	int error;

	if (options && options->shards > MAX_SHARDS)
		return -EINVAL;
	purgatory = zeroed_lines(sizeof(*purgatory));
	if (!purgatory)
		return -ENOMEM;
	purgatory->service = service;
	purgatory->clock = pawl__service_clock(service);
	purgatory->shard_count = shards_wanted(service, options);
	pawl__keys_init(purgatory);
	error = draw_secret(purgatory->secret);
	if (!error)
		error = open_shards(purgatory);
	if (error) {
		free(purgatory);
		return error;
	}
	pthread_mutex_init(&purgatory->mutex, NULL);
	pthread_cond_init(&purgatory->changed, NULL);
	*opened = purgatory;
	return 0;
}

struct numbers {
	size_t watched, delayed;
	unsigned expiring;
};

static struct numbers count(const struct pawl_purgatory *purgatory)
{
	struct numbers all = {0, 0, 0};

	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct shard *shard = &purgatory->shards[i];

		shard_lock(shard);
		all.watched += shard->watched;
		all.delayed += shard->delayed;
		all.expiring += shard->expiring;
		shard_unlock(shard);
	}
	return all;
}

size_t pawl_purgatory_watched(const struct pawl_purgatory *purgatory)
{
	return count(purgatory).watched;
}

size_t pawl_purgatory_delayed(const struct pawl_purgatory *purgatory)
{
	return count(purgatory).delayed;
}

int pawl_purgatory_resolve(struct pawl_purgatory *purgatory, struct pawl_key key,
                           struct pawl_key *resolved)
{
	struct key *known;

	if (!key_valid(purgatory, key))
		return -EINVAL;
	if (key_resolved(key)) {
		known = (struct key *)key.data;
		pawl__key_join(known);
	} else {
		known = pawl__key_make(purgatory, key);
	}
	if (!known)
		return -ENOMEM;
	pawl__key_resolve(known);
	*resolved = (struct pawl_key){known, PAWL_RESOLVED};
	return 0;
}

void pawl_purgatory_unresolve(struct pawl_purgatory *purgatory, struct pawl_key resolved)
{
	if (key_resolved(resolved) && key_valid(purgatory, resolved))
		pawl__key_unresolve((struct key *)resolved.data);
}

static void refuse_inside(const struct pawl_purgatory *purgatory, const char *call)
{
	const struct inside *inside = pawl__purgatory_thread.inside;

	while (inside && inside->purgatory != purgatory)
		inside = inside->outer;
	if (!inside)
		return;
	fprintf(stderr,
	        "pawl: %s was called by a function that a deadline or stop of the same purgatory "
	        "has "
	        "called, and would wait for itself\n",
	        call);
	abort();
}

/* Whether it is this thread that stops the purgatory. If another one does, wait until it has. */
static bool begin_stop(struct pawl_purgatory *purgatory)
{
	bool first;

	pthread_mutex_lock(&purgatory->mutex);
	first = purgatory->state == OPEN;
	if (first)
		purgatory->state = STOPPING;
	while (purgatory->state == STOPPING && !first)
		pthread_cond_wait(&purgatory->changed, &purgatory->mutex);
	pthread_mutex_unlock(&purgatory->mutex);
	return first;
}

static void close_shards(struct pawl_purgatory *purgatory)
{
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		shard_lock(&purgatory->shards[i]);
		__atomic_store_n(&purgatory->shards[i].closed, true, __ATOMIC_RELAXED);
		shard_unlock(&purgatory->shards[i]);
	}
}

static void drop_all(struct pawl_purgatory *purgatory)
{
	struct sweep sweep = {0, 0, 0};
	struct key *key;

	while ((key = pawl__key_sweep(purgatory, &sweep)) != NULL) {
		pawl__key_drop_all(key);
		pawl__key_leave(key);
	}
}

/* Nothing waits any more. But deadlines may be running, or late. */
static void await_others(struct pawl_purgatory *purgatory)
{
	pthread_mutex_lock(&purgatory->mutex);
	while (count(purgatory).expiring)
		pthread_cond_wait(&purgatory->changed, &purgatory->mutex);
	purgatory->state = STOPPED;
	pthread_cond_broadcast(&purgatory->changed);
	pthread_mutex_unlock(&purgatory->mutex);
}

void pawl_purgatory_stop(struct pawl_purgatory *purgatory)
{
	struct thread *thread = &pawl__purgatory_thread;
	struct inside inside = {purgatory, thread->inside};

	refuse_inside(purgatory, "pawl_purgatory_stop");
	if (!begin_stop(purgatory))
		return;
	thread->inside = &inside;
	close_shards(purgatory);
	drop_all(purgatory);
	thread->inside = inside.outer;
	await_others(purgatory);
}

/* A trial that ends leaves its place in the list of the host, who outlives us. */
static void leave_hosts(struct pawl_purgatory *purgatory)
{
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		shard_lock(&purgatory->shards[i]);
		tried_bits(&purgatory->shards[i]);
		shard_unlock(&purgatory->shards[i]);
	}
}

void pawl_purgatory_close(struct pawl_purgatory *purgatory)
{
	if (!purgatory)
		return;
	pawl_purgatory_stop(purgatory);
	leave_hosts(purgatory);
	pawl__keys_free(purgatory);
	pthread_cond_destroy(&purgatory->changed);
	pthread_mutex_destroy(&purgatory->mutex);
	free(purgatory->shards);
	free(purgatory);
}
