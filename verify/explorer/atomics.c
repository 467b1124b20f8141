/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations, by the rules of C11 and not by those of the machine that this runs on.
 *
 * Memory has the newest value of each atomic object, and a location has the stores before that. A load may see any of
 * them that nothing forbids, and the search chooses. A store is forbidden if a newer one
 *
 *	- happened before the load, or was seen by a load that happened before it (coherence);
 *	- precedes a sequentially consistent fence of its thread, and the loading thread has had such a fence
 *	  after that (29.3p6), or is a sequentially consistent store before such a fence (29.3p4);
 *	- and for a sequentially consistent load: is a sequentially consistent store (29.3p3), or precedes a
 *	  sequentially consistent fence of its thread (29.3p5).
 *
 * So store buffering (Dekker's pattern) goes wrong here without its fences, as it does on real machines:
 *
 *	thread 1                        thread 2
 *	--------                        --------
 *	store x = 1                     store y = 1
 *	load y: 0 may be seen           load x: 0 may be seen
 *
 * Not modelled: load buffering. Modification order is execution order.
 */
#include "explorer.h"

#include <stdatomic.h>

/* A thread that loads one value so often, and no other in between, waits for another value. */
enum { SPINS = 2 };

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;

static uint64_t peek(const void *address, size_t size)
{
	switch (size) {
	case 1:
		return *(const a8 *)address;
	case 2:
		return *(const a16 *)address;
	case 4:
		return *(const a32 *)address;
	default:
		return *(const a64 *)address;
	}
}

static struct store *newest(struct location *location)
{
	return &location->stores[(location->count - 1) % HISTORY];
}

/* Stores from before the object was first used atomically are known to all threads: else they race. */
static struct location *new_location(const void *address, size_t size)
{
	struct explorer *e = explorer;
	struct location *location;

	if (e->location_count == MAX_LOCATIONS)
		fail("more than %d atomic objects", MAX_LOCATIONS);
	location = &e->locations[e->location_count++];
	location->address = address;
	location->size = (uint32_t)size;
	location->count = 1;
	location->stores[0] = (struct store){.value = peek(address, size), .thread = 0};
	return location;
}

/* Stores of one size over part of those of another are not modelled. */
static void check_size(const struct cell *cell, unsigned byte, size_t size)
{
	for (unsigned i = 0; i < WORD; i++) {
		const struct location *other = &explorer->locations[cell->locations[i]];

		if (cell->locations[i] && i < byte + size && byte < i + other->size)
			fail("atomic accesses of %u and of %zu bytes to the same memory are not "
			     "supported",
			     other->size, size);
	}
}

/* NULL: an object in memory that is not explored. */
static struct location *location_of(const void *address, size_t size)
{
	struct cell *cell = memory_cell(address);
	unsigned byte = (uintptr_t)address % WORD;

	if (!cell)
		return NULL;
	if (!cell->locations[byte] || explorer->locations[cell->locations[byte]].size != size) {
		check_size(cell, byte, size);
		new_location(address, size);
		cell->locations[byte] = (uint16_t)(explorer->location_count - 1);
	}
	return &explorer->locations[cell->locations[byte]];
}

static bool acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
	       order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool was_seen(const struct thread *thread, const struct store *store)
{
	for (unsigned i = 0; i < explorer->thread_count; i++)
		if (store->read_by[i] && store->read_by[i] <= thread->clock.at[i])
			return true;
	return false;
}

/* Whether a load by the thread may see nothing older than this store. */
static bool hides_older(const struct thread *thread, const struct store *store, int order)
{
	uint32_t clock = store->clock;
	unsigned writer = store->thread;

	if (clock <= thread->clock.at[writer] || was_seen(thread, store))
		return true;
	if (clock <= thread->after.at[writer] ||
	    (store->sc && clock <= thread->after_sc.at[writer]))
		return true;
	return order == __ATOMIC_SEQ_CST && (store->sc || clock <= explorer->sc_fences.at[writer]);
}

/* How many stores the load may choose from, the newest being the first. */
static unsigned visible(struct location *location, int order)
{
	const struct thread *thread = present();
	unsigned most = location->count < HISTORY ? location->count : HISTORY, count = 0;

	while (count < most) {
		const struct store *store =
		        &location->stores[(location->count - 1 - count++) % HISTORY];

		if (hides_older(thread, store, order))
			break;
	}
	return count;
}

static void see(struct store *store, int order)
{
	struct thread *thread = present();

	if (!store->read_by[thread->number])
		store->read_by[thread->number] = thread->clock.at[thread->number];
	if (acquires(order))
		clock_join(&thread->clock, &store->released);
	else
		clock_join(&thread->read, &store->released);
}

/* `before`: the store that a read-modify-write has replaced, whose release it passes on. */
static void append(struct location *location, uint64_t value, int order, const struct store *before)
{
	struct thread *thread = present();
	struct clock released = releases(order) ? thread->clock : thread->fenced;
	struct store *store;

	if (before)
		clock_join(&released, &before->released);
	store = &location->stores[location->count++ % HISTORY];
	*store = (struct store){.value = value,
	                        .clock = thread->clock.at[thread->number],
	                        .thread = (uint8_t)thread->number,
	                        .sc = order == __ATOMIC_SEQ_CST,
	                        .released = released};
	if (store->sc)
		explorer->sc_stores.at[thread->number] = store->clock;
	if (releases(order))
		thread->clock.at[thread->number]++; /* what comes after it is not released */
	threads_wake(FOR_VALUE, location->address);
}

/*
 * Whether a thread loads the same value again and again, at one line of its code and with no other step in between.
 * Then it sees the newest one, and waits for another; or it has looked often enough and does something else.
 */
static bool spins(const void *address, uint64_t value, uintptr_t pc)
{
	struct thread *thread = present();

	if (thread->spins_on != address || thread->spin_value != value || thread->spin_pc != pc)
		thread->spins = 0;
	thread->spins_on = address;
	thread->spin_value = value;
	thread->spin_pc = pc;
	return ++thread->spins > SPINS;
}

static uint64_t load(const void *address, size_t size, int order, uintptr_t pc)
{
	struct location *location;
	struct store *store;
	unsigned old = 0;
	bool spinning;

	scheduling_point(LOAD, address, pc);
	memory_access(address, size, false, true, pc);
	location = running() ? location_of(address, size) : NULL;
	if (!location)
		return peek(address, size);
	spinning = spins(address, newest(location)->value, pc);
	if (!explorer->strong && !spinning)
		old = search_choose(OLD_VALUE, visible(location, order));
	if (spinning && search_choose(SPIN, 2) == 0) {
		thread_wait(FOR_VALUE, address, NEVER);
		memory_access(address, size, false, true, pc);
		location = location_of(address, size);
	}
	store = &location->stores[(location->count - 1 - old) % HISTORY];
	see(store, order);
	step_value(store->value, old > 0);
	return store->value;
}

/* The newest store: the same for all that write. */
static struct location *begin_write(const void *address, size_t size, enum step step, int order,
                                    bool read, uintptr_t pc)
{
	struct location *location;

	scheduling_point(step, address, pc);
	memory_access(address, size, true, true, pc);
	location = running() ? location_of(address, size) : NULL;
	if (location && read)
		see(newest(location), order);
	return location;
}

static void end_write(struct location *location, uint64_t value, int order, bool read)
{
	struct store before;

	if (!location)
		return;
	before = *newest(location);
	append(location, value, order, read ? &before : NULL);
	step_value(value, false);
}

static void fence(int order)
{
	struct thread *thread = present();
	struct explorer *e = explorer;

	if (acquires(order))
		clock_join(&thread->clock, &thread->read);
	if (order == __ATOMIC_SEQ_CST) {
		clock_join(&thread->after, &e->sc_fences);
		clock_join(&thread->after_sc, &e->sc_stores);
		e->sc_fences.at[thread->number] = thread->clock.at[thread->number];
	}
	if (releases(order)) {
		thread->fenced = thread->clock;
		thread->clock.at[thread->number]++; /* what comes after it is not released */
	}
}

void __tsan_atomic_thread_fence(int order)
{
	scheduling_point(FENCE, NULL, CALLER);
	if (running()) {
		step_value((uint64_t)order, false);
		fence(order);
	}
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

/*
 * A compare-and-set that fails is a load. So it may also see an old value, but not the expected one. NULL: it sees the
 * newest.
 */
static struct store *old_value(struct location *location, uint64_t expected, int order)
{
	unsigned count = explorer->strong ? 1 : visible(location, order), options = 1;
	struct store *others[HISTORY] = {NULL};

	for (unsigned i = 1; i < count; i++) {
		struct store *store = &location->stores[(location->count - 1 - i) % HISTORY];

		if (store->value != expected)
			others[options++] = store;
	}
	return others[search_choose(OLD_VALUE, options)];
}

/*
 * How it ends. Memory has the newest value, and that is the expected one if `equal`. `seen` gets the value that it has
 * found, and the caller writes the new one.
 */
static bool try_exchange(struct location *location, bool equal, uint64_t expected, uint64_t *seen,
                         int order, int fail_order)
{
	struct store *old = old_value(location, expected, fail_order);

	if (old) {
		*seen = old->value;
		equal = false;
	}
	see(old ? old : newest(location), equal ? order : fail_order);
	step_value(*seen, old);
	return equal;
}

#define MODIFY(size, name, expression)                                                          \
	a##size __tsan_atomic##size##_##name(volatile a##size *address, a##size operand,        \
	                                     int order)                                         \
	{                                                                                       \
		struct location *location = begin_write((const void *)address, sizeof(operand), \
		                                        EXCHANGE, order, true, CALLER);         \
		a##size old = *address;                                                         \
                                                                                                \
		*address = (a##size)(expression);                                               \
		end_write(location, *address, order, true);                                     \
		return old;                                                                     \
	}

/* A weak compare-and-set may fail for no reason. */
#define ATOMICS(size)                                                                             \
	a##size __tsan_atomic##size##_load(const volatile a##size *address, int order)            \
	{                                                                                         \
		return (a##size)load((const void *)address, sizeof(*address), order, CALLER);     \
	}                                                                                         \
	void __tsan_atomic##size##_store(volatile a##size *address, a##size value, int order)     \
	{                                                                                         \
		struct location *location = begin_write((const void *)address, sizeof(value),     \
		                                        STORE, order, false, CALLER);             \
                                                                                                  \
		*address = value;                                                                 \
		end_write(location, value, order, false);                                         \
	}                                                                                         \
	static int compare_exchange##size(volatile a##size *address, a##size *expected,           \
	                                  a##size value, int order, int fail, bool weak,          \
	                                  uintptr_t pc)                                           \
	{                                                                                         \
		struct location *location = NULL;                                                 \
		uint64_t seen;                                                                    \
		bool equal;                                                                       \
                                                                                                  \
		scheduling_point(EXCHANGE, (const void *)address, pc);                            \
		seen = *address;                                                                  \
		equal = seen == *expected && !(weak && running() && search_choose(SPURIOUS, 2));  \
		memory_access((const void *)address, sizeof(value), false, true, pc);             \
		if (running())                                                                    \
			location = location_of((const void *)address, sizeof(value));             \
		if (location)                                                                     \
			equal = try_exchange(location, equal, *expected, &seen, order, fail);     \
		if (equal) {                                                                      \
			memory_access((const void *)address, sizeof(value), true, true, pc);      \
			*address = value;                                                         \
			end_write(location, value, order, true);                                  \
		} else {                                                                          \
			*expected = (a##size)seen;                                                \
			if (running())                                                            \
				step_failed();                                                    \
		}                                                                                 \
		return equal;                                                                     \
	}                                                                                         \
	int __tsan_atomic##size##_compare_exchange_strong(                                        \
	        volatile a##size *address, a##size *expected, a##size value, int order, int fail) \
	{                                                                                         \
		return compare_exchange##size(address, expected, value, order, fail, false,       \
		                              CALLER);                                            \
	}                                                                                         \
	int __tsan_atomic##size##_compare_exchange_weak(                                          \
	        volatile a##size *address, a##size *expected, a##size value, int order, int fail) \
	{                                                                                         \
		return compare_exchange##size(address, expected, value, order, fail, true,        \
		                              CALLER);                                            \
	}                                                                                         \
	a##size __tsan_atomic##size##_compare_exchange_val(                                       \
	        volatile a##size *address, a##size expected, a##size value, int order, int fail)  \
	{                                                                                         \
		compare_exchange##size(address, &expected, value, order, fail, false, CALLER);    \
		return expected;                                                                  \
	}                                                                                         \
	MODIFY(size, exchange, operand)                                                           \
	MODIFY(size, fetch_add, old + operand)                                                    \
	MODIFY(size, fetch_sub, old - operand)                                                    \
	MODIFY(size, fetch_and, old &operand)                                                     \
	MODIFY(size, fetch_or, old | operand)                                                     \
	MODIFY(size, fetch_xor, old ^ operand)                                                    \
	MODIFY(size, fetch_nand, ~(old & operand))

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
