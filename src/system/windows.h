/* SPDX-License-Identifier: MIT */
/* The types and inlined calls of system.h on Windows. */
#ifndef PAWL_SYSTEM_WINDOWS_H
#define PAWL_SYSTEM_WINDOWS_H
#endif
