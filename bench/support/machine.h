/* SPDX-License-Identifier: MIT */
/* machine.h: the clock, the CPU, and what a result must say about where it comes from. */
#ifndef PAWL_BENCH_MACHINE_H
#define PAWL_BENCH_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND      UINT64_C(1000000000)

static inline uint64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static inline uint64_t clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

/* Until clock_ns() is `ns`; and for so long. A signal does not end the sleep. */
void sleep_until(uint64_t ns);
void sleep_for(uint64_t ns);

/* What one clock_ns costs, in whole ns. */
uint64_t clock_cost(void);

/* The median. Sorts the values. */
double median(double *values, size_t count);

/* Let the compiler believe that the value is needed. */
static inline void keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

/* Have freed memory used again. */
void machine_keep_memory(void);

/* Bytes that malloc has given out. */
size_t memory_in_use(void);

/* Bytes that the machine could give without swapping; very many if that is not known. */
size_t memory_available(void);

/* Stay on one CPU, the last of those allowed, and have freed memory used again. */
void machine_settle(void);

/* Lines on machine, compiler, commit and what else runs; in a file, each after the prefix. */
void machine_describe(void);
void machine_describe_in(FILE *to, const char *prefix);

/* At the end: a line on what else the machine did since it was described. */
void machine_conclude_in(FILE *to, const char *prefix);

/* Have the soft limit of a resource as high as the hard one, and return it. */
size_t raise_limit(int resource);

/* Say so on stderr and exit with 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
