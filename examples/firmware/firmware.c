/* SPDX-License-Identifier: MIT */
/*
 * Timers on bare metal: a Cortex-M3 with 64 KiB of memory, no libc and no operating system. The SysTick interrupt
 * counts milliseconds, the main loop owns the wheel. A lamp blinks, and a radio that has heard nothing for a while is
 * switched off.
 *
 * docs/guide/firmware.md has the commands that build it and run it under qemu.
 */
#include "board.h"
#include "pawl_wheel.h"

#define BLINK_MS  100u
#define SILENT_MS 450u

enum { BLINK, SILENT, TIMERS };

static _Alignas(8) char memory[8 * 1024];
static struct pawl_timer timers[TIMERS];
static bool radio_is_off;

/*
 * The board counts in 32 bits, which wrap after 49 days; the wheel counts in 64, which do not. This must be called at
 * least once in that time.
 */
static uint64_t now_ms(void)
{
	static uint64_t now;

	now += (uint32_t)(board_ticks() - (uint32_t)now);
	return now;
}

static void expire(struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	if (timer == &timers[SILENT]) {
		board_print("silent: radio off\n");
		radio_is_off = true;
		return;
	}
	board_print("blink\n");
	pawl_wheel_arm_at(wheel, &timers[BLINK], timer->deadline + BLINK_MS);
}

int main(void)
{
	static const struct pawl_wheel_options options = {.wheel_size = 32};
	struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), &options);
	struct pawl_timer *timer;

	if (!wheel)
		return 1; /* pawl_wheel_footprint() says how much it takes */
	pawl_wheel_arm_at(wheel, &timers[BLINK], BLINK_MS);
	pawl_wheel_arm_at(wheel, &timers[SILENT], SILENT_MS);
	while (!radio_is_off) {
		pawl_wheel_advance(wheel, now_ms(), 16); /* at most 16 moves: no long stalls */
		while ((timer = pawl_wheel_pop(wheel)) != NULL)
			expire(wheel, timer);
		board_sleep(); /* until the next interrupt */
	}
	return pawl_wheel_check(wheel) != NULL;
}
