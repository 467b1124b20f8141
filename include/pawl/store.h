/* SPDX-License-Identifier: MIT */
/*
 * pawl/store.h: delayed tasks in files. They survive kill -9 and power loss, without a server.
 *
 * A store is a directory. A task is some bytes, a queue and a time. When its time has come, a worker takes it for a
 * while, the lease, and acknowledges it. If the worker dies, the task is due again when its lease ends.
 *
 *	#include <pawl/store.h>
 *	#include <stdio.h>
 *
 *	int main(void)
 *	{
 *		struct pawl_store *store;
 *		struct pawl_store_task task;
 *
 *		if (pawl_store_open(&store, "reminders", NULL) != 0)
 *			return 1;
 *		if (pawl_store_put(store, "mail", 50 * PAWL_MS, "tea", 3, NULL) == 0)
 *			puts("no power failure can undo it now");
 *		while (pawl_store_take(store, "mail", PAWL_MINUTE, PAWL_SECOND, &task, 1) == 1) {
 *			printf("try %u: %.*s\n", task.tries, (int)task.size, (const char *)task.payload);
 *			pawl_store_ack(store, &task);
 *		}
 *		pawl_store_close(store);
 *	}
 *
 * Promises:
 *  - A put that returned 0 is taken at least once, also after kill -9 and, if it was synced, after power loss.
 *  - An ack, cancel, retry, bury, requeue or drop that returned 0 is final in the same way.
 *  - No task is given out early, by the wall clock (UTC), however often that is set.
 *  - Several changes can be one commit: all of them survive, or none.
 *  - A damaged byte is found and named. The other tasks are still given out.
 *  - A full disk: a put returns -ENOSPC and has changed nothing, and acks still work.
 *  - A sync that failed is final: each later change returns that error until the store is opened again.
 *  - options.memory bounds the memory for tasks. A far task costs one bit of memory; the rest is in files.
 *
 * Any thread may call, and commits of several threads share a sync. One process at a time has the directory open. Times
 * are nanoseconds since 1970. A task may be taken twice: make its work repeatable, or note its id where it acts. Not on
 * NFS. On systems without POSIX files, open returns -ENOTSUP. pawl_store(3) has the rare cases: fork, a copy, costs.
 */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include <pawl/service.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_store;
#define PAWL_STORE_PROBLEM 256 /* bytes for a sentence */
/* For each place in a file that could not be read. It must not call the store. */
typedef void pawl_store_damage_fn(const char *file, uint64_t offset, const char *what, void *arg);

/* Zeroes, or a NULL pointer in place of the struct, mean the defaults. */
struct pawl_store_options {
	uint64_t
	        sync_ns; /* 0: sync each commit; PAWL_NEVER: the kernel decides; else within this time */
	uint64_t width_ns;  /* of the finest slot, 1 s to 1 day; 0: 10 minutes */
	size_t memory;      /* bytes for the near tasks, 256 KiB to 64 GiB; 0: 16 MiB */
	size_t log_size;    /* bytes, 256 KiB to 1 GiB; 0: 32 MiB. It exists twice for a while */
	size_t max_payload; /* bytes, 1 to 16 MiB; 0: 64 KiB. At most memory / 16, log_size / 16 */
	size_t max_dead;    /* dead tasks kept, 1 to 1 M; 0: 10,000; then the oldest goes */
	struct pawl_clock *clock; /* borrowed until close; NULL: the system's. Manual: for tests */
	bool manual;              /* no thread: the program calls pawl_store_poll */
	bool salvage;             /* open a damaged store, without what is damaged: copy it first */
	char *problem; /* NULL, or PAWL_STORE_PROBLEM bytes: if open fails, it says why */
	pawl_store_damage_fn *report; /* NULL, or called in open and later */
	void *report_arg;             /* borrowed until close */
	uint64_t reserved[4];         /* for options of later versions: 0 */
};
/* Open the store in a directory, which is made if its parent exists, and recover what was committed. Returns 0, or
 * -EBUSY     another process, or this one, has it open; or another service or store has the clock.
 * -EBADMSG   a file is damaged or missing; *problem has its name and the offset. See options.salvage.
 * -EINVAL    an option is out of its range; *problem names it.
 * -ENOTSUP   a format of a later version; or the system has no POSIX files.
 * or another -errno of the system. After an error *store is as it was. */
PAWL_API PAWL_MUST_USE int pawl_store_open(struct pawl_store **store, const char *directory,
                                           const struct pawl_store_options *options);
/* Puts, takes, other changes and lists return -ECANCELED from now on. Ends the takes that wait. */
PAWL_API void pawl_store_stop(struct pawl_store *store);
/* Stop, sync what is committed, and free the store. No other call may be under way or follow. NULL is allowed. */
PAWL_API void pawl_store_close(struct pawl_store *store);

/* Put a task into a queue, due `delay_ns` from now or at the time `at_ns`. A queue is a name of 1 to 255 bytes, made by
 * its first put and kept. The payload is copied. *id (or NULL) gets the task's id. It names no other task, except after
 * power loss that undid the put. 0, -EINVAL, -EMSGSIZE, -ENOSPC, -ENOMEM, -ECANCELED, or the error that stopped it. */
PAWL_API int pawl_store_put(struct pawl_store *store, const char *queue, uint64_t delay_ns,
                            const void *payload, size_t size, uint64_t *id);
PAWL_API int pawl_store_put_at(struct pawl_store *store, const char *queue, uint64_t at_ns,
                               const void *payload, size_t size, uint64_t *id);
/* Remove a task that is pending or due. -EBUSY: a worker has it. -ENOENT: it is done, dead, or never existed. */
PAWL_API int pawl_store_cancel(struct pawl_store *store, uint64_t id);

/* A task in the hands of a worker, or in a list. The payload and the reason are yours until the call that ends it. */
struct pawl_store_task {
	uint64_t id, due_ns;
	uint64_t fence;       /* of this delivery: grows, also over restarts; 0 in a list */
	const char *queue;    /* borrowed from the store */
	const void *payload;  /* `size` bytes, and a zero byte */
	const char *reason;   /* of a dead task; else NULL */
	uint32_t size, tries; /* tries: deliveries, with this one */
};
/* Take up to `max` due tasks of a queue, in the order in which they became due, and lease them for `lease_ns`. If none
 * is due, wait for one at most `wait_ns` (PAWL_NEVER: without limit; options.manual: not at all). A try is written, not
 * synced: kill -9 counts it. Returns how many; or -EINVAL, -ENOMEM, -ENOSPC, -ECANCELED, or what stopped the store. */
PAWL_API PAWL_MUST_USE int pawl_store_take(struct pawl_store *store, const char *queue,
                                           uint64_t lease_ns, uint64_t wait_ns,
                                           struct pawl_store_task *tasks, size_t max);

/* End a lease: the task is done; or due again after a delay, with its id; or dead, with a reason of at most 255 bytes;
 * or as if it had not been taken, except for its tries. Each frees the payload and clears *task, also with an error,
 * except -EINVAL (*task is not a taken task, or the reason is too long).
 * 0           it is so, for good. (release is not written: a crash ends a lease anyway.)
 * -ETIMEDOUT  the lease had ended before, by time or by another call. Another worker may have the task.
 * -ENOSPC, -ECANCELED or the error that stopped the store: the lease goes on until its time ends. */
PAWL_API int pawl_store_ack(struct pawl_store *store, struct pawl_store_task *task);
PAWL_API int pawl_store_retry(struct pawl_store *store, struct pawl_store_task *task,
                              uint64_t delay_ns);
PAWL_API int pawl_store_bury(struct pawl_store *store, struct pawl_store_task *task,
                             const char *reason);
PAWL_API int pawl_store_release(struct pawl_store *store, struct pawl_store_task *task);
/* Let the lease end `lease_ns` from now. -ETIMEDOUT: as above, and *task is left alone. */
PAWL_API int pawl_store_extend(struct pawl_store *store, const struct pawl_store_task *task,
                               uint64_t lease_ns);
/* Put a dead task back, due after a delay, with its id and no tries; or forget it. -ENOENT: it is not dead. */
PAWL_API int pawl_store_requeue(struct pawl_store *store, uint64_t id, uint64_t delay_ns);
PAWL_API int pawl_store_drop(struct pawl_store *store, uint64_t id);

/* One of several changes. Fields that its verb does not name are 0. */
enum pawl_store_verb {
	PAWL_STORE_PUT,     /* queue, at_ns, payload, size; id is filled in */
	PAWL_STORE_CANCEL,  /* id */
	PAWL_STORE_ACK,     /* task */
	PAWL_STORE_RETRY,   /* task, at_ns */
	PAWL_STORE_BURY,    /* task, reason */
	PAWL_STORE_REQUEUE, /* id, at_ns */
	PAWL_STORE_DROP     /* id */
};
struct pawl_store_change {
	enum pawl_store_verb verb;
	int error; /* filled in: as of the call of that name */
	const char *queue, *reason;
	const void *payload;
	size_t size;
	uint64_t at_ns, id; /* at_ns: a time, as of pawl_store_now */
	struct pawl_store_task *task;
	uint64_t reserved[2]; /* 0 */
};
/* Make all these changes in one commit, or none: then it returns the first error. No task may be named twice. Their
 * bytes must fit into an eighth of the log: else -E2BIG. It frees payloads and clears tasks as the calls above. */
PAWL_API int pawl_store_commit(struct pawl_store *store, struct pawl_store_change *changes,
                               size_t n);

/* The wall clock; and when a task can be due next, at the earliest: PAWL_NEVER if none is pending. */
PAWL_API uint64_t pawl_store_now(struct pawl_store *store);
PAWL_API uint64_t pawl_store_next(struct pawl_store *store);
/* options.manual: do what the threads do. Call it at pawl_store_next() and, after puts, at least once a second. */
PAWL_API void pawl_store_poll(struct pawl_store *store);
/* A descriptor, readable while a task is due; the store closes it. -ENOTSUP: not Linux. -EINVAL: manual. -EMFILE... */
PAWL_API int pawl_store_fd(struct pawl_store *store);

/* List pending (also leased) or dead tasks in the order of (due_ns, id), those after (`from_ns`, `after`): begin with
 * (0, 0), go on with the last one of the page before. `queue` NULL: all. Free each by pawl_store_release. A task that
 * changes meanwhile may be missing. Reads files: not for a busy path. How many; -ENOMEM, -EIO, -EINVAL, -ECANCELED. */
enum pawl_store_state { PAWL_STORE_PENDING, PAWL_STORE_DEAD };
PAWL_API int pawl_store_list(struct pawl_store *store, enum pawl_store_state state,
                             const char *queue, uint64_t from_ns, uint64_t after,
                             struct pawl_store_task *tasks, size_t max);

/* Run due tasks of a queue on the workers of a service, at most `concurrency` (1 to 1024) at a time. fn ends each lease
 * by one of the calls above; a task that it leaves alone is due again later. Detach, before the service or the store is
 * closed, waits for those that run; it must not be called in fn. Attach: 0, -EINVAL or -ENOMEM. */
struct pawl_store_attachment;
typedef void pawl_store_fn(struct pawl_store *store, struct pawl_store_task *task, void *arg);
PAWL_API PAWL_MUST_USE int pawl_store_attach(struct pawl_store_attachment **attachment,
                                             struct pawl_store *store, struct pawl_service *service,
                                             const char *queue, uint64_t lease_ns,
                                             unsigned concurrency, pawl_store_fn *fn, void *arg);
PAWL_API void pawl_store_detach(struct pawl_store_attachment *attachment);

/* put + requeued = acked + cancelled + buried + pending, since the store was made. From `taken` on: since open. */
struct pawl_store_stats {
	uint64_t put, acked, cancelled, buried, requeued;
	uint64_t pending, due, leased, dead; /* pending: also due and leased; due: in memory */
	uint64_t in_memory, memory_bytes, slot_files;
	uint64_t taken, retried, lapsed, commits, syncs, checkpoints, moved, damaged;
};
PAWL_API void pawl_store_get_stats(struct pawl_store *store, struct pawl_store_stats *stats,
                                   size_t size);

/* Read every file of a store that is not open, and report each damage. Returns how many; or -ENOENT (there is no
 * store), -EBUSY, -ENOTSUP, -ENOMEM or another -errno of the system. */
PAWL_API int pawl_store_check(const char *directory, pawl_store_damage_fn *report, void *arg);

#ifdef __cplusplus
}
#endif

#endif
