/* SPDX-License-Identifier: MIT */
/*
 * Journeys as a picture: a wheel for each level, the coarsest on the left, and for each timer a dot in every
 * slot that it sits in, with an arrow to the next one. What it says in words is in the legend.
 */
#include <math.h>

#include "explain.h"

#define COLUMN     270.0 /* for one wheel */
#define MARGIN     16.0
#define CENTRE_Y   172.0
#define OUTER      92.0 /* radii of a wheel's rim */
#define INNER      56.0
#define LEGEND_Y   318.0
#define LINE       18.0
#define MIN_WIDTH  620.0
#define LINES_MAX  64 /* slots that are told apart by lines... */
#define LABELS_MAX 32 /* ...and by numbers */
#define COLOURS    6

static const char *const colours[COLOURS] = {"#0b6bcb", "#c2410c", "#15803d",
                                             "#7e22ce", "#b45309", "#be123c"};

struct canvas {
	FILE *out;
	const struct explanation *e;
	unsigned levels;
};

struct point {
	double x, y;
};

static const char *colour_of(size_t timer)
{
	return colours[timer % COLOURS];
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
	return MARGIN + COLUMN * (c->levels - 1 - level + 0.5);
}

/* A point of a wheel: `turns` of the whole from the top, clockwise. */
static struct point on_wheel(const struct canvas *c, unsigned level, double turns, double radius)
{
	double angle = (turns - 0.25) * 2.0 * 3.14159265358979323846;

	return (struct point){centre_x(c, level) + radius * cos(angle),
	                      CENTRE_Y + radius * sin(angle)};
}

static double middle_of(const struct canvas *c, unsigned slot)
{
	return (slot + 0.5) / c->e->options.wheel_size;
}

/* Timers that share a slot sit beside each other on its radius. */
static struct point dot_of(const struct canvas *c, size_t timer, const struct pawl_place *place)
{
	size_t beside = c->e->count < COLOURS ? c->e->count : COLOURS;
	double part = (double)(timer % COLOURS + 1) / (double)(beside + 1);

	return on_wheel(c, place->level, middle_of(c, place->slot), INNER + (OUTER - INNER) * part);
}

static void print_time(const struct canvas *c, uint64_t time)
{
	char text[48];

	journey_time(time, &c->e->unit, text, sizeof(text));
	fputs(text, c->out);
}

static void line(const struct canvas *c, struct point a, struct point b, const char *style)
{
	fprintf(c->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", a.x, a.y,
	        b.x, b.y, style);
}

static void begin_text(const struct canvas *c, double x, double y, const char *style)
{
	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
}

static void end_text(const struct canvas *c)
{
	fputs("</text>\n", c->out);
}

static void draw_rim(const struct canvas *c, unsigned level)
{
	unsigned slots = c->e->options.wheel_size;

	for (int i = 0; i < 2; i++)
		fprintf(c->out,
		        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"none\" "
		        "stroke=\"#444\"/>\n",
		        centre_x(c, level), CENTRE_Y, i ? OUTER : INNER);
	for (unsigned slot = 0; slot < slots && slots <= LINES_MAX; slot++)
		line(c, on_wheel(c, level, (double)slot / slots, INNER),
		     on_wheel(c, level, (double)slot / slots, OUTER), "stroke=\"#bbb\"");
}

static void label_slot(const struct canvas *c, unsigned level, unsigned slot)
{
	struct point p = on_wheel(c, level, middle_of(c, slot), OUTER + 10);

	begin_text(c, p.x, p.y + 3, "class=\"slot\"");
	fprintf(c->out, "%u", slot);
	end_text(c);
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

static void draw_hand(const struct canvas *c, const struct journey_level *level)
{
	double turns = (double)level->current / level->slots;
	struct point centre = {centre_x(c, level->level), CENTRE_Y};

	line(c, centre, on_wheel(c, level->level, turns, INNER - 4),
	     "stroke=\"#444\" stroke-width=\"2\"");
	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#444\"/>\n", centre.x,
	        centre.y);
	begin_text(c, centre.x, centre.y + 20, "class=\"small\"");
	fputs("now ", c->out);
	print_time(c, c->e->options.start);
	end_text(c);
}

static void draw_wheel(const struct canvas *c, unsigned number)
{
	struct journey_level level =
	        journey_level_at(&c->e->timers[0].journey, number, c->e->options.start);
	double x = centre_x(c, number);

	begin_text(c, x, 26, "class=\"title\"");
	fprintf(c->out, "level %u", number);
	end_text(c);
	begin_text(c, x, 42, "class=\"small\"");
	fprintf(c->out, "%u slots of ", level.slots);
	print_time(c, level.slot_ticks <= PAWL_NEVER / c->e->options.tick
	                      ? level.slot_ticks * c->e->options.tick
	                      : PAWL_NEVER);
	end_text(c);
	draw_rim(c, number);
	label_slots(c, number);
	draw_hand(c, &level);
}

static void draw_sector(const struct canvas *c, size_t timer, const struct pawl_place *place)
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
	        "fill=\"%s\" fill-opacity=\"0.2\"/>\n",
	        a.x, a.y, OUTER, OUTER, b.x, b.y, d.x, d.y, INNER, INNER, e.x, e.y,
	        colour_of(timer));
}

/* Where an arrow bends: it leads upwards, out of the way of the slots between. */
static struct point bend_of(struct point a, struct point b)
{
	return (struct point){(a.x + b.x) / 2, (a.y < b.y ? a.y : b.y) - 30};
}

static void draw_arrow(const struct canvas *c, size_t timer, const struct pawl_place *from,
                       const struct pawl_place *to)
{
	struct point a = dot_of(c, timer, from), b = dot_of(c, timer, to), bend = bend_of(a, b);

	fprintf(c->out,
	        "<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" "
	        "stroke-width=\"1.5\" marker-end=\"url(#arrow%zu)\"/>\n",
	        a.x, a.y, bend.x, bend.y, b.x, b.y, colour_of(timer), timer % COLOURS);
}

/* The moment of a move, on its arrow; not at the same part of each, since arrows cross in the middle. */
static void label_arrow(const struct canvas *c, size_t timer, const struct pawl_place *from,
                        const struct pawl_place *to)
{
	struct point a = dot_of(c, timer, from), b = dot_of(c, timer, to), bend = bend_of(a, b);
	double t = timer % 2 ? 0.35 : 0.55, u = 1 - t;

	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"move\" fill=\"%s\">at ",
	        u * u * a.x + 2 * u * t * bend.x + t * t * b.x,
	        u * u * a.y + 2 * u * t * bend.y + t * t * b.y - 5, colour_of(timer));
	print_time(c, from->opens);
	end_text(c);
}

static void draw_dot(const struct canvas *c, size_t timer, const struct pawl_place *place)
{
	struct point p = dot_of(c, timer, place);

	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", p.x, p.y,
	        colour_of(timer));
}

static void draw_stay(const struct canvas *c, size_t timer, const struct pawl_place *place)
{
	draw_sector(c, timer, place);
	draw_dot(c, timer, place);
}

typedef void stay_fn(const struct canvas *, size_t timer, const struct pawl_place *);
typedef void move_fn(const struct canvas *, size_t timer, const struct pawl_place *from,
                     const struct pawl_place *to);

/* Call `stay`, if given, for every place of the timer, and `move`, if given, for every two in a row. */
static void each_place(const struct canvas *c, size_t timer, stay_fn *stay, move_fn *move)
{
	const struct explained *t = &c->e->timers[timer];
	const struct pawl_place *before = NULL;

	for (unsigned i = 0; i < t->count; i++) {
		const struct pawl_place *place = &t->steps[i].place;

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
	if (step->event == JOURNEY_DUE || step->event == JOURNEY_LATE) {
		fputs(step->event == JOURNEY_DUE ? ", due at " : " due at once, at ", c->out);
		print_time(c, step->time);
	} else if (sits(step)) {
		if (step->event == JOURNEY_MOVED) {
			fputs(", at ", c->out);
			print_time(c, step->time);
		}
		fprintf(c->out, " to level %u slot %u", step->place.level, step->place.slot);
	}
}

static void draw_legend(const struct canvas *c, size_t timer)
{
	const struct explained *t = &c->e->timers[timer];
	double y = LEGEND_Y + LINE * (double)timer;

	fprintf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", MARGIN + 5,
	        y - 4, colour_of(timer));
	begin_text(c, MARGIN + 18, y, "class=\"legend\"");
	print_time(c, t->delay);
	fputc(':', c->out);
	for (unsigned i = 0; i < t->count; i++)
		tell_step(c, &t->steps[i]);
	end_text(c);
}

static void begin_picture(const struct canvas *c)
{
	double width = 2 * MARGIN + COLUMN * c->levels;
	double height = LEGEND_Y + LINE * (double)c->e->count;

	if (width < MIN_WIDTH)
		width = MIN_WIDTH;
	fprintf(c->out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
	        "width=\"%.0f\" "
	        "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
	        "<style>text{text-anchor:middle}.title{font-weight:bold;font-size:14px}"
	        ".small,.move{font-size:11px}.move{paint-order:stroke;stroke:#fff;stroke-width:3px}"
	        ".slot{font-size:9px;fill:#666}.legend{text-anchor:start}</"
	        "style>\n"
	        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<defs>\n",
	        width, height, width, height);
	for (size_t i = 0; i < COLOURS && i < c->e->count; i++)
		fprintf(c->out,
		        "<marker id=\"arrow%zu\" viewBox=\"0 0 10 10\" refX=\"15\" refY=\"5\" "
		        "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
		        "<path d=\"M0 0 L10 5 L0 10 Z\" fill=\"%s\"/></marker>\n",
		        i, colour_of(i));
	fputs("</defs>\n", c->out);
}

void explain_as_svg(FILE *out, const struct explanation *e)
{
	struct canvas c = {.out = out, .e = e, .levels = levels_used(e)};

	begin_picture(&c);
	for (unsigned level = 0; level < c.levels; level++)
		draw_wheel(&c, level);
	for (size_t i = 0; i < e->count; i++)
		each_place(&c, i, draw_stay, draw_arrow);
	for (size_t i = 0; i < e->count; i++)
		each_place(&c, i, NULL, label_arrow);
	for (size_t i = 0; i < e->count; i++)
		draw_legend(&c, i);
	fputs("</svg>\n", out);
}
