/* SPDX-License-Identifier: MIT */
/*
 * pawl/metrics.h: statistics as OpenMetrics text, which Prometheus and others read.
 *
 *	#include <pawl/metrics.h>
 *	#include <stdio.h>
 *	#include <stdlib.h>
 *
 *	int main(void)
 *	{
 *		struct pawl_stats *stats = malloc(sizeof(*stats));
 *		struct pawl_service *service;
 *		static char text[16384];
 *
 *		if (!stats || pawl_service_open(&service, NULL) != 0)
 *			return 1;
 *		pawl_service_stats(service, stats);
 *		if (pawl_stats_format(stats, "pawl_jobs", text, sizeof(text)) < (int)sizeof(text))
 *			printf("%s%s", text, PAWL_METRICS_END);        // the answer to GET /metrics
 *		pawl_service_close(service, NULL);
 *		free(stats);
 *	}
 *
 * Each call writes the metrics of one service, purgatory or wheel. All their names begin with the prefix that you
 * pass. To publish several of them, give each its own prefix, write one text after the other, and PAWL_METRICS_END
 * once at the end. The calls allocate nothing and do not depend on the locale. As OpenMetrics demands, the sample of
 * a counter has _total behind its name: PREFIX_armed_total.
 *
 *	service       PREFIX_armed, _ran, _cancelled, _dropped, _wakeups, _empty_wakeups, _moved_ahead, _moved_at_opening:
 *	              counters; PREFIX_pending, _queued, _slowest_seconds: gauges; PREFIX_lateness_seconds,
 *	              _run_time_seconds: histograms
 *	purgatory     PREFIX_completed_by_try, _completed_by_check, _completed_by_call, _expired, _cancelled, _dropped:
 *	              counters; PREFIX_watched, _delayed: gauges; PREFIX_lateness_seconds: a histogram
 *	wheel         PREFIX_timers, PREFIX_now: gauges; PREFIX_now is in the wheel's own units
 *
 * The upper bounds of a histogram's buckets are 2^10 - 1, 2^12 - 1, ... 2^38 - 1 nanoseconds, from a microsecond to
 * four and a half minutes, and +Inf. They are also bounds of cells of struct pawl_histogram, so the counts are exact.
 * For other buckets use pawl_histogram_bound().
 */
#ifndef PAWL_METRICS_H
#define PAWL_METRICS_H

#include <pawl/purgatory.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_METRICS_END "# EOF\n" /* the last line of the whole text */

/*
 * Write the metrics into `text` of `size` bytes, as snprintf(3) does: no more than fits, and always with a zero at
 * the end (if size is not 0). text may be NULL if size is 0.
 *
 * 0 or more   the length of the whole text without the zero. If it is `size` or more, the text was cut off. It is
 *             at most 8,000 bytes plus 60 times the length of the prefix.
 * -EINVAL     the prefix is NULL, has more than 64 bytes, or is no name. A name is a letter, _ or :, and then
 *             letters, digits, _ or :. Nothing is written.
 */
PAWL_API int pawl_stats_format(const struct pawl_stats *stats, const char *prefix, char *text,
                               size_t size);
PAWL_API int pawl_op_stats_format(const struct pawl_op_stats *stats, const char *prefix, char *text,
                                  size_t size);
PAWL_API int pawl_wheel_format(const struct pawl_wheel *wheel, const char *prefix, char *text,
                               size_t size);

#ifdef __cplusplus
}
#endif

#endif
