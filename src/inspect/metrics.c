/* SPDX-License-Identifier: MIT */
/* Statistics as OpenMetrics text. The tables of the parts say which there are: ../service/stats.h. */
#include "metrics.h"

#include "../base/digits.h"
#include "../purgatory/stats.h"
#include "../service/stats.h"
#include "../store/stats.h"

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
	char digits[DECIMAL_TEXT];
	unsigned count = (unsigned)(decimal_write(digits, number) - digits);

	for (unsigned i = count; i < least_digits; i++)
		put_char(out, '0');
	for (unsigned i = 0; i < count; i++)
		put_char(out, digits[i]);
}

static void put_seconds(struct output *out, uint64_t ns)
{
	put_number(out, ns / PAWL_SECOND, 1);
	put_char(out, '.');
	put_number(out, ns % PAWL_SECOND, 9);
}

static bool in_seconds(const struct statistic *statistic)
{
	return statistic->kind == DURATION || statistic->kind == HISTOGRAM;
}

/* The name of a metric ends in its unit. */
static void put_name(struct output *out, const struct statistic *statistic)
{
	put(out, out->prefix);
	put_char(out, '_');
	put(out, statistic->name);
	if (in_seconds(statistic))
		put(out, "_seconds");
}

static void put_line(struct output *out, const char *keyword, const struct statistic *statistic,
                     const char *text)
{
	put(out, keyword);
	put_name(out, statistic);
	put_char(out, ' ');
	put(out, text);
	put_char(out, '\n');
}

static const char *type_of(const struct statistic *statistic)
{
	return statistic->kind == COUNTER     ? "counter"
	       : statistic->kind == HISTOGRAM ? "histogram"
	                                      : "gauge";
}

static void put_head(struct output *out, const struct statistic *statistic)
{
	put_line(out, "# TYPE ", statistic, type_of(statistic));
	put_line(out, "# HELP ", statistic, statistic->help);
	if (in_seconds(statistic))
		put_line(out, "# UNIT ", statistic, "seconds");
}

static void put_sample(struct output *out, const struct statistic *statistic, const char *suffix,
                       uint64_t value, void (*put_value)(struct output *out, uint64_t value))
{
	put_name(out, statistic);
	put(out, suffix);
	put_char(out, ' ');
	put_value(out, value);
	put_char(out, '\n');
}

static void put_count(struct output *out, uint64_t count)
{
	put_number(out, count, 1);
}

static void put_bucket(struct output *out, const struct statistic *statistic, uint64_t bound,
                       uint64_t count)
{
	put_name(out, statistic);
	put(out, "_bucket{le=\"");
	if (bound == UINT64_MAX)
		put(out, "+Inf");
	else
		put_seconds(out, bound);
	put(out, "\"} ");
	put_number(out, count, 1);
	put_char(out, '\n');
}

static void put_histogram(struct output *out, const struct statistic *statistic,
                          const struct metric_buckets *buckets)
{
	for (unsigned i = 0; i < METRIC_BUCKETS; i++)
		put_bucket(out, statistic, metric_bound(i), buckets->upto[i]);
	put_bucket(out, statistic, UINT64_MAX, buckets->count);
	put_sample(out, statistic, "_count", buckets->count, put_count);
	put_sample(out, statistic, "_sum", buckets->sum, put_seconds);
}

static void put_statistic(struct output *out, const struct statistic *statistic, const void *stats,
                          const void *buckets)
{
	put_head(out, statistic);
	switch (statistic->kind) {
	case COUNTER:
		put_sample(out, statistic, "_total", statistic_value(statistic, stats), put_count);
		break;
	case GAUGE:
	case WALKED:
		put_sample(out, statistic, "", statistic_value(statistic, stats), put_count);
		break;
	case DURATION:
		put_sample(out, statistic, "", statistic_value(statistic, stats), put_seconds);
		break;
	case HISTOGRAM:
		put_histogram(out, statistic,
		              (const void *)((const char *)buckets + statistic->offset));
		break;
	}
}

static void finish(struct output *out)
{
	if (out->size)
		out->text[out->length < out->size ? out->length : out->size - 1] = '\0';
}

int pawl__metrics_format(const struct statistic *table, const void *stats, const void *buckets,
                         const char *prefix, char *text, size_t size)
{
	struct output out = {prefix, text, size, 0};

	for (const struct statistic *row = table; row->name; row++)
		put_statistic(&out, row, stats, buckets);
	finish(&out);
	return (int)out.length;
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

int pawl_service_metrics(struct pawl_service *service, const char *prefix, char *text, size_t size)
{
	struct pawl_service_stats stats;
	struct service_buckets buckets;

	if (!is_name(prefix))
		return -EINVAL;
	pawl_service_get_stats(service, &stats, sizeof(stats));
	pawl__service_get_buckets(service, &buckets);
	return pawl__metrics_format(pawl__service_statistics, &stats, &buckets, prefix, text, size);
}

int pawl_purgatory_metrics(const struct pawl_purgatory *purgatory, const char *prefix, char *text,
                           size_t size)
{
	struct pawl_purgatory_stats stats;
	struct purgatory_buckets buckets;

	if (!is_name(prefix))
		return -EINVAL;
	pawl_purgatory_get_stats(purgatory, &stats, sizeof(stats));
	pawl__purgatory_get_buckets(purgatory, &buckets);
	return pawl__metrics_format(pawl__purgatory_statistics, &stats, &buckets, prefix, text,
	                            size);
}

int pawl_store_metrics(struct pawl_store *store, const char *prefix, char *text, size_t size)
{
	struct pawl_store_stats stats;

	if (!is_name(prefix))
		return -EINVAL;
	pawl_store_get_stats(store, &stats, sizeof(stats));
	return pawl__metrics_format(pawl__store_statistics, &stats, NULL, prefix, text, size);
}

struct wheel_stats {
	uint64_t timers, now;
};

static const struct statistic wheel_statistics[] = {
        {"timers", "Timers on the wheel, waiting or due.", GAUGE,
         offsetof(struct wheel_stats, timers)},
        {"now", "The wheel's time in its own units.", GAUGE, offsetof(struct wheel_stats, now)},
        {NULL, NULL, COUNTER, 0},
};

int pawl_wheel_metrics(const struct pawl_wheel *wheel, const char *prefix, char *text, size_t size)
{
	const struct wheel_stats stats = {pawl_wheel_count(wheel), pawl_wheel_now(wheel)};

	if (!is_name(prefix))
		return -EINVAL;
	return pawl__metrics_format(wheel_statistics, &stats, NULL, prefix, text, size);
}
