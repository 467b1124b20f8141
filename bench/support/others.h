/* SPDX-License-Identifier: MIT */
/*
 * others.h: the CPU time of other processes. The load average still includes the build and the benchmark before this
 * one. So this is the kernel's count of CPU time without this process's own.
 */
#ifndef PAWL_BENCH_OTHERS_H
#define PAWL_BENCH_OTHERS_H

/* CPUs in use on average: by other processes, and by other guests of a virtual machine's host. */
struct others {
	double used, stolen;
};

/* While this process sleeps for half a second. others_since() counts from this call. */
struct others others_before(void);

struct others others_since(void);

#endif
