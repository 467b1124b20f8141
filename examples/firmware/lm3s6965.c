/* SPDX-License-Identifier: MIT */
/*
 * The board lm3s6965evb, a Cortex-M3 that qemu has: start-up, SysTick, and text by way of the debugger (semihosting).
 */
#include "board.h"

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define SYSTICK_RELOAD  (*(volatile uint32_t *)0xE000E014u)
#define SYSTICK_ON      7u /* the CPU's clock, with an interrupt */
#define CLOCKS_PER_MS   12000u

#define SEMIHOSTING_PRINT 0x04u
#define SEMIHOSTING_EXIT  0x18u
#define EXIT_GOOD         0x20026u
#define EXIT_BAD          0x20024u

extern char bss_begin[], bss_end[], stack_top[]; /* lm3s6965.ld */
int main(void);
void reset(void);

static volatile uint32_t ticks;

static void debugger(uintptr_t operation, uintptr_t argument)
{
	register uintptr_t r0 __asm__("r0") = operation;
	register uintptr_t r1 __asm__("r1") = argument;

	__asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

uint32_t board_ticks(void)
{
	return ticks;
}

void board_sleep(void)
{
	__asm__ volatile("wfi");
}

void board_print(const char *text)
{
	debugger(SEMIHOSTING_PRINT, (uintptr_t)text);
}

static void on_systick(void)
{
	ticks++;
}

static void stop(uintptr_t how)
{
	for (;;)
		debugger(SEMIHOSTING_EXIT, how);
}

static void on_fault(void)
{
	stop(EXIT_BAD);
}

void reset(void)
{
	for (volatile char *byte = bss_begin; byte < bss_end; byte++)
		*byte = 0;
	SYSTICK_RELOAD = CLOCKS_PER_MS - 1;
	SYSTICK_CONTROL = SYSTICK_ON;
	stop(main() == 0 ? EXIT_GOOD : EXIT_BAD);
}

struct vectors {
	char *stack;
	void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
        stack_top,
        {reset, on_fault, on_fault, on_fault, on_fault, on_fault, [14] = on_systick},
};
