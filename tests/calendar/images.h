/* SPDX-License-Identifier: MIT */
/* Makes TZif data, so that a test does not depend on the tzdata of its machine. */
#ifndef PAWL_TESTS_IMAGES_H
#define PAWL_TESTS_IMAGES_H

#include <pawl/calendar.h>
#include <stdio.h>
#include <string.h>

#define IMAGE_MAX 65536

struct image {
	unsigned char data[IMAGE_MAX];
	size_t size;
};

/* From `at` on clocks are `offset` seconds ahead of UTC. */
struct change {
	int64_t at;
	int32_t offset;
};

static inline void image_put(struct image *image, uint64_t value, int bytes)
{
	while (bytes-- > 0)
		image->data[image->size++] = (unsigned char)(value >> 8 * bytes);
}

static inline void image_header(struct image *image, char version, uint32_t changes, uint32_t types)
{
	memcpy(image->data + image->size, "TZif", 4);
	image->data[image->size + 4] = (unsigned char)version;
	memset(image->data + image->size + 5, 0, 15);
	image->size += 20;
	image_put(image, 0, 4); /* isutcnt */
	image_put(image, 0, 4); /* isstdcnt */
	image_put(image, 0, 4); /* leapcnt */
	image_put(image, changes, 4);
	image_put(image, types, 4);
	image_put(image, 4, 4); /* charcnt */
}

/* A type for the time before, and one for each change up to 255; their name is "LMT". */
static inline void image_body(struct image *image, int32_t before, const struct change *changes,
                              uint32_t count, int width)
{
	uint32_t types = count < 255 ? count + 1 : 256;

	for (uint32_t i = 0; i < count; i++)
		image_put(image, (uint64_t)changes[i].at, width);
	for (uint32_t i = 0; i < count; i++)
		image_put(image, i % 255 + 1, 1);
	for (uint32_t i = 0; i < types; i++) {
		image_put(image, (uint32_t)(i == 0 ? before : changes[i - 1].offset), 4);
		image_put(image, 0, 2);
	}
	image_put(image, 0x4c4d5400, 4);
}

/* Version 2, or 1 if there is no footer. More than 255 changes must repeat the offsets of the first 255. */
static inline void image_make(struct image *image, int32_t before, const struct change *changes,
                              uint32_t count, const char *footer)
{
	uint32_t types = count < 255 ? count + 1 : 256;

	image->size = 0;
	if (!footer) {
		image_header(image, 0, count, types);
		image_body(image, before, changes, count, 4);
		return;
	}
	image_header(image, '2', 0, 1);
	image_body(image, 0, NULL, 0, 4);
	image_header(image, '2', count, types);
	image_body(image, before, changes, count, 8);
	image->size += (size_t)snprintf((char *)image->data + image->size, 256, "\n%s\n", footer);
}

/* A zone with one rule for all times. 0 or -EINVAL. */
static inline int zone_of(struct pawl_zone *zone, const char *footer,
                          struct pawl_calendar_error *error)
{
	static struct image image;

	image_make(&image, 0, NULL, 0, footer);
	return pawl_zone_parse(zone, image.data, image.size, error);
}

#endif
