/* SPDX-License-Identifier: MIT */
/*
 * MUST(condition): with PAWL_ASSERT, which development builds define, the process ends if the condition does not hold.
 * Release builds have no code for it.
 */
#ifndef PAWL_MODULE_MUST_H
#define PAWL_MODULE_MUST_H

#ifdef PAWL_ASSERT
#define MUST(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define MUST(condition) ((void)0)
#endif

#endif
