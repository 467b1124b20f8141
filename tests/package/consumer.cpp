// SPDX-License-Identifier: MIT
// The same for C++17: every public header compiles, and the library links.
#ifdef PAWL_AMALGAMATION
#include "pawl.h"
#else
#include <pawl/epoll.h>
#include <pawl/pawl.h>
#endif
#include <cstdio>
#include <vector>

#ifdef WITH_LIBUV
#include <pawl/libuv.h>
#endif
#ifdef WITH_LIBEVENT
#include <pawl/libevent.h>
#endif

namespace
{

int calls;

void count(pawl_timer *, void *)
{
	calls++;
}

} // namespace

int main()
{
	static_assert(__cplusplus >= 201703L, "compile it as C++17");
	std::vector<char> memory(pawl_wheel_footprint(nullptr));
	pawl_wheel *wheel = pawl_wheel_init(memory.data(), memory.size(), nullptr);
	pawl_service *service = nullptr;
	pawl_service_options options{};
	pawl_epoll *timers = nullptr;
	pawl_timer timer{};

	options.workers = PAWL_MANUAL;
	if (!wheel || pawl_service_open(&service, &options) != 0 ||
	    pawl_epoll_open(&timers, count, nullptr, nullptr) != 0)
		return 1;
	pawl_epoll_arm_at(timers, &timer, 1);
	pawl_epoll_turn(timers);
	pawl_epoll_close(timers, nullptr);
	pawl_service_close(service, nullptr);
#ifdef WITH_LIBUV
	pawl_libuv_close(nullptr, nullptr);
#endif
#ifdef WITH_LIBEVENT
	pawl_libevent_close(nullptr, nullptr);
#endif
	std::puts(calls == 1 ? "pawl " PAWL_VERSION " works" : "pawl does not work");
	return calls == 1 ? 0 : 1;
}
