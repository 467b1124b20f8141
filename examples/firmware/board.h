/* SPDX-License-Identifier: MIT */
/* The board, as the example needs it. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

uint32_t board_ticks(void); /* milliseconds since the start, modulo 2^32 */
void board_sleep(void);     /* until an interrupt */
void board_print(const char *text);

#endif
