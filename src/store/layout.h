/* SPDX-License-Identifier: MIT */
/*
 * The parts of a store, and how a task goes from the log to a slot and into memory.
 *
 * A store is a timing wheel whose coarse slots are files. Near tasks, of this slot of the finest level and the next, are
 * in memory, on a wheel of pawl's. A far task is a record in the file of its slot, and one bit in memory.
 *
 *	put, due in 3 days                                                          take
 *	   |                                                                          ^
 *	   v          a frame, synced                          due                    |
 *	 commit ----> log.7                                   +------> list of its queue
 *	   |                                                  |
 *	   |  "slot 12, index 5" is its id          3 days    |
 *	   v                                          later   |
 *	 slot.12      43 h wide ----> slot.31, 2 h 40 ----> slot.35, 10 min ----> memory, on the wheel
 *	  buffered, synced by a checkpoint     moves: the slots open, and are removed by the next checkpoint
 *
 * Every change of the state is a record in the log: a put, an end, a try, a move, also "this slot has been opened up to
 * here". So the state is what the records make of it, one after the other, whoever reads them:
 *
 *	live        commit.c and files.c write a record into the log and make the change (tasks.c, slots.c)
 *	recovery    open.c reads the checkpoint, then the logs after it, and makes the same changes
 *
 * A checkpoint is a file of records, too, that makes the state of the moment when a log ended: names, slots, the bits of
 * live tasks, the tasks in memory. With it, the logs before it and the slots that were open then are removed.
 *
 * A task's id is the slot it was born in and its index there. Its bit there says that it lives. The bits of 4,096
 * tasks are a chunk, which is freed when none of them lives. So a cancel of a far task clears a bit, and its record is
 * passed over when the slot opens. A task keeps its id when it moves or is tried again; its bit is still there.
 *
 * Slots are bags: a slot says only from when to when the tasks in it are due. A task goes into the slot of the level at
 * which its time and the end of the near tasks differ first, as digits to the base of 16; so at each level there are at
 * most 15 slots. A slot opens a width before its time comes, if there is memory: its tasks go to finer slots, or into
 * memory. If they would take too much memory, they go to slots finer than `FINEST`, first.
 *
 * Due tasks that nobody takes must not fill the memory that the other queues need. So a queue's due tasks are a list, of
 * which the middle may be in a file, the queue's backlog. When the memory is short, the tasks behind the first few go
 * there; when those were taken, the next few come back:
 *
 *	take <--- due.first ... | slot.41, the backlog | behind ... due.last <--- tasks that become due
 *
 * Threads. One mutex protects all of the state. It is not held while a file is synced or a slot is read. The clock
 * thread tells the time: it makes tasks due, ends leases and waits. The file thread opens slots and makes checkpoints.
 */
#ifndef PAWL_STORE_LAYOUT_H
#define PAWL_STORE_LAYOUT_H

#include "../base/lock.h"
#include "../base/mistake.h"
#include "../base/saturate.h"
#include "../service/internal.h"
#include "../system/disk.h"
#include "record.h"

#include <pawl/store.h>

#define FINEST      3u   /* the level of options.width_ns: 16^3 units */
#define MAX_LEVEL   15u  /* 16^15 units are more than 64 bits of time have */
#define NEAR        255u /* the level of a slot that is no file: its tasks were born in memory */
#define BACKLOG     254u /* the level of a queue's backlog; `begin` is the queue's number */
#define CHUNK       4096u
#define SLOT_BUFFER (16u * 1024)
#define NO_SLOT     UINT32_MAX
#define NO_NUMBER   UINT32_MAX
#define TICK        PAWL_MS
#define MAX_QUEUES  (1u << 20)
#define MAX_NAME    255u
#define MAX_FRAME   ((128u << 20) + 1024) /* an eighth of the largest log */
#define LOG_USES    8u /* a commit may need an eighth of the log; puts leave an eighth free */
#define ANY_NUMBER  UINT64_MAX

/* Bytes of a slot that are opened at a time; bytes of memory for each bucket of tasks; buckets that a checkpoint writes
 * at a time. PAWL_SMALL, for verify/schedules: a few tasks reach each of them. */
#ifdef PAWL_SMALL
#define SLICE           1024u
#define BUCKET_MEMORY   (16u * 1024)
#define BUCKETS_AT_ONCE 4u
#else
#define SLICE           (256u * 1024)
#define BUCKET_MEMORY   256u
#define BUCKETS_AT_ONCE 256u
#endif

enum state { WAITING, DUE, LEASED, DEAD };

/* A task in memory. */
struct task {
	union {
		struct pawl_timer timer; /* WAITING: on `wheel`; LEASED: on `leases` */
		struct {
			struct task *next, *prev; /* DUE: in its queue's list; DEAD: in `dead` */
		} link;
	} in;
	struct task *next; /* with the same hash */
	uint64_t id, due;
	uint64_t fence; /* LEASED; else 0 */
	struct queue *queue;
	char *reason; /* DEAD; else NULL */
	uint32_t size, tries;
	uint32_t epoch;        /* of the last checkpoint that has it, or need not have it */
	uint8_t state;         /* enum state */
	bool named;            /* by a change of the commit that is being checked */
	unsigned char bytes[]; /* the payload */
};

struct list {
	struct task *first, *last;
};

struct queue {
	struct queue *next; /* with the same hash */
	struct list due;
	struct task *behind;      /* in `due`: the first that comes after the backlog; or NULL */
	struct slot *backlog;     /* the last one; NULL or opened to its end: there is none */
	uint64_t backlog_due;     /* due tasks up to this time come before the backlog */
	size_t due_bytes;         /* of memory, that the tasks of `due` take */
	bool ready;               /* a task can be taken */
	struct condition arrived; /* a task is due, for the takers that wait */
	unsigned takers;
	struct pawl_store_attachment *attached;
	uint32_t number; /* from its first put on, when the log gets its name; or NO_NUMBER */
	uint8_t size;
	char name[];
};

/* A take that waits, until its timer on `takers` rings. */
struct taker {
	struct pawl_timer timer;
	struct queue *queue;
};

struct slot {
	uint32_t serial; /* its number, and that of its file */
	unsigned level;
	uint64_t begin, end; /* ns: its tasks are due from begin on, and before end */
	bool logged;         /* a record has it */

	/* The tasks born in it. */
	uint32_t births;   /* indexes given out */
	uint32_t live;     /* bits that are set */
	uint32_t unborn;   /* births promised to the commit that is being checked */
	uint64_t **chunks; /* of CHUNK bits; NULL: none of them lives */
	size_t chunk_room;

	/* Its file: frames of one task each. */
	uint64_t size,
	        opened;      /* bytes appended, also those in the buffer; bytes that were opened */
	uint64_t records;    /* appended and not opened */
	uint64_t first_due;  /* no task in it is due earlier */
	struct bytes buffer; /* the last bytes, which are not in the file yet */
	size_t promised;     /* bytes, to the commit that is being checked */
	uint32_t seed;       /* of its frames */
	bool made;           /* the file exists */
	bool unsynced;       /* it was written since its last sync */
	bool retired;        /* it was open to its end when the last log ended */
};

struct log {
	uint64_t number;
	int file; /* -1: none */
	uint32_t seed;
	uint64_t offset;              /* bytes given to writes so far */
	struct bytes buffer, writing; /* frames to be written; frames that a thread writes now */
	size_t frame;                 /* where the frame that is being made begins */
	uint64_t sequence, written, synced; /* of the last frame: made, written, synced */
	uint64_t unsynced_since;            /* by the clock; 0: all is synced */
	bool busy;                          /* a thread writes or syncs */
	struct condition idle;              /* it has done so */
};

/* How a slot is opened: up to this offset of its file. Its tasks go to slots seen from this time, of this level at
 * least; NEAR: into memory. */
struct opening {
	uint64_t to, time;
	unsigned level;
};

/* Reading a file. */
struct frames {
	struct disk *disk;
	int file;
	uint32_t seed, format;
	uint64_t salt;
	bool by_offset;       /* a slot: the sequence of a frame is its offset */
	uint64_t offset, end; /* of the next frame; no bytes from here on */
	struct bytes bytes;   /* of the file, from `base` on */
	uint64_t base;
	struct reader body; /* of the frame at the offset, after a peek */
	uint64_t sequence, next;
};

struct pawl_store {
	struct mutex mutex;
	struct pawl_store_options options;
	struct disk *disk;
	uint64_t salt; /* of its files, so that no file of another store fits */
	uint64_t unit; /* ns: a slot of level 0 */
	int failed;    /* the error that stopped it; or 0 */
	bool stopped;
	struct log log;

	/* Recovery. */
	bool recovering, checking, complete; /* complete: the checkpoint was read to its end */
	uint64_t log_from;                   /* the first log that a recovery reads */
	uint32_t serial_from;

	/* Slots, in the order of their serials. */
	struct slot **slots;
	size_t slot_count, slot_room;
	uint32_t next_serial, near_serial; /* near_serial: for births in memory; or NO_SLOT */
	struct slot *found;                /* by the last search; or NULL */
	struct slot *places[MAX_LEVEL + 1][16];

	/* Memory. */
	struct task **buckets;
	size_t bucket_mask;
	struct pawl_wheel *wheel, *leases,
	        *takers;  /* by the wall clock; by the clock, also the last */
	size_t ready;     /* queues with a task that can be taken */
	struct list dead; /* the oldest first */
	size_t dead_bytes;
	size_t promised;     /* bytes of memory, to the commit that is being checked */
	uint64_t near_until; /* tasks due before this go into memory, if there is room */
	struct queue **queues, **by_name;          /* by number; by hash */
	size_t queue_count, name_count, name_room; /* with a number; all; of both arrays */
	uint64_t secret[2];                        /* of the hash of names */

	/* Checkpoints. */
	uint32_t epoch;
	bool imaging;                    /* tasks are being written into a checkpoint */
	struct bytes image, image_spare; /* frames for it; and a buffer that is being written */
	size_t image_frame;
	uint32_t image_seed;
	uint64_t image_frames;
	int image_error;
	bool want_checkpoint;
	int no_room; /* the last one found no space, or no memory: its error; or 0 */

	/* Time and threads. */
	struct pawl_clock *clock;
	struct pawl_clock_system own_clock;
	uint64_t sleeps_until; /* the clock thread, by the wall clock; 0: it is awake */
	uint64_t files_at;     /* when the next slot opens, by the wall clock */
	bool crowded;          /* slots wait for memory */
	bool evicting;         /* tasks beyond near_until are being moved out of memory */
	struct runner *arming; /* of attachments: to be armed by the clock thread */
	bool starved;          /* one could not be armed */
	bool files_wanted, threads;
	bool filing; /* a thread opens slots or makes a checkpoint: one at a time */
	struct system_thread clock_thread, file_thread;
	struct condition work, done; /* for the file thread; it has done something */
	int fd;
	bool fd_set;

	struct pawl_store_stats stats;
};

/* The first task of a queue that can be taken; or NULL. */
static inline struct task *first_ready(const struct queue *queue)
{
	return queue->due.first == queue->behind ? NULL : queue->due.first;
}

static inline bool has_backlog(const struct queue *queue)
{
	return queue->backlog && queue->backlog->opened < queue->backlog->size;
}

/* A full disk, no memory, no more descriptors: the next try may succeed, and nothing is in doubt. */
static inline bool is_passing(int error)
{
	return error == -ENOSPC || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* log.c: the frames of commits */
enum use { FOR_PUT, FOR_CHANGE, FOR_FILES };
int pawl__log_room(struct pawl_store *store, size_t size, enum use use);
struct bytes *pawl__log_begin(struct pawl_store *store); /* a frame; then records */
uint64_t pawl__log_end(struct pawl_store *store);        /* its sequence */
int pawl__log_wait(struct pawl_store *store, uint64_t sequence, bool sync);
int pawl__log_commit(struct pawl_store *store, uint64_t sequence);
int pawl__log_make(struct pawl_store *store, uint64_t number, uint32_t *seed);
struct bytes pawl__log_take(struct log *log);
void pawl__log_done(struct pawl_store *store, uint64_t sequence, bool synced, int error);
void pawl__log_name(char name[static FILE_NAME], uint64_t number);
void pawl__store_fail(struct pawl_store *store, int error);

/* frames.c */
int pawl__frames_open(struct pawl_store *store, struct frames *frames, const char *name,
                      const char *magic, uint64_t number);
int pawl__frames_peek(struct frames *frames);
bool pawl__frames_skip(struct frames *frames, uint64_t least);
void pawl__frames_seek(struct frames *frames, uint64_t offset);
void pawl__frames_close(struct frames *frames);

/* slots.c */
struct slot *pawl__slot_find(struct pawl_store *store, uint32_t serial);
struct slot *pawl__slot_from(struct pawl_store *store, uint32_t serial);
struct slot *pawl__slot_add(struct pawl_store *store, uint32_t serial, unsigned level,
                            uint64_t begin, uint64_t end);
struct slot *pawl__slot_for(struct pawl_store *store, uint64_t from, uint64_t due, unsigned floor,
                            const struct slot *except);
struct slot *pawl__slot_near(struct pawl_store *store);
struct slot *pawl__slot_backlog(struct pawl_store *store, const struct queue *queue);
int pawl__slot_promise(struct pawl_store *store, struct slot *slot, size_t payload);
void pawl__slot_append(struct pawl_store *store, struct slot *slot, const struct stored *task);
int pawl__slot_flush(struct pawl_store *store, struct slot *slot);
void pawl__slot_name(char name[static FILE_NAME], uint32_t serial);
void pawl__slots_tidy(struct pawl_store *store);
void pawl__slot_free(struct slot *slot);
int pawl__birth_promise(struct slot *slot, uint64_t *id);
int pawl__birth(struct pawl_store *store, uint64_t id);
void pawl__death(struct pawl_store *store, uint64_t id);
bool pawl__lives(struct pawl_store *store, uint64_t id);

/* tasks.c: the changes of a task, in memory and in slots */
struct task *pawl__task_find(struct pawl_store *store, uint64_t id);
struct task *pawl__task_new(const struct stored *stored, struct queue *queue);
void pawl__task_insert(struct pawl_store *store, struct task *task);
void pawl__task_free(struct task *task);
size_t pawl__task_bytes(size_t payload);
struct stored pawl__task_stored(const struct task *task);
int pawl__put(struct pawl_store *store, const struct stored *stored, struct task *task);
void pawl__end(struct pawl_store *store, uint64_t id, enum why why);
void pawl__task_try(struct pawl_store *store, struct task *task);
void pawl__task_lease(struct pawl_store *store, struct task *task, uint64_t until, uint64_t fence);
void pawl__task_unlease(struct pawl_store *store, struct task *task);
void pawl__task_move(struct pawl_store *store, struct task *task, uint64_t due, struct slot *slot,
                     enum why why);
void pawl__task_bury(struct pawl_store *store, struct task *task, char *reason);
void pawl__store_tick(struct pawl_store *store);
void pawl__backlog_changed(struct pawl_store *store, struct queue *queue);
void pawl__queue_number(struct pawl_store *store, struct queue *queue);
void pawl__queues_each(struct pawl_store *store,
                       void (*fn)(struct pawl_store *store, struct queue *queue));
struct queue *pawl__queue_find(struct pawl_store *store, const char *name, size_t size);
int pawl__queue_get(struct pawl_store *store, const char *name, size_t size, struct queue **found);

/* commit.c */
void pawl__write_queue(struct bytes *log, const struct queue *queue);
void pawl__write_slot(struct bytes *log, struct slot *slot);
void pawl__move(struct pawl_store *store, struct bytes *log, struct task *task, uint64_t due,
                struct slot *slot, enum why why);
void pawl__copy_free(struct pawl_store_task *task);

/* files.c */
void pawl__files_expect(struct pawl_store *store, const struct slot *slot);
void pawl__store_files(struct pawl_store *store);
int pawl__slot_frames(struct pawl_store *store, struct frames *frames, const struct slot *slot);
int pawl__slot_reopen(struct pawl_store *store, struct slot *slot, struct opening opening);

/* checkpoint.c */
int pawl__store_checkpoint(struct pawl_store *store);
void pawl__image_task(struct pawl_store *store, struct task *task);

/* take.c */
uint64_t pawl__store_wall(const struct pawl_store *store);
void pawl__store_wake_clock(struct pawl_store *store, uint64_t wall);
void pawl__store_wake_all(struct pawl_store *store);
void pawl__store_want_files(struct pawl_store *store);
void pawl__store_tell_fd(struct pawl_store *store);
int pawl__copy(const struct queue *queue, const struct stored *stored, struct pawl_store_task *to);
int pawl__threads_start(struct pawl_store *store);

/* open.c */
int pawl__store_open_on(struct pawl_store **to, struct disk *disk,
                        const struct pawl_store_options *options);
void pawl__damage(struct pawl_store *store, const char *file, uint64_t offset, const char *problem);

/* attach.c */
void pawl__attachment_wake(struct pawl_store *store, struct pawl_store_attachment *attachment);
void pawl__attachments_arm(struct pawl_store *store);

#endif
