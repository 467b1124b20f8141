/* SPDX-License-Identifier: MIT */
/*
 * Saving a wheel: a game that is saved in the middle, played on, loaded and played on again. Towers shoot, each with a
 * period of its own, and a thousand of them share few deadlines: the loaded game must shoot at the same times and in
 * the same order. The time is made up: milliseconds, and a pass every 7 of them, while the wheel has a tick of 16.
 */
#include <pawl/wheel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOWERS 1000
#define TICK   16
#define SHOTS  100000
#define SAVED  20104 /* in the middle of a tick, after some deadlines in it */
#define END    40000

struct tower {
	uint64_t period; /* 0: it shoots in every pass */
	struct pawl_timer shot;
};

struct game {
	struct pawl_wheel *wheel;
	struct pawl_timer mark;
	struct tower towers[TOWERS];
};

/* A wheel as it is written to the file. */
struct saved_timer {
	uint64_t deadline;
	uint32_t tower;
	bool due;
};

struct saved_wheel {
	uint64_t now;
	size_t count;
	struct saved_timer timers[TOWERS];
};

struct saving {
	struct game *game;
	struct saved_wheel *saved;
};

static bool save_timer(struct pawl_timer *timer, void *arg)
{
	const struct saving *saving = arg;
	struct tower *tower = PAWL_CONTAINER_OF(timer, struct tower, shot);

	saving->saved->timers[saving->saved->count++] = (struct saved_timer){
	        .deadline = timer->deadline,
	        .tower = (uint32_t)(tower - saving->game->towers),
	        .due = pawl_wheel_due(saving->game->wheel, timer),
	};
	return true;
}

static void save_wheel(struct game *game, struct saved_wheel *saved)
{
	struct saving saving = {game, saved};

	saved->now = pawl_wheel_now(game->wheel);
	saved->count = 0;
	pawl_wheel_each(game->wheel, save_timer, &saving);
}

static void arm_saved(struct game *game, const struct saved_wheel *saved, bool due)
{
	for (size_t i = 0; i < saved->count; i++)
		if (saved->timers[i].due == due)
			pawl_wheel_arm_at(game->wheel, &game->towers[saved->timers[i].tower].shot,
			                  saved->timers[i].deadline);
}

static struct pawl_wheel *new_wheel(uint64_t start)
{
	struct pawl_wheel_options options = {.start = start, .tick = TICK};
	size_t size = pawl_wheel_footprint(&options);

	return pawl_wheel_init(malloc(size), size, &options);
}

static bool load_wheel(struct game *game, const struct saved_wheel *saved)
{
	game->wheel = new_wheel(saved->now - saved->now % TICK); /* when the present tick began */
	if (!game->wheel)
		return false;
	arm_saved(game, saved, false);
	pawl_wheel_advance(game->wheel, saved->now, 0); /* nothing becomes due by it */
	arm_saved(game, saved, true);
	return true;
}

/* Which tower shot, and when. */
struct log {
	size_t count;
	struct shot {
		uint64_t time, tower;
	} shots[SHOTS];
};

static void shoot(struct game *game, struct tower *tower, uint64_t now, struct log *log)
{
	uint64_t next = tower->period ? tower->shot.deadline + tower->period : now;

	if (log->count < SHOTS)
		log->shots[log->count++] = (struct shot){now, (uint64_t)(tower - game->towers)};
	pawl_wheel_arm_at(game->wheel, &tower->shot, next);
}

/* One pass: a tower without a period shoots once in it, although it is due again at once. */
static void pass(struct game *game, uint64_t now, struct log *log)
{
	struct pawl_timer *timer;

	pawl_wheel_advance(game->wheel, now, 0);
	pawl_wheel_arm_at(game->wheel, &game->mark, 0); /* after all that are due now */
	while ((timer = pawl_wheel_pop(game->wheel)) != &game->mark)
		shoot(game, PAWL_CONTAINER_OF(timer, struct tower, shot), now, log);
}

static void play(struct game *game, uint64_t from, uint64_t to, struct log *log)
{
	for (uint64_t now = from; now < to; now += 7)
		pass(game, now, log);
}

static bool begin(struct game *game)
{
	game->wheel = new_wheel(0);
	for (size_t i = 0; game->wheel && i < TOWERS; i++) {
		game->towers[i].period = i % 100 ? 500 + i * 37 % 90 * 100 : 0;
		pawl_wheel_arm_at(game->wheel, &game->towers[i].shot, game->towers[i].period);
	}
	return game->wheel != NULL;
}

/* A game in a new process has its towers from elsewhere in the file; their timers are idle. */
static void forget_wheel(struct game *game)
{
	free(game->wheel);
	for (size_t i = 0; i < TOWERS; i++)
		memset(&game->towers[i].shot, 0, sizeof(game->towers[i].shot));
}

static bool write_and_read(const struct saved_wheel *saved, struct saved_wheel *read)
{
	FILE *file = tmpfile();
	bool good = file && fwrite(saved, sizeof(*saved), 1, file) == 1 && fflush(file) == 0;

	if (good)
		rewind(file);
	good = good && fread(read, sizeof(*read), 1, file) == 1;
	if (file)
		fclose(file);
	return good;
}

int main(void)
{
	static struct game game;
	static struct saved_wheel saved, read;
	static struct log before, first, again;
	bool same;

	if (!begin(&game))
		return 1;
	play(&game, 0, SAVED + 1, &before);
	save_wheel(&game, &saved);
	play(&game, SAVED + 7, END, &first);
	forget_wheel(&game);
	if (!write_and_read(&saved, &read) || !load_wheel(&game, &read))
		return 1;
	play(&game, SAVED + 7, END, &again);
	same = first.count == again.count && memcmp(&first, &again, sizeof(first)) == 0;
	printf("%zu timers saved; %zu shots later the games %s\n", read.count, first.count,
	       same ? "are the same" : "differ");
	forget_wheel(&game);
	return same ? 0 : 1;
}
