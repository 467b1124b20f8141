/* SPDX-License-Identifier: MIT */
/*
 * test_model [--seed S] [--runs N] [--trace]
 *
 * Random operations on random wheels, compared with the model after each. Run k of seed S is run 0 of seed S + k, so
 * that a failure is repeated alone.
 */
#include "../../src/base/random.h"
#include "../support/test.h"
#include "wheel_property.h"

#define RUNS_DEFAULT 20000
#define INPUT_MAX    2048

static size_t random_input(uint64_t seed, uint8_t *data)
{
	/* Neighbouring seeds must not give neighbouring streams. */
	struct random random = {random_next(&(struct random){seed})};
	size_t size = (size_t)random_below(&random, random_below(&random, 4) ? 300 : INPUT_MAX);

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)random_next(&random);
	return size;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_number(argc, argv, "--seed", "PAWL_SEED", 1);
	uint64_t runs = test_number(argc, argv, "--runs", "PAWL_RUNS", RUNS_DEFAULT);
	FILE *trace = test_flag(argc, argv, "--trace") ? stdout : NULL;
	static uint8_t data[INPUT_MAX];

	test_usage(argc, argv, "[--seed N] [--runs N] [--trace]");
	printf("the wheel does what the model does: seed %" PRIu64 ", %" PRIu64 " runs\n", seed,
	       runs);
	for (uint64_t k = 0; k < runs; k++) {
		size_t size = random_input(seed + k, data);

		if (wheel_property(data, size, trace)) {
			fprintf(stderr, "FAILED: repeat with --seed %" PRIu64 " --runs 1 --trace\n",
			        seed + k);
			return 1;
		}
	}
	return 0;
}
