/* SPDX-License-Identifier: MIT */
/*
 * system.h on Windows 7 and later, without winpthreads. Two functions of Windows 10 are looked up by name: a precise
 * clock that stands still while the machine is suspended, and names of threads.
 *
 * A sleep is by a condition variable, whose timeouts are in whole milliseconds, and as coarse as the system's timer:
 * 15.6 ms, unless a program asked for less by timeBeginPeriod(). They are rounded up, so nothing is early.
 */
#define _GNU_SOURCE
#include "system.h"

#ifdef PAWL_ON_WINDOWS
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <malloc.h>
#include <process.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

typedef void WINAPI precise_fn(PULONGLONG time);
typedef HRESULT WINAPI describe_fn(HANDLE thread, PCWSTR description);

/* A function of kernelbase.dll. NULL: this Windows does not have it. */
static void (*newer(const char *name))(void)
{
	HMODULE module = GetModuleHandleA("kernelbase.dll");

	return module ? (void (*)(void))(uintptr_t)GetProcAddress(module, name) : NULL;
}

/* In units of 100 ns. Two threads may look up the function at once: both find the same. */
static uint64_t unbiased_time(void)
{
	static precise_fn *precise;
	static int looked_up;
	ULONGLONG time = 0;

	if (!__atomic_load_n(&looked_up, __ATOMIC_ACQUIRE)) {
		precise_fn *found = (precise_fn *)newer("QueryUnbiasedInterruptTimePrecise");

		__atomic_store_n(&precise, found, __ATOMIC_RELAXED);
		__atomic_store_n(&looked_up, 1, __ATOMIC_RELEASE);
	}
	if (__atomic_load_n(&precise, __ATOMIC_RELAXED))
		precise(&time);
	else
		QueryUnbiasedInterruptTime(&time);
	return time;
}

/* In ns since 1970. Windows counts units of 100 ns since 1601. */
static uint64_t wall_time(void)
{
	const uint64_t from_1601_to_1970 = UINT64_C(11644473600) * 10000000;
	FILETIME time;

	GetSystemTimeAsFileTime(&time);
	return (((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) - from_1601_to_1970) *
	       100;
}

/* BOOTTIME: the performance counter goes on while the machine is suspended. */
uint64_t pawl__system_windows_now(int clock)
{
	LARGE_INTEGER count, frequency;
	uint64_t ticks, per_second;

	if (clock == MONOTONIC)
		return unbiased_time() * 100;
	if (clock == WALL)
		return wall_time();
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&count);
	ticks = (uint64_t)count.QuadPart;
	per_second = (uint64_t)frequency.QuadPart;
	return ticks / per_second * SECOND + ticks % per_second * SECOND / per_second;
}

void pawl__system_sleeper_init(struct sleeper *sleeper)
{
	mutex_init(&sleeper->mutex);
	condition_init(&sleeper->woken);
	sleeper->wake = false;
}

/*
 * In whole milliseconds, rounded up; at most a day. A wait stands still while the machine is suspended: by a clock that
 * goes on it is at most a second.
 */
static DWORD timeout(int clock, uint64_t length_ns)
{
	const uint64_t most = clock == MONOTONIC ? 86400 * SECOND : SECOND;

	return (DWORD)((length_ns < most ? length_ns : most) / MS) + 1;
}

void pawl__system_wait_for(struct sleeper *sleeper, int clock, uint64_t length_ns)
{
	SleepConditionVariableSRW(&sleeper->woken.windows, &sleeper->mutex.windows,
	                          timeout(clock, length_ns), 0);
}

static void name_self(const char *name)
{
	describe_fn *describe = (describe_fn *)newer("SetThreadDescription");
	WCHAR wide[64];

	if (describe && MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 64))
		describe(GetCurrentThread(), wide);
}

static unsigned __stdcall begin(void *arg)
{
	struct system_thread *thread = arg;

	name_self(thread->name);
	thread->run(thread->arg);
	return 0;
}

int pawl__system_thread_start(struct system_thread *thread, const char *name, size_t stack_size,
                              void (*run)(void *arg), void *arg)
{
	if (stack_size > UINT32_MAX)
		return -EAGAIN; /* no address space has room for such a stack */
	thread->run = run;
	thread->arg = arg;
	thread->name = name;
	thread->windows = (HANDLE)_beginthreadex(NULL, (unsigned)stack_size, begin, thread,
	                                         STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
	return thread->windows ? 0 : -EAGAIN;
}

void pawl__system_thread_join(struct system_thread *thread)
{
	WaitForSingleObject(thread->windows, INFINITE);
	CloseHandle(thread->windows);
}

unsigned pawl__system_cpus(void)
{
	SYSTEM_INFO info;

	GetSystemInfo(&info);
	return info.dwNumberOfProcessors ? (unsigned)info.dwNumberOfProcessors : 1;
}

/* RtlGenRandom, under its exported name. */
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG size);

int pawl__system_random(void *bytes, size_t size)
{
	return SystemFunction036(bytes, (ULONG)size) ? 0 : -EIO;
}

#ifdef PAWL_CHECKED
void *pawl__system_pages(size_t size)
{
	return VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
}
#endif

void *pawl__system_unset_lines(size_t size)
{
	size_t whole = (size + LINE - 1) / LINE * LINE;

	return _aligned_malloc(whole, LINE);
}

void *pawl__system_lines(size_t size)
{
	void *memory = pawl__system_unset_lines(size);

	return memory ? memset(memory, 0, size) : NULL;
}

void pawl__system_free_lines(void *memory)
{
	_aligned_free(memory);
}

int64_t pawl__system_read_file(const char *path, void *data, size_t size)
{
	int fd = _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
	size_t done = 0;
	int part = 1;
	int64_t result;

	if (fd < 0)
		return -errno;
	while (part > 0 && done < size) {
		size_t rest = size - done;

		part = _read(fd, (char *)data + done, rest < INT_MAX ? (unsigned)rest : INT_MAX);
		done += part > 0 ? (size_t)part : 0;
	}
	result = part < 0 ? -errno : (int64_t)done;
	_close(fd);
	return result;
}

unsigned pawl__system_process(void)
{
	return (unsigned)GetCurrentProcessId();
}

int pawl__system_serve_open(struct local_server **server, const char *path,
                            const struct local_handler *handler)
{
	(void)server;
	(void)path;
	(void)handler;
	return -ENOTSUP;
}

void pawl__system_serve_close(struct local_server *server)
{
	(void)server;
}
#endif
