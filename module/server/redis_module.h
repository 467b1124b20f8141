/* SPDX-License-Identifier: MIT */
/*
 * The part of the server's module interface that this module uses, declared from its public documentation. Redis 7.0,
 * Valkey 7.2 and later servers have it.
 *
 * The server passes a module only a context, whose first word is a function that finds all others by name. So each
 * function is a pointer here, which RedisModule_Bind sets when the module is loaded.
 */
#ifndef PAWL_MODULE_REDIS_MODULE_H
#define PAWL_MODULE_REDIS_MODULE_H

#include <stddef.h>
#include <stdint.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;
typedef struct RedisModuleDefragCtx RedisModuleDefragCtx;
typedef uint64_t RedisModuleTimerID;

typedef int RedisModuleCmdFunc(RedisModuleCtx *, RedisModuleString **argv, int argc);
typedef void RedisModuleTimerProc(RedisModuleCtx *, void *data);
typedef void RedisModuleEventLoopFunc(int fd, void *data, int mask);
typedef void RedisModuleDisconnectFunc(RedisModuleCtx *, RedisModuleBlockedClient *);
typedef long long RedisModuleConfigGetNumericFunc(const char *name, void *data);
typedef int RedisModuleConfigSetNumericFunc(const char *name, long long value, void *data,
                                            RedisModuleString **error);
typedef int RedisModuleConfigApplyFunc(RedisModuleCtx *, void *data, RedisModuleString **error);
typedef void RedisModuleInfoFunc(RedisModuleInfoCtx *, int for_crash_report);

enum { REDISMODULE_OK = 0, REDISMODULE_ERR = 1, REDISMODULE_APIVER_1 = 1 };
enum { REDISMODULE_READ = 1 << 0, REDISMODULE_WRITE = 1 << 1 };
enum { REDISMODULE_KEYTYPE_EMPTY = 0 };
enum { REDISMODULE_POSTPONED_LEN = -1 };
enum { REDISMODULE_NOTIFY_GENERIC = 1 << 2, REDISMODULE_NOTIFY_MODULE = 1 << 13 };
enum { REDISMODULE_EVENTLOOP_READABLE = 1 };
enum { /* RedisModule_SetModuleOptions */
       REDISMODULE_OPTIONS_HANDLE_IO_ERRORS = 1 << 0,
       REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED = 1 << 1,
       REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD = 1 << 2,
};
enum { /* RedisModule_GetContextFlags */
       REDISMODULE_CTX_FLAGS_LUA = 1 << 0,
       REDISMODULE_CTX_FLAGS_MULTI = 1 << 1,
       REDISMODULE_CTX_FLAGS_SLAVE = 1 << 3,
       REDISMODULE_CTX_FLAGS_LOADING = 1 << 13,
       REDISMODULE_CTX_FLAGS_DENY_BLOCKING = 1 << 21,
};

typedef struct RedisModuleTypeMethods {
	uint64_t version;
	void *(*rdb_load)(RedisModuleIO *, int encoding);
	void (*rdb_save)(RedisModuleIO *, void *value);
	void (*aof_rewrite)(RedisModuleIO *, RedisModuleString *key, void *value);
	size_t (*mem_usage)(const void *value);
	void (*digest)(RedisModuleDigest *, void *value);
	void (*free)(void *value);
	int (*aux_load)(RedisModuleIO *, int encoding, int when);
	void (*aux_save)(RedisModuleIO *, int when);
	int aux_save_triggers;
	size_t (*free_effort)(RedisModuleString *key, const void *value);
	void (*unlink)(RedisModuleString *key, const void *value);
	void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
	int (*defrag)(RedisModuleDefragCtx *, RedisModuleString *key, void **value);
} RedisModuleTypeMethods;
enum { REDISMODULE_TYPE_METHOD_VERSION = 3 };

/* For COMMAND INFO and COMMAND DOCS. */
enum { REDISMODULE_KSPEC_BS_INDEX = 2 };
enum { REDISMODULE_KSPEC_FK_RANGE = 2, REDISMODULE_KSPEC_FK_KEYNUM = 3 };
enum {
	REDISMODULE_CMD_KEY_RO = 1 << 0,
	REDISMODULE_CMD_KEY_RW = 1 << 1,
	REDISMODULE_CMD_KEY_ACCESS = 1 << 4,
	REDISMODULE_CMD_KEY_UPDATE = 1 << 5,
	REDISMODULE_CMD_KEY_INSERT = 1 << 6,
	REDISMODULE_CMD_KEY_DELETE = 1 << 7,
};
enum {
	REDISMODULE_ARG_TYPE_STRING = 0,
	REDISMODULE_ARG_TYPE_INTEGER = 1,
	REDISMODULE_ARG_TYPE_KEY = 3,
	REDISMODULE_ARG_TYPE_UNIX_TIME = 5,
	REDISMODULE_ARG_TYPE_PURE_TOKEN = 6,
	REDISMODULE_ARG_TYPE_ONEOF = 7,
	REDISMODULE_ARG_TYPE_BLOCK = 8,
};
enum { REDISMODULE_CMD_ARG_OPTIONAL = 1 << 0, REDISMODULE_CMD_ARG_MULTIPLE = 1 << 1 };

typedef struct RedisModuleCommandHistoryEntry {
	const char *since, *changes;
} RedisModuleCommandHistoryEntry;

typedef struct RedisModuleCommandKeySpec {
	const char *notes;
	uint64_t flags;
	int begin_search_type;
	union {
		struct {
			int pos;
		} index;
		struct {
			const char *keyword;
			int startfrom;
		} keyword;
	} bs;
	int find_keys_type;
	union {
		struct {
			int lastkey, keystep, limit;
		} range;
		struct {
			int keynumidx, firstkey, keystep;
		} keynum;
	} fk;
} RedisModuleCommandKeySpec;

typedef struct RedisModuleCommandArg {
	const char *name;
	int type;
	int key_spec_index;
	const char *token, *summary, *since;
	int flags;
	const char *deprecated_since;
	struct RedisModuleCommandArg *subargs;
	const char *display_text;
} RedisModuleCommandArg;

typedef struct RedisModuleCommandInfoVersion {
	int version;
	size_t sizeof_historyentry, sizeof_keyspec, sizeof_arg;
} RedisModuleCommandInfoVersion;

typedef struct RedisModuleCommandInfo {
	const RedisModuleCommandInfoVersion *version;
	const char *summary, *complexity, *since;
	RedisModuleCommandHistoryEntry *history;
	const char *tips;
	int arity;
	RedisModuleCommandKeySpec *key_specs;
	RedisModuleCommandArg *args;
} RedisModuleCommandInfo;

/* The functions: result, name, arguments. */
#define REDISMODULE_FUNCTIONS(X)                                                                  \
	X(void *, Alloc, (size_t))                                                                \
	X(void *, Calloc, (size_t, size_t))                                                       \
	X(void *, Realloc, (void *, size_t))                                                      \
	X(void, Free, (void *))                                                                   \
	X(size_t, MallocSize, (void *))                                                           \
	X(int, IsModuleNameBusy, (const char *name))                                              \
	X(void, SetModuleAttribs, (RedisModuleCtx *, const char *name, int version, int api))     \
	X(void, SetModuleOptions, (RedisModuleCtx *, int options))                                \
	X(int, CreateCommand,                                                                     \
	  (RedisModuleCtx *, const char *name, RedisModuleCmdFunc *, const char *flags,           \
	   int first_key, int last_key, int key_step))                                            \
	X(RedisModuleCommand *, GetCommand, (RedisModuleCtx *, const char *name))                 \
	X(int, SetCommandInfo, (RedisModuleCommand *, const RedisModuleCommandInfo *))            \
	X(RedisModuleType *, CreateDataType,                                                      \
	  (RedisModuleCtx *, const char *name, int encoding, RedisModuleTypeMethods *))           \
	X(int, IsKeysPositionRequest, (RedisModuleCtx *))                                         \
	X(void, KeyAtPos, (RedisModuleCtx *, int position))                                       \
	X(int, GetContextFlags, (RedisModuleCtx *))                                               \
	X(int, AvoidReplicaTraffic, (void))                                                       \
	X(long long, Milliseconds, (void))                                                        \
	X(void, GetRandomBytes, (unsigned char *, size_t))                                        \
	X(void, Log, (RedisModuleCtx *, const char *level, const char *format, ...))              \
	X(RedisModuleString *, CreateString, (RedisModuleCtx *, const char *, size_t))            \
	X(RedisModuleString *, CreateStringFromString,                                            \
	  (RedisModuleCtx *, const RedisModuleString *))                                          \
	X(void, FreeString, (RedisModuleCtx *, RedisModuleString *))                              \
	X(void, RetainString, (RedisModuleCtx *, RedisModuleString *))                            \
	X(const char *, StringPtrLen, (const RedisModuleString *, size_t *))                      \
	X(int, StringToLongLong, (const RedisModuleString *, long long *))                        \
	X(int, GetSelectedDb, (RedisModuleCtx *))                                                 \
	X(int, SelectDb, (RedisModuleCtx *, int))                                                 \
	X(RedisModuleKey *, OpenKey, (RedisModuleCtx *, RedisModuleString *, int mode))           \
	X(void, CloseKey, (RedisModuleKey *))                                                     \
	X(int, KeyType, (RedisModuleKey *))                                                       \
	X(int, DeleteKey, (RedisModuleKey *))                                                     \
	X(RedisModuleType *, ModuleTypeGetType, (RedisModuleKey *))                               \
	X(void *, ModuleTypeGetValue, (RedisModuleKey *))                                         \
	X(int, ModuleTypeSetValue, (RedisModuleKey *, RedisModuleType *, void *))                 \
	X(int, SignalModifiedKey, (RedisModuleCtx *, RedisModuleString *))                        \
	X(int, NotifyKeyspaceEvent,                                                               \
	  (RedisModuleCtx *, int type, const char *, RedisModuleString *))                        \
	X(int, Replicate, (RedisModuleCtx *, const char *command, const char *format, ...))       \
	X(int, ReplicateVerbatim, (RedisModuleCtx *))                                             \
	X(int, WrongArity, (RedisModuleCtx *))                                                    \
	X(int, ReplyWithError, (RedisModuleCtx *, const char *))                                  \
	X(int, ReplyWithLongLong, (RedisModuleCtx *, long long))                                  \
	X(int, ReplyWithArray, (RedisModuleCtx *, long))                                          \
	X(int, ReplyWithMap, (RedisModuleCtx *, long))                                            \
	X(int, ReplyWithNull, (RedisModuleCtx *))                                                 \
	X(int, ReplyWithNullArray, (RedisModuleCtx *))                                            \
	X(int, ReplyWithStringBuffer, (RedisModuleCtx *, const char *, size_t))                   \
	X(int, ReplyWithCString, (RedisModuleCtx *, const char *))                                \
	X(int, ReplyWithSimpleString, (RedisModuleCtx *, const char *))                           \
	X(void, ReplySetArrayLength, (RedisModuleCtx *, long))                                    \
	X(void, SaveUnsigned, (RedisModuleIO *, uint64_t))                                        \
	X(uint64_t, LoadUnsigned, (RedisModuleIO *))                                              \
	X(void, SaveStringBuffer, (RedisModuleIO *, const char *, size_t))                        \
	X(char *, LoadStringBuffer, (RedisModuleIO *, size_t *))                                  \
	X(int, IsIOError, (RedisModuleIO *))                                                      \
	X(void, LogIOError, (RedisModuleIO *, const char *level, const char *format, ...))        \
	X(void, EmitAOF, (RedisModuleIO *, const char *command, const char *format, ...))         \
	X(void, DigestAddStringBuffer, (RedisModuleDigest *, const char *, size_t))               \
	X(void, DigestAddLongLong, (RedisModuleDigest *, long long))                              \
	X(void, DigestEndSequence, (RedisModuleDigest *))                                         \
	X(RedisModuleBlockedClient *, BlockClientOnKeys,                                          \
	  (RedisModuleCtx *, RedisModuleCmdFunc * reply, RedisModuleCmdFunc * timeout,            \
	   void (*free_data)(RedisModuleCtx *, void *), long long timeout_ms,                     \
	   RedisModuleString **keys, int count, void *data))                                      \
	X(int, UnblockClient, (RedisModuleBlockedClient *, void *data))                           \
	X(void, SetDisconnectCallback, (RedisModuleBlockedClient *, RedisModuleDisconnectFunc *)) \
	X(void *, GetBlockedClientPrivateData, (RedisModuleCtx *))                                \
	X(RedisModuleString *, GetBlockedClientReadyKey, (RedisModuleCtx *))                      \
	X(void *, DefragAlloc, (RedisModuleDefragCtx *, void *))                                  \
	X(int, DefragShouldStop, (RedisModuleDefragCtx *))                                        \
	X(int, DefragCursorSet, (RedisModuleDefragCtx *, unsigned long))                          \
	X(int, DefragCursorGet, (RedisModuleDefragCtx *, unsigned long *))                        \
	X(int, RegisterNumericConfig,                                                             \
	  (RedisModuleCtx *, const char *name, long long value, unsigned flags, long long min,    \
	   long long max, RedisModuleConfigGetNumericFunc *, RedisModuleConfigSetNumericFunc *,   \
	   RedisModuleConfigApplyFunc *, void *data))                                             \
	X(int, LoadConfigs, (RedisModuleCtx *))                                                   \
	X(int, RegisterInfoFunc, (RedisModuleCtx *, RedisModuleInfoFunc *))                       \
	X(int, InfoAddSection, (RedisModuleInfoCtx *, const char *name))                          \
	X(int, InfoBeginDictField, (RedisModuleInfoCtx *, const char *name))                      \
	X(int, InfoEndDictField, (RedisModuleInfoCtx *))                                          \
	X(int, InfoAddFieldCString, (RedisModuleInfoCtx *, const char *, const char *))           \
	X(int, InfoAddFieldLongLong, (RedisModuleInfoCtx *, const char *, long long))             \
	X(int, InfoAddFieldULongLong, (RedisModuleInfoCtx *, const char *, unsigned long long))   \
	X(RedisModuleTimerID, CreateTimer,                                                        \
	  (RedisModuleCtx *, long long ms, RedisModuleTimerProc *, void *data))                   \
	X(int, EventLoopAdd, (int fd, int mask, RedisModuleEventLoopFunc *, void *data))          \
	X(RedisModuleCtx *, GetDetachedThreadSafeContext, (RedisModuleCtx *))

#define REDISMODULE_DECLARE(result, name, arguments) extern result(*RedisModule_##name) arguments;
REDISMODULE_FUNCTIONS(REDISMODULE_DECLARE)
#undef REDISMODULE_DECLARE

/* Redis 7.2 and Valkey 7.2 or later; NULL on Redis 7.0, where modules cannot put commands into categories. */
extern int (*RedisModule_SetCommandACLCategories)(RedisModuleCommand *, const char *categories);

/* Set all pointers. Returns NULL, or the name of the first function that the server does not have. */
const char *RedisModule_Bind(RedisModuleCtx *ctx);

#endif
