/* SPDX-License-Identifier: MIT */
/*
 * A test is a static function whose name is a sentence. A program is a list of them:
 *
 *	static void a_new_wheel_is_empty(void)
 *	{
 *		EXPECT_EQ(pawl_wheel_count(wheel), 0);
 *	}
 *
 *	int main(void)
 *	{
 *		static const struct test tests[] = {TEST(a_new_wheel_is_empty)};
 *
 *		return RUN_TESTS(tests);
 *	}
 *
 * A failed expectation prints its line and both values, and the test goes on, so that one run shows all failures. The
 * exit code is 1 if there was one. A crash prints the name of the test: a failed ASSERT() in the source is one.
 */
#ifndef PAWL_TESTS_TEST_H
#define PAWL_TESTS_TEST_H

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

/* A test in a loop could fail a million times: too much to read. */
#define TEST_FAILURES_MAX 20

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)              \
	{                           \
#function, function \
	}

#define RUN_TESTS(tests) test_run_all(tests, sizeof(tests) / sizeof((tests)[0]))

#define EXPECT(condition) test_expect(condition, #condition, __FILE__, __LINE__)

/* Integers of any types: they are compared as uint64_t, and printed with their sign. */
#define EXPECT_EQ(actual, expected)                                                            \
	test_expect_eq(TEST_VALUE(actual), TEST_VALUE(expected), #actual, #expected, __FILE__, \
	               __LINE__)

struct test_value {
	uint64_t bits;
	bool is_signed;
};

/* `+ 0` makes an int of whatever is narrower than one, so three signed types are left. */
#define TEST_VALUE(value)                                                                \
	((struct test_value){(uint64_t)(value), _Generic((value) + 0, int : 1, long : 1, \
	                                                 long long : 1, default : 0)})

/* NULL equals NULL and nothing else. */
#define EXPECT_STR(actual, expected) test_expect_str(actual, expected, #actual, __FILE__, __LINE__)

/* pawl_wheel_check() finds nothing. A failure prints the broken invariant. */
#define EXPECT_SOUND(wheel) test_expect_sound(pawl_wheel_check(wheel), __FILE__, __LINE__)

static unsigned test_failures;
static const char *test_name; /* of the test that runs */

static inline void test_failed(void)
{
	if (++test_failures >= TEST_FAILURES_MAX) {
		if (test_name)
			fprintf(stderr, "FAILED: %s\n", test_name);
		fprintf(stderr, "too many failures, giving up\n");
		exit(1);
	}
}

static inline void test_expect(bool holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: expected %s\n", file, line, condition);
	test_failed();
}

static inline const char *test_value_text(struct test_value value, char text[24])
{
	if (value.is_signed)
		snprintf(text, 24, "%" PRId64, (int64_t)value.bits);
	else
		snprintf(text, 24, "%" PRIu64, value.bits);
	return text;
}

static inline void test_expect_eq(struct test_value actual, struct test_value expected,
                                  const char *actual_text, const char *expected_text,
                                  const char *file, int line)
{
	char is[24], should_be[24];
	bool is_number;

	if (actual.bits == expected.bits)
		return;
	is_number = expected_text[strspn(expected_text, "-0123456789")] == 0;
	fprintf(stderr, "%s:%d: %s is %s, expected %s%s%s\n", file, line, actual_text,
	        test_value_text(actual, is), is_number ? "" : expected_text, is_number ? "" : " = ",
	        test_value_text(expected, should_be));
	test_failed();
}

static inline void test_expect_str(const char *actual, const char *expected,
                                   const char *actual_text, const char *file, int line)
{
	if (actual == expected || (actual && expected && strcmp(actual, expected) == 0))
		return;
	fprintf(stderr, "%s:%d: %s is %s%s%s, expected %s%s%s\n", file, line, actual_text,
	        actual ? "\"" : "", actual ? actual : "NULL", actual ? "\"" : "",
	        expected ? "\"" : "", expected ? expected : "NULL", expected ? "\"" : "");
	test_failed();
}

static inline void test_expect_sound(const char *broken, const char *file, int line)
{
	if (!broken)
		return;
	fprintf(stderr, "%s:%d: the wheel is broken; this should hold: \"%s\"\n", file, line,
	        broken);
	test_failed();
}

/* Not on Windows, whose signals differ, and not with a sanitizer, which says more itself. */
#if !defined(_WIN32) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static long test_process;

static inline void test_say(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));

	(void)written;
}

/* A child is silent: some tests fork one that is to crash. Everything here is async-signal-safe. */
static inline void test_crashed(int number)
{
	if (getpid() == test_process) {
		test_say("CRASHED: ");
		test_say(test_name);
		test_say("\n`gdb -batch -ex run -ex bt PROGRAM` shows the line.\n");
	}
	signal(number, SIG_DFL);
	raise(number);
}

static inline void test_catch_crashes(void)
{
	static const int numbers[] = {SIGILL, SIGTRAP, SIGSEGV, SIGABRT};

	test_process = getpid();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], test_crashed);
}

#else

static inline void test_catch_crashes(void)
{
}

#endif

static inline int test_run_all(const struct test *tests, size_t count)
{
	size_t failed = 0;

	test_catch_crashes();
	for (size_t i = 0; i < count; i++) {
		unsigned before = test_failures;

		test_name = tests[i].name;
		printf("%s\n", test_name);
		fflush(stdout);
		tests[i].run();
		if (test_failures != before) {
			fprintf(stderr, "FAILED: %s\n", test_name);
			failed++;
		}
	}
	printf("%zu tests, %zu failed\n", count, failed);
	return failed ? 1 : 0;
}

/* Refuse arguments that do not stand in `usage`, such as "[--seed N] [--trace]". */
static inline void test_usage(int argc, char **argv, const char *usage)
{
	for (int i = 1; i < argc; i++) {
		const char *option = argv[i], *at = strstr(usage, option);
		char after = at && strncmp(option, "--", 2) == 0 ? at[strlen(option)] : '\0';

		if (after == ']' || (after == ' ' && ++i < argc))
			continue;
		fprintf(stderr, "%s: %s is not an option here, or lacks its number; usage: %s %s\n",
		        argv[0], option, argv[0], usage);
		exit(2);
	}
}

/* Whether `--name` stands among the arguments. */
static inline bool test_flag(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

/* The number after `--name`, else the one in the environment's `variable`, else `fallback`. */
static inline uint64_t test_number(int argc, char **argv, const char *name, const char *variable,
                                   uint64_t fallback)
{
	const char *text = getenv(variable);
	char *end = NULL;
	uint64_t number;

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			text = argv[i + 1];
	if (!text)
		return fallback;
	number = strtoull(text, &end, 0);
	if (end == text || *end) {
		fprintf(stderr, "%s: %s or %s is '%s', which is not a number\n", argv[0], name,
		        variable, text);
		exit(2);
	}
	return number;
}

#endif
