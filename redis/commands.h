/* SPDX-License-Identifier: MIT */
/* The commands: each is told about in docs/redis.md, and listed with its documentation in register.c. */
#ifndef PAWL_REDIS_COMMANDS_H
#define PAWL_REDIS_COMMANDS_H

#include <stdbool.h>

#include "redis_module.h"

struct queue;
struct task;

/* put.c: new tasks */
RedisModuleCmdFunc command_put, command_mput;
/* every.c: periodic tasks */
RedisModuleCmdFunc command_every;
/* take.c: deliveries */
RedisModuleCmdFunc command_take, command_mtake;
struct args;
/* What follows in the arguments are the options of PAWL.TAKE: take due tasks, or dead ones, from the key in argument 1. */
int take_from_key(struct args *args, bool dead);
/* lease.c: what a taker says about a delivery */
RedisModuleCmdFunc command_ack, command_nack, command_extend;
/* change.c: what others do to a task */
RedisModuleCmdFunc command_cancel, command_move;
/* settings.c: what is set for a queue */
RedisModuleCmdFunc command_config, command_pause, command_resume;
/* dead.c */
RedisModuleCmdFunc command_dead;
/* look.c */
RedisModuleCmdFunc command_get, command_len, command_next, command_info;
/* bulk.c: many tasks at once */
RedisModuleCmdFunc command_scan, command_range, command_sweep;
/* internal.c: what replication and the append-only file consist of */
RedisModuleCmdFunc command_putat, command_setat, command_note, command_drop, command_setup;
/* module.c: for tests only */
RedisModuleCmdFunc command_clock;

/* Reply with the settings of a queue, NULL: of one that does not exist; in a map that has so many fields more. */
enum { SETTINGS = 4 };
void reply_each_setting(RedisModuleCtx *ctx, const struct queue *queue);

/* Reply with the payload; or, with `head`, with at most so many bytes of it and the size of all. */
#define HEAD_ALL UINT64_MAX
void reply_payload(RedisModuleCtx *ctx, const struct task *task, uint64_t head);
/* Read the value of the option HEAD. */
bool args_head(struct args *args, uint64_t *head);

int register_commands(RedisModuleCtx *ctx);
int register_test_commands(RedisModuleCtx *ctx);

#endif
