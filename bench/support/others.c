/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "others.h"

#include "machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* In seconds, since any time. */
struct reading {
	double time, used, stolen, own;
};

static struct reading began;

static double cpu_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Without /proc the load by others is 0. */
static struct reading read_now(void)
{
	uint64_t user, nice, system, idle, waiting, irq, softirq, stolen;
	double second = (double)sysconf(_SC_CLK_TCK);
	struct reading reading = {.time = (double)clock_ns() / 1e9};
	FILE *stat = fopen("/proc/stat", "r");

	if (!stat)
		return reading;
	if (fscanf(stat,
	           "cpu %" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
	           "%" SCNu64,
	           &user, &nice, &system, &idle, &waiting, &irq, &softirq, &stolen) == 8) {
		reading.used = (double)(user + nice + system + irq + softirq) / second;
		reading.stolen = (double)stolen / second;
		reading.own = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
	}
	fclose(stat);
	return reading;
}

struct others others_since(void)
{
	struct reading now = read_now();
	double time = now.time - began.time;
	double used = (now.used - began.used) - (now.own - began.own);

	return (struct others){.used = used > 0 ? used / time : 0,
	                       .stolen = (now.stolen - began.stolen) / time};
}

struct others others_before(void)
{
	began = read_now();
	sleep_for(SECOND / 2);
	return others_since();
}
