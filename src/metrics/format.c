/* SPDX-License-Identifier: MIT */
/* Statistics as OpenMetrics text. */
#include <errno.h>
#include <pawl/metrics.h>

#define PREFIX_MAX 64u

/* The text so far. Bytes beyond `size` are only counted. */
struct output {
	const char *prefix;
	char *text;
	size_t size, length;
};

static void put_char(struct output *out, char c)
{
	if (out->length + 1 < out->size)
		out->text[out->length] = c;
	out->length++;
}

static void put(struct output *out, const char *text)
{
	while (*text)
		put_char(out, *text++);
}

static void put_number(struct output *out, uint64_t number, unsigned least_digits)
{
	char digits[20];
	unsigned count = 0;

	while (number || count < least_digits) {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	}
	while (count)
		put_char(out, digits[--count]);
}

static void put_seconds(struct output *out, uint64_t ns)
{
	put_number(out, ns / PAWL_SECOND, 1);
	put_char(out, '.');
	put_number(out, ns % PAWL_SECOND, 9);
}

static void put_line(struct output *out, const char *keyword, const char *name, const char *text)
{
	put(out, keyword);
	put(out, out->prefix);
	put(out, name);
	put_char(out, ' ');
	put(out, text);
	put_char(out, '\n');
}

static void put_head(struct output *out, const char *name, const char *type, const char *help)
{
	put_line(out, "# TYPE ", name, type);
	put_line(out, "# HELP ", name, help);
}

static void put_name(struct output *out, const char *name, const char *suffix)
{
	put(out, out->prefix);
	put(out, name);
	put(out, suffix);
	put_char(out, ' ');
}

static void put_counter(struct output *out, const char *name, const char *help, uint64_t value)
{
	put_head(out, name, "counter", help);
	put_name(out, name, "_total");
	put_number(out, value, 1);
	put_char(out, '\n');
}

static void put_gauge(struct output *out, const char *name, const char *help, uint64_t value)
{
	put_head(out, name, "gauge", help);
	put_name(out, name, "");
	put_number(out, value, 1);
	put_char(out, '\n');
}

static void put_duration(struct output *out, const char *name, const char *help, uint64_t ns)
{
	put_head(out, name, "gauge", help);
	put_line(out, "# UNIT ", name, "seconds");
	put_name(out, name, "");
	put_seconds(out, ns);
	put_char(out, '\n');
}

static void put_bucket(struct output *out, const char *name, uint64_t bound, uint64_t count)
{
	put(out, out->prefix);
	put(out, name);
	put(out, "_bucket{le=\"");
	if (bound == UINT64_MAX)
		put(out, "+Inf");
	else
		put_seconds(out, bound);
	put(out, "\"} ");
	put_number(out, count, 1);
	put_char(out, '\n');
}

/* The count of a bucket includes the buckets before it. */
static void put_buckets(struct output *out, const char *name,
                        const struct pawl_histogram *histogram)
{
	uint64_t bound = 1023, count = 0;

	for (unsigned cell = 0; bound < (UINT64_C(1) << 38); cell++) {
		count += histogram->cells[cell];
		if (pawl_histogram_bound(cell) != bound)
			continue;
		put_bucket(out, name, bound, count);
		bound = bound * 4 + 3;
	}
	put_bucket(out, name, UINT64_MAX, histogram->count);
}

static void put_histogram(struct output *out, const char *name, const char *help,
                          const struct pawl_histogram *histogram)
{
	put_head(out, name, "histogram", help);
	put_line(out, "# UNIT ", name, "seconds");
	put_buckets(out, name, histogram);
	put_name(out, name, "_count");
	put_number(out, histogram->count, 1);
	put_char(out, '\n');
	put_name(out, name, "_sum");
	put_seconds(out, histogram->sum);
	put_char(out, '\n');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static bool is_name(const char *prefix)
{
	size_t length = 0;

	if (!prefix || !is_letter(*prefix))
		return false;
	while (is_letter(prefix[length]) || (prefix[length] >= '0' && prefix[length] <= '9'))
		if (++length > PREFIX_MAX)
			return false;
	return prefix[length] == '\0';
}

static int finish(struct output *out)
{
	if (out->size)
		out->text[out->length < out->size ? out->length : out->size - 1] = '\0';
	return (int)out->length;
}

int pawl_stats_format(const struct pawl_stats *stats, const char *prefix, char *text, size_t size)
{
	struct output out = {prefix, text, size, 0};

	if (!is_name(prefix))
		return -EINVAL;
	put_counter(&out, "_armed", "Armings of tasks that were not pending.", stats->armed);
	put_counter(&out, "_ran", "Functions called.", stats->ran);
	put_counter(&out, "_cancelled", "Armings that were cancelled.", stats->cancelled);
	put_counter(&out, "_dropped", "Tasks that stop has dropped.", stats->dropped);
	put_counter(&out, "_wakeups", "Wake-ups of the worker that sleeps.", stats->wakeups);
	put_counter(&out, "_empty_wakeups", "Wake-ups with nothing to do.", stats->empty_wakeups);
	put_counter(&out, "_moved_ahead", "Tasks moved before their slot opened.",
	            stats->moved_ahead);
	put_counter(&out, "_moved_at_opening", "Tasks moved when their slot opened.",
	            stats->moved_at_opening);
	put_gauge(&out, "_pending", "Tasks that are pending.", stats->pending);
	put_gauge(&out, "_queued", "Tasks that are due and wait for a worker.", stats->queued);
	put_duration(&out, "_slowest_seconds", "The longest run of a task.", stats->slowest_ns);
	put_histogram(&out, "_lateness_seconds", "From a deadline to the call of the function.",
	              &stats->lateness);
	put_histogram(&out, "_run_time_seconds", "From the call of the function to its return.",
	              &stats->run_time);
	return finish(&out);
}

int pawl_op_stats_format(const struct pawl_op_stats *stats, const char *prefix, char *text,
                         size_t size)
{
	struct output out = {prefix, text, size, 0};

	if (!is_name(prefix))
		return -EINVAL;
	put_counter(&out, "_completed_by_try", "Operations completed by try_or_watch.",
	            stats->completed_by_try);
	put_counter(&out, "_completed_by_check", "Operations completed by a check.",
	            stats->completed_by_check);
	put_counter(&out, "_completed_by_call", "Operations completed by pawl_op_complete.",
	            stats->completed_by_call);
	put_counter(&out, "_expired", "Operations completed by their deadline.", stats->expired);
	put_counter(&out, "_cancelled", "Operations that cancel_key withdrew.", stats->cancelled);
	put_counter(&out, "_dropped", "Operations that stop has dropped.", stats->dropped);
	put_gauge(&out, "_watched", "Pairs of an operation and a key.", stats->watched);
	put_gauge(&out, "_delayed", "Operations that wait.", stats->delayed);
	put_histogram(&out, "_lateness_seconds", "From a deadline to its win.", &stats->lateness);
	return finish(&out);
}

int pawl_wheel_format(const struct pawl_wheel *wheel, const char *prefix, char *text, size_t size)
{
	struct output out = {prefix, text, size, 0};

	if (!is_name(prefix))
		return -EINVAL;
	put_gauge(&out, "_timers", "Timers on the wheel, waiting or due.", pawl_wheel_count(wheel));
	put_gauge(&out, "_now", "The wheel's time in its own units.", pawl_wheel_now(wheel));
	return finish(&out);
}
