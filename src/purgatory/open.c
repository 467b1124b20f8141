/* SPDX-License-Identifier: MIT */
/* Opening and closing a purgatory. */
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <string.h>

static unsigned shards_wanted(const struct pawl_service *service,
                              const struct pawl_purgatory_options *options)
{
	unsigned wanted = options ? options->shards : 0, shards = 1;

	if (wanted == 0) {
		wanted = pawl__service_shards(service);
		wanted = wanted < DEFAULT_OP_SHARDS ? wanted : DEFAULT_OP_SHARDS;
	}
	while (shards < wanted)
		shards *= 2;
	return shards;
}

static int open_shard(struct pawl_purgatory *purgatory, unsigned number)
{
	struct op_shard *shard = &purgatory->shards[number];

	shard->purgatory = purgatory;
	shard->number = number;
	shard->next_alarm_at = PAWL_NEVER;
	shard->table = shard->oldest = purgatory->tables[number] = pawl__table_open();
	return shard->table ? pawl__alarms_open(shard) : -ENOMEM;
}

static void free_purgatory(struct pawl_purgatory *purgatory)
{
	for (unsigned i = 0; purgatory->shards && i < purgatory->shard_count; i++) {
		pawl__tables_free(&purgatory->shards[i]);
		CHECKED(pawl__object_forget(A_WHEEL, purgatory->shards[i].wheel));
		free(purgatory->shards[i].lateness); /* with the alarms and the wheel: one block */
	}
	CHECKED(pawl__object_forget(A_PURGATORY, purgatory));
	pawl__system_free_lines(purgatory->shards);
	pawl__system_free_lines(purgatory);
}

/* Not 0, which a zeroed key has. */
static uint32_t next_id(void)
{
	static uint32_t opened;
	uint32_t id;

	do
		id = __atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
	while (id == 0);
	return id;
}

static int open_shards(struct pawl_purgatory *purgatory)
{
	int error = 0;

	purgatory->shards = pawl__system_lines(purgatory->shard_count * sizeof(struct op_shard));
	if (!purgatory->shards)
		return -ENOMEM;
	for (unsigned i = 0; !error && i < purgatory->shard_count; i++)
		error = open_shard(purgatory, i);
	return error;
}

int pawl_purgatory_open(struct pawl_purgatory **opened, struct pawl_service *service,
                        const struct pawl_purgatory_options *options)
{
	IN_SERVICE(service);
	struct pawl_purgatory *purgatory;
	unsigned shards;
	int error;

	if (options && (options->shards > MAX_OP_SHARDS || !reserved_are_zero(options->reserved)))
		return -EINVAL;
	shards = shards_wanted(service, options);
	purgatory = pawl__system_lines(sizeof(*purgatory) + shards * sizeof(struct table *));
	if (!purgatory)
		return -ENOMEM;
	purgatory->part.write = pawl__purgatory_write;
	purgatory->describe = options ? options->describe : NULL;
	purgatory->service = service;
	purgatory->clock = pawl__service_clock(service);
	purgatory->ticks = pawl__service_ticks(service);
	purgatory->shard_count = shards;
	purgatory->id = next_id();
	/* One more than can run at a time; but one poll runs all that is due. */
	purgatory->alarm_count =
	        pawl__service_manual(service) ? 1 : pawl__service_workers(service) + 1;
	error = pawl__system_random(purgatory->secret, sizeof(purgatory->secret));
	if (!error)
		error = open_shards(purgatory);
	if (error) {
		free_purgatory(purgatory);
		return error;
	}
	mutex_init(&purgatory->stopping);
	CHECKED(pawl__object_note(A_PURGATORY, purgatory, NULL));
	pawl__service_add_part(service, &purgatory->part);
	*opened = purgatory;
	return 0;
}

void pawl_purgatory_close(struct pawl_purgatory *purgatory)
{
	if (!purgatory)
		return;
	IN_PURGATORY(purgatory);
	pawl_purgatory_stop(purgatory);
	pawl__alarms_stop(purgatory); /* a try_or_watch that began before stop may have armed one */
	mutex_destroy(&purgatory->stopping);
	pawl__service_remove_part(purgatory->service, &purgatory->part);
	free_purgatory(purgatory);
}
