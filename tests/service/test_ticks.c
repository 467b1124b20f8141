/* SPDX-License-Identifier: MIT */
/* Nanoseconds and ticks: the arithmetic without 128 bits, for CPUs of 32 bits, gives the same results. */
#define _GNU_SOURCE
#include "../../src/base/ticks.h"

#include "../../src/base/random.h"
#include "../support/test.h"

#define COUNTOF(array) (sizeof(array) / sizeof((array)[0]))

/* Powers of two and their neighbours, where halves carry. */
static uint64_t edges[64 * 5];

static void make_edges(void)
{
	for (unsigned i = 0; i < COUNTOF(edges); i++)
		edges[i] = (UINT64_C(1) << i / 5) + i % 5 - 2;
}

/* A tick of any length. */
static uint64_t draw(struct random *random)
{
	return random_next(random) >> random_below(random, 64);
}

/* The product modulo 2^64 - 1 and modulo 2^64 say together what its upper half is: so no other arithmetic is needed. */
static uint64_t modulo_all_ones(uint64_t high, uint64_t low)
{
	uint64_t sum = high + low;

	sum += sum < high;
	return sum == UINT64_MAX ? 0 : sum;
}

/* a * b modulo 2^64 - 1, bit by bit. */
static uint64_t product_modulo_all_ones(uint64_t a, uint64_t b)
{
	uint64_t product = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		if (b >> bit & 1)
			product = modulo_all_ones(product, a);
		a = a << 1 | a >> 63;
	}
	return product;
}

static void expect_high(uint64_t a, uint64_t b)
{
	uint64_t high = multiply_high_by_halves(a, b);

	EXPECT_EQ(modulo_all_ones(high, a * b), product_modulo_all_ones(a, b));
	EXPECT_EQ(multiply_high(a, b), high);
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;

	EXPECT_EQ(high, (uint64_t)((wide)a * b >> 64));
#endif
}

static void the_upper_half_of_a_product_is_that_of_its_halves(void)
{
	struct random random = {19};

	for (size_t i = 0; i < COUNTOF(edges); i++)
		for (size_t j = 0; j < COUNTOF(edges); j++)
			expect_high(edges[i], edges[j]);
	for (unsigned i = 0; i < 200000; i++)
		expect_high(draw(&random), draw(&random));
}

static void expect_inverse(uint64_t ns)
{
	struct ticks ticks = ticks_of(ns);

	EXPECT_EQ(ticks.ns, ns);
	if (ns < 2)
		return;
	/* inverse * ns <= 2^64 < (inverse + 1) * ns; 2^64 itself has the upper half 1 and the lower half 0 */
	EXPECT(multiply_high(ticks.inverse, ns) == 0 || ticks.inverse * ns == 0);
	EXPECT(multiply_high(ticks.inverse, ns) <= 1);
	EXPECT(ticks.inverse == UINT64_MAX ||
	       (multiply_high(ticks.inverse + 1, ns) == 1 && (ticks.inverse + 1) * ns != 0));
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;

	EXPECT_EQ(ticks.inverse, (uint64_t)(((wide)1 << 64) / ns));
#endif
}

static void the_inverse_is_two_to_the_64_divided_and_rounded_down(void)
{
	struct random random = {64};

	for (uint64_t ns = 1; ns < 100000; ns++)
		expect_inverse(ns);
	for (size_t i = 0; i < COUNTOF(edges); i++)
		if (edges[i])
			expect_inverse(edges[i]);
	for (unsigned i = 0; i < 200000; i++)
		expect_inverse(draw(&random) | 1);
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* But time stops 1 ns before its end. */
static void expect_ticks(uint64_t tick_ns, uint64_t ns)
{
	struct ticks ticks = ticks_of(tick_ns);
	uint64_t before = ns > 0 ? at_most(ns - 1, END_OF_TIME - 1) : 0;

	EXPECT_EQ(ticks_down(&ticks, ns), at_most(ns, END_OF_TIME - 1) / tick_ns);
	EXPECT_EQ(ticks_up(&ticks, ns), ns > 0 ? before / tick_ns + 1 : 0);
	EXPECT(ticks_up(&ticks, PAWL_NEVER) > ticks_down(&ticks, PAWL_NEVER));
}

static void ticks_are_a_division(void)
{
	struct random random = {7};

	for (uint64_t tick_ns = 1; tick_ns < 600; tick_ns++)
		for (uint64_t ns = 0; ns < 600; ns++) {
			expect_ticks(tick_ns, ns);
			expect_ticks(tick_ns, UINT64_MAX - ns);
		}
	for (size_t i = 0; i < COUNTOF(edges); i++)
		for (size_t j = 0; edges[i] && j < COUNTOF(edges); j++)
			expect_ticks(edges[i], edges[j]);
	for (unsigned i = 0; i < 200000; i++)
		expect_ticks(draw(&random) | 1, draw(&random));
}

static void expect_product(uint64_t a, uint64_t b)
{
	EXPECT_EQ(saturating_product(a, b), multiply_high_by_halves(a, b) ? UINT64_MAX : a * b);
}

static void sums_and_products_stop_at_never(void)
{
	for (size_t i = 0; i < COUNTOF(edges); i++)
		for (size_t j = 0; j < COUNTOF(edges); j++) {
			uint64_t a = edges[i], b = edges[j], sum = a + b;

			EXPECT_EQ(saturating_sum(a, b), sum < a ? PAWL_NEVER : sum);
			EXPECT_EQ(deadline_after(a, b),
			          sum < a || sum == PAWL_NEVER ? PAWL_NEVER - 1 : sum);
			expect_product(a, b);
		}
	expect_product(0, UINT64_MAX);
	expect_product(UINT64_MAX, 0);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_upper_half_of_a_product_is_that_of_its_halves),
	        TEST(the_inverse_is_two_to_the_64_divided_and_rounded_down),
	        TEST(ticks_are_a_division),
	        TEST(sums_and_products_stop_at_never),
	};

	make_edges();
	return RUN_TESTS(tests);
}
