// SPDX-License-Identifier: MIT
// pawl from C++: handles that close themselves, delays of std::chrono, classes with a task, and a lambda as a task.
// Sessions end after half an hour without a request. The clock is a manual one, so nothing sleeps.
#include <pawl/pawl.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace
{

// A handle closes itself.
struct closer {
	void operator()(pawl_service *service) const { pawl_service_close(service, nullptr); }
	void operator()(pawl_purgatory *purgatory) const { pawl_purgatory_close(purgatory); }
	void operator()(pawl_loop *loop) const { pawl_loop_close(loop, nullptr); }
};

template <class T> using handle = std::unique_ptr<T, closer>;

// Calls any of the functions that open something, and makes an exception of an error.
template <class T, class... Parameters, class... Arguments>
handle<T> open(int (*function)(T **, Parameters...), Arguments... arguments)
{
	T *opened = nullptr;
	int error = function(&opened, arguments...);

	if (error != 0)
		throw std::system_error(-error, std::generic_category(), "cannot open");
	return handle<T>(opened);
}

// Delays have no sign in pawl: a negative one would be 584 years.
std::uint64_t ns(std::chrono::nanoseconds delay)
{
	return delay.count() > 0 ? static_cast<std::uint64_t>(delay.count()) : 0;
}

// The base of all that happens later. A pending task must stay in place, so this is neither copied nor moved.
class later
{
public:
	explicit later(pawl_service *service) : service_(service) {}
	later(const later &) = delete;
	later &operator=(const later &) = delete;
	virtual ~later() = default;

	void arm(std::chrono::nanoseconds delay)
	{
		int error = pawl_service_arm(service_, &task_, ns(delay));

		if (error != 0)
			throw std::system_error(-error, std::generic_category(), "cannot arm");
	}

protected:
	// For the destructor of the class that has `run`.
	void cancel() { pawl_service_cancel_wait(service_, &task_); }

private:
	virtual void run() = 0;

	// On a thread of the service. The caller is C, so no exception may leave this function.
	static void call(pawl_task *task) noexcept
	{
		try {
			PAWL_CONTAINER_OF(task, later, task_)->run();
		} catch (const std::exception &error) {
			std::printf("caught: %s\n", error.what());
		}
	}

	pawl_service *service_;
	pawl_task task_ = PAWL_TASK_INIT(call);
};

class session final : public later
{
public:
	session(pawl_service *service, std::string user) : later(service), user_(std::move(user)) {}
	// In ~later it would be too late: user_ would be gone.
	~session() override { cancel(); }

private:
	void run() override { std::printf("%s is logged out\n", user_.c_str()); }

	std::string user_;
};

class action final : public later
{
public:
	action(pawl_service *service, std::function<void()> function)
	    : later(service), function_(std::move(function))
	{
	}
	~action() override { cancel(); }

private:
	void run() override { function_(); }

	std::function<void()> function_;
};

void run(pawl_clock_manual &clock)
{
	using std::chrono::minutes;
	pawl_service_options options = {};

	options.clock = &clock.clock;
	handle<pawl_service> service = open(pawl_service_open, &options);
	handle<pawl_purgatory> purgatory = open(pawl_purgatory_open, service.get(), nullptr);
	session ann(service.get(), "Ann"), bob(service.get(), "Bob"), eve(service.get(), "Eve");
	action backup(service.get(), [] { throw std::runtime_error("the disk is full"); });
	action request(service.get(), [&ann] {
		std::printf("a request of Ann\n");
		ann.arm(minutes(30));
	});

	ann.arm(minutes(30));
	bob.arm(minutes(30));
	request.arm(minutes(20));
	backup.arm(minutes(40));
	eve.arm(minutes(90));
	pawl_clock_manual_run(&clock, service.get(), ns(minutes(60)));
	// Destructors, in reverse order: Eve's session is cancelled, then purgatory and service are closed.
}

} // namespace

int main()
{
	pawl_clock_manual clock;

	pawl_clock_manual_init(&clock);
	try {
		run(clock);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "from-cpp: %s\n", error.what());
		return 1;
	}
	return 0;
}
