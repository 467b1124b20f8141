/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <string.h>

#include "memory.h"
#include "sort.h"

enum {
	SMALL = QUEUE_LARGE / 4, /* below it a queue returns to the compact form */
	SYNC_STEPS = 64,         /* that a queue_sync takes at most */
	FAR_SLOTS = 2048,        /* in a level of the far wheel: of 1 ms, of 2 s, of 70 min... */
	LEAD = 2048,   /* ms that its time is ahead of the other's: less than a turn of that */
	NOT_KNOWN = 0, /* as far_first: before any time */
};

static struct task *task_of(struct pawl_timer *timer)
{
	return (struct task *)(void *)timer; /* its first member */
}

/* Lists */

static void list_append(struct task_list *list, struct task *task)
{
	task->u.list.next = NULL;
	task->u.list.prev = list->tail;
	if (list->tail)
		list->tail->u.list.next = task;
	else
		list->head = task;
	list->tail = task;
	list->count++;
}

static void list_remove(struct task_list *list, struct task *task)
{
	struct task *next = task->u.list.next, *prev = task->u.list.prev;

	if (next)
		next->u.list.prev = prev;
	else
		list->tail = prev;
	if (prev)
		prev->u.list.next = next;
	else
		list->head = next;
	list->count--;
}

/* Places: these functions, and no others, put a task somewhere or take it from there. */

/* Where a task is that is not due yet; if it is leased there, the lease holds. */
static bool is_ahead(const struct task *task)
{
	return task->place == PLACE_WHEEL || task->place == PLACE_FAR ||
	       task->place == PLACE_EARLY || task->place == PLACE_DYING;
}

static void set_place(struct queue *queue, struct task *task, enum task_place place)
{
	queue->leased -= task->leased && is_ahead(task);
	task->place = (uint8_t)(place & 15);
	queue->leased += task->leased && is_ahead(task);
}

static void push(struct queue *queue, struct heap *heap, struct task *task, enum task_place place)
{
	heap_push(heap, task, task_at(task), ++queue->sequence);
	set_place(queue, task, place);
}

static void make_ready(struct queue *queue, struct task *task)
{
	list_append(&queue->ready, task);
	set_place(queue, task, PLACE_READY);
}

static void make_dead(struct queue *queue, struct task *task)
{
	list_append(&queue->dead, task);
	set_place(queue, task, PLACE_DEAD);
}

static void put_on(struct queue *queue, struct pawl_wheel *wheel, struct task *task, uint64_t at)
{
	task->u.timer = (struct pawl_timer){0};
	pawl_wheel_arm(wheel, &task->u.timer, at);
	set_place(queue, task, wheel == queue->far ? PLACE_FAR : PLACE_WHEEL);
}

static void put_far(struct queue *queue, struct task *task, uint64_t at)
{
	if (pawl_wheel_count(queue->far) == 0 || at < queue->far_first)
		queue->far_first = at;
	put_on(queue, queue->far, task, at);
}

/* A task was taken off the far wheel. If it was the first one, the next look has to find the new first. */
static void left_far(struct queue *queue, const struct task *task)
{
	if (task_at(task) == queue->far_first)
		queue->far_first = NOT_KNOWN;
}

/*
 * Ahead of the far wheel's time. The tasks that are due on the far wheel are all due at its time (see
 * bring_some). While some of them have not been brought over, another one for that time queues up behind
 * them: on the other wheel it would overtake them.
 */
static bool is_far(const struct queue *queue, uint64_t at)
{
	uint64_t now = pawl_wheel_now(queue->far);

	return at > now || (at == now && pawl_wheel_next(queue->far) == now);
}

static void place_near(struct queue *queue, struct task *task, uint64_t at)
{
	task->u.timer.deadline = at;
	if (queue->wheel && at > pawl_wheel_now(queue->wheel))
		put_on(queue, queue->wheel, task, at);
	else if (at > queue->now)
		push(queue, &queue->early, task, PLACE_EARLY);
	else
		push(queue, &queue->past, task, PLACE_PAST);
}

/* Where a living task belongs. */
static void place(struct queue *queue, struct task *task, uint64_t at)
{
	task->u.timer.deadline = at;
	if (task->leased && task_last_try(task))
		push(queue, &queue->dying, task, PLACE_DYING);
	else if (queue->far && is_far(queue, at))
		put_far(queue, task, at);
	else
		place_near(queue, task, at);
}

static void unplace(struct queue *queue, struct task *task)
{
	switch ((enum task_place)task->place) {
	case PLACE_NONE:
		break;
	case PLACE_WHEEL:
		pawl_wheel_cancel(queue->wheel, &task->u.timer);
		break;
	case PLACE_FAR:
		pawl_wheel_cancel(queue->far, &task->u.timer);
		left_far(queue, task);
		break;
	case PLACE_READY:
		list_remove(&queue->ready, task);
		break;
	case PLACE_PAST:
		heap_remove(&queue->past, task);
		break;
	case PLACE_EARLY:
		heap_remove(&queue->early, task);
		break;
	case PLACE_DYING:
		heap_remove(&queue->dying, task);
		break;
	case PLACE_DEAD:
		list_remove(&queue->dead, task);
		break;
	}
	set_place(queue, task, PLACE_NONE);
}

/* Time */

static void early_to_past(struct queue *queue)
{
	struct task *task;

	while ((task = heap_first(&queue->early)) != NULL && task_at(task) <= queue->now) {
		uint64_t sequence = task->u.heap.sequence;

		heap_remove(&queue->early, task);
		heap_push(&queue->past, task, task_at(task), sequence);
		set_place(queue, task, PLACE_PAST);
	}
}

static void dying_to_dead(struct queue *queue, size_t steps)
{
	struct task *task;

	while (steps-- > 0 && (task = heap_first(&queue->dying)) != NULL &&
	       task_at(task) <= queue->now) {
		heap_remove(&queue->dying, task);
		make_dead(queue, task);
	}
}

static bool bring_one(struct queue *queue)
{
	struct pawl_timer *timer = pawl_wheel_pop(queue->far);

	if (!timer)
		return false;
	left_far(queue, task_of(timer));
	place_near(queue, task_of(timer), timer->deadline);
	return true;
}

/*
 * Some of what is due on the far wheel. Its time moves from one opening to the next, and not on before all
 * that is due there has been brought over. It stays so near to the other's time that whatever is brought over
 * has its place in a slot of 1 ms there.
 */
static void bring_some(struct queue *queue, size_t steps)
{
	uint64_t until = pawl_wheel_now(queue->wheel) + LEAD, next;

	while (steps > 0 && (next = pawl_wheel_next(queue->far)) <= until) {
		size_t moves = 1;

		if (!bring_one(queue))
			moves = pawl_wheel_advance(queue->far, next, steps);
		steps -= moves < steps ? moves : steps;
	}
	if (steps > 0)
		pawl_wheel_advance(queue->far, until, 0);
}

/*
 * A step to have every task that is due by `until` off the far wheel. False: it is so. The other wheel must
 * have nothing to open before `until`.
 */
static bool bring_by(struct queue *queue, uint64_t until)
{
	uint64_t next = pawl_wheel_next(queue->far);

	if (next > until)
		return false;
	if (!bring_one(queue)) {
		pawl_wheel_advance(queue->wheel, next - 1, 0);
		pawl_wheel_advance(queue->far, next, 0);
	}
	return true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * At most so many tasks, due by `until`, to the ready list; true: these were all. Time moves from one
 * opening to the next, and not on before all that is due there has been popped: so what is due on the wheel
 * is due at its now.
 */
static bool wheel_to_ready(struct queue *queue, uint64_t until, size_t steps)
{
	while (steps > 0) {
		uint64_t next = pawl_wheel_next(queue->wheel);
		struct pawl_timer *timer;

		if (bring_by(queue, earlier(next, until)))
			continue;
		if (next > until)
			return true;
		timer = pawl_wheel_pop(queue->wheel);
		if (timer) {
			make_ready(queue, task_of(timer));
			steps--;
		} else {
			pawl_wheel_advance(queue->wheel, next, 0);
		}
	}
	return false;
}

/*
 * The wheel's time when nobody needs more: the moment before now, so that a task without a delay still
 * finds its slot ahead.
 */
static void follow(struct queue *queue, size_t steps)
{
	uint64_t before = queue->now > 0 ? queue->now - 1 : 0;

	if (wheel_to_ready(queue, before, steps))
		pawl_wheel_advance(queue->wheel, before, 0);
	bring_some(queue, SYNC_STEPS);
}

static struct pawl_wheel *new_wheel(struct pawl_wheel_options options)
{
	size_t size = pawl_wheel_footprint(&options);

	return pawl_wheel_init(memory_new(size), size, &options);
}

static void open_wheels(struct queue *queue)
{
	uint64_t before = queue->now > 0 ? queue->now - 1 : 0;

	queue->wheel =
	        new_wheel((struct pawl_wheel_options){.start = before, .wheel_size = QUEUE_LARGE});
	queue->far = new_wheel(
	        (struct pawl_wheel_options){.start = before + LEAD, .wheel_size = FAR_SLOTS});
}

static void forget_places(struct queue *queue)
{
	memory_free(queue->wheel);
	memory_free(queue->far);
	queue->wheel = queue->far = NULL;
	queue->ready = queue->dead = (struct task_list){0};
	heap_free(&queue->past);
	heap_free(&queue->early);
	heap_free(&queue->dying);
	queue->leased = 0;
}

/* Place every task anew, in the form that suits their number, as seen from now. */
static void rebuild(struct queue *queue)
{
	struct task **tasks = queue_sorted(queue);

	forget_places(queue);
	if (queue_count(queue) > QUEUE_LARGE)
		open_wheels(queue);
	for (size_t i = 0; i < queue_count(queue); i++) {
		bool buried = tasks[i]->place == PLACE_DEAD && !tasks[i]->leased;

		tasks[i]->place = PLACE_NONE;
		if (buried)
			make_dead(queue, tasks[i]);
		else
			place(queue, tasks[i], task_at(tasks[i]));
	}
	memory_free(tasks);
}

static void sync(struct queue *queue, uint64_t now, size_t steps)
{
	bool went_back = now < queue->now;

	queue->now = now;
	if (went_back)
		rebuild(queue);
	early_to_past(queue);
	dying_to_dead(queue, steps);
	if (queue->wheel)
		follow(queue, steps);
}

void queue_sync(struct queue *queue, uint64_t now)
{
	sync(queue, now, SYNC_STEPS);
}

void queue_settle(struct queue *queue, uint64_t now)
{
	sync(queue, now, SIZE_MAX);
	if (queue->wheel)
		wheel_to_ready(queue, now, SIZE_MAX);
}

/* Making and ending */

struct queue *queue_new(void)
{
	return memory_zeroed(sizeof(struct queue));
}

static void free_task(struct task *task, void *arg)
{
	(void)arg;
	memory_free(task);
}

void queue_free(struct queue *queue)
{
	uint64_t cursor = 0;

	do
		ids_scan(&queue->ids, cursor, free_task, NULL);
	while ((cursor = ids_scan_next(&queue->ids, cursor)) != 0);
	forget_places(queue);
	ids_free(&queue->ids);
	memory_free(queue->lateness);
	memory_free(queue);
}

void queue_reserve(struct queue *queue, size_t count)
{
	ids_reserve(&queue->ids, count);
	if (count > QUEUE_LARGE)
		open_wheels(queue);
}

struct queue *queue_copy(const struct queue *queue)
{
	struct task **tasks = queue_sorted(queue);
	struct queue *copy = queue_new();

	copy->now = queue->now;
	queue_reserve(copy, queue_count(queue));
	for (size_t i = 0; i < queue_count(queue); i++) {
		struct task *task = task_copy(tasks[i]);
		uint64_t at = task_at(task);

		if (tasks[i]->leased)
			queue_add_leased(copy, task, at);
		else if (tasks[i]->place == PLACE_DEAD)
			queue_add_dead(copy, task, at);
		else
			queue_add(copy, task, at);
	}
	memory_free(tasks);
	return copy;
}

/* Tasks */

static void admit(struct queue *queue, struct task *task)
{
	ids_add(&queue->ids, task);
	queue->task_bytes += memory_size(task);
}

void queue_add(struct queue *queue, struct task *task, uint64_t at)
{
	admit(queue, task);
	place(queue, task, at);
	if (!queue->wheel && queue_count(queue) > QUEUE_LARGE)
		rebuild(queue);
}

void queue_add_leased(struct queue *queue, struct task *task, uint64_t until)
{
	task->leased = true;
	queue_add(queue, task, until);
}

void queue_add_dead(struct queue *queue, struct task *task, uint64_t since)
{
	admit(queue, task);
	task->u.timer.deadline = since;
	make_dead(queue, task);
}

static void end_lease(struct task *task)
{
	task->leased = false;
	task->token = 0;
}

void queue_schedule(struct queue *queue, struct task *task, uint64_t at)
{
	unplace(queue, task);
	end_lease(task);
	place(queue, task, at);
}

void queue_lease(struct queue *queue, struct task *task, uint64_t until, uint64_t token)
{
	unplace(queue, task);
	task->leased = true;
	task->token = token;
	place(queue, task, until);
}

void queue_bury(struct queue *queue, struct task *task, uint64_t since)
{
	unplace(queue, task);
	end_lease(task);
	task->u.timer.deadline = since;
	make_dead(queue, task);
}

void queue_delete(struct queue *queue, struct task *task)
{
	unplace(queue, task);
	ids_remove(&queue->ids, task);
	queue->task_bytes -= memory_size(task);
	memory_free(task);
	if (queue->wheel && queue_count(queue) < SMALL)
		rebuild(queue);
}

/* Looking */

struct task *queue_first_due(struct queue *queue)
{
	struct task *ready, *late = heap_first(&queue->past);

	if (queue->wheel && !queue->ready.head)
		wheel_to_ready(queue, queue->now, 1);
	ready = queue->ready.head;
	if (!ready || (late && task_at(late) < task_at(ready)))
		return late;
	return ready;
}

void queue_count_delivery(struct queue *queue, const struct task *task)
{
	if (!queue->lateness)
		queue->lateness = memory_zeroed(sizeof(*queue->lateness));
	lateness_count(queue->lateness, queue->now - task_at(task));
}

static uint64_t heap_next(const struct heap *heap)
{
	return heap->count ? task_at(heap_first(heap)) : PAWL_NEVER;
}

static void note_far(struct task *task, void *arg)
{
	uint64_t *first = arg;

	if (task->place == PLACE_FAR)
		*first = earlier(*first, task_at(task));
}

/*
 * When the first task on the far wheel is due. A slot of level 0 opens just then. One of a coarser level, which
 * opens before its tasks are due, opens at a multiple of the slots: then all tasks are looked at, and the
 * answer holds until that task goes.
 */
static uint64_t far_next(struct queue *queue)
{
	uint64_t next = pawl_wheel_next(queue->far);

	if (next == PAWL_NEVER || next % FAR_SLOTS != 0)
		return next;
	if (queue->far_first == NOT_KNOWN) {
		queue->far_first = PAWL_NEVER;
		ids_each(&queue->ids, note_far, &queue->far_first);
	}
	return queue->far_first;
}

uint64_t queue_next(struct queue *queue)
{
	uint64_t next = earlier(heap_next(&queue->past), heap_next(&queue->early));

	if (queue->ready.head)
		next = earlier(next, task_at(queue->ready.head));
	if (!queue->wheel)
		return next;
	next = earlier(next,
	               pawl_wheel_next(queue->wheel)); /* exact: all of it is in slots of 1 ms */
	return pawl_wheel_next(queue->far) < next ? earlier(next, far_next(queue)) : next;
}

uint64_t queue_look_again(struct queue *queue)
{
	uint64_t next = heap_next(&queue->early), far;

	if (queue_first_due(queue))
		return queue->now;
	if (!queue->wheel)
		return next;
	next = earlier(next, pawl_wheel_next(queue->wheel));
	far = pawl_wheel_next(queue->far);
	if (far == PAWL_NEVER)
		return next;
	/* In time to bring them over step by step; but not now, since nothing is due. */
	far = far > queue->now + LEAD ? far - LEAD : queue->now + 1;
	return earlier(next, far);
}

struct counting {
	uint64_t now;
	size_t *counts;
};

static void count_task(struct task *task, void *arg)
{
	struct counting *counting = arg;

	counting->counts[task_state(task, counting->now)]++;
}

/* A task that was counted when it was not due yet. */
static void recount(const struct task *task, const struct counting *counting)
{
	if (task_at(task) > counting->now)
		return;
	counting->counts[task->leased ? STATE_LEASED : STATE_WAITING]--;
	counting->counts[task_state(task, counting->now)]++;
}

/* The wheel lists its tasks in the order in which they are due, since all are on one level. */
static bool recount_timer(struct pawl_timer *timer, void *arg)
{
	recount(task_of(timer), arg);
	return timer->deadline <= ((struct counting *)arg)->now;
}

static void recount_heap(const struct heap *heap, size_t index, const struct counting *counting)
{
	if (index >= heap->count || task_at(heap->tasks[index]) > counting->now)
		return;
	recount(heap->tasks[index], counting);
	for (size_t child = 1; child <= HEAP_ARITY; child++)
		recount_heap(heap, index * HEAP_ARITY + child, counting);
}

/* What has been looked at is counted; what fell due since then is looked at here, and stays where it is. */
static void count_since(const struct queue *queue, struct counting *counting)
{
	size_t *counts = counting->counts;

	counts[STATE_DUE] = queue->ready.count + queue->past.count;
	counts[STATE_LEASED] = queue->leased;
	counts[STATE_DEAD] = queue->dead.count;
	counts[STATE_WAITING] =
	        queue_count(queue) - counts[STATE_DUE] - counts[STATE_LEASED] - counts[STATE_DEAD];
	recount_heap(&queue->early, 0, counting);
	recount_heap(&queue->dying, 0, counting);
	if (queue->wheel)
		pawl_wheel_each(queue->wheel, recount_timer, counting);
}

/*
 * Whether to look at what fell due since the last queue_sync is not enough, as the clock was set back and any
 * task may have another state; or not possible, as some of it is on the far wheel; or no quicker.
 */
static bool all_must_be_counted(const struct queue *queue, uint64_t now)
{
	if (now < queue->now)
		return true;
	return queue->wheel && (pawl_wheel_next(queue->far) <= now ||
	                        pawl_wheel_count(queue->wheel) > queue_count(queue) / 8);
}

void queue_counts(const struct queue *queue, uint64_t now, size_t counts[STATES])
{
	struct counting counting = {now, counts};

	memset(counts, 0, STATES * sizeof(*counts));
	if (all_must_be_counted(queue, now))
		ids_each(&queue->ids, count_task, &counting);
	else
		count_since(queue, &counting);
}

/* All of it */

static size_t append_list(struct sort_item *items, size_t n, const struct task_list *list)
{
	for (struct task *task = list->head; task; task = task->u.list.next)
		items[n++] = (struct sort_item){task_at(task), task};
	return n;
}

static size_t append_heap(struct sort_item *items, size_t n, const struct heap *heap)
{
	for (size_t i = 0; i < heap->count; i++)
		items[n + i] = (struct sort_item){heap->tasks[i]->u.heap.sequence, heap->tasks[i]};
	sort_stable(items + n, heap->count); /* by arrival... */
	for (size_t i = 0; i < heap->count; i++)
		items[n + i].key = task_at(items[n + i].task); /* ...and then as the others */
	return n + heap->count;
}

struct appending {
	struct sort_item *items;
	size_t n;
};

static bool append_timer(struct pawl_timer *timer, void *arg)
{
	struct appending *to = arg;

	to->items[to->n++] = (struct sort_item){timer->deadline, task_of(timer)};
	return true;
}

/*
 * In the order of arrival among tasks that are due at the same time: the ready ones were on the wheel
 * first, the wheel lists them with the coarse levels first, where whatever came earlier is; and what
 * is in the heaps came when the wheel had passed that time.
 */
static void append_all(struct sort_item *items, const struct queue *queue)
{
	struct appending to = {items, append_list(items, 0, &queue->ready)};
	size_t n;

	if (queue->wheel) {
		pawl_wheel_each(queue->wheel, append_timer, &to);
		pawl_wheel_each(queue->far, append_timer, &to);
	}
	n = append_heap(items, to.n, &queue->past);
	n = append_heap(items, n, &queue->early);
	n = append_heap(items, n, &queue->dying);
	append_list(items, n, &queue->dead);
}

struct task **queue_sorted(const struct queue *queue)
{
	size_t count = queue_count(queue);
	struct sort_item *items;
	struct task **tasks;

	if (count == 0)
		return NULL;
	items = memory_new(count * sizeof(*items));
	tasks = memory_new(count * sizeof(struct task *));
	append_all(items, queue);
	sort_stable(items, count);
	for (size_t i = 0; i < count; i++)
		tasks[i] = items[i].task;
	memory_free(items);
	return tasks;
}

size_t queue_memory(const struct queue *queue)
{
	return memory_size((void *)(uintptr_t)queue) + memory_size(queue->wheel) +
	       memory_size(queue->far) + memory_size(queue->past.tasks) +
	       memory_size(queue->early.tasks) + memory_size(queue->dying.tasks) +
	       memory_size(queue->lateness) + ids_memory(&queue->ids) + queue->task_bytes;
}

static bool heap_orderly(const struct heap *heap, enum task_place place)
{
	for (size_t i = 0; i < heap->count; i++) {
		const struct task *task = heap->tasks[i];

		if (task->place != place || task->u.heap.index != i ||
		    task_at(heap->tasks[i ? (i - 1) / HEAP_ARITY : 0]) > task_at(task))
			return false;
	}
	return true;
}

const char *queue_check(const struct queue *queue)
{
	size_t on_wheels = 0;

	if (queue->wheel) {
		if (pawl_wheel_check(queue->wheel) || pawl_wheel_check(queue->far))
			return "the wheels are sound";
		on_wheels = pawl_wheel_count(queue->wheel) + pawl_wheel_count(queue->far);
	}
	if (queue->wheel && (pawl_wheel_now(queue->wheel) > queue->now || queue->early.count > 0))
		return "the wheel is not ahead of the clock";
	if (queue->wheel && pawl_wheel_now(queue->far) > pawl_wheel_now(queue->wheel) + LEAD)
		return "the far wheel is not too far ahead";
	if (on_wheels + queue->ready.count + queue->dead.count + queue->past.count +
	            queue->early.count + queue->dying.count !=
	    queue_count(queue))
		return "every task is in one place";
	if (!heap_orderly(&queue->past, PLACE_PAST) || !heap_orderly(&queue->early, PLACE_EARLY) ||
	    !heap_orderly(&queue->dying, PLACE_DYING))
		return "heaps are ordered";
	for (struct task *task = queue->ready.head; task; task = task->u.list.next)
		if (task->u.list.next && task_at(task->u.list.next) < task_at(task))
			return "ready tasks are ordered";
	return NULL;
}
