/* SPDX-License-Identifier: MIT */
/*
 * The commands, and what several of them share. module/docs/redis.md describes the commands; register.c lists them with
 * their documentation.
 */
#ifndef PAWL_MODULE_COMMANDS_H
#define PAWL_MODULE_COMMANDS_H

#include <stdbool.h>

#include "../server/redis_module.h"

struct access;
struct args;
struct queue;
struct task;

/* put.c: new tasks */
RedisModuleCmdFunc command_put, command_mput;
/* every.c: periodic tasks */
RedisModuleCmdFunc command_every;
/* take.c: deliveries */
RedisModuleCmdFunc command_take, command_mtake;
/* PAWL.TAKE, or PAWL.DEAD TAKE, from the key in argument 1. The remaining arguments are the options of PAWL.TAKE. */
int take_from_key(struct args *args, bool dead);
/* lease.c: with the token of a delivery */
RedisModuleCmdFunc command_ack, command_nack, command_extend;
/* change.c: without a token */
RedisModuleCmdFunc command_cancel, command_move;
/* settings.c: the settings of a queue */
RedisModuleCmdFunc command_config, command_pause, command_resume;
/* dead.c: dead tasks */
RedisModuleCmdFunc command_dead;
/* query.c: questions */
RedisModuleCmdFunc command_get, command_len, command_next, command_info;
/* bulk.c: many tasks at once */
RedisModuleCmdFunc command_scan, command_range, command_sweep;
/* internal.c: the commands of the replication stream and the append-only file */
RedisModuleCmdFunc command_putat, command_setat, command_note, command_drop, command_setup;
/* and for tests only */
RedisModuleCmdFunc command_clock;

/* commands.c */

/* The task with the id in this argument, which arg_can_be_id() has checked; NULL if there is none. */
struct task *command_find(struct access *access, const RedisModuleString *arg);
/* The command changed the queue: commit that, and plan when its takers are served. */
void command_changed(struct access *access, const char *event);

/* Read the value of the option HEAD. */
bool args_head(struct args *args, uint64_t *head);
/* Reply with a field of a map. */
void reply_number(RedisModuleCtx *ctx, const char *name, uint64_t value);
/* Reply with the settings of a queue, or of a missing one (NULL), as SETTINGS fields of a map that the caller began. */
enum { SETTINGS = 4 };
void reply_each_setting(RedisModuleCtx *ctx, const struct queue *queue);

/* Reply with the payload. If `head` is not HEAD_ALL: with [its first `head` bytes, its size]. */
#define HEAD_ALL UINT64_MAX
void reply_payload(RedisModuleCtx *ctx, const struct task *task, uint64_t head);

/* register.c */
int register_commands(RedisModuleCtx *ctx);
int register_test_commands(RedisModuleCtx *ctx);

#endif
