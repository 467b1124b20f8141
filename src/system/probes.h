/* SPDX-License-Identifier: MIT */
/*
 * Probes for bpftrace, perf and SystemTap (USDT). Each is a nop, and a note in the ELF file with its address and its
 * arguments. They are compiled in if sys/sdt.h exists (Debian: systemtap-sdt-dev) and PAWL_NO_PROBES is not defined.
 * docs/probes.md has a script for each.
 *
 *	arm        service, task, deadline in ns              a task was armed or touched
 *	cancel     service, task, enum pawl_service_found            what a cancel found
 *	run        service, task, function                    the task's function is called next
 *	late       service, function, ns late, ns taken       it returned: how late it began, how long it took
 *	watch      purgatory, operation, keys                 an operation waits
 *	complete   operation                                  a try, check or call completed it; on_complete is next
 *	expire     purgatory, operation, ns late              its deadline passed before it was completed
 */
#ifndef PAWL_SYSTEM_PROBES_H
#define PAWL_SYSTEM_PROBES_H

#if defined(__has_include) && !defined(PAWL_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define PAWL_HAS_PROBES
#endif
#endif

#ifdef PAWL_HAS_PROBES
#ifdef __clang__ /* with -Wpedantic it warns of the macros of sys/sdt.h */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define probe1(name, a)          DTRACE_PROBE1(pawl, name, a)
#define probe3(name, a, b, c)    DTRACE_PROBE3(pawl, name, a, b, c)
#define probe4(name, a, b, c, d) DTRACE_PROBE4(pawl, name, a, b, c, d)
#else
#define probe1(name, a)          ((void)(a))
#define probe3(name, a, b, c)    ((void)(a), (void)(b), (void)(c))
#define probe4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
