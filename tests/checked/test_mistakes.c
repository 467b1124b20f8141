/* SPDX-License-Identifier: MIT */
/*
 * Typical mistakes, and the answer of each build. The program is linked twice, with the release library and with the
 * checked one. An answer is a value that the call returns, or a sentence before abort(). A release does not answer
 * every mistake: where its behaviour is undefined, nothing is tried.
 *
 * Memory that a mistake frees or leaves is overwritten here by hand, as its next user would: so the test does not depend
 * on malloc.
 */
#define _GNU_SOURCE
#include "../support/last_words.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <pawl/adapter.h>
#include <pawl/pawl.h>
#include <pthread.h>

#ifdef PAWL_CHECKED
#include "../../src/base/assert.h"
#define CHECKED_BUILD true
#else
#define CHECKED_BUILD false
#endif

enum { TAG = 0x41 };

static _Alignas(max_align_t) char wheels[3][64 * 1024];
static struct pawl_timer timers[3];
static struct pawl_task task;
static struct pawl_service *service;
static struct pawl_clock_manual manual_clock;
static struct pawl_purgatory *purgatory, *other_purgatory;
static struct pawl_op op;
static struct pawl_key key;
static struct pawl_loop *loop;
static struct pawl_loop_timer loop_timer;
static struct pawl_store *store;

static struct pawl_wheel *new_wheel(unsigned number)
{
	return pawl_wheel_init(wheels[number], sizeof(wheels[number]), NULL);
}

/* With timers 0, 1 and 2 for 300, which wait on level 1. */
static struct pawl_wheel *full_wheel(void)
{
	struct pawl_wheel *wheel = new_wheel(0);

	for (unsigned i = 0; i < 3; i++) {
		timers[i] = (struct pawl_timer){0};
		pawl_wheel_arm_at(wheel, &timers[i], 300);
	}
	return wheel;
}

static void nothing(struct pawl_task *ran)
{
	(void)ran;
}

static int open_service(unsigned workers)
{
	const struct pawl_service_options options = {
	        .name = "jobs", .workers = workers, .clock = &manual_clock.clock};

	pawl_clock_manual_init(&manual_clock);
	pawl_task_init(&task, nothing);
	return pawl_service_open(&service, &options);
}

static void arm_task(unsigned workers)
{
	open_service(workers);
	pawl_service_arm(service, &task, PAWL_MS);
}

static bool no(struct pawl_op *asked)
{
	(void)asked;
	return false;
}

static void done(struct pawl_op *ended)
{
	(void)ended;
}

static const struct pawl_op_type type = {no, done, NULL, NULL, done};

static void open_purgatory(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	if (pawl_purgatory_open(&purgatory, service, NULL) != 0 ||
	    pawl_purgatory_open(&other_purgatory, service, NULL) != 0)
		exit(2);
	pawl_op_init(&op, &type);
	key = pawl_purgatory_key(purgatory, "key", 3);
}

static int watch(uint64_t timeout_ns)
{
	return pawl_purgatory_try_or_watch(purgatory, &op, &key, 1, timeout_ns);
}

static uint64_t loop_now(void *self)
{
	(void)self;
	return 0;
}

static void loop_set_timer(void *self, uint64_t wake_ns)
{
	(void)self;
	(void)wake_ns;
}

static void loop_release(void *self)
{
	(void)self;
}

static void loop_due(struct pawl_loop_timer *timer, void *arg)
{
	(void)timer;
	(void)arg;
}

static void open_loop(pawl_loop_due_fn *due)
{
	static const struct pawl_loop_adapter adapter = {
	        .now = loop_now, .set_timer = loop_set_timer, .release = loop_release};
	const struct pawl_loop_options options = {.due = due};

	if (pawl_loop_open(&loop, &adapter, NULL, &options) != 0)
		exit(2);
	loop_timer = (struct pawl_loop_timer){0};
}

/* The wheel. */

static int arm_garbage(void)
{
	memset(&timers[0], TAG, sizeof(timers[0]));
	return pawl_wheel_arm_at(new_wheel(0), &timers[0], 10);
}

static int reuse_then_advance(void)
{
	struct pawl_wheel *wheel = full_wheel();

	memset(&timers[1], TAG, sizeof(timers[1]));
	return (int)pawl_wheel_advance(wheel, 300, 0);
}

static int reuse_due_then_pop(void)
{
	struct pawl_wheel *wheel = full_wheel();

	pawl_wheel_advance(wheel, 300, 0);
	memset(&timers[0], TAG, sizeof(timers[0]));
	return pawl_wheel_pop(wheel) != NULL;
}

static int zero_then_arm(void)
{
	struct pawl_wheel *wheel = full_wheel();

	timers[1] = (struct pawl_timer){0};
	return pawl_wheel_arm_at(wheel, &timers[1], 10);
}

static int reuse_then_cancel_neighbour(void)
{
	struct pawl_wheel *wheel = full_wheel();

	memset(&timers[1], TAG, sizeof(timers[1]));
	return pawl_wheel_cancel(wheel, &timers[0]);
}

static int write_deadline(void)
{
	struct pawl_wheel *wheel = full_wheel();

	timers[2].deadline = 10;
	return pawl_wheel_touch_at(wheel, &timers[2], 400);
}

static int arm_on_second_wheel(void)
{
	full_wheel();
	return pawl_wheel_arm_at(new_wheel(1), &timers[0], 10);
}

static int cancel_on_second_wheel(void)
{
	full_wheel();
	return pawl_wheel_cancel(new_wheel(1), &timers[0]);
}

static int cancel_copy(void)
{
	struct pawl_wheel *wheel = full_wheel();
	struct pawl_timer copy = timers[1];

	return pawl_wheel_cancel(wheel, &copy);
}

static int move_array(void)
{
	struct pawl_wheel *wheel = full_wheel();
	struct pawl_timer moved[3];

	memcpy(moved, timers, sizeof(moved));
	memset(timers, TAG, sizeof(timers));
	return (int)pawl_wheel_advance(wheel, 300, 0);
}

static int arm_idle_armed(void)
{
	return pawl_wheel_arm_idle_at(full_wheel(), &timers[0], 10);
}

static void *arm_on_thread(void *wheel)
{
	pawl_wheel_arm_at(wheel, &timers[0], 10);
	return NULL;
}

static bool use_on_second_thread(struct pawl_timer *timer, void *wheel)
{
	pthread_t thread;

	(void)timer;
	return pthread_create(&thread, NULL, arm_on_thread, wheel) == 0 &&
	       pthread_join(thread, NULL);
}

static int use_on_two_threads(void)
{
	struct pawl_wheel *wheel = full_wheel();

	pawl_wheel_each(wheel, use_on_second_thread, wheel);
	return 0;
}

static int use_no_wheel(void)
{
	struct pawl_wheel *wheel = pawl_wheel_init(wheels[0], 10, NULL); /* too small: NULL */

	return pawl_wheel_arm_at(wheel, &timers[0], 10);
}

static int copy_wheel(void)
{
	full_wheel();
	memcpy(wheels[2], wheels[0], sizeof(wheels[2]));
	return (int)pawl_wheel_advance((struct pawl_wheel *)(void *)wheels[2], 10, 0);
}

/* The service. */

static int arm_garbage_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	memset(&task, TAG, sizeof(task));
	return pawl_service_arm(service, &task, 0);
}

static int arm_zeroed_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	memset(&task, 0, sizeof(task));
	return pawl_service_arm(service, &task, 0);
}

static int reuse_task(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	memset(&task, TAG, sizeof(task));
	return pawl_clock_manual_run(&manual_clock, service, PAWL_MS);
}

static int reuse_task_of_thread(void)
{
	arm_task(1);
	memset(&task, TAG, sizeof(task));
	pawl_clock_manual_advance(&manual_clock, PAWL_MS);
	return pause(); /* until the worker ends the program */
}

static int reuse_task_then_close(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	memset(&task, TAG, sizeof(task));
	pawl_service_close(service, NULL);
	return 0;
}

static __attribute__((noinline)) void leave_scope(void)
{
	struct pawl_task local;

	pawl_task_init(&local, nothing);
	pawl_service_arm(service, &local, PAWL_MS);
}

static __attribute__((noinline)) void use_stack(void)
{
	volatile char used[4096];

	for (size_t i = 0; i < sizeof(used); i++)
		used[i] = TAG;
}

static int leave_scope_of_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	leave_scope();
	use_stack();
	return pawl_clock_manual_run(&manual_clock, service, PAWL_MS);
}

static int init_pending(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	pawl_task_init(&task, nothing);
	return 0;
}

static int assign_pending(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	task = (struct pawl_task)PAWL_TASK_INIT(nothing);
	return pawl_service_arm(service, &task, PAWL_MS);
}

static int copy_task(void)
{
	struct pawl_task copy;

	arm_task(PAWL_SERVICE_MANUAL);
	copy = task;
	return (int)pawl_service_cancel(service, &copy);
}

static int arm_negative(void)
{
	int ms = -5;

	open_service(PAWL_SERVICE_MANUAL);
	return pawl_service_arm(service, &task, (uint64_t)ms * PAWL_MS);
}

static int arm_negative_period(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	return pawl_service_arm_every(service, &task, 0, (uint64_t)-1000, PAWL_SERVICE_SKIP);
}

static int arm_no_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	return pawl_service_arm(service, NULL, PAWL_MS);
}

static int cancel_no_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	return (int)pawl_service_cancel(service, NULL);
}

/* pawl_zone_load takes NULL for the machine's own zone; a schedule takes a loaded zone. */
static int arm_without_zone(void)
{
	static struct pawl_schedule schedule = PAWL_SCHEDULE_INIT(nothing);
	struct pawl_calendar_rule rule;

	open_service(PAWL_SERVICE_MANUAL);
	if (pawl_calendar_parse(&rule, "@daily", NULL) != 0)
		exit(2);
	return pawl_schedule_arm(service, &schedule, &rule, NULL);
}

static int use_closed_service(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	pawl_service_close(service, NULL);
	return pawl_service_arm(service, &task, PAWL_MS);
}

static int close_service_twice(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	pawl_service_close(service, NULL);
	pawl_service_close(service, NULL);
	return 0;
}

static void close_own_service(struct pawl_task *ran)
{
	(void)ran;
	pawl_service_close(service, NULL);
}

static int close_in_task(void)
{
	open_service(PAWL_SERVICE_MANUAL);
	pawl_task_init(&task, close_own_service);
	pawl_service_arm(service, &task, PAWL_MS);
	return pawl_clock_manual_run(&manual_clock, service, PAWL_MS);
}

static int close_before_purgatory(void)
{
	open_purgatory();
	pawl_service_close(service, NULL);
	return 0;
}

static struct pawl_service *other_service(void)
{
	struct pawl_service *other;

	if (pawl_service_open(&other, NULL) != 0)
		exit(2);
	return other;
}

static int arm_in_two_services(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	return pawl_service_arm(other_service(), &task, PAWL_MS);
}

static int cancel_in_other_service(void)
{
	arm_task(PAWL_SERVICE_MANUAL);
	return (int)pawl_service_cancel(other_service(), &task);
}

static int share_clock(void)
{
	const struct pawl_service_options options = {.clock = &manual_clock.clock};
	struct pawl_service *other;

	open_service(PAWL_SERVICE_MANUAL);
	return pawl_service_open(&other, &options);
}

static int use_zeroed_clock(void)
{
	static struct pawl_clock_manual zeroed;
	const struct pawl_service_options options = {.clock = &zeroed.clock};

	return pawl_service_open(&service, &options);
}

/* The purgatory. */

static int check_foreign_key(void)
{
	open_purgatory();
	return (int)pawl_purgatory_check(other_purgatory, key);
}

static int cancel_foreign_key(void)
{
	open_purgatory();
	return (int)pawl_purgatory_cancel_key(other_purgatory, key, NULL);
}

static int watch_foreign_key(void)
{
	open_purgatory();
	return pawl_purgatory_try_or_watch(other_purgatory, &op, &key, 1, PAWL_NEVER);
}

static int watch_twice(void)
{
	open_purgatory();
	watch(PAWL_HOUR);
	return watch(PAWL_HOUR);
}

static int init_waiting(void)
{
	open_purgatory();
	watch(PAWL_NEVER);
	pawl_op_init(&op, &type);
	return 0;
}

static int reuse_waiting_then_check(void)
{
	open_purgatory();
	watch(PAWL_NEVER);
	memset(&op, TAG, sizeof(op));
	return (int)pawl_purgatory_check(purgatory, key);
}

static int reuse_waiting_then_check_fifth_key(void)
{
	struct pawl_key keys[PAWL_OP_WATCHES + 1];

	open_purgatory();
	for (size_t i = 0; i < PAWL_OP_WATCHES + 1; i++)
		keys[i] = pawl_purgatory_key(purgatory, &i, sizeof(i));
	EXPECT_EQ(
	        pawl_purgatory_try_or_watch(purgatory, &op, keys, PAWL_OP_WATCHES + 1, PAWL_NEVER),
	        0);
	memset(&op, TAG, sizeof(op));
	return (int)pawl_purgatory_check(purgatory, keys[PAWL_OP_WATCHES]);
}

static int complete_copy(void)
{
	struct pawl_op copy;

	open_purgatory();
	watch(PAWL_HOUR);
	copy = op;
	return pawl_op_complete(&copy);
}

static int reuse_waiting_until_deadline(void)
{
	open_purgatory();
	watch(PAWL_MS);
	memset(&op, TAG, sizeof(op));
	return pawl_clock_manual_run(&manual_clock, service, PAWL_MS);
}

static int reuse_waiting_then_close(void)
{
	open_purgatory();
	watch(PAWL_NEVER);
	memset(&op, TAG, sizeof(op));
	pawl_purgatory_close(purgatory);
	return 0;
}

static int wait_negative(void)
{
	open_purgatory();
	return watch((uint64_t)-1000);
}

static int unref_without_ref(void)
{
	open_purgatory();
	watch(PAWL_HOUR);
	pawl_op_unref(&op);
	return 0;
}

static int watch_no_op(void)
{
	open_purgatory();
	return pawl_purgatory_try_or_watch(purgatory, NULL, &key, 1, PAWL_MS);
}

static int use_closed_purgatory(void)
{
	open_purgatory();
	pawl_purgatory_close(purgatory);
	return (int)pawl_purgatory_check(purgatory, key);
}

static void stop_own_purgatory(struct pawl_op *dropped)
{
	(void)dropped;
	pawl_purgatory_stop(purgatory);
}

static int stop_in_own_function(void)
{
	static const struct pawl_op_type stops = {no, done, NULL, stop_own_purgatory, done};

	open_purgatory();
	pawl_op_init(&op, &stops);
	watch(PAWL_NEVER);
	pawl_purgatory_stop(purgatory);
	return 0;
}

/* The loop. */

static int reuse_loop_timer(void)
{
	open_loop(loop_due);
	pawl_loop_arm(loop, &loop_timer, PAWL_MS);
	memset(&loop_timer, TAG, sizeof(loop_timer));
	return (int)pawl_loop_pass_at(loop, PAWL_SECOND);
}

static int arm_loop_negative(void)
{
	open_loop(loop_due);
	pawl_loop_arm(loop, &loop_timer, (uint64_t)-1000);
	return 0;
}

static int arm_no_loop_timer(void)
{
	open_loop(loop_due);
	pawl_loop_arm(loop, NULL, PAWL_MS);
	return 0;
}

static int use_closed_loop(void)
{
	open_loop(loop_due);
	pawl_loop_close(loop, NULL);
	pawl_loop_arm(loop, &loop_timer, PAWL_MS);
	return 0;
}

static void close_and_arm(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	pawl_loop_close(loop, NULL);
	pawl_loop_arm(loop, timer, PAWL_MS);
}

static int arm_in_closed_loop(void)
{
	open_loop(close_and_arm);
	pawl_loop_arm(loop, &loop_timer, 0);
	return (int)pawl_loop_pass_at(loop, PAWL_SECOND);
}

/* The store. */

/* Its files are removed: the mistake ends the program. */
static void open_and_close_store(void)
{
	char directory[] = "/tmp/pawl-mistakes-XXXXXX";
	const struct pawl_store_options options = {.manual = true, .log_size = 256 * 1024};
	const struct dirent *entry;
	DIR *files;

	if (!mkdtemp(directory) || pawl_store_open(&store, directory, &options) != 0)
		exit(2);
	pawl_store_close(store);
	files = opendir(directory);
	while (files && (entry = readdir(files)) != NULL)
		unlinkat(dirfd(files), entry->d_name, 0);
	closedir(files);
	rmdir(directory);
}

static int use_closed_store(void)
{
	open_and_close_store();
	return pawl_store_put(store, "mail", 0, NULL, 0, NULL);
}

static int close_store_twice(void)
{
	open_and_close_store();
	pawl_store_close(store);
	return 0;
}

/* Of sentences: `*` stands for an address. */
#define TIMER_OVERWRITTEN                                              \
	"timer * was overwritten while it was armed on wheel *: call " \
	"pawl_wheel_cancel before a timer's memory is freed, moved or reused"
#define TASK_OVERWRITTEN                                                         \
	"task * was overwritten while it was pending in service \"jobs\": call " \
	"pawl_service_cancel_wait before a task's memory is freed, moved or reused"
#define OP_OVERWRITTEN                                                         \
	"operation * was overwritten while it was waiting in purgatory *: an " \
	"operation's memory is yours again when its release is called"
#define ON_ANOTHER_WHEEL "timer * is armed on wheel *: pawl_wheel_cancel it there first"
#define NOT_A_WHEEL                                                                  \
	"* is not a wheel: check the result of pawl_wheel_init, and do not copy or " \
	"move a wheel"
#define FOREIGN_KEY \
	"the key is not of purgatory *: make it by pawl_purgatory_key of the same purgatory"
#define NEGATIVE "a delay is at most 2^63-1 ns, or PAWL_NEVER"
#define CLOSES_IN_TASK                                                                     \
	"pawl_service_close: it was called in a task of the same service, and would wait " \
	"for itself: call it on another thread, or after the task"
#define CLOSES_EARLY "pawl_service_close: a purgatory of the service is open: close that first"
#define STOPS_INSIDE                                                                          \
	"pawl_purgatory_stop: it was called in a function that a deadline, stop or the live " \
	"view of the same purgatory has called, and would wait for itself: call it on "       \
	"another thread"

struct mistake {
	const char *name;
	int (*make)(void);
	const char *release, *checked; /* the sentence, or RETURNS; NULL: it is not answered */
	int value;                     /* if RETURNS */
};

static const char RETURNS[] = "returns";

static const struct mistake mistakes[] = {
        {"a timer that was not initialised is armed", arm_garbage,
         .checked = "pawl_wheel_arm_at: timer * was not initialised: zero it (PAWL_TIMER_INIT) "
                    "before its first use, and when its wheel is gone"},
        {"a timer is freed while it is armed, and its slot opens", reuse_then_advance,
         .checked = "pawl_wheel_advance: " TIMER_OVERWRITTEN},
        {"a timer is freed while it is due, and is popped", reuse_due_then_pop,
         .checked = "pawl_wheel_pop: " TIMER_OVERWRITTEN},
        {"a timer is freed while it is armed, and a neighbour is cancelled",
         reuse_then_cancel_neighbour, .checked = "pawl_wheel_cancel: " TIMER_OVERWRITTEN},
        {"an armed timer is zeroed and armed again", zero_then_arm,
         .checked = "pawl_wheel_arm_at: " TIMER_OVERWRITTEN},
        {"the deadline of an armed timer is written", write_deadline,
         .checked = "pawl_wheel_touch_at: " TIMER_OVERWRITTEN},
        {"a timer is armed on a second wheel", arm_on_second_wheel,
         .checked = "pawl_wheel_arm_at: " ON_ANOTHER_WHEEL},
        {"a timer is cancelled on another wheel than its own", cancel_on_second_wheel,
         .checked = "pawl_wheel_cancel: " ON_ANOTHER_WHEEL},
        {"a copy of an armed timer is cancelled", cancel_copy,
         .checked = "pawl_wheel_cancel: timer * is a copy of one that was armed: do not copy or "
                    "move one while it is armed"},
        {"an array of armed timers is moved by realloc", move_array,
         .checked = "pawl_wheel_advance: " TIMER_OVERWRITTEN},
        {"an armed timer is armed as an idle one", arm_idle_armed,
         .checked = "pawl_wheel_arm_idle_at: timer * is armed on this wheel: arm it by "
                    "pawl_wheel_arm_at, or cancel it first"},
        {"two threads use a wheel at once", use_on_two_threads,
         .checked = "pawl_wheel_arm_at: wheel * is in use by another thread, in pawl_wheel_each: "
                    "one thread at a time uses a wheel: guard it by a lock, or use a service"},
        {"the NULL of a failed init is used as a wheel", use_no_wheel,
         .checked = "pawl_wheel_arm_at: " NOT_A_WHEEL},
        {"a wheel is copied", copy_wheel, .checked = "pawl_wheel_advance: " NOT_A_WHEEL},

        {"a task that was not initialised is armed", arm_garbage_task,
         .checked = "pawl_service_arm: task * was not initialised: initialise it by pawl_task_init "
                    "or PAWL_TASK_INIT"},
        {"a task that was zeroed is armed", arm_zeroed_task, .release = RETURNS, .checked = RETURNS,
         .value = -EINVAL},
        {"a task is freed while it is pending", reuse_task,
         .checked = "pawl_service_poll: " TASK_OVERWRITTEN},
        {"a task is freed while it is pending, and a thread comes to it", reuse_task_of_thread,
         .checked = "a worker: " TASK_OVERWRITTEN},
        {"a task is freed while it is pending, and the service is closed", reuse_task_then_close,
         .checked = "pawl_service_stop: " TASK_OVERWRITTEN},
        {"a task on the stack is pending when its function returns", leave_scope_of_task,
         .checked = "pawl_service_poll: " TASK_OVERWRITTEN},
        {"a pending task is initialised", init_pending,
         .checked = "pawl_task_init: task * is pending in service \"jobs\": "
                    "pawl_service_cancel_wait it first"},
        {"PAWL_TASK_INIT is assigned to a pending task", assign_pending,
         .checked = "pawl_service_arm: " TASK_OVERWRITTEN},
        {"a copy of a pending task is cancelled", copy_task,
         .checked = "pawl_service_cancel: task * is a copy of one that was pending: do not copy or "
                    "move one while it is pending"},
        {"a negative delay is cast to unsigned", arm_negative, .release = RETURNS,
         .checked = "pawl_service_arm: delay_ns 18446744073704551616 is the negative number "
                    "-5000000: " NEGATIVE},
        {"a negative period is cast to unsigned", arm_negative_period, .release = RETURNS,
         .checked = "pawl_service_arm_every: period_ns 18446744073709550616 is the negative number "
                    "-1000: " NEGATIVE},
        {"NULL is armed as a task", arm_no_task,
         .checked = "pawl_service_arm: the task is NULL: give it one"},
        {"NULL is cancelled as a task", cancel_no_task,
         .checked = "pawl_service_cancel: the task is NULL: give it one"},
        {"a schedule is armed without a zone", arm_without_zone,
         .checked = "pawl_schedule_arm: the zone is NULL: give it one"},
        {"a service is used after close", use_closed_service,
         .checked = "pawl_service_arm: service * is not open: it was closed, or pawl_service_open "
                    "failed"},
        {"a service is closed twice", close_service_twice,
         .checked = "pawl_service_close: service * is not open: it was closed, or "
                    "pawl_service_open failed"},
        {"a service is closed in one of its tasks", close_in_task, .release = CLOSES_IN_TASK,
         .checked = CLOSES_IN_TASK},
        {"a service is closed before its purgatory", close_before_purgatory,
         .release = CLOSES_EARLY, .checked = CLOSES_EARLY},
        {"a task that is pending in one service is armed in another", arm_in_two_services,
         .release = RETURNS, .checked = RETURNS, .value = -EBUSY},
        {"a task is cancelled in another service than its own", cancel_in_other_service,
         .release = RETURNS, .checked = RETURNS, .value = PAWL_SERVICE_IDLE},
        {"two services get one clock", share_clock, .release = RETURNS, .checked = RETURNS,
         .value = -EBUSY},
        {"a manual clock was not initialised", use_zeroed_clock, .release = RETURNS,
         .checked = RETURNS, .value = -EINVAL},

        {"a purgatory is checked by a key of another one", check_foreign_key, .release = RETURNS,
         .checked = "pawl_purgatory_check: " FOREIGN_KEY},
        {"operations are cancelled by a key of another purgatory", cancel_foreign_key,
         .release = RETURNS, .checked = "pawl_purgatory_cancel_key: " FOREIGN_KEY},
        {"an operation is watched under a key of another purgatory", watch_foreign_key,
         .release = RETURNS, .checked = RETURNS, .value = -EINVAL},
        {"an operation is submitted twice", watch_twice, .release = RETURNS, .checked = RETURNS,
         .value = -EBUSY},
        {"a waiting operation is initialised", init_waiting,
         .checked =
                 "pawl_op_init: operation * is waiting in purgatory *: wait for its release first"},
        {"a copy of a waiting operation is completed", complete_copy,
         .checked = "pawl_op_complete: operation * is a copy of one that was waiting: do not copy "
                    "or move one while it is waiting"},
        {"an operation is freed while it waits, and its key is checked", reuse_waiting_then_check,
         .checked = "pawl_purgatory_check: " OP_OVERWRITTEN},
        {"an operation is freed while it waits, and its fifth key is checked",
         reuse_waiting_then_check_fifth_key, .checked = "pawl_purgatory_check: " OP_OVERWRITTEN},
        {"an operation is freed while it waits, and its deadline passes",
         reuse_waiting_until_deadline, .checked = "pawl_service_poll: " OP_OVERWRITTEN},
        {"an operation is freed while it waits, and its purgatory is closed",
         reuse_waiting_then_close, .checked = "pawl_purgatory_stop: " OP_OVERWRITTEN},
        {"a negative timeout is cast to unsigned", wait_negative, .release = RETURNS,
         .checked = "pawl_purgatory_try_or_watch: timeout_ns 18446744073709550616 is the negative "
                    "number -1000: " NEGATIVE},
        {"a reference is given back that was not taken", unref_without_ref,
         .checked = "pawl_op_unref: operation * is waiting in purgatory *, which has its only "
                    "reference: call pawl_op_unref once for each pawl_op_ref"},
        {"NULL is submitted as an operation", watch_no_op,
         .checked = "pawl_purgatory_try_or_watch: the operation is NULL: give it one"},
        {"a purgatory is used after close", use_closed_purgatory,
         .checked = "pawl_purgatory_check: purgatory * is not open: it was closed, or "
                    "pawl_purgatory_open failed"},
        {"a purgatory is stopped in a function that its stop calls", stop_in_own_function,
         .release = STOPS_INSIDE, .checked = STOPS_INSIDE},

        {"a timer of a loop is freed while it is armed", reuse_loop_timer,
         .checked = "pawl_loop_pass_at: timer * was overwritten while it was armed in loop *: call "
                    "pawl_loop_cancel before a timer's memory is freed, moved or reused"},
        {"a negative delay is given to a loop", arm_loop_negative, .release = RETURNS,
         .checked = "pawl_loop_arm: delay_ns 18446744073709550616 is the negative number "
                    "-1000: " NEGATIVE},
        {"NULL is armed as a timer of a loop", arm_no_loop_timer,
         .checked = "pawl_loop_arm: the timer is NULL: give it one"},
        {"a loop is used after close", use_closed_loop,
         .checked = "pawl_loop_arm: loop * is not open: it was closed, or its open failed"},
        {"a due function closes its loop and arms a timer", arm_in_closed_loop,
         .checked = "pawl_loop_arm: loop * is closed, and will be released when its pass ends: arm "
                    "nothing after pawl_loop_close"},

        {"a store is used after close", use_closed_store,
         .checked =
                 "pawl_store_put: store * is not open: it was closed, or pawl_store_open failed"},
        {"a store is closed twice", close_store_twice,
         .checked = "pawl_store_close: store * is not open: it was closed, or pawl_store_open "
                    "failed"},
};

static void make(const void *mistake)
{
	((const struct mistake *)mistake)->make();
}

/* Also in a child: most mistakes leave something open. */
static bool returns_value(const struct mistake *mistake)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(mistake->make() == mistake->value ? 0 : 1);
	return waitpid(child, &status, 0) == child && status == 0;
}

static void expect_sentence(const struct mistake *mistake, const char *sentence)
{
	const char *words = last_words(make, mistake);
	char expected[1024];

	snprintf(expected, sizeof(expected), "pawl: %s\n", sentence);
	if (fnmatch(expected, words, FNM_NOESCAPE) == 0)
		return;
	fprintf(stderr, "expected %ssaid     %s\n", expected, words);
	test_failed();
}

static void expect_answer(const struct mistake *mistake)
{
	const char *answer = CHECKED_BUILD ? mistake->checked : mistake->release;

	if (!answer)
		printf("    not answered\n");
	else if (answer == RETURNS)
		EXPECT(returns_value(mistake));
	else
		expect_sentence(mistake, answer);
}

static void each_mistake_gets_its_answer(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		unsigned before = test_failures;

		printf("  %s\n", mistakes[i].name);
		fflush(stdout);
		expect_answer(&mistakes[i]);
		if (test_failures != before)
			fprintf(stderr, "  FAILED: %s\n", mistakes[i].name);
	}
}

/* The checked library leaves no mistake that is in the list without an answer. */
static void the_checked_library_answers_every_mistake(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		EXPECT(mistakes[i].checked);
}

#ifdef PAWL_CHECKED
static void the_overwritten_timer_is_named_not_its_neighbour(void)
{
	static const struct mistake mistake = {.make = reuse_then_cancel_neighbour};
	char named[64];

	snprintf(named, sizeof(named), ": timer %p was", (void *)&timers[1]);
	EXPECT(strstr(last_words(make, &mistake), named));
}

static void fail_an_assertion(const void *number)
{
	ASSERT(*(const int *)number == 2);
}

static void a_failed_assertion_names_its_place_and_its_condition(void)
{
	int number = 1;
	const char *words = last_words(fail_an_assertion, &number);

	EXPECT(strstr(words, "test_mistakes.c:"));
	EXPECT(strstr(words, "this does not hold: *(const int *)number == 2"));
}

/* By wheel.h: timers of a wheel that was discarded are zeroed before they are used again. */
static void timers_of_a_discarded_wheel_may_be_armed_again_when_zeroed(void)
{
	struct pawl_wheel *wheel = full_wheel(), *other;

	memset(wheel, TAG, sizeof(wheels[0]));
	memset(timers, 0, sizeof(timers));
	other = new_wheel(1);
	pawl_wheel_arm_at(other, &timers[0], 10);
	pawl_wheel_arm_idle_at(other, &timers[1], 10);
	pawl_wheel_cancel(other, &timers[2]);
	EXPECT_EQ(pawl_wheel_count(other), 2);
}

/* Nothing of these timers is zero, and none of them is on the wheel. */
static void a_wheel_made_where_another_was_knows_no_timer_of_that(void)
{
	struct pawl_wheel *wheel = full_wheel();

	wheel = new_wheel(0);
	pawl_wheel_arm_idle_at(wheel, &timers[0], 10);
	memset(&timers[1], TAG, sizeof(timers[1]));
	pawl_wheel_arm_idle_at(wheel, &timers[1], 10);
	pawl_wheel_advance(wheel, 10, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timers[0]);
	EXPECT(pawl_wheel_pop(wheel) == &timers[1]);
}

/* By wheel.h: arm_idle reads nothing of the timer. */
static void memory_of_a_popped_timer_may_be_used_before_arm_idle(void)
{
	struct pawl_wheel *wheel = full_wheel();

	pawl_wheel_advance(wheel, 300, 0);
	EXPECT(pawl_wheel_pop(wheel) == &timers[0]);
	memset(&timers[0], TAG, sizeof(timers[0]));
	EXPECT(pawl_wheel_arm_idle_at(wheel, &timers[0], 400));
}

static void memory_of_a_timer_on_a_discarded_wheel_may_become_a_task(void)
{
	static union {
		struct pawl_timer timer;
		struct pawl_task task;
	} memory;

	pawl_wheel_arm_at(new_wheel(0), &memory.timer, 10);
	EXPECT_EQ(open_service(PAWL_SERVICE_MANUAL), 0);
	pawl_task_init(&memory.task, nothing);
	EXPECT_EQ(pawl_service_arm(service, &memory.task, PAWL_MS), 0);
	pawl_service_close(service, NULL);
}
#endif

int main(void)
{
	static const struct test tests[] = {
	        TEST(each_mistake_gets_its_answer),
	        TEST(the_checked_library_answers_every_mistake),
#ifdef PAWL_CHECKED
	        TEST(the_overwritten_timer_is_named_not_its_neighbour),
	        TEST(a_failed_assertion_names_its_place_and_its_condition),
	        TEST(timers_of_a_discarded_wheel_may_be_armed_again_when_zeroed),
	        TEST(a_wheel_made_where_another_was_knows_no_timer_of_that),
	        TEST(memory_of_a_popped_timer_may_be_used_before_arm_idle),
	        TEST(memory_of_a_timer_on_a_discarded_wheel_may_become_a_task),
#endif
	};

	return RUN_TESTS(tests);
}
