/* SPDX-License-Identifier: MIT */
/*
 * pawl/metrics.h: statistics as OpenMetrics text, which Prometheus and others read.
 *
 *	#include <pawl/metrics.h>
 *	#include <stdio.h>
 *
 *	int main(void)
 *	{
 *		struct pawl_service *service;
 *		static char text[16384];
 *
 *		if (pawl_service_open(&service, NULL) != 0)
 *			return 1;
 *		if (pawl_service_metrics(service, "pawl_jobs", text, sizeof(text)) < (int)sizeof(text))
 *			printf("%s%s", text, PAWL_METRICS_END);        // the answer to GET /metrics
 *		pawl_service_close(service, NULL);
 *	}
 *
 * Each call writes the metrics of one service, purgatory, store or wheel. All their names begin with the prefix that you
 * pass. To publish several of them, give each its own prefix, write one text after the other, and PAWL_METRICS_END
 * once at the end. The calls allocate nothing and do not depend on the locale. As OpenMetrics requires, the name of a
 * counter's sample ends in _total: PREFIX_armed_total.
 *
 *	service       the fields of struct pawl_service_stats: PREFIX_armed and so on. PREFIX_pending and _queued are
 *	              gauges, and so is PREFIX_slowest_seconds; the others are counters. PREFIX_lateness_seconds and
 *	              PREFIX_run_time_seconds are histograms
 *	purgatory     the fields of struct pawl_purgatory_stats. PREFIX_watched and _delayed are gauges, the others
 *	              counters. PREFIX_lateness_seconds is a histogram
 *	store         the fields of struct pawl_store_stats. From PREFIX_pending to PREFIX_slot_files they are gauges, the
 *	              others counters
 *	wheel         PREFIX_timers, PREFIX_now: gauges; PREFIX_now is in the wheel's own units
 *
 * The upper bounds of a histogram's buckets are 2^10 - 1, 2^12 - 1, ... 2^38 - 1 nanoseconds, from a microsecond to
 * four and a half minutes, and +Inf. They are also bounds of cells of struct pawl_histogram, so the counts are exact.
 * For other buckets use pawl_histogram_bound().
 */
#ifndef PAWL_METRICS_H
#define PAWL_METRICS_H

#include <pawl/purgatory.h>
#include <pawl/store.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_METRICS_END "# EOF\n" /* the last line of the whole text */

/*
 * Write the metrics into `text` of `size` bytes, as snprintf(3) does: no more than fits, and always with a zero at
 * the end (if size is not 0). text may be NULL if size is 0.
 *
 * 0 or more   the length of the whole text without the zero. If it is `size` or more, the text was cut off. It is
 *             at most 8,000 bytes plus 60 times the length of the prefix; later versions may write more metrics.
 * -EINVAL     the prefix is NULL, has more than 64 bytes, or is not a name: a letter, _ or :, and then letters,
 *             digits, _ or :. Nothing is written.
 */
PAWL_API int pawl_service_metrics(struct pawl_service *service, const char *prefix, char *text,
                                  size_t size);
PAWL_API int pawl_purgatory_metrics(const struct pawl_purgatory *purgatory, const char *prefix,
                                    char *text, size_t size);
PAWL_API int pawl_store_metrics(struct pawl_store *store, const char *prefix, char *text,
                                size_t size);
PAWL_API int pawl_wheel_metrics(const struct pawl_wheel *wheel, const char *prefix, char *text,
                                size_t size);

#ifdef __cplusplus
}
#endif

#endif
