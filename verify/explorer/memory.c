/* SPDX-License-Identifier: MIT */
/*
 * Memory: where an execution allocates, and a look at each access.
 *
 * Each execution allocates from the beginning of the same arena, at the same addresses, and freed memory is not used
 * again before the next execution. So every access to freed memory is noticed, and so is one next to a block.
 *
 * A cell remembers the last accesses of every eight bytes. Two accesses race if they overlap, one of them writes, not
 * both are atomic, and neither happened before the other: that is an error at once, whether or not this execution would
 * have gone wrong by it. To free a block counts as writing to all of it.
 */
#include "explorer.h"

#include <stdio.h>
#include <sys/mman.h>

enum { FREED = 0xfd, FRESH_BYTE = 0xcd, FREED_BYTE = 0xdd, GAP = 16 };

/* The same in every run of the program, so that a seed repeats it to the address. */
#define ARENA_AT ((void *)UINT64_C(0x100000000000))

extern char __data_start[], _end[]; /* the linker's: the program's variables */

static void *map(void *at, size_t size)
{
	void *memory = mmap(at, size, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || (at && memory != at)) {
		fprintf(stderr, "explorer: no memory at %p\n", at);
		__builtin_trap();
	}
	return memory;
}

static struct cell *map_cells(size_t size)
{
	return map(NULL, (size / WORD + 1) * sizeof(struct cell));
}

void memory_init(void)
{
	struct explorer *e = map(NULL, sizeof(*e));

	explorer = e;
	e->arena = map(ARENA_AT, ARENA_SIZE + MAX_THREADS * STACK_SIZE);
	e->stacks = e->arena + ARENA_SIZE;
	for (unsigned i = 0; i < MAX_THREADS; i++) /* a stack that overflows is noticed */
		if (mprotect(e->stacks + (size_t)i * STACK_SIZE, GUARD, PROT_NONE) != 0)
			__builtin_trap();
	e->usable = map(NULL, ARENA_SIZE / WORD);
	e->data = (char *)((uintptr_t)__data_start / WORD * WORD);
	e->data_size = (size_t)(_end - e->data);
	e->arena_cells = map_cells(ARENA_SIZE + MAX_THREADS * STACK_SIZE);
	e->data_cells = map_cells(e->data_size);
	e->data_copy = map(NULL, e->data_size);
}

void memory_begin(void)
{
	struct explorer *e = explorer;

	memset(e->usable, 0, e->arena_used / WORD);
	e->arena_used = 0;
	e->block_count = e->blocks_live = 0;
	e->location_count = 1; /* 0 means none */
}

static struct cell *find_cell(const void *address)
{
	const struct explorer *e = explorer;
	size_t offset = (size_t)((const char *)address - e->arena);

	if (offset < ARENA_SIZE + MAX_THREADS * STACK_SIZE)
		return &e->arena_cells[offset / WORD];
	offset = (size_t)((const char *)address - e->data);
	return offset < e->data_size ? &e->data_cells[offset / WORD] : NULL;
}

struct cell *memory_cell(const void *address)
{
	struct explorer *e = explorer;
	struct cell *cell = find_cell(address);
	size_t offset = (size_t)((const char *)address - e->arena);

	if (cell && cell->execution != e->execution) {
		cell->execution = e->execution;
		cell->count = 0;
		memset(cell->locations, 0, sizeof(cell->locations));
		if (offset < ARENA_SIZE)
			e->touched[offset / PAGE] = e->execution;
	}
	return cell;
}

static const struct block *block_at(const char *address)
{
	const struct explorer *e = explorer;

	for (size_t i = e->block_count; i-- > 0;)
		if (address >= e->blocks[i].memory - GAP &&
		    address < e->blocks[i].memory + e->blocks[i].size + GAP)
			return &e->blocks[i];
	return NULL;
}

/* The steps of the only thread happen after all before them, and before those of any later thread. */
static bool alone(void)
{
	return explorer->unjoined == 0;
}

static const char *verb(bool write)
{
	return explorer->freeing ? "frees" : write ? "writes" : "reads";
}

static void print_access(unsigned thread, const char *verb, uintptr_t pc)
{
	printf("    thread %u %-6s at %s\n", thread, verb, source_text(pc));
}

static void print_block(const struct block *block)
{
	printf("%zu bytes allocated at %s", block->size, source_text(block->allocated_at));
}

static void print_object(const char *address)
{
	const struct explorer *e = explorer;
	size_t stack = (size_t)(address - e->stacks) / STACK_SIZE, byte = 0;
	const struct block *block = block_at(address);
	const char *variable = variable_of(address, &byte);

	if (block) {
		printf("byte %td of ", address - block->memory);
		print_block(block);
	} else if (variable) {
		printf("byte %zu of %s", byte, variable);
	} else if (stack < MAX_THREADS) {
		printf("a variable on the stack of thread %zu", stack);
	} else {
		printf("%p", (const void *)address);
	}
}

static void check_usable(const char *address, size_t size, bool write, uintptr_t pc)
{
	const struct explorer *e = explorer;
	size_t offset = (size_t)(address - e->arena);
	uint8_t usable = e->usable[offset / WORD];

	if (usable != FREED && offset % WORD + size <= usable)
		return;
	present()->pc = pc;
	report_begin();
	printf("access to %s: ", usable == FREED ? "freed memory" : "memory that is not allocated");
	print_object(address);
	printf("\n");
	if (usable == FREED)
		print_access(block_at(address)->freed_by, "freed", block_at(address)->freed_at);
	print_access(present()->number, verb(write), pc);
	report_end();
}

static void report_race(const char *address, const struct access *other, bool write, uintptr_t pc)
{
	present()->pc = pc;
	report_begin();
	printf("data race on ");
	print_object(address);
	printf(":\n");
	print_access(other->thread, other->write ? "wrote" : "read", other->pc);
	print_access(present()->number, verb(write), pc);
	printf("Neither happens before the other.\n");
	report_end();
}

static bool happened_before(const struct access *access)
{
	return access->clock <= present()->clock.at[access->thread];
}

/* Whether all that races with the other access also races with the new one. */
static bool replaces(const struct access *access, const struct access *other)
{
	return other->write <= access->write && other->atomic >= access->atomic &&
	       happened_before(other);
}

/* The bytes of other accesses that the new one makes superfluous. */
static void forget_replaced(struct cell *cell, const struct access *access)
{
	unsigned i = 0;

	while (i < cell->count) {
		struct access *other = &cell->accesses[i];

		if ((other->mask & access->mask) && replaces(access, other))
			other->mask &= (uint8_t)~access->mask;
		if (other->mask)
			i++;
		else
			*other = cell->accesses[--cell->count];
	}
}

/* Where there is no room: together with others of the same step, though they were elsewhere in the code. */
static bool merge(struct cell *cell, const struct access *access)
{
	for (unsigned i = 0; i < ACCESSES; i++) {
		struct access *other = &cell->accesses[i];

		if (other->thread == access->thread && other->clock == access->clock &&
		    other->write == access->write && other->atomic == access->atomic) {
			other->mask |= access->mask;
			return true;
		}
	}
	return false;
}

/* If nothing else helps, one is forgotten, rather one that happened before; main.c says so in the end. */
static void remember(struct cell *cell, const struct access *access)
{
	unsigned at = 0;

	forget_replaced(cell, access);
	if (cell->count < ACCESSES) {
		cell->accesses[cell->count++] = *access;
	} else if (!merge(cell, access)) {
		while (at < ACCESSES - 1 && !happened_before(&cell->accesses[at]))
			at++;
		cell->accesses[at] = *access;
		explorer->forgotten++;
	}
}

/* Stores before a plain one to any byte of the object can no longer be seen. */
static void forget_stores(struct cell *cell, uint8_t mask)
{
	for (unsigned i = 0; i < WORD; i++)
		if (cell->locations[i] &&
		    mask >> i & ((1u << explorer->locations[cell->locations[i]].size) - 1))
			cell->locations[i] = 0;
}

static void access_word(const char *address, struct cell *cell, uint8_t mask, bool write,
                        bool atomic, uintptr_t pc)
{
	struct thread *thread = present();
	struct access access = {(uint32_t)pc,
	                        thread->clock.at[thread->number],
	                        (uint8_t)thread->number,
	                        mask,
	                        write,
	                        atomic};

	for (unsigned i = 0; i < cell->count; i++) {
		const struct access *other = &cell->accesses[i];

		if (other->thread == thread->number && other->clock == access.clock &&
		    (mask & ~other->mask) == 0 && other->write >= write && other->atomic <= atomic)
			return; /* the same again, in the same step */
		if ((other->mask & mask) && (other->write || write) && !(other->atomic && atomic) &&
		    other->thread != thread->number && !happened_before(other))
			report_race(address, other, write, pc);
	}
	remember(cell, &access);
	if (write && !atomic)
		forget_stores(cell, mask);
}

/*
 * A page of memory, all of it allocated, of which nothing was accessed: the only thread has nothing to look at there. A
 * program that clears large blocks before it starts threads is as fast as without a check.
 */
static bool nothing_there(const char *at, size_t size)
{
	const struct explorer *e = explorer;
	size_t offset = (size_t)(at - e->arena);

	return size >= PAGE && offset < ARENA_SIZE && offset % PAGE == 0 && alone() &&
	       e->touched[offset / PAGE] != e->execution && e->usable[offset / WORD] == WORD &&
	       memcmp(&e->usable[offset / WORD], &e->usable[offset / WORD + 1], PAGE / WORD - 1) ==
	               0;
}

void memory_access(const void *address, size_t size, bool write, bool atomic, uintptr_t pc)
{
	const char *at = address;

	if (!running())
		return;
	if (explorer->hangs)
		report_hang(pc);
	while (size > 0) {
		size_t offset = (uintptr_t)at % WORD;
		size_t part = size < WORD - offset ? size : WORD - offset;
		uint8_t mask = (uint8_t)(((1u << part) - 1) << offset);
		struct cell *cell;

		if (nothing_there(at, size)) {
			at += PAGE;
			size -= PAGE;
			continue;
		}
		if ((size_t)(at - explorer->arena) < ARENA_SIZE)
			check_usable(at, part, write, pc);
		cell = alone() ? find_cell(at) : memory_cell(at);
		if (!cell)
			return;
		if (!alone())
			access_word(at, cell, mask, write, atomic, pc);
		else if (write && !atomic && cell->execution == explorer->execution)
			forget_stores(cell, mask);
		at += part;
		size -= part;
	}
}

void *memory_allocate(size_t size, size_t alignment, uintptr_t pc)
{
	struct explorer *e = explorer;
	size_t begin = (e->arena_used + GAP + alignment - 1) / alignment * alignment;
	char *memory = e->arena + begin;

	if (size > ARENA_SIZE / 2 || alignment > ARENA_SIZE / 2)
		return NULL;
	if (begin + size + GAP > ARENA_SIZE)
		fail("more than %d bytes are allocated, with those that were freed", ARENA_SIZE);
	if (e->block_count == MAX_BLOCKS)
		fail("more than %d blocks are allocated, with those that were freed", MAX_BLOCKS);
	e->arena_used = (begin + size + WORD - 1) / WORD * WORD;
	memset(&e->usable[begin / WORD], WORD, size / WORD);
	if (size % WORD)
		e->usable[(begin + size) / WORD] = (uint8_t)(size % WORD);
	memset(memory, FRESH_BYTE, size);
	e->blocks[e->block_count++] = (struct block){memory, size, pc, 0, 0};
	e->blocks_live++;
	return memory;
}

static struct block *block_of(const void *memory)
{
	struct explorer *e = explorer;

	for (size_t i = e->block_count; i-- > 0;)
		if (e->blocks[i].memory == memory)
			return &e->blocks[i];
	return NULL;
}

bool memory_size(const void *memory, size_t *size)
{
	const struct block *block = block_of(memory);

	*size = block ? block->size : 0;
	return block;
}

/* To free it is to write to all of it. Only what was accessed in this execution can race with that. */
static void write_all(const struct block *block, uintptr_t pc)
{
	const struct explorer *e = explorer;
	size_t at = (size_t)(block->memory - e->arena), end = at + block->size;

	while (at < end && !alone()) {
		size_t next = (at / PAGE + 1) * PAGE;

		next = next < end ? next : end;
		if (e->touched[at / PAGE] == e->execution)
			memory_access(e->arena + at, next - at, true, false, pc);
		at = next;
	}
}

static _Noreturn void report_second_free(const struct block *block, uintptr_t pc)
{
	report_begin();
	printf("a block is freed twice: ");
	print_block(block);
	printf("\n");
	print_access(block->freed_by, "freed", block->freed_at);
	print_access(present()->number, "frees", pc);
	report_end();
}

bool memory_free(void *memory, uintptr_t pc)
{
	struct explorer *e = explorer;
	struct block *block;
	size_t begin = (size_t)((char *)memory - e->arena);

	if (begin >= ARENA_SIZE)
		return false;
	block = block_of(memory);
	present()->pc = pc;
	if (!block)
		fail("free of %p, which is not the beginning of a block", memory);
	if (block->freed_at)
		report_second_free(block, pc);
	e->freeing = true;
	write_all(block, pc);
	e->freeing = false;
	memset(memory, FREED_BYTE, block->size);
	memset(&e->usable[begin / WORD], FREED, (block->size + WORD - 1) / WORD);
	block->freed_at = pc;
	block->freed_by = e->present;
	e->blocks_live--;
	return true;
}

void memory_check_leaks(void)
{
	const struct explorer *e = explorer;
	const struct block *block = e->blocks;

	if (e->blocks_live == 0)
		return;
	while (block->freed_at)
		block++;
	report_begin();
	printf("%zu block%s not freed%s", e->blocks_live, e->blocks_live == 1 ? " was" : "s were",
	       e->blocks_live == 1 ? ": " : ", the first of them: ");
	print_block(block);
	printf("\n");
	report_end();
}

size_t explore_blocks(void)
{
	return explorer->blocks_live;
}

/* Called by the compiler for plain accesses. */

#define PLAIN(name, size, write)                                    \
	void __tsan_##name##size(const void *address)               \
	{                                                           \
		memory_access(address, size, write, false, CALLER); \
	}
#define PLAIN_OF(size)                     \
	PLAIN(read, size, false)           \
	PLAIN(write, size, true)           \
	PLAIN(unaligned_read, size, false) \
	PLAIN(unaligned_write, size, true)

PLAIN_OF(1)
PLAIN_OF(2)
PLAIN_OF(4)
PLAIN_OF(8)
PLAIN_OF(16)

void __tsan_read_range(const void *address, size_t size)
{
	memory_access(address, size, false, false, CALLER);
}

void __tsan_write_range(const void *address, size_t size)
{
	memory_access(address, size, true, false, CALLER);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller)
{
	struct thread *thread;

	if (!running())
		return;
	thread = present();
	if (thread->depth < MAX_CALLS)
		thread->calls[thread->depth] = (uintptr_t)caller;
	thread->depth++;
}

void __tsan_func_exit(void)
{
	if (running())
		present()->depth--;
}
