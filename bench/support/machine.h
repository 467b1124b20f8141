/* SPDX-License-Identifier: MIT */
/* machine.h: the clock, the CPU, and the description of the machine that results must have. */
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

/*
 * The time that libevent reads: the kernel sets it at its ticks, so it is behind clock_ns(), by several ticks while the
 * machine is busy.
 */
static inline uint64_t coarse_clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

/* The time that libuv reads: the coarse one if that has a resolution of a millisecond or finer. */
static inline uint64_t libuv_clock_ns(void)
{
	struct timespec resolution;

	clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
	return resolution.tv_nsec <= (long)MILLISECOND ? coarse_clock_ns() : clock_ns();
}

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

/* Sleep until clock_ns() is `ns`, or for `ns`. A signal does not end the sleep. */
void sleep_until(uint64_t ns);
void sleep_for(uint64_t ns);

/* The cost of one clock_ns, in whole ns. */
uint64_t clock_cost(void);

/* The median. Sorts the values. */
double median(double *values, size_t count);

/* The compiler must compute the value. */
static inline void keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

/* Freed memory stays with the process and is used again. */
void machine_keep_memory(void);

/* Bytes allocated by malloc. */
size_t memory_in_use(void);

/* Bytes that the machine could give without swapping; very many if that is not known. */
size_t memory_available(void);

/* Stay on one CPU, the last one allowed, and keep freed memory. */
void machine_prepare(void);

/* Print machine, compiler, commit and the load by others; in a file, each line after the prefix. */
void machine_describe(void);
void machine_describe_in(FILE *to, const char *prefix);

/* At the end: print the load by others since the description. */
void machine_conclude_in(FILE *to, const char *prefix);

/* Raise the soft limit of a resource to the hard limit, and return it. */
size_t raise_limit(int resource);

/* Print the message on stderr and exit with 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
