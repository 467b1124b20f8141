// SPDX-License-Identifier: MIT
// The public headers serve C++ as well: they compile, the library links, and a timer leads to its class, also to one
// with virtual functions. (examples/from-cpp.cpp runs timers.) The tests compile this with more warnings, all of them errors.
#include "pawl/pawl.h"

#include <cstdio>
#include <cstring>

namespace
{

struct request {
	int id;
	pawl_timer timeout;
};

bool expect(bool holds, const char *what)
{
	if (!holds)
		std::fprintf(stderr, "expected %s\n", what);
	return holds;
}

#if PAWL_VERSION_NUMBER < 1000 || PAWL_MS * 1000 != PAWL_SECOND
#error "the preprocessor cannot compare them"
#endif

bool the_library_has_the_version_of_its_header()
{
	int number = PAWL_VERSION_MAJOR * 1000000 + PAWL_VERSION_MINOR * 1000 + PAWL_VERSION_PATCH;
	bool good = expect(std::strcmp(pawl_version(), PAWL_VERSION) == 0, PAWL_VERSION);

	good &= expect(PAWL_VERSION_NUMBER == number, "the number of the parts");
	return expect(pawl_version_number() == number, "the library to have it as well") && good;
}

void run_nothing(pawl_task *)
{
}

void nothing_is_due(pawl_loop_timer *, void *)
{
}

pawl_task task_at_file_scope = PAWL_TASK_INIT(run_nothing);
const pawl_op_type type_without_functions = {};
pawl_op op_at_file_scope = PAWL_OP_INIT(&type_without_functions);
pawl_timer timer_at_file_scope = PAWL_TIMER_INIT;
pawl_loop_timer loop_timer_at_file_scope = PAWL_LOOP_TIMER_INIT(nothing_is_due);

bool initialisers_serve_cxx()
{
	pawl_op op = PAWL_OP_INIT(&type_without_functions), same;
	pawl_task task = PAWL_TASK_INIT(run_nothing), same_task;
	bool good = expect(task_at_file_scope.run == run_nothing, "a task's function");

	pawl_op_init(&same, &type_without_functions);
	pawl_task_init(&same_task, run_nothing);
	good &= expect(op.references == same.references && op.state == same.state, "a fresh op");
	good &= expect(task.run == same_task.run && task.home == same_task.home, "an idle task");
	good &= expect(pawl_timer_deadline(&timer_at_file_scope) == PAWL_NEVER, "an idle timer");
	good &= expect(loop_timer_at_file_scope.due == nothing_is_due, "a timer's function");
	return expect(op_at_file_scope.type == &type_without_functions, "a type") && good;
}

// In C++ an enum inside a struct would hide its names.
bool the_changes_of_a_store_have_verbs()
{
	pawl_store_change change = {};

	change.verb = PAWL_STORE_ACK;
	return expect(change.verb != PAWL_STORE_PUT, "another verb");
}

bool container_of_finds_a_struct()
{
	request one = {7, PAWL_TIMER_INIT};
	const pawl_timer *timer = &one.timeout;
	bool good = expect(PAWL_CONTAINER_OF(&one.timeout, request, timeout) == &one, "its struct");

	good &= expect(PAWL_CONTAINER_OF(timer, request, timeout)->id == 7,
	               "it by a const pointer");
	return expect(PAWL_CONTAINER_OF(timer, struct request, timeout) == &one, "it as in C") &&
	       good;
}

struct named {
	virtual ~named() {}
	virtual int id() const = 0;
	long before;
};

struct idle {
	virtual ~idle() {}
	pawl_timer inherited;
};

struct counted {
	virtual ~counted() {}
	int count;
};

// Virtual functions, two bases, a virtual base, a private member, and an alignment that its timers do not have.
class alignas(64) connection : public named, public idle, virtual public counted
{
public:
	explicit connection(int id) : id_(id), own(), hidden_()
	{
		before = 0;
		inherited = own;
		count = 0;
	}
	int id() const override { return id_; }
	pawl_timer *hidden() { return &hidden_; }
	static connection *of_hidden(pawl_timer *timer)
	{
		return PAWL_CONTAINER_OF(timer, connection, hidden_);
	}

private:
	int id_;

public:
	pawl_timer own;

private:
	pawl_timer hidden_;
};

template <class T> T *owner(pawl_timer *timer)
{
	return PAWL_CONTAINER_OF(timer, T, own);
}

bool container_of_finds_a_class_with_virtual_functions()
{
	connection one(7);
	pawl_timer *own = &one.own, *inherited = &one.inherited;
	bool good = expect(PAWL_CONTAINER_OF(own, connection, own) == &one, "its class");

	good &= expect(PAWL_CONTAINER_OF(own, connection, own)->id() == 7, "a virtual call");
	good &= expect(PAWL_CONTAINER_OF(inherited, connection, inherited) == &one, "it by a base");
	good &= expect(PAWL_CONTAINER_OF(inherited, idle, inherited) == &one, "the base itself");
	good &= expect(connection::of_hidden(one.hidden()) == &one, "it by a private member");
	return expect(owner<connection>(own) == &one, "it in a template") && good;
}

} // namespace

int main()
{
	bool good = the_library_has_the_version_of_its_header();

	good &= initialisers_serve_cxx();
	good &= the_changes_of_a_store_have_verbs();
	good &= container_of_finds_a_struct();
	good &= container_of_finds_a_class_with_virtual_functions();
	std::printf("C++ %ld: %s\n", static_cast<long>(__cplusplus),
	            good ? "5 tests, 0 failed" : "failed");
	return good ? 0 : 1;
}
