/* SPDX-License-Identifier: MIT */
/*
 * Journeys as a picture: a wheel for each level, the coarsest on the left, and for each timer a dot in every slot of
 * its journey, with an arrow to the next one. The legend has the words.
 *
 * No arrow crosses a label, whatever the timers are:
 * - The numbers of slots are inside the rim. An arrow leaves its wheel outwards and enters the next one from outside.
 * - Each timer that moves has a lane: a circle around every wheel, and the line that touches all of these at the top.
 *   Its arrows run in the lane, as a belt does, and the times of its moves are on the line: above it, below the next
 *   lane, and between two wheels, where no arrow leaves a line.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../../src/base/saturate.h"
#include "../text/duration.h"
#include "explain.h"

#define MARGIN     16.0
#define TITLES     60.0 /* above the lanes */
#define OUTER      92.0 /* radii of a wheel's rim */
#define INNER      58.0
#define NUMBERS    49.0 /* radius on which slots are numbered */
#define HAND       38.0
#define LANE       10.0 /* from the rim to the first lane... */
#define STRIP      15.0 /* ...and from one to the next: a line of text */
#define GLYPH      7.5  /* the largest width of a character of that text */
#define GAP        28.0 /* between two wheels and their lanes, at least */
#define LINE       18.0
#define MIN_WIDTH  620.0
#define LINES_MAX  64 /* with more slots, no lines between them... */
#define LABELS_MAX 24 /* ...and no numbers */
#define COLOURS    6

struct canvas {
	FILE *out;
	const struct explanation *e;
	unsigned levels;
	double widest;   /* radius of the outermost lane */
	double column;   /* from a wheel to the next */
	double centre_y; /* of all wheels */
};

struct point {
	double x, y;
};

/* Colours are classes: a dark page has other ones. */
static size_t colour_of(size_t timer)
{
	return timer % COLOURS;
}

static bool sits(const struct journey_step *step)
{
	return step->event == JOURNEY_PUT || step->event == JOURNEY_MOVED;
}

static unsigned levels_used(const struct explanation *e)
{
	unsigned top = 0;

	for (size_t i = 0; i < e->count; i++)
		if (sits(&e->timers[i].steps[0]) && e->timers[i].steps[0].place.level > top)
			top = e->timers[i].steps[0].place.level;
	return top + 1;
}

static double centre_x(const struct canvas *c, unsigned level)
{
	return MARGIN + c->widest + c->column * (c->levels - 1 - level);
}

/* A point of a wheel: `turns` (0 to 1) from the top, clockwise. */
static struct point on_wheel(const struct canvas *c, unsigned level, double turns, double radius)
{
	double angle = (turns - 0.25) * 2.0 * 3.14159265358979323846;

	return (struct point){centre_x(c, level) + radius * cos(angle),
	                      c->centre_y + radius * sin(angle)};
}

static double middle_of(const struct canvas *c, unsigned slot)
{
	return (slot + 0.5) / c->e->options.wheel_size;
}

/* A timer's part of its slot, along it and across it: timers in the same slot are drawn side by side. */
static double part_of(const struct canvas *c, size_t timer)
{
	size_t beside = c->e->count < COLOURS ? c->e->count : COLOURS;

	return (double)(timer % COLOURS + 1) / (double)(beside + 1);
}

static double turns_of(const struct canvas *c, size_t timer, const struct pawl_wheel_place *place)
{
	return (place->slot + part_of(c, timer)) / c->e->options.wheel_size;
}

static struct point dot_of(const struct canvas *c, size_t timer,
                           const struct pawl_wheel_place *place)
{
	return on_wheel(c, place->level, turns_of(c, timer, place),
	                INNER + (OUTER - INNER) * part_of(c, timer));
}

static void line(const struct canvas *c, struct point a, struct point b, const char *style)
{
	fprintf(c->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", a.x, a.y,
	        b.x, b.y, style);
}

static void begin_text(const struct canvas *c, double x, double y, const char *style)
{
	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
}

__attribute__((format(printf, 5, 6))) static void label(const struct canvas *c, double x, double y,
                                                        const char *style, const char *format, ...)
{
	va_list list;

	begin_text(c, x, y, style);
	va_start(list, format);
	vfprintf(c->out, format, list);
	va_end(list);
	fputs("</text>\n", c->out);
}

static void draw_rim(const struct canvas *c, unsigned level)
{
	unsigned slots = c->e->options.wheel_size;

	for (int i = 0; i < 2; i++)
		fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"rim\"/>\n",
		        centre_x(c, level), c->centre_y, i ? OUTER : INNER);
	for (unsigned slot = 0; slot < slots && slots <= LINES_MAX; slot++)
		line(c, on_wheel(c, level, (double)slot / slots, INNER),
		     on_wheel(c, level, (double)slot / slots, OUTER), "class=\"line\"");
}

static void label_slot(const struct canvas *c, unsigned level, unsigned slot)
{
	struct point p = on_wheel(c, level, middle_of(c, slot), NUMBERS);

	label(c, p.x, p.y + 3, "slot", "%u", slot);
}

static bool is_used(const struct canvas *c, unsigned level, unsigned slot)
{
	for (size_t i = 0; i < c->e->count; i++)
		for (unsigned s = 0; s < c->e->timers[i].count; s++) {
			const struct journey_step *step = &c->e->timers[i].steps[s];

			if (sits(step) && step->place.level == level && step->place.slot == slot)
				return true;
		}
	return false;
}

static void label_slots(const struct canvas *c, unsigned level)
{
	unsigned slots = c->e->options.wheel_size;

	for (unsigned slot = 0; slot < slots; slot++)
		if (slots <= LABELS_MAX || is_used(c, level, slot))
			label_slot(c, level, slot);
}

static void hand(const struct canvas *c, struct point from, struct point to)
{
	line(c, from, to, "class=\"hand\"");
	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", from.x, from.y);
}

static void draw_hand(const struct canvas *c, const struct journey_level *level)
{
	double turns = (double)level->current / level->slots;

	hand(c, (struct point){centre_x(c, level->level), c->centre_y},
	     on_wheel(c, level->level, turns, HAND));
}

static void draw_wheel(const struct canvas *c, unsigned number)
{
	struct journey_level level =
	        journey_level_at(&c->e->timers[0].journey, number, c->e->options.start);
	double x = centre_x(c, number);

	label(c, x, 26, "title", "level %u", number);
	label(c, x, 42, "small", "%u slots of %s", level.slots,
	      EXACTLY(saturating_product(level.slot_ticks, c->e->options.tick)));
	draw_rim(c, number);
	label_slots(c, number);
	draw_hand(c, &level);
}

static void draw_sector(const struct canvas *c, size_t timer, const struct pawl_wheel_place *place)
{
	double slots = c->e->options.wheel_size;
	double from = place->slot / slots, to = (place->slot + 1) / slots;
	struct point a = on_wheel(c, place->level, from, OUTER),
	             b = on_wheel(c, place->level, to, OUTER);
	struct point d = on_wheel(c, place->level, to, INNER),
	             e = on_wheel(c, place->level, from, INNER);

	fprintf(c->out,
	        "<path d=\"M%.1f %.1f A%.0f %.0f 0 0 1 %.1f %.1f L%.1f %.1f A%.0f %.0f 0 0 0 %.1f "
	        "%.1f Z\" "
	        "class=\"t%zu\" fill-opacity=\"0.2\"/>\n",
	        a.x, a.y, OUTER, OUTER, b.x, b.y, d.x, d.y, INNER, INNER, e.x, e.y,
	        colour_of(timer));
}

static bool moves(const struct explained *t)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->steps[i].event == JOURNEY_MOVED)
			return true;
	return false;
}

/* Radius of the lane of a timer that moves. The lanes of the timers before it are inside. */
static double lane_of(const struct canvas *c, size_t timer)
{
	double radius = OUTER + LANE;

	for (size_t i = 0; i < timer; i++)
		if (moves(&c->e->timers[i]))
			radius += STRIP;
	return radius;
}

static void line_to(const struct canvas *c, struct point p)
{
	fprintf(c->out, "L%.1f %.1f ", p.x, p.y);
}

/* Along a lane, by less than half a turn. */
static void arc_to(const struct canvas *c, double lane, bool clockwise, struct point p)
{
	fprintf(c->out, "A%.1f %.1f 0 0 %d %.1f %.1f ", lane, lane, clockwise, p.x, p.y);
}

/* From a slot out to its lane and up to the line: on the left around the wheel, on the right straight up. */
static void leave_wheel(const struct canvas *c, unsigned level, double turns, double lane)
{
	struct point p = on_wheel(c, level, turns, lane);

	line_to(c, p);
	if (turns >= 0.5) {
		arc_to(c, lane, true, on_wheel(c, level, 0, lane));
		return;
	}
	if (turns > 0.25) {
		p = on_wheel(c, level, 0.25, lane);
		arc_to(c, lane, false, p);
	}
	line_to(c, (struct point){p.x, c->centre_y - lane});
}

/* From the line to a slot: on the left straight down, on the right around the wheel. */
static void enter_wheel(const struct canvas *c, unsigned level, double turns, double lane)
{
	struct point p = on_wheel(c, level, turns, lane);

	if (turns < 0.5) {
		line_to(c, on_wheel(c, level, 0, lane));
		arc_to(c, lane, true, p);
		return;
	}
	if (turns < 0.75) {
		struct point side = on_wheel(c, level, 0.75, lane);

		line_to(c, (struct point){side.x, c->centre_y - lane});
		line_to(c, side);
		arc_to(c, lane, false, p);
		return;
	}
	line_to(c, (struct point){p.x, c->centre_y - lane});
	line_to(c, p);
}

static void draw_arrow(const struct canvas *c, size_t timer, const struct pawl_wheel_place *from,
                       const struct pawl_wheel_place *to)
{
	struct point a = dot_of(c, timer, from);
	double lane = lane_of(c, timer);

	fprintf(c->out, "<path d=\"M%.1f %.1f ", a.x, a.y);
	leave_wheel(c, from->level, turns_of(c, timer, from), lane);
	enter_wheel(c, to->level, turns_of(c, timer, to), lane);
	line_to(c, dot_of(c, timer, to));
	fprintf(c->out, "\" class=\"arrow t%zu\" marker-end=\"url(#arrow%zu)\"/>\n",
	        colour_of(timer), colour_of(timer));
}

/* The time of a move, on its line: halfway to the next wheel, even if the timer goes further. */
static void label_arrow(const struct canvas *c, size_t timer, const struct pawl_wheel_place *from,
                        const struct pawl_wheel_place *to)
{
	char style[32];

	(void)to;
	snprintf(style, sizeof(style), "move t%zu", colour_of(timer));
	label(c, centre_x(c, from->level) + c->column / 2, c->centre_y - lane_of(c, timer) - 4,
	      style, "at %s", EXACTLY(from->opens));
}

static void draw_dot(const struct canvas *c, size_t timer, const struct pawl_wheel_place *place)
{
	struct point p = dot_of(c, timer, place);

	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"t%zu\"/>\n", p.x, p.y,
	        colour_of(timer));
}

static void draw_stay(const struct canvas *c, size_t timer, const struct pawl_wheel_place *place)
{
	draw_sector(c, timer, place);
	draw_dot(c, timer, place);
}

typedef void stay_fn(const struct canvas *, size_t timer, const struct pawl_wheel_place *);
typedef void move_fn(const struct canvas *, size_t timer, const struct pawl_wheel_place *from,
                     const struct pawl_wheel_place *to);

/* Call `stay` for every place of the timer, and `move` for every two in a row. Each may be NULL. */
static void each_place(const struct canvas *c, size_t timer, stay_fn *stay, move_fn *move)
{
	const struct explained *t = &c->e->timers[timer];
	const struct pawl_wheel_place *before = NULL;

	for (unsigned i = 0; i < t->count; i++) {
		const struct pawl_wheel_place *place = &t->steps[i].place;

		if (!sits(&t->steps[i]))
			continue;
		if (stay)
			stay(c, timer, place);
		if (move && before)
			move(c, timer, before, place);
		before = place;
	}
}

static void tell_step(const struct canvas *c, const struct journey_step *step)
{
	const char *time = EXACTLY(step->time);

	if (step->event == JOURNEY_DUE)
		fprintf(c->out, ", due at %s", time);
	else if (step->event == JOURNEY_LATE)
		fprintf(c->out, " due at once, at %s", time);
	else if (step->event == JOURNEY_MOVED)
		fprintf(c->out, ", at %s", time);
	if (sits(step))
		fprintf(c->out, " to level %u slot %u", step->place.level, step->place.slot);
}

static double legend_y(const struct canvas *c)
{
	return c->centre_y + c->widest + 30;
}

static void draw_now(const struct canvas *c)
{
	double y = legend_y(c);

	hand(c, (struct point){MARGIN + 5, y}, (struct point){MARGIN + 5, y - 11});
	label(c, MARGIN + 18, y, "legend", "now: %s", EXACTLY(c->e->options.start));
}

static void draw_legend(const struct canvas *c, size_t timer)
{
	const struct explained *t = &c->e->timers[timer];
	double y = legend_y(c) + LINE * (double)(timer + 1);

	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"t%zu\"/>\n", MARGIN + 5,
	        y - 4, colour_of(timer));
	begin_text(c, MARGIN + 18, y, "legend");
	fprintf(c->out, "%s:", EXACTLY(t->delay));
	for (unsigned i = 0; i < t->count; i++)
		tell_step(c, &t->steps[i]);
	fputs("</text>\n", c->out);
}

/* The colours of a light page, and those of a dark one. */
static const char style[] =
        "text{text-anchor:middle;fill:#1f2328}"
        ".title{font-weight:bold;font-size:14px}.small,.move{font-size:11px}"
        ".slot{font-size:9px;fill:#59636e}.legend{text-anchor:start}"
        ".paper{fill:#fff}.rim{fill:none;stroke:#444}.line{stroke:#bbb}"
        ".hand{stroke:#1f2328;stroke-width:2}circle{fill:#1f2328}"
        ".t0{color:#0b6bcb}.t1{color:#c2410c}.t2{color:#15803d}"
        ".t3{color:#7e22ce}.t4{color:#8a6100}.t5{color:#be123c}"
        ".t0,.t1,.t2,.t3,.t4,.t5{fill:currentColor}"
        ".arrow{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round}"
        "@media (prefers-color-scheme:dark){"
        "text,circle{fill:#e6edf3}.slot{fill:#9198a1}"
        ".paper{fill:#0d1117}.rim{stroke:#b1bac4}.line{stroke:#3d444d}.hand{stroke:#e6edf3}"
        ".t0{color:#58a6ff}.t1{color:#ff9b61}.t2{color:#4ade80}"
        ".t3{color:#d2a8ff}.t4{color:#e3b341}.t5{color:#ff8fa3}"
        ".t0,.t1,.t2,.t3,.t4,.t5{fill:currentColor}.arrow{fill:none}}";

static void begin_picture(const struct canvas *c)
{
	double width = 2 * (MARGIN + c->widest) + c->column * (c->levels - 1);
	double height = legend_y(c) + LINE * (double)(c->e->count + 1);

	if (width < MIN_WIDTH)
		width = MIN_WIDTH;
	fprintf(c->out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
	        "width=\"%.0f\" "
	        "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
	        "<style>%s</style>\n"
	        "<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n<defs>\n",
	        width, height, width, height, style);
	for (size_t i = 0; i < COLOURS && i < c->e->count; i++)
		fprintf(c->out,
		        "<marker id=\"arrow%zu\" viewBox=\"0 0 10 10\" refX=\"15\" refY=\"5\" "
		        "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
		        "<path d=\"M0 0 L10 5 L0 10 Z\" class=\"t%zu\"/></marker>\n",
		        i, i);
	fputs("</defs>\n", c->out);
}

/* The largest width of the times of a timer's moves. */
static double width_of_times(const struct explained *t)
{
	double widest = 0;

	for (unsigned i = 0; i < t->count; i++) {
		const char *time = EXACTLY(t->steps[i].place.opens);
		double width = GLYPH * (double)(strlen("at ") + strlen(time));

		if (sits(&t->steps[i]) && width > widest)
			widest = width;
	}
	return widest;
}

/* Room for the lanes of the timers that move, and between them for the times. */
static void lay_out(struct canvas *c)
{
	double gap = 0;

	c->widest = OUTER;
	for (size_t i = 0; i < c->e->count; i++) {
		const struct explained *t = &c->e->timers[i];
		double width = moves(t) ? width_of_times(t) : 0;

		if (moves(t))
			c->widest = lane_of(c, i);
		gap = width > gap ? width : gap;
	}
	c->column = 2 * c->widest + gap + GAP;
	c->centre_y = TITLES + c->widest;
}

void explain_as_svg(FILE *out, const struct explanation *e)
{
	struct canvas c = {.out = out, .e = e, .levels = levels_used(e)};

	lay_out(&c);
	begin_picture(&c);
	for (unsigned level = 0; level < c.levels; level++)
		draw_wheel(&c, level);
	for (size_t i = 0; i < e->count; i++)
		each_place(&c, i, draw_stay, draw_arrow);
	for (size_t i = 0; i < e->count; i++)
		each_place(&c, i, NULL, label_arrow);
	draw_now(&c);
	for (size_t i = 0; i < e->count; i++)
		draw_legend(&c, i);
	fputs("</svg>\n", out);
}
