/* SPDX-License-Identifier: MIT */
#include "wheel_model.h"

static uint64_t at_most_last(uint64_t time)
{
	return time < MODEL_LAST ? time : MODEL_LAST;
}

/* When a tick begins, but no later than the end of time. */
static uint64_t time_of_tick(const struct model *model, uint64_t tick)
{
	uint64_t time;

	return __builtin_mul_overflow(tick, model->tick, &time) ? MODEL_LAST : at_most_last(time);
}

static uint64_t ticks_up(const struct model *model, uint64_t time)
{
	return time / model->tick + (time % model->tick != 0);
}

static uint64_t ticks_down(const struct model *model, uint64_t time)
{
	return time / model->tick;
}

void model_init(struct model *model, const struct pawl_wheel_options *options,
                struct model_timer *timers, size_t timers_count)
{
	*model = (struct model){
	        .tick = options->tick ? options->tick : 1,
	        .wheel_size = options->wheel_size ? options->wheel_size : 256,
	        .chains = options->chains ? options->chains : 1,
	        .ahead = options->ahead,
	        .now = options->start,
	        .placing_from = options->start,
	        .timers = timers,
	        .timers_count = timers_count,
	};
	for (size_t i = 0; i < timers_count; i++)
		timers[i] = (struct model_timer){.state = MODEL_IDLE};
}

uint64_t model_due_time(const struct model *model, uint64_t deadline)
{
	return time_of_tick(model, ticks_up(model, deadline));
}

struct pawl_wheel_place model_place(const struct model *model, uint64_t deadline, uint64_t from)
{
	uint64_t due = ticks_up(model, deadline), now = ticks_down(model, from);
	uint64_t width = 1; /* never more than `due` */
	struct pawl_wheel_place place = {.level = 0};

	while (due / width - now / width >= model->wheel_size && due >= model->upto[place.level]) {
		width *= model->wheel_size;
		place.level++;
	}
	place.slot = (unsigned)(due / width % model->wheel_size);
	place.opens = time_of_tick(model, due / width * width);
	return place;
}

bool model_same_place(const struct pawl_wheel_place *a, const struct pawl_wheel_place *b)
{
	return a->level == b->level && a->slot == b->slot && a->opens == b->opens;
}

static void become_due(struct model_timer *timer, uint64_t batch)
{
	timer->state = MODEL_DUE;
	timer->batch = batch;
}

bool model_arm(struct model *model, size_t i, uint64_t deadline)
{
	struct model_timer *timer = &model->timers[i];

	timer->touched = false;
	timer->deadline = at_most_last(deadline);
	timer->arming = ++model->armings;
	if (timer->deadline <= model->now) {
		become_due(timer, ++model->batches);
		return false;
	}
	timer->state = MODEL_WAITING;
	timer->place = model_place(model, timer->deadline, model->placing_from);
	return true;
}

bool model_touch(struct model *model, size_t i, uint64_t deadline)
{
	struct model_timer *timer = &model->timers[i];

	if (timer->state != MODEL_WAITING || at_most_last(deadline) < timer->deadline)
		return model_arm(model, i, deadline);
	timer->touched = true;
	timer->deadline = at_most_last(deadline);
	return true;
}

void model_place_again(struct model *model)
{
	for (size_t level = 0; level < MODEL_LEVELS; level++)
		model->upto[level] = 0;
	for (size_t i = 0; i < model->timers_count; i++) {
		struct model_timer *timer = &model->timers[i];

		if (timer->state == MODEL_WAITING)
			timer->place = model_place(model, timer->deadline, model->now);
	}
}

bool model_overripe(const struct model *model, size_t i)
{
	const struct model_timer *timer = &model->timers[i];

	return timer->state == MODEL_WAITING && timer->deadline <= model->placing_from;
}

bool model_cancel(struct model *model, size_t i)
{
	bool was_armed = model->timers[i].state != MODEL_IDLE;

	model->timers[i].state = MODEL_IDLE;
	return was_armed;
}

size_t model_count(const struct model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < model->timers_count; i++)
		count += model->timers[i].state != MODEL_IDLE;
	return count;
}

/* When the first slot that holds a timer opens. */
static uint64_t first_opening(const struct model *model)
{
	uint64_t first = PAWL_NEVER;

	for (size_t i = 0; i < model->timers_count; i++) {
		const struct model_timer *timer = &model->timers[i];

		if (timer->state == MODEL_WAITING && timer->place.opens < first)
			first = timer->place.opens;
	}
	return first;
}

static bool any_due(const struct model *model)
{
	for (size_t i = 0; i < model->timers_count; i++)
		if (model->timers[i].state == MODEL_DUE)
			return true;
	return false;
}

uint64_t model_next(const struct model *model)
{
	return any_due(model) ? at_most_last(model->now) : first_opening(model);
}

uint64_t model_earliest(const struct model *model)
{
	uint64_t earliest = PAWL_NEVER;

	if (any_due(model))
		return at_most_last(model->now);
	for (size_t i = 0; i < model->timers_count; i++) {
		const struct model_timer *timer = &model->timers[i];
		uint64_t due = model_due_time(model, timer->deadline);

		if (timer->state == MODEL_WAITING && due < earliest)
			earliest = due;
	}
	return earliest;
}

bool model_may_be_next(const struct model *model, uint64_t next)
{
	uint64_t exact = model_next(model);
	bool stopped = model->placing_from > model->now;

	return next == exact ||
	       (stopped && next == model->placing_from && exact > next && exact != PAWL_NEVER);
}

void model_advance_begin(struct model *model)
{
	model->least_moves = model->most_moves = 0;
}

/*
 * A timer that is moved or put back is one move. A timer that is made due is at most one move, since a slot may be made
 * due as a whole. A timer from above level 0 may move down first, which is one more.
 */
static void leave_slot(struct model *model, struct model_timer *timer, uint64_t time)
{
	bool due = model_due_time(model, timer->deadline) <= time;
	bool moved = timer->place.level > 0 || !due;

	model->least_moves += moved;
	model->most_moves += (uint64_t)moved + due;
	if (due)
		become_due(timer, model->batches);
	else
		timer->place = model_place(model, timer->deadline, time);
}

/* A slot of level 0 with a timer that becomes due is at least one move. */
static bool makes_due(const struct model *model, const struct model_timer *timer, uint64_t time)
{
	return timer->place.level == 0 && model_due_time(model, timer->deadline) <= time;
}

/*
 * Open every slot that opens at `time`. One pass is enough: as seen from the opening, a timer is due or belongs in a
 * slot that opens later.
 */
static void open_slots(struct model *model, uint64_t time)
{
	bool a_slot_is_due = false;

	model->batches++;
	for (size_t i = 0; i < model->timers_count; i++) {
		struct model_timer *timer = &model->timers[i];

		if (timer->state != MODEL_WAITING || timer->place.opens != time)
			continue;
		a_slot_is_due |= makes_due(model, timer, time);
		leave_slot(model, timer, time);
	}
	model->least_moves += a_slot_is_due;
}

void model_reach(struct model *model, uint64_t time)
{
	uint64_t opening;

	while ((opening = first_opening(model)) <= time && opening != PAWL_NEVER)
		open_slots(model, opening);
	model->now = time;
	if (model->placing_from < time)
		model->placing_from = time;
}

void model_stop(struct model *model)
{
	model->placing_from = model->now + 1;
	model->batches++;
}

bool model_at_stake(const struct model *model, size_t i)
{
	const struct model_timer *timer = &model->timers[i];

	return timer->state == MODEL_WAITING && timer->place.opens == model->placing_from;
}

static bool saw_due(struct model *model, struct model_timer *timer)
{
	if (model_due_time(model, timer->deadline) != model->placing_from)
		return false;
	leave_slot(model, timer, model->placing_from);
	return true;
}

bool model_saw(struct model *model, size_t i, const struct pawl_wheel_place *seen)
{
	struct model_timer *timer = &model->timers[i];
	struct pawl_wheel_place moved;

	if (!seen)
		return saw_due(model, timer);
	if (model_same_place(seen, &timer->place))
		return true;
	moved = model_place(model, timer->deadline, model->placing_from);
	if (!model_same_place(seen, &moved))
		return false;
	model->least_moves++;
	model->most_moves++;
	timer->place = moved;
	return true;
}

static bool in_order(const struct model_timer *earlier, const struct model_timer *later)
{
	return earlier->touched || later->touched || earlier->arming < later->arming;
}

/* Within a tick that is half done, the timers that are due were armed before the timers that still wait. */
static bool half_done_in_order(const struct model *model, const struct model_timer *due)
{
	for (size_t i = 0; i < model->timers_count; i++) {
		const struct model_timer *timer = &model->timers[i];

		if (timer->state != MODEL_WAITING ||
		    model_due_time(model, timer->deadline) != model->placing_from)
			continue;
		if (!in_order(due, timer))
			return false;
	}
	return true;
}

const char *model_stopped_wrongly(const struct model *model)
{
	if (first_opening(model) != model->placing_from)
		return "no slot is left to open where it stopped";
	if (model->chains > 1)
		return NULL;
	for (size_t i = 0; i < model->timers_count; i++) {
		const struct model_timer *timer = &model->timers[i];

		if (timer->state == MODEL_DUE && timer->batch == model->batches &&
		    !half_done_in_order(model, timer))
			return "made due before one that was armed earlier";
	}
	return NULL;
}

/* Only a slot that opens at the end of time opens between two ticks: then the tick is the later one. */
static uint64_t opening_tick(const struct model *model, const struct pawl_wheel_place *place)
{
	return ticks_up(model, place->opens);
}

static uint64_t width_of_level(const struct model *model, unsigned level)
{
	uint64_t width = 1;

	while (level-- > 0)
		width *= model->wheel_size;
	return width;
}

static bool is_next_of_its_level(const struct model *model, const struct pawl_wheel_place *place)
{
	uint64_t width = width_of_level(model, place->level), now = ticks_down(model, model->now);

	return place->level > 0 && opening_tick(model, place) / width == now / width + 1;
}

/* Earlier openings first; at the same tick the finest level first. */
static bool begins_before(const struct model *model, const struct pawl_wheel_place *a,
                          const struct pawl_wheel_place *b)
{
	if (opening_tick(model, a) != opening_tick(model, b))
		return opening_tick(model, a) < opening_tick(model, b);
	return a->level < b->level;
}

static const struct pawl_wheel_place *slot_to_begin(const struct model *model)
{
	const struct pawl_wheel_place *first = NULL;

	for (size_t i = 0; i < model->timers_count; i++) {
		const struct model_timer *timer = &model->timers[i];

		if (timer->state != MODEL_WAITING || !is_next_of_its_level(model, &timer->place))
			continue;
		if (!first || begins_before(model, &timer->place, first))
			first = &timer->place;
	}
	return first;
}

static bool too_early(const struct model *model, const struct pawl_wheel_place *place)
{
	uint64_t early = width_of_level(model, place->level) / 8;
	uint64_t left = opening_tick(model, place) - ticks_down(model, model->now);

	return left > early && left > model->wheel_size;
}

bool model_begin_ahead(struct model *model)
{
	const struct pawl_wheel_place *place = slot_to_begin(model);
	uint64_t end;

	if (!model->ahead || model->placing_from > model->now || !place || too_early(model, place))
		return false;
	if (__builtin_add_overflow(opening_tick(model, place), width_of_level(model, place->level),
	                           &end))
		return false;
	if (model->upto[place->level - 1] < end)
		model->upto[place->level - 1] = end;
	model->begun = *place;
	return true;
}

bool model_is_begun(const struct model *model, size_t i)
{
	const struct model_timer *timer = &model->timers[i];

	return timer->state == MODEL_WAITING && model_same_place(&timer->place, &model->begun);
}

void model_move_ahead(struct model *model, size_t i)
{
	struct model_timer *timer = &model->timers[i];

	timer->place = model_place(model, timer->deadline, model->now);
}

/* The order rests on this: of the timers of a tick, those on a coarser level were armed earlier. */
static bool levels_in_order(const struct model *model, const struct model_timer *a,
                            const struct model_timer *b)
{
	if (a->state != MODEL_WAITING || b->state != MODEL_WAITING ||
	    a->place.level <= b->place.level ||
	    ticks_up(model, a->deadline) != ticks_up(model, b->deadline))
		return true;
	return in_order(a, b);
}

const char *model_ahead_wrongly(const struct model *model)
{
	if (model->chains > 1)
		return NULL;
	for (size_t i = 0; i < model->timers_count; i++)
		for (size_t j = 0; j < model->timers_count; j++)
			if (!levels_in_order(model, &model->timers[i], &model->timers[j]))
				return "moved down before one of its tick that was armed later";
	return NULL;
}

bool model_may_precede(const struct model *model, size_t earlier, size_t later)
{
	const struct model_timer *a = &model->timers[earlier], *b = &model->timers[later];

	if (model->chains > 1)
		return true;
	if (a->batch != b->batch)
		return a->batch < b->batch;
	return in_order(a, b);
}

bool model_may_pop(const struct model *model, size_t i)
{
	if (model->timers[i].state != MODEL_DUE)
		return false;
	for (size_t j = 0; j < model->timers_count; j++)
		if (j != i && model->timers[j].state == MODEL_DUE &&
		    !model_may_precede(model, i, j))
			return false;
	return true;
}

void model_pop(struct model *model, size_t i)
{
	model->timers[i].state = MODEL_IDLE;
}
