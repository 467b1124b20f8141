/* SPDX-License-Identifier: MIT */
/* The epoll adapter with the kernel's epoll, poll and timerfd. */
#define _GNU_SOURCE
#include <pawl/epoll.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "suite.h"

struct events {
	int epoll, socket;
	socket_fn *fn;
	void *arg;
	uint32_t how; /* the loop's descriptor is polled */
	struct pawl_loop *loop;
};

static uint32_t next_events = EPOLLIN;
static unsigned settings; /* of a timerfd */

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	settings++;
	return __real_timerfd_settime(fd, flags, new, old);
}

static void *open_events(void)
{
	struct events *events = calloc(1, sizeof(*events));

	events->epoll = epoll_create1(EPOLL_CLOEXEC);
	events->how = next_events;
	return events;
}

static void close_events(void *arg)
{
	struct events *events = arg;

	close(events->epoll);
	free(events);
}

static void add(struct events *events, int fd, uint32_t how)
{
	struct epoll_event event = {.events = how, .data.fd = fd};

	EXPECT_EQ(epoll_ctl(events->epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct events *events = arg;

	events->socket = fd;
	events->fn = fn;
	events->arg = fn_arg;
	add(events, fd, EPOLLIN);
}

static void remove_socket(void *arg)
{
	struct events *events = arg;

	EXPECT_EQ(epoll_ctl(events->epoll, EPOLL_CTL_DEL, events->socket, NULL), 0);
	events->fn = NULL;
}

static int open_loop(struct pawl_loop **loop, void *arg, const struct pawl_loop_options *options)
{
	struct events *events = arg;
	int error = pawl_epoll_open(loop, options);

	if (!error) {
		events->loop = *loop;
		add(events, pawl_epoll_fd(*loop), events->how);
	}
	return error;
}

static void run_once(void *arg)
{
	struct events *events = arg;
	struct epoll_event ready[2];
	int count = epoll_wait(events->epoll, ready, 2, -1);

	for (int i = 0; i < count; i++)
		if (events->fn && ready[i].data.fd == events->socket)
			events->fn(events->arg);
		else
			pawl_loop_pass(events->loop);
}

static unsigned timers_set(void *events, struct pawl_loop *loop)
{
	struct itimerspec left;

	(void)events;
	timerfd_gettime(pawl_epoll_fd(loop), &left);
	return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

static const struct loop_calls epoll_calls = {
        .passes_between_polls = 1, THE_CALLS, .follows_sleep = true, .settings = &settings};

static void edge_triggered_it_is_as_good(void)
{
	next_events = EPOLLIN | EPOLLET;
	each_timer_is_called_once_and_never_early();
	a_burst_does_not_starve_a_socket();
	an_earlier_timer_is_not_kept_waiting_by_a_later_one();
	next_events = EPOLLIN;
}

static void poll_also_takes_the_descriptor(void)
{
	struct pawl_loop_timer timer = {0};
	struct pollfd polled = {.events = POLLIN};
	struct rig rig;

	rig_open(&rig, NULL);
	polled.fd = pawl_epoll_fd(rig.loop);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	pawl_loop_arm(rig.loop, &timer, 3 * MS);
	EXPECT_EQ(poll(&polled, 1, -1), 1);
	while (rig.called == 0)
		pawl_loop_pass(rig.loop);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	rig_close(&rig);
}

static void the_descriptor_is_closed_with_the_loop(void)
{
	struct rig rig;
	int fd;

	rig_open(&rig, NULL);
	fd = pawl_epoll_fd(rig.loop);
	EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	rig_close(&rig);
	EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

static void without_descriptors_open_leaves_nothing_behind(void)
{
	const struct pawl_loop_options options = {.due = on_due};
	struct pawl_loop *loop = NULL;
	struct rlimit before, none;
	struct rig rig;

	rig_open(&rig, NULL);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	EXPECT_EQ(calls->open(&loop, rig.events, &options), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	EXPECT(loop == NULL);
	rig_close(&rig);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(arming_for_later_is_no_system_call),
	        TEST(arming_a_due_timer_is_one_system_call),
	        TEST(a_pass_is_one_system_call_whatever_it_arms),
	        TEST(edge_triggered_it_is_as_good),
	        TEST(poll_also_takes_the_descriptor),
	        TEST(the_descriptor_is_closed_with_the_loop),
	        TEST(without_descriptors_open_leaves_nothing_behind),
	};

	return suite_run(&epoll_calls, own, sizeof(own) / sizeof(own[0]));
}
