/* SPDX-License-Identifier: MIT */
/*
 * The keys that are known, and their places in the shards.
 *
 * A key is known while it has a user (a call of resolve, or a call that is under way with its bytes) or a
 * place. While it has users its places stay, empty or not, so that those who look at them need no lock.
 * Without users a place goes when its last watch does, and the key goes with its last place.
 *
 * A place may become empty just when somebody becomes a user of its key. Each side writes and then reads
 * what the other one writes:
 *
 *	place_retire, under the shard's lock    key_find
 *	------------------------------------    --------
 *	key->places[shard] = NULL               users++
 *	users != 0? put it back                 place = key->places[shard]
 *
 * Put back, it is left to the last user, who must be told, and must find it then: so it is put back first. And
 * look whether the last user has left meanwhile. (Whoever reads NULL in between sees an empty place, which is
 * what it is.)
 *
 * The last user looks at all places when it leaves, but only if it is told that one has become empty: that takes
 * the lock of each shard. Again each side writes, then has a fence, and reads what the other one writes:
 *
 *	key_unused, under the shard's lock      key_leave
 *	----------------------------------      ---------
 *	key->emptied = true                     users--
 *	users == 0? then it is ours             emptied? then look
 */
#define _GNU_SOURCE
#include "../hash/siphash.h"
#include "trials.h"

#include <stdlib.h>

static void table_lock(struct table *table)
{
	lock_take(&table->lock);
}

static void table_unlock(struct table *table)
{
	lock_give(&table->lock);
}

/* The top of a hash chooses the table, its bottom the chain in it. */
static struct table *table_of(struct pawl_purgatory *purgatory, uint64_t hash)
{
	return &purgatory->tables[hash >> 60];
}

_Static_assert(TABLES == 1u << (64 - 60), "four bits of the hash choose the table");

static struct key **chain_of(const struct table *table, uint64_t hash)
{
	return &table->chains[hash & (table->chain_count - 1)];
}

static unsigned char *bytes_of(struct key *key)
{
	return (unsigned char *)&key->places[key->purgatory->shard_count];
}

static bool is_key(struct key *known, struct pawl_key key, uint64_t hash)
{
	return known->hash == hash && known->len == key.len &&
	       (key.len == 0 || memcmp(bytes_of(known), key.data, key.len) == 0);
}

/* An array of empty chains, other than those in use; NULL: no memory. */
static struct key **empty_chains(struct table *table, size_t chain_count)
{
	if (chain_count > FEW_CHAINS)
		return calloc(chain_count, sizeof(struct key *));
	return memset(table->few, 0, sizeof(table->few));
}

static void free_chains(struct table *table, struct key **chains)
{
	if (chains != table->few)
		free(chains);
}

/* Put the keys into as many chains. For want of memory they stay where they are: slower, but right. */
static void resize(struct table *table, size_t chain_count)
{
	struct key **old = table->chains, *key, *next;
	struct key **chains = empty_chains(table, chain_count);
	size_t old_count = table->chain_count;

	if (!chains)
		return;
	table->chains = chains;
	table->chain_count = chain_count;
	for (size_t i = 0; i < old_count; i++)
		for (key = old[i]; key; key = next) {
			struct key **chain = chain_of(table, key->hash);

			next = key->next;
			key->next = *chain;
			*chain = key;
		}
	free_chains(table, old);
}

static void insert(struct table *table, struct key *key)
{
	struct key **chain = chain_of(table, key->hash);

	key->next = *chain;
	*chain = key;
	if (++table->key_count > table->chain_count)
		resize(table, 2 * table->chain_count);
}

static void take_out(struct table *table, struct key *key)
{
	struct key **at = chain_of(table, key->hash);

	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	if (--table->key_count < table->chain_count / 8 && table->chain_count > FEW_CHAINS)
		resize(table, table->chain_count / 2); /* and never to fewer than the few */
}

/* Under the table's lock: so the key cannot be on its way out. */
static struct key *find(struct table *table, struct pawl_key key, uint64_t hash)
{
	struct key *known = *chain_of(table, hash);

	while (known && !is_key(known, key, hash))
		known = known->next;
	if (known)
		pawl__key_join(known);
	return known;
}

void pawl__key_join(struct key *key)
{
	__atomic_add_fetch(&key->references, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&key->users, 1, __ATOMIC_SEQ_CST);
}

struct key *pawl__key_find(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	uint64_t hash = siphash(purgatory->secret, key.data, key.len);
	struct table *table = table_of(purgatory, hash);
	struct key *known;

	table_lock(table);
	known = find(table, key, hash);
	table_unlock(table);
	return known;
}

/*
 * Memory for a key, at the beginning of a cache line. By hand: aligned_alloc is several times as slow as
 * malloc, and a key may come and go with every operation.
 */
static struct key *allocate_key(const struct pawl_purgatory *purgatory, size_t len)
{
	size_t size = sizeof(struct key) + purgatory->shard_count * sizeof(struct place *);
	struct key *key;
	char *memory;

	if (__builtin_add_overflow(size + CACHE_LINE - 1, len, &size))
		return NULL;
	memory = malloc(size);
	if (!memory)
		return NULL;
	key = (struct key *)(memory + -(uintptr_t)memory % CACHE_LINE);
	*key = (struct key){.memory = memory, .len = len};
	memset(key->places, 0, purgatory->shard_count * sizeof(struct place *));
	return key;
}

static struct key *new_key(struct pawl_purgatory *purgatory, struct pawl_key key, uint64_t hash)
{
	struct key *made = allocate_key(purgatory, key.len);

	if (!made)
		return NULL;
	made->hash = hash;
	made->purgatory = purgatory;
	made->users = made->references = 1;
	made->first.key = made;
	if (key.len)
		memcpy(bytes_of(made), key.data, key.len);
	return made;
}

struct key *pawl__key_make(struct pawl_purgatory *purgatory, struct pawl_key key)
{
	uint64_t hash = siphash(purgatory->secret, key.data, key.len);
	struct table *table = table_of(purgatory, hash);
	struct key *made, *known;

	table_lock(table);
	known = find(table, key, hash);
	table_unlock(table);
	if (known)
		return known;
	made = new_key(purgatory, key, hash);
	if (!made)
		return NULL;
	table_lock(table);
	known = find(table, key, hash); /* another thread may have been faster */
	if (!known)
		insert(table, made);
	table_unlock(table);
	if (!known)
		return made;
	free(made->memory);
	return known;
}

/* The last reference is dropped under the table's lock, under which alone new ones are found. */
static void drop(struct key *key)
{
	struct table *table = table_of(key->purgatory, key->hash);
	uint32_t references = __atomic_load_n(&key->references, __ATOMIC_RELAXED);
	bool last;

	while (references > 1)
		if (__atomic_compare_exchange_n(&key->references, &references, references - 1, true,
		                                __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	table_lock(table);
	last = __atomic_sub_fetch(&key->references, 1, __ATOMIC_ACQ_REL) == 0;
	if (last)
		take_out(table, key);
	table_unlock(table);
	if (last)
		free(key->memory);
}

bool pawl__place_retire(struct place *place, struct shard *shard)
{
	struct place **place_of_key = &place->key->places[shard->number];

	if (place->listed)
		tried_bits(shard); /* takes it off the list */
	for (;;) {
		__atomic_store_n(place_of_key, NULL, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&place->key->users, __ATOMIC_SEQ_CST) == 0)
			return true;
		__atomic_store_n(place_of_key, place, __ATOMIC_SEQ_CST);
		__atomic_store_n(&place->key->emptied, true, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&place->key->users, __ATOMIC_SEQ_CST) != 0)
			return false;
	}
}

static void free_place(struct place *place)
{
	if (place && place != &place->key->first)
		free(place);
	else if (place)
		__atomic_store_n(&place->key->first_taken, false, __ATOMIC_RELEASE);
}

void pawl__places_free(struct place *retired)
{
	while (retired) {
		struct key *key = retired->key;
		struct place *next = retired->next_retired;

		free_place(retired);
		drop(key);
		retired = next;
	}
}

/* What became empty while the key had users. */
static void retire_empty(struct key *key)
{
	struct pawl_purgatory *purgatory = key->purgatory;

	__atomic_store_n(&key->emptied, false, __ATOMIC_SEQ_CST); /* before looking */
	for (unsigned i = 0; i < purgatory->shard_count; i++) {
		struct shard *shard = &purgatory->shards[i];
		struct place *place;

		if (!__atomic_load_n(&key->places[i], __ATOMIC_SEQ_CST))
			continue;
		shard_lock(shard);
		place = __atomic_load_n(&key->places[i], __ATOMIC_RELAXED);
		if (place && (place->count || !pawl__place_retire(place, shard)))
			place = NULL;
		shard_unlock(shard);
		if (place)
			place->next_retired = NULL;
		pawl__places_free(place);
	}
}

void pawl__key_leave(struct key *key)
{
	if (__atomic_sub_fetch(&key->users, 1, __ATOMIC_SEQ_CST) == 0 &&
	    __atomic_load_n(&key->emptied, __ATOMIC_SEQ_CST))
		retire_empty(key);
	drop(key);
}

void pawl__key_resolve(struct key *key)
{
	__atomic_add_fetch(&key->resolved, 1, __ATOMIC_RELAXED);
}

/* What has become empty while it was resolved has told nobody. */
void pawl__key_unresolve(struct key *key)
{
	__atomic_sub_fetch(&key->resolved, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&key->emptied, true, __ATOMIC_RELAXED);
	pawl__key_leave(key);
}

/* Most keys are watched by one thread at a time: its place is part of the key. */
static struct place *new_place(struct key *key)
{
	struct place *place = &key->first;

	_Static_assert(sizeof(*place) == CACHE_LINE, "a place has a cache line to itself");
	if (__atomic_exchange_n(&key->first_taken, true, __ATOMIC_ACQUIRE))
		place = aligned_alloc(CACHE_LINE, sizeof(*place));
	if (place)
		*place = (struct place){
		        .key = key, .turn = NO_TURN, .number = (uint8_t)(key->hash % PLACE_BITS)};
	return place;
}

struct place *pawl__key_make_place(struct key *key, struct shard *shard)
{
	struct place *made = new_place(key), *place;

	if (!made)
		return NULL;
	shard_lock(shard);
	place = __atomic_load_n(&key->places[shard->number], __ATOMIC_RELAXED);
	if (!place) {
		__atomic_add_fetch(&key->references, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&key->places[shard->number], made, __ATOMIC_RELEASE);
		/* And may stay so. Release: a last user who is told finds the place. */
		__atomic_store_n(&key->emptied, true, __ATOMIC_RELEASE);
	}
	shard_unlock(shard);
	if (!place)
		return made;
	free_place(made);
	return place;
}

static struct key *first_unswept(struct table *table, struct sweep *sweep)
{
	if (sweep->chain_count != table->chain_count)
		sweep->chain = 0; /* they have other chains now */
	sweep->chain_count = table->chain_count;
	for (; sweep->chain < table->chain_count; sweep->chain++)
		for (struct key *key = table->chains[sweep->chain]; key; key = key->next)
			if (!key->swept)
				return key;
	return NULL;
}

/* The next key that stop has not seen yet, with one user more; NULL: that was all. */
struct key *pawl__key_sweep(struct pawl_purgatory *purgatory, struct sweep *sweep)
{
	for (; sweep->table < TABLES; *sweep = (struct sweep){.table = sweep->table + 1}) {
		struct table *table = &purgatory->tables[sweep->table];
		struct key *key;

		table_lock(table);
		key = first_unswept(table, sweep);
		if (key) {
			key->swept = true;
			pawl__key_join(key);
		}
		table_unlock(table);
		if (key)
			return key;
	}
	return NULL;
}

static void free_key(struct key *key, unsigned shard_count)
{
	for (unsigned i = 0; i < shard_count; i++)
		free_place(key->places[i]);
	free(key->memory);
}

void pawl__keys_init(struct pawl_purgatory *purgatory)
{
	for (unsigned i = 0; i < TABLES; i++) {
		purgatory->tables[i].chains = purgatory->tables[i].few;
		purgatory->tables[i].chain_count = FEW_CHAINS;
	}
}

/* At the very end: what is still resolved. */
void pawl__keys_free(struct pawl_purgatory *purgatory)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct table *table = &purgatory->tables[i];

		for (size_t j = 0; j < table->chain_count; j++)
			for (struct key *key = table->chains[j], *next; key; key = next) {
				next = key->next;
				free_key(key, purgatory->shard_count);
			}
		free_chains(table, table->chains);
	}
}
