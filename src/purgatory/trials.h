/* SPDX-License-Identifier: MIT */
/*
 * Who is just trying an operation: its bringer, or a check of one of its keys. Nobody else may try it then, but
 * leaves word, and goes on; so does who takes it off. All of it under the home's lock. Only those who try,
 * and have been left no word meanwhile, need no lock to end it: mostly nobody has come by, and the
 * lock of another thread's shard is not to be had for nothing.
 *
 *	claimed by its bringer                  in the trial of a check
 *	----------------------                  -----------------------
 *	op->places: CLAIMED                     place->trial, and place->trying
 *	word: AGAIN, ABANDONED there            word: first HEED in place->trying, then in the trial
 *	end: CLAIMED off, if there is no word   end: TRYING -> IDLE
 *
 * A trial's memory is the checker's stack. Once there is HEED its end needs the lock: so who has put it there
 * may read the trial as long as it has the lock.
 *
 * Going through a place one would have to look for each operation in each trial. But the operations of a
 * trial are all watched under one key, and each place has a bit. So what has not that bit among those
 * of its own places is not in that trial; and mostly there is none at all.
 */
#ifndef PAWL_PURGATORY_TRIALS_H
#define PAWL_PURGATORY_TRIALS_H

#include "linking.h"

static inline uint64_t place_bit(const struct place *place)
{
	return UINT64_C(1) << place->number;
}

static inline uint64_t op_places(const struct pawl_op *op)
{
	return __atomic_load_n(&op->places, __ATOMIC_ACQUIRE);
}

static inline bool op_move_claim(struct pawl_op *op, uint64_t *from, uint64_t to)
{
	return __atomic_compare_exchange_n(&op->places, from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

static inline bool place_move(struct place *place, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n(&place->trying, &from, to, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

static inline uint8_t place_trying(const struct place *place)
{
	return __atomic_load_n(&place->trying, __ATOMIC_ACQUIRE);
}

static inline void place_set_trying(struct place *place, uint8_t trying)
{
	__atomic_store_n(&place->trying, trying, __ATOMIC_RELEASE);
}

/* Keep the trial of a place from ending, so that word can be left in it. False: there is none. */
static inline bool place_heed(struct place *place)
{
	uint8_t trying = place_trying(place);

	return trying == HEED || (trying == TRYING && place_move(place, TRYING, HEED));
}

/*
 * What an operation must not have among its places to be nobody's just now. Places whose trial has ended, as
 * it may without the lock, leave the list here.
 */
static inline uint64_t tried_bits(struct shard *home)
{
	uint64_t bits = CLAIMED;
	struct place *place, **link = &home->host->tried;

	while ((place = *link) != NULL)
		if (place_trying(place) == IDLE) {
			place->listed = false;
			*link = place->next_tried;
		} else {
			bits |= place_bit(place);
			link = &place->next_tried;
		}
	return bits;
}

static inline void trial_begin(struct shard *home, struct place *place, struct trial *trial)
{
	trial->again = trial->abandoned = 0;
	place->trial = trial;
	place_set_trying(place, TRYING);
	if (!place->listed) {
		place->listed = true;
		place->next_tried = home->host->tried;
		home->host->tried = place;
	}
}

/* Which of the trial's it is, as a bit; 0: none. */
static inline uint64_t trial_find(const struct trial *trial, const struct pawl_op *op)
{
	for (uint32_t i = 0; i < trial->count; i++)
		if (trial->ops[i] == op)
			return UINT64_C(1) << i;
	return 0;
}

/* Whether it may be in a trial of this place. By the bit alone trials would often be kept for nothing. */
static inline bool op_watches(const struct pawl_op *op, const struct place *place)
{
	uint32_t i = 0;

	if (!(op_places(op) & place_bit(place)))
		return false;
	while (i < op->watch_count && op_place(op, i) != place)
		i++;
	return i < op->watch_count;
}

/* The trial that it is in, kept from ending; and which of its operations it is. NULL: none. */
static inline struct trial *trial_of(struct shard *home, const struct pawl_op *op, uint64_t *bit)
{
	for (struct place *place = home->host->tried; place; place = place->next_tried)
		if (op_watches(op, place) && place_heed(place) &&
		    (*bit = trial_find(place->trial, op)))
			return place->trial;
	return NULL;
}

static inline bool op_tell_bringer(struct pawl_op *op, uint64_t word)
{
	uint64_t places = op_places(op);

	while (places & CLAIMED)
		if (op_move_claim(op, &places, places | word))
			return true;
	return false;
}

/* That a check has come by: whoever is trying it shall do so once more. False: nobody is. */
static inline bool op_try_again(struct shard *home, struct pawl_op *op)
{
	struct trial *trial;
	uint64_t bit;

	if (op_tell_bringer(op, AGAIN))
		return true;
	trial = trial_of(home, op, &bit);
	if (trial)
		trial->again |= bit;
	return trial;
}

/* It was taken off: whoever is trying it must let go of it, too, and has a reference till then. */
static inline void op_abandon(struct shard *home, struct pawl_op *op)
{
	struct trial *trial;
	uint64_t bit;

	if (!(op_places(op) & tried_bits(home)))
		return;
	if (!op_tell_bringer(op, ABANDONED)) {
		trial = trial_of(home, op, &bit);
		if (!trial)
			return;
		trial->abandoned |= bit;
	}
	__atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
}

#endif
