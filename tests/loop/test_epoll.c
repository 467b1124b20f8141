/* SPDX-License-Identifier: MIT */
/* The epoll adapter with the kernel's epoll, poll and timerfd. */
#define _GNU_SOURCE
#include <pawl/epoll.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "../suite.h"

struct loop {
	int epoll, socket;
	socket_fn *fn;
	void *arg;
	uint32_t events; /* how the adapter's descriptor is polled */
	struct pawl_epoll *adapter;
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

static void *loop_open(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->events = next_events;
	return loop;
}

static void loop_close(void *arg)
{
	struct loop *loop = arg;

	close(loop->epoll);
	free(loop);
}

static void add(struct loop *loop, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	EXPECT_EQ(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

static void add_socket(void *arg, int fd, socket_fn *fn, void *fn_arg)
{
	struct loop *loop = arg;

	loop->socket = fd;
	loop->fn = fn;
	loop->arg = fn_arg;
	add(loop, fd, EPOLLIN);
}

static void remove_socket(void *arg)
{
	struct loop *loop = arg;

	EXPECT_EQ(epoll_ctl(loop->epoll, EPOLL_CTL_DEL, loop->socket, NULL), 0);
	loop->fn = NULL;
}

static int open_adapter(void **adapter, void *arg, pawl_due_fn *due, void *due_arg,
                        const struct pawl_loop_options *options)
{
	struct loop *loop = arg;
	struct pawl_epoll *made = NULL;
	int error = pawl_epoll_open(&made, due, due_arg, options);

	if (error)
		return error;
	loop->adapter = made;
	add(loop, pawl_epoll_fd(made), loop->events);
	*adapter = made;
	return 0;
}

static void loop_once(void *arg)
{
	struct loop *loop = arg;
	struct epoll_event events[2];
	int count = epoll_wait(loop->epoll, events, 2, -1);

	for (int i = 0; i < count; i++)
		if (loop->fn && events[i].data.fd == loop->socket)
			loop->fn(loop->arg);
		else
			pawl_epoll_turn(loop->adapter);
}

static unsigned timers_of_loop(void *loop, void *adapter)
{
	struct itimerspec left;

	(void)loop;
	timerfd_gettime(pawl_epoll_fd(adapter), &left);
	return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

static size_t turn(void *adapter)
{
	return pawl_epoll_turn(adapter);
}

ADAPTER_CALLS(epoll)

static const struct adapter_calls epoll_calls = {.passes_between_polls = 1,
                                                 THE_CALLS,
                                                 .turn = turn,
                                                 .follows_sleep = true,
                                                 .settings = &settings};

static void edge_triggered_it_is_as_good(void)
{
	next_events = EPOLLIN | EPOLLET;
	each_timer_is_called_once_and_never_early();
	a_burst_does_not_starve_a_socket();
	an_earlier_timer_is_not_kept_waiting_by_a_later_one();
	next_events = EPOLLIN;
}

static void poll_takes_the_descriptor_too(void)
{
	struct pawl_timer timer = {0};
	struct pollfd polled = {.events = POLLIN};
	struct rig rig;

	rig_open(&rig, NULL);
	polled.fd = pawl_epoll_fd(rig.adapter);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	calls->arm(rig.adapter, &timer, 3 * MS);
	EXPECT_EQ(poll(&polled, 1, -1), 1);
	while (rig.called == 0)
		pawl_epoll_turn(rig.adapter);
	EXPECT_EQ(poll(&polled, 1, 0), 0);
	rig_close(&rig);
}

static void the_descriptor_is_closed_with_the_adapter(void)
{
	struct rig rig;
	int fd;

	rig_open(&rig, NULL);
	fd = pawl_epoll_fd(rig.adapter);
	EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	rig_close(&rig);
	EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

static void without_descriptors_open_leaves_nothing_behind(void)
{
	struct rlimit before, none;
	void *adapter = &before;
	struct rig rig;

	rig_open(&rig, NULL);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	EXPECT_EQ(calls->open(&adapter, rig.loop, on_due, NULL, NULL), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	EXPECT(adapter == &before);
	rig_close(&rig);
}

int main(void)
{
	static const struct test own[] = {
	        TEST(arming_for_later_is_no_system_call),
	        TEST(arming_what_is_due_is_one_system_call),
	        TEST(a_pass_is_one_system_call_whatever_it_arms),
	        TEST(edge_triggered_it_is_as_good),
	        TEST(poll_takes_the_descriptor_too),
	        TEST(a_pass_too_early_does_no_harm),
	        TEST(a_pass_inside_a_pass_does_nothing),
	        TEST(the_descriptor_is_closed_with_the_adapter),
	        TEST(without_descriptors_open_leaves_nothing_behind),
	};

	return suite_run(&epoll_calls, own, sizeof(own) / sizeof(own[0]));
}
