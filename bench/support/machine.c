/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Set by the build: the library's and the benchmark's flags, and where to ask git for the commit. */
#ifndef PAWL_BENCH_LIBRARY_FLAGS
#define PAWL_BENCH_LIBRARY_FLAGS "unknown"
#endif
#ifndef PAWL_BENCH_FLAGS
#define PAWL_BENCH_FLAGS "unknown"
#endif
#ifndef PAWL_BENCH_SOURCE_DIR
#define PAWL_BENCH_SOURCE_DIR "."
#endif

uint64_t clock_cost(void)
{
	enum { READINGS = 1000 };
	uint64_t begin = clock_ns();

	for (int i = 0; i < READINGS; i++)
		keep(clock_ns());
	return (clock_ns() - begin) / READINGS;
}

void sleep_until(uint64_t ns)
{
	const struct timespec time = timespec_of(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

void sleep_for(uint64_t ns)
{
	sleep_until(clock_ns() + ns);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

static void pin(void)
{
	cpu_set_t allowed, chosen;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (size_t cpu = CPU_SETSIZE; cpu-- > 0;) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&chosen);
		CPU_SET(cpu, &chosen);
		sched_setaffinity(0, sizeof(chosen), &chosen);
		return;
	}
}

/*
 * By default malloc gives large blocks back to the kernel when they are freed. The next peer would pay for new pages
 * while it is measured.
 */
void machine_keep_memory(void)
{
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

size_t memory_available(void)
{
	FILE *info = fopen("/proc/meminfo", "r");
	size_t kilobytes = SIZE_MAX / 1024;
	char line[256];

	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "MemAvailable: %zu", &kilobytes) == 1)
			break;
	if (info)
		fclose(info);
	return kilobytes * 1024;
}

void machine_prepare(void)
{
	machine_keep_memory();
	pin();
}

static bool pinned(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) == 1;
}

/* The name of a virtual CPU may be just "AMD EPYC"; family and model tell the generation. */
static void describe_model(FILE *to)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	char line[256], name[256] = "unknown CPU";
	unsigned family = 0, model = 0;
	bool known = false;

	while (info && fgets(line, sizeof(line), info) && line[0] != '\n') {
		sscanf(line, "model name : %255[^\n]", name);
		sscanf(line, "cpu family : %u", &family);
		known |= sscanf(line, "model : %u", &model) == 1;
	}
	if (info)
		fclose(info);
	fputs(name, to);
	if (known)
		fprintf(to, " (family %u, model %u)", family, model);
}

static void describe_cache(FILE *to)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
	unsigned kilobytes;

	if (file && fscanf(file, "%uK", &kilobytes) == 1)
		fprintf(to, ", %u MiB of L3", kilobytes / 1024);
	if (file)
		fclose(file);
}

static void describe_cpu(FILE *to, const char *prefix)
{
	fprintf(to, "%smachine   ", prefix);
	describe_model(to);
	fprintf(to, ", %ld cores", sysconf(_SC_NPROCESSORS_ONLN));
	describe_cache(to);
	if (pinned())
		fprintf(to, ", pinned to CPU %d", sched_getcpu());
	fputc('\n', to);
}

static void describe_commit(FILE *to, const char *prefix)
{
	FILE *git = popen("git -C '" PAWL_BENCH_SOURCE_DIR
	                  "' describe --always --dirty --abbrev=12 2>/dev/null",
	                  "r");
	char commit[128] = "";

	if (git && fgets(commit, sizeof(commit), git))
		commit[strcspn(commit, "\n")] = '\0';
	if (git)
		pclose(git);
	fprintf(to, "%scommit    %s\n", prefix, commit[0] ? commit : "unknown");
}

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/*
 * The CPU time of other processes. The load average still includes the build and the benchmark before this one. So this
 * is the kernel's count of CPU time without this process's own. In seconds, since any time.
 */
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

/* CPUs in use on average, by other processes and by other guests of a virtual machine's host, since `began`. */
static void describe_others(FILE *to, const char *prefix, const struct reading *now,
                            const char *when)
{
	double time = now->time - began.time;
	double used = (now->used - began.used) - (now->own - began.own);

	fprintf(to, "%sothers    %.2f CPUs in use, %.2f stolen, %s\n", prefix,
	        used > 0 ? used / time : 0, (now->stolen - began.stolen) / time, when);
}

/* While this process sleeps for half a second: once, however often it is printed. */
static void describe_others_before(FILE *to, const char *prefix)
{
	static struct reading then;

	if (began.time == 0) {
		began = read_now();
		sleep_for(SECOND / 2);
		then = read_now();
	}
	describe_others(to, prefix, &then, "in the half second before");
}

void machine_conclude_in(FILE *to, const char *prefix)
{
	struct reading now = read_now();

	describe_others(to, prefix, &now, "during the run");
}

static void describe_kernel(FILE *to, const char *prefix)
{
	struct utsname name;

	if (uname(&name) == 0)
		fprintf(to, "%skernel    %s %s %s\n", prefix, name.sysname, name.release,
		        name.machine);
}

void machine_describe_in(FILE *to, const char *prefix)
{
	describe_cpu(to, prefix);
	describe_kernel(to, prefix);
	fprintf(to, "%scompiler  %s\n", prefix, COMPILER);
	fprintf(to, "%sflags     library: %s; benchmark: %s\n", prefix, PAWL_BENCH_LIBRARY_FLAGS,
	        PAWL_BENCH_FLAGS);
	describe_commit(to, prefix);
	describe_others_before(to, prefix);
}

void machine_describe(void)
{
	machine_describe_in(stdout, "");
}

size_t raise_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &limit);
	return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
}

void fail(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}
