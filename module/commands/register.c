/* SPDX-License-Identifier: MIT */
/* The commands as the server and its clients see them: flags, keys, COMMAND DOCS. */
#include <stdbool.h>
#include <string.h>

#include "commands.h"

#define SINCE "0.1.0"

typedef RedisModuleCommandArg arg;

enum { NONE = 0, OPTIONAL = REDISMODULE_CMD_ARG_OPTIONAL, MULTIPLE = REDISMODULE_CMD_ARG_MULTIPLE };

#define ARG(text, kind, word, parts, how)                                         \
	{                                                                         \
		.name = text, .type = REDISMODULE_ARG_TYPE_##kind, .token = word, \
		.subargs = parts, .flags = how                                    \
	}
#define KEY                          ARG("key", KEY, NULL, NULL, NONE)
#define KEYS                         ARG("key", KEY, NULL, NULL, MULTIPLE)
#define NUMBER(text, word, how)      ARG(text, INTEGER, word, NULL, how)
#define STRING(text, word, how)      ARG(text, STRING, word, NULL, how)
#define TIME(text, word, how)        ARG(text, UNIX_TIME, word, NULL, how)
#define WORD(text, word, how)        ARG(text, PURE_TOKEN, word, NULL, how)
#define PARTS(text, kind, list, how) ARG(text, kind, NULL, list, how)
#define END       \
	{         \
		0 \
	}

static arg nx_or_replace[] = {WORD("nx", "NX", NONE), WORD("replace", "REPLACE", NONE), END};
#define PUT_ARGS                                                               \
	NUMBER("delay-ms", NULL, NONE), STRING("payload", NULL, NONE),         \
	        TIME("unix-ms", "AT", OPTIONAL), STRING("id", "ID", OPTIONAL), \
	        PARTS("condition", ONEOF, nx_or_replace, OPTIONAL),            \
	        NUMBER("maxtries", "MAXTRIES", OPTIONAL)
static arg put_args[] = {KEY, PUT_ARGS, END};
static arg task_parts[] = {PUT_ARGS, END};
static arg mput_args[] = {KEY, PARTS("task", BLOCK, task_parts, MULTIPLE), END};
static arg every_args[] = {KEY,
                           STRING("id", NULL, NONE),
                           NUMBER("period-ms", NULL, NONE),
                           STRING("payload", NULL, NONE),
                           TIME("unix-ms", "AT", OPTIONAL),
                           END};

#define TAKE_OPTIONS                                                               \
	NUMBER("count", "COUNT", OPTIONAL), NUMBER("lease-ms", "LEASE", OPTIONAL), \
	        NUMBER("block-ms", "BLOCK", OPTIONAL)
static arg take_args[] = {KEY, TAKE_OPTIONS, END};
static arg mtake_args[] = {NUMBER("numkeys", NULL, NONE), KEYS, TAKE_OPTIONS, END};

static arg delivery_parts[] = {STRING("id", NULL, NONE), STRING("token", NULL, NONE), END};
static arg ack_args[] = {KEY, PARTS("delivery", BLOCK, delivery_parts, MULTIPLE), END};
static arg nack_args[] = {KEY, PARTS("delivery", BLOCK, delivery_parts, MULTIPLE),
                          NUMBER("delay-ms", "DELAY", OPTIONAL),
                          STRING("reason", "REASON", OPTIONAL), END};
static arg lease_parts[] = {STRING("id", NULL, NONE), STRING("token", NULL, NONE),
                            NUMBER("ms", NULL, NONE), END};
static arg extend_args[] = {KEY, PARTS("lease", BLOCK, lease_parts, MULTIPLE), END};

static arg cancel_args[] = {KEY, STRING("id", NULL, MULTIPLE), WORD("force", "FORCE", OPTIONAL),
                            END};
static arg move_args[] = {KEY, STRING("id", NULL, NONE), NUMBER("delay-ms", NULL, NONE),
                          WORD("force", "FORCE", OPTIONAL), END};

static arg get_args[] = {KEY, STRING("id", NULL, NONE), NUMBER("bytes", "HEAD", OPTIONAL), END};
static arg key_alone[] = {KEY, END};
static arg states[] = {WORD("waiting", "WAITING", NONE), WORD("due", "DUE", NONE),
                       WORD("leased", "LEASED", NONE), WORD("dead", "DEAD", NONE), END};
#define STATE ARG("state", ONEOF, "STATE", states, OPTIONAL)
static arg len_args[] = {KEY, STATE, TIME("from", "FROM", OPTIONAL), TIME("to", "TO", OPTIONAL),
                         END};
#define SCAN_ARGS                                                                     \
	KEY, NUMBER("cursor", NULL, NONE), NUMBER("count", "COUNT", OPTIONAL), STATE, \
	        STRING("pattern", "MATCH", OPTIONAL), TIME("from", "FROM", OPTIONAL), \
	        TIME("to", "TO", OPTIONAL)
static arg scan_args[] = {SCAN_ARGS, WORD("payloads", "PAYLOADS", OPTIONAL), END};
static arg sweep_args[] = {SCAN_ARGS, WORD("force", "FORCE", OPTIONAL), END};
static arg range_args[] = {KEY,
                           TIME("from-ms", NULL, NONE),
                           TIME("to-ms", NULL, NONE),
                           NUMBER("count", "COUNT", OPTIONAL),
                           STATE,
                           NUMBER("bytes", "HEAD", OPTIONAL),
                           END};

static arg backoff_parts[] = {NUMBER("ms", NULL, NONE), NUMBER("max-ms", NULL, NONE), END};
static arg config_args[] = {KEY, NUMBER("maxdead", "MAXDEAD", OPTIONAL),
                            ARG("backoff", BLOCK, "BACKOFF", backoff_parts, OPTIONAL), END};

static arg dead_take[] = {WORD("take", "TAKE", NONE), TAKE_OPTIONS, END};
static arg ids_or_all[] = {STRING("id", NULL, MULTIPLE), WORD("all", "ALL", NONE), END};
static arg dead_requeue[] = {WORD("requeue", "REQUEUE", NONE),
                             PARTS("tasks", ONEOF, ids_or_all, NONE),
                             NUMBER("delay-ms", "DELAY", OPTIONAL), END};
static arg dead_actions[] = {PARTS("take", BLOCK, dead_take, NONE),
                             PARTS("requeue", BLOCK, dead_requeue, NONE), END};
static arg dead_args[] = {KEY, PARTS("action", ONEOF, dead_actions, NONE), END};

static arg note_parts[] = {STRING("reason", NULL, NONE), NUMBER("period", NULL, NONE),
                           NUMBER("base", NULL, NONE), END};
static arg putat_state[] = {STRING("state", NULL, NONE), NUMBER("tries", NULL, NONE),
                            STRING("token", NULL, NONE), PARTS("note", BLOCK, note_parts, OPTIONAL),
                            END};
static arg putat_more[] = {NUMBER("at", NULL, NONE), STRING("id", NULL, NONE),
                           STRING("payload", NULL, NONE), NUMBER("maxtries", NULL, NONE), END};
static arg putat_args[] = {KEY,
                           NUMBER("at", NULL, NONE),
                           STRING("id", NULL, NONE),
                           STRING("payload", NULL, NONE),
                           NUMBER("maxtries", NULL, OPTIONAL),
                           PARTS("state", BLOCK, putat_state, OPTIONAL),
                           PARTS("more", BLOCK, putat_more, OPTIONAL | MULTIPLE),
                           END};
static arg setat_parts[] = {NUMBER("tries", NULL, NONE), STRING("token", NULL, NONE),
                            STRING("id", NULL, NONE), END};
static arg setat_args[] = {KEY, NUMBER("at", NULL, NONE), STRING("state", NULL, NONE),
                           PARTS("task", BLOCK, setat_parts, MULTIPLE), END};
static arg setup_args[] = {KEY,
                           NUMBER("paused", NULL, NONE),
                           NUMBER("maxdead", NULL, NONE),
                           NUMBER("backoff-ms", NULL, NONE),
                           NUMBER("backoff-max-ms", NULL, NONE),
                           END};
static arg note_args[] = {KEY, STRING("reason", NULL, NONE), STRING("id", NULL, MULTIPLE), END};
static arg drop_args[] = {KEY, STRING("id", NULL, MULTIPLE), END};

enum {
	INSERTS = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT,
	UPDATES = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE,
	TAKES = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_DELETE,
	DELETES = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_DELETE,
	READS = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
	COUNTS = REDISMODULE_CMD_KEY_RO,
};

static const struct entry {
	const char *name;
	RedisModuleCmdFunc *run;
	const char *flags, *categories;
	int key_flags, arity;
	arg *args;
	const char *summary, *complexity;
} entries[] = {
        {"pawl.put", command_put, "write deny-oom fast", "write fast", INSERTS, -4, put_args,
         "Puts a task into a queue, due after a delay or at a time.", "O(1)"},
        {"pawl.mput", command_mput, "write deny-oom", "write slow", INSERTS, -4, mput_args,
         "Puts several tasks into a queue, all or none.", "O(N) for N tasks"},
        {"pawl.every", command_every, "write deny-oom fast", "write fast", INSERTS, -5, every_args,
         "Puts a periodic task into a queue.", "O(1)"},
        {"pawl.take", command_take, "write blocking", "write slow blocking", TAKES, -2, take_args,
         "Delivers tasks that are due, with or without a lease.", "O(N) for N tasks delivered"},
        {"pawl.mtake", command_mtake, "write blocking getkeys-api", "write slow blocking", TAKES,
         -3, mtake_args,
         "Delivers tasks of one of several queues: the one whose first task has been due longest.",
         "O(K + N) for K keys and N tasks delivered"},
        {"pawl.ack", command_ack, "write fast", "write fast", DELETES, -4, ack_args,
         "Acknowledges deliveries: their tasks are done.", "O(N) for N deliveries"},
        {"pawl.nack", command_nack, "write fast", "write fast", UPDATES, -4, nack_args,
         "Gives deliveries back: their tasks are due again, at once or later, or dead.",
         "O(N) for N deliveries"},
        {"pawl.extend", command_extend, "write fast", "write fast", UPDATES, -5, extend_args,
         "Extends leases to a number of milliseconds from now.", "O(N) for N leases"},
        {"pawl.cancel", command_cancel, "write fast", "write fast", DELETES, -3, cancel_args,
         "Deletes tasks.", "O(N) for N ids"},
        {"pawl.move", command_move, "write fast", "write fast", UPDATES, -4, move_args,
         "Gives a task another due time.", "O(1)"},
        {"pawl.config", command_config, "write fast", "write fast", UPDATES, -2, config_args,
         "Shows or changes the settings of a queue.", "O(1)"},
        {"pawl.pause", command_pause, "write fast", "write fast", UPDATES, 2, key_alone,
         "Stops deliveries from a queue until it is resumed.", "O(1)"},
        {"pawl.resume", command_resume, "write fast", "write fast", UPDATES, 2, key_alone,
         "Lets a paused queue deliver again.", "O(1)"},
        {"pawl.dead", command_dead, "write blocking", "write slow blocking", TAKES, -3, dead_args,
         "Takes or requeues tasks that used up their tries.", "O(N) for N tasks taken or requeued"},
        {"pawl.get", command_get, "readonly fast", "read fast", READS, -3, get_args,
         "Shows a task.", "O(1)"},
        {"pawl.len", command_len, "readonly fast", "read fast", COUNTS, -2, len_args,
         "Counts the tasks of a queue, all or those in one state or a range of time.", "O(1)"},
        {"pawl.next", command_next, "readonly fast", "read fast", COUNTS, 2, key_alone,
         "Shows how many milliseconds remain until a task is due.", "O(1)"},
        {"pawl.scan", command_scan, "readonly", "read slow", READS, -3, scan_args,
         "Goes through the tasks of a queue.", "O(N) for COUNT N"},
        {"pawl.range", command_range, "readonly", "read slow", READS, -4, range_args,
         "Shows the tasks of a range of time, in order.", "O(N) for N tasks shown"},
        {"pawl.sweep", command_sweep, "write", "write slow", DELETES, -3, sweep_args,
         "Goes through the tasks of a queue and cancels those of a state, pattern or range.",
         "O(N) for COUNT N"},
        {"pawl.info", command_info, "readonly", "read slow", COUNTS, 2, key_alone,
         "Shows a queue's counts, lateness, settings and memory.", "O(1)"},
        {"pawl.putat", command_putat, "write admin", "write admin slow dangerous", INSERTS, -5,
         putat_args, "Internal, for replicas and the append-only file: tasks are put.", "O(1)"},
        {"pawl.setat", command_setat, "write admin", "write admin slow dangerous", UPDATES, -7,
         setat_args, "Internal, for replicas and the append-only file: tasks change their state.",
         "O(N) for N tasks"},
        {"pawl.note", command_note, "write admin", "write admin slow dangerous", UPDATES, -4,
         note_args, "Internal, for replicas and the append-only file: tasks get a reason.",
         "O(N) for N tasks"},
        {"pawl.drop", command_drop, "write admin", "write admin slow dangerous", DELETES, -3,
         drop_args, "Internal, for replicas and the append-only file: tasks are deleted.",
         "O(N) for N tasks"},
        {"pawl.setup", command_setup, "write admin", "write admin slow dangerous", UPDATES, 6,
         setup_args, "Internal, for replicas and the append-only file: the settings of a queue.",
         "O(1)"},
};

/*
 * Commands whose reply depends on the time, on ids and tokens that the server makes, or on the order of the id table: a
 * tip for proxies and tests that compare replies.
 */
static const char *tips_of(const struct entry *entry)
{
	static const char *const varying[] = {"pawl.put",  "pawl.mput",  "pawl.take", "pawl.mtake",
	                                      "pawl.dead", "pawl.get",   "pawl.len",  "pawl.next",
	                                      "pawl.scan", "pawl.range", "pawl.info", "pawl.sweep"};

	for (size_t i = 0; i < sizeof(varying) / sizeof(varying[0]); i++)
		if (strcmp(entry->name, varying[i]) == 0)
			return "nondeterministic_output";
	return NULL;
}

/* Whether the first argument is the number of keys that follow. Otherwise it is the only key. */
static bool counts_keys(const struct entry *entry)
{
	return entry->args == mtake_args;
}

static RedisModuleCommandKeySpec keys_of(const struct entry *entry)
{
	RedisModuleCommandKeySpec keys = {
	        .flags = (uint64_t)entry->key_flags,
	        .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
	        .bs.index.pos = 1,
	        .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
	        .fk.range = {0, 1, 0},
	};

	if (counts_keys(entry)) {
		keys.find_keys_type = REDISMODULE_KSPEC_FK_KEYNUM;
		keys.fk.keynum.keynumidx = 0;
		keys.fk.keynum.firstkey = keys.fk.keynum.keystep = 1;
	}
	return keys;
}

static int document(RedisModuleCtx *ctx, const struct entry *entry)
{
	RedisModuleCommand *command = RedisModule_GetCommand(ctx, entry->name);
	static const RedisModuleCommandInfoVersion version = {
	        1, sizeof(RedisModuleCommandHistoryEntry), sizeof(RedisModuleCommandKeySpec),
	        sizeof(RedisModuleCommandArg)};
	RedisModuleCommandKeySpec keys[2] = {keys_of(entry)};
	RedisModuleCommandInfo info = {
	        .version = &version,
	        .summary = entry->summary,
	        .complexity = entry->complexity,
	        .since = SINCE,
	        .tips = tips_of(entry),
	        .arity = entry->arity,
	        .key_specs = keys,
	        .args = entry->args,
	};

	if (RedisModule_SetCommandACLCategories &&
	    RedisModule_SetCommandACLCategories(command, entry->categories) != REDISMODULE_OK)
		return REDISMODULE_ERR;
	return RedisModule_SetCommandInfo(command, &info);
}

int register_commands(RedisModuleCtx *ctx)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *entry = &entries[i];
		int key = counts_keys(entry) ? 0 : 1;

		if (RedisModule_CreateCommand(ctx, entry->name, entry->run, entry->flags, key, key,
		                              key) != REDISMODULE_OK ||
		    document(ctx, entry) != REDISMODULE_OK)
			return REDISMODULE_ERR;
	}
	return REDISMODULE_OK;
}

int register_test_commands(RedisModuleCtx *ctx)
{
	return RedisModule_CreateCommand(ctx, "pawl.clock", command_clock, "admin", 0, 0, 0);
}
