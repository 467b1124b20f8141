// SPDX-License-Identifier: MIT
// The public headers serve C++ as well: they compile, the library links, a timer inside a class works.
#include "pawl/pawl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

struct request {
	int id;
	pawl_timer timeout;
};

bool count_one(pawl_timer *, void *arg)
{
	++*static_cast<int *>(arg);
	return true;
}

bool expect(bool holds, const char *what)
{
	if (!holds)
		std::fprintf(stderr, "expected %s\n", what);
	return holds;
}

bool a_timer_inside_a_class_is_due_on_time()
{
	pawl_wheel_options options = {};
	request one = {1, {}};
	pawl_wheel_place place = {};
	int seen = 0;

	options.wheel_size = 20;
	void *memory = std::malloc(pawl_wheel_footprint(&options));
	pawl_wheel *wheel = pawl_wheel_init(memory, pawl_wheel_footprint(&options), &options);
	bool good = expect(wheel != nullptr, "a wheel");

	good &= expect(pawl_wheel_arm_at(wheel, &one.timeout, 450), "450 to wait");
	good &= expect(pawl_wheel_get_place(wheel, &one.timeout, &place, sizeof(place)), "a place");
	good &= expect(place.level == 2 && place.slot == 1 && place.opens == 400, "its place");
	pawl_wheel_each(wheel, count_one, &seen);
	good &= expect(seen == 1, "one timer");
	pawl_wheel_advance(wheel, 449, 0);
	good &= expect(pawl_wheel_pop(wheel) == nullptr, "nothing due at 449");
	good &= expect(pawl_wheel_next(wheel) == 450, "next to be 450");
	pawl_wheel_advance(wheel, 450, 0);
	good &= expect(pawl_wheel_pop(wheel) == &one.timeout, "the timer at 450");
	good &= expect(pawl_wheel_next(wheel) == PAWL_NEVER, "nothing after it");
	good &= expect(pawl_wheel_check(wheel) == nullptr, "a sound wheel");
	std::free(memory);
	return good;
}

#if PAWL_VERSION_NUMBER < 1000 || PAWL_MS * 1000 != PAWL_SECOND
#error "the preprocessor cannot compare them"
#endif

bool the_library_has_the_version_of_its_header()
{
	int number = PAWL_VERSION_MAJOR * 1000000 + PAWL_VERSION_MINOR * 1000 + PAWL_VERSION_PATCH;
	bool good = expect(std::strcmp(pawl_version(), PAWL_VERSION) == 0, PAWL_VERSION);

	good &= expect(PAWL_VERSION_NUMBER == number, "the number of the parts");
	return expect(pawl_version_number() == number, "the library to have it, too") && good;
}

void run_nothing(pawl_task *)
{
}

pawl_task task_at_file_scope = PAWL_TASK_INIT(run_nothing);
const pawl_op_type type_without_functions = {};
pawl_op op_at_file_scope = PAWL_OP_INIT(&type_without_functions);

bool initialisers_and_container_of_serve_cxx()
{
	request one = {7, PAWL_TIMER_INIT};
	pawl_timer *timer = &one.timeout;
	bool good = expect(PAWL_CONTAINER_OF(timer, request, timeout)->id == 7, "its struct");

	good &= expect(pawl_timer_deadline(timer) == PAWL_NEVER, "an idle timer");
	good &= expect(task_at_file_scope.run == run_nothing, "a task's function");
	return expect(op_at_file_scope.type == &type_without_functions, "a type") && good;
}

} // namespace

int main()
{
	bool good = a_timer_inside_a_class_is_due_on_time();

	good &= the_library_has_the_version_of_its_header();
	good &= initialisers_and_container_of_serve_cxx();
	std::printf("C++ %ld: %s\n", static_cast<long>(__cplusplus),
	            good ? "3 tests, 0 failed" : "failed");
	return good ? 0 : 1;
}
