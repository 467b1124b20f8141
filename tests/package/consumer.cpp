// SPDX-License-Identifier: MIT
// The same for C++17: every public header compiles, and the library links.
#ifdef PAWL_AMALGAMATION
#include "pawl.h"
#else
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

void count(pawl_loop_timer *, void *)
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
	pawl_loop_options loop_options{};
	pawl_loop *loop = nullptr;
	pawl_loop_timer timer{};

	loop_options.due = count;
	options.workers = PAWL_SERVICE_MANUAL;
	if (!wheel || pawl_service_open(&service, &options) != 0 ||
	    pawl_epoll_open(&loop, &loop_options) != 0)
		return 1;
	pawl_loop_arm_at(loop, &timer, 1);
	pawl_loop_pass(loop);
	pawl_loop_close(loop, nullptr);
	pawl_service_close(service, nullptr);
#ifdef WITH_LIBUV
	if (pawl_libuv_open(&loop, uv_default_loop(), nullptr) == 0)
		return 1;
#endif
#ifdef WITH_LIBEVENT
	event_base *base = event_base_new();
	if (pawl_libevent_open(&loop, base, nullptr) == 0)
		return 1;
	event_base_free(base);
#endif
	std::puts(calls == 1 ? "pawl " PAWL_VERSION " works" : "pawl does not work");
	return calls == 1 ? 0 : 1;
}
