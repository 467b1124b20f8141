/* SPDX-License-Identifier: MIT */
/*
 * Fibers: stacks that take turns on one thread of the system. A fiber is begun by swapcontext, and from then on
 * continued by siglongjmp, which needs no system call.
 *
 * Fibers share the thread-local variables of the one thread that they run on. So at each switch the program's are
 * copied out for the one, and in for the other.
 */
#undef _FORTIFY_SOURCE /* it refuses a longjmp to another stack */
#include "explorer.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <ucontext.h>

struct variables {
	char *begin, *first_values;
	size_t size;
};

/* Those of the program itself, which is the first object that dl_iterate_phdr shows. */
static int find_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct variables *variables = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS) {
			variables->begin = info->dlpi_tls_data;
			variables->size = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static struct variables variables; /* set once, before the program's variables are saved */

void fibers_init(void)
{
	dl_iterate_phdr(find_variables, &variables);
	variables.first_values = malloc(variables.size + 1);
	memcpy(variables.first_values, variables.begin, variables.size);
	explorer->outside.variables = malloc(variables.size + 1);
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		explorer->threads[i].number = i;
		explorer->threads[i].fiber.stack = explorer->stacks + (size_t)i * STACK_SIZE;
		explorer->threads[i].fiber.variables = malloc(variables.size + 1);
	}
}

void fiber_renew(struct fiber *fiber)
{
	memcpy(fiber->variables, variables.first_values, variables.size);
	fiber->error = 0;
}

static void begin(struct fiber *fiber, void (*body)(void))
{
	ucontext_t context;

	fiber->begun = true;
	getcontext(&context);
	context.uc_stack.ss_sp = fiber->stack;
	context.uc_stack.ss_size = STACK_SIZE;
	context.uc_link = NULL;
	makecontext(&context, body, 0);
	errno = fiber->error;
	setcontext(&context);
}

/* `body` never returns. */
void fiber_switch(struct fiber *from, struct fiber *to, void (*body)(void))
{
	from->error = errno;
	memcpy(from->variables, variables.begin, variables.size);
	memcpy(variables.begin, to->variables, variables.size);
	if (sigsetjmp(from->context, 0) == 0) {
		if (to->stack && !to->begun)
			begin(to, body);
		siglongjmp(to->context, 1);
	}
	errno = from->error;
}
