/* SPDX-License-Identifier: MIT */
/*
 * others.h: what else the machine does. A load average will not do: it still remembers the build, and the
 * benchmark before this one. So the kernel's count of CPU time is read, less what this process has used.
 */
#ifndef PAWL_BENCH_OTHERS_H
#define PAWL_BENCH_OTHERS_H

/* CPUs in use on average: by other processes, and by other guests of a virtual machine's host. */
struct others {
	double used, stolen;
};

/* While this process sleeps for half a second. From now on others_since is counted. */
struct others others_before(void);

struct others others_since(void);

#endif
