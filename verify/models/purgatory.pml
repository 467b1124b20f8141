/* SPDX-License-Identifier: MIT */
/*
 * One shard of a purgatory as a Promela model: one or two operations under two keys, the threads that submit them,
 * threads that change something and check a key, a thread that completes an operation, one that cancels a key, the
 * deadlines, and stop. src/purgatory/layout.h explains batch, state and reference. scripts/check-model checks it.
 *
 *	              key 0   key 1
 *	operation 0     x       x       a check of key 1 may find operation 0 in the batch of a check of key 0
 *	operation 1     x       -
 *
 * A step of the model is a critical section of the shard's lock (the lock itself is assumed to be right) or, outside of
 * it, a single read or write of a word that another thread writes. try_complete and each of the other functions has a
 * beginning and an end, and other threads may run in between. Memory is sequentially consistent; the variants without a
 * fence have a store buffer for the word in question.
 *
 * These properties are checked:
 *
 *	- Exactly one outcome: an operation is completed, expired, cancelled or dropped, once. Only a waiting
 *	  operation is won under the lock, and a linked one is waiting.
 *	- No lost trigger: when all calls have returned, no operation waits that could complete. An operation can complete
 *	  once enough changes were made under its keys; by default all of them, so that it depends on the last check.
 *	- Release comes once, after the function, and when no thread refers to the operation: every access to an operation
 *	  asserts that it is not released.
 *	- No two threads are in try_complete of the same operation.
 *	- No thread is blocked: the process `close` ends, otherwise there is an invalid end state.
 *	- The counts: `delayed` operations wait. After stop there are none. If a deadline is on the wheel, an alarm is armed;
 *	  after close none is.
 *
 * Left out: several shards (a check goes from one to the next), the growing of a table, more than two operations in a
 * list, nested calls of on_complete, the ticks of the wheel (a deadline may be due at any time, or never), and several
 * alarms: the model has one.
 *
 *	-DOPS= -DCHECKERS= -DCHECKS=     sizes; CHECKS is how often each checker changes and checks
 *	-DKEYS=                          the keys of the checkers, a bit for each: checker c checks key KEYS >> c & 1
 *	-DOPS_PER_BATCH=1                a batch has room for one operation, so walks are paused
 *	-DRETRIES=                       MAX_RETRIES
 *	-DNEED=                          so many changes are enough
 *	-DCOMPLETER -DCANCEL -DDEADLINE -DSTOP    these threads as well
 *	-DCOLLISION                      a check of key 1 collects operation 1, too: its hash is similar
 *	-DBROKEN_*                       a mistake, which spin must find
 */

#ifndef OPS
#define OPS 1
#endif
#ifndef CHECKERS
#define CHECKERS 2
#endif
#ifndef CHECKS
#define CHECKS 1
#endif
#ifndef KEYS
#define KEYS 2 /* checker 0: key 0, checker 1: key 1 */
#endif
#ifndef OPS_PER_BATCH
#define OPS_PER_BATCH 2
#endif
#ifndef RETRIES
#define RETRIES 2
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef COMPLETER
#define COMPLETER 0
#endif
#ifndef DEADLINE
#define DEADLINE 0
#endif
#ifndef STOP
#define STOP 0
#endif

#define FRESH   0
#define WAITING 1
#define ENDED   2

#define COMPLETED 1
#define EXPIRED   2
#define CANCELLED 3
#define DROPPED   4

/* The operations. `linked` stands for its links in the lists of all its keys. */
byte state[OPS], references[OPS];
bit linked[OPS], timer[OPS];

/* The shard. */
bit filter[2]; /* of the bucket of a key */
byte delayed;
bit closed;
bit alarm_armed, alarm_runs;

/* Batch c belongs to checker c, OF_SUBMITTER(op) to the submitter of an operation. A bit for each operation. */
#define BATCHES          (CHECKERS + OPS)
#define OF_SUBMITTER(op) (CHECKERS + (op))
bit batch_linked[BATCHES], batch_rescan[BATCHES];
byte members[BATCHES], batch_retry[BATCHES], batch_gone[BATCHES];

/* What the user's threads change, under a key, and try_complete reads. */
byte changes[2];

/* For the assertions; not read by the purgatory. */
byte trying[OPS], in_function[OPS];
byte outcome[OPS];
bit released[OPS], refused[OPS];
byte returned; /* threads whose calls have all returned */

/* Used within one step only. */
hidden byte o, b, collected, held;
hidden byte found, lost_trigger;

/* The thread that submits an operation which another thread may complete before that has one, too. */
#ifdef BROKEN_SUBMITTER_REFERENCE
#define OWN_REFERENCE(op) 0
#else
#define OWN_REFERENCE(op) (COMPLETER && (op) == 0)
#endif

#define THREADS (OPS + CHECKERS + COMPLETER + CANCEL + STOP)

#define KEY(c)      ((KEYS >> (c)) & 1)
#define BIT(op)     (1 << (op))
#define FIRST(bits) ((bits) & 1 -> 0 : 1)
#define HAS(op, key) ((op) == 0 || (key) == 0)

#ifdef COLLISION
#define COLLECTS(op, key) true
#else
#define COLLECTS(op, key) HAS(op, key)
#endif

/* How many changes an operation needs: all that are made under its keys, or NEED. */
#define MADE_OF(key) \
	(CHECKS * ((CHECKERS > 0 && KEY(0) == key) + (CHECKERS > 1 && KEY(1) == key) + (CHECKERS > 2 && KEY(2) == key)))
#ifndef NEED
#define NEED (MADE_OF(0) + (o == 0 -> MADE_OF(1) : 0))
#endif
#define SEEN(op) (changes[0] + (op == 0 -> changes[1] : 0))

/* The condition of operation `o`. */
#define CAN_COMPLETE (SEEN(o) >= NEED && SEEN(o) > 0)

/* Which operations a walk finds under a key. */
#define LIST(key) \
	((linked[0] && COLLECTS(0, key)) + 2 * (OPS > 1 && linked[OPS - 1] && COLLECTS(1, key)))

inline touch(op)
{
	assert(!released[op])
}

/* try_complete is between these two. */
inline try_begins(op)
{
	touch(op);
	assert(trying[op] == 0);
	trying[op]++
}

/* The operation is `o`; its answer is in `found`. */
inline try_ends(op)
{
	o = op;
	touch(o);
	found = CAN_COMPLETE;
	trying[o]--;
	o = 0
}

/* on_complete, cancelled or on_drop */
inline call(op, what)
{
	atomic {
		touch(op);
		assert(outcome[op] == 0);
		outcome[op] = what;
		in_function[op]++
	}
	atomic { touch(op); in_function[op]-- }
}

inline release(op)
{
	assert(!released[op] && outcome[op] != 0);
	assert(trying[op] == 0 && in_function[op] == 0);
	assert(!linked[op] && !timer[op]);
	references[op] = 0;
	released[op] = 1
}

/* table.h: op_unref */
inline unref(op)
{
	if
	:: atomic { references[op] == 1 -> release(op) }
	:: atomic { references[op] != 1 -> touch(op) }
		atomic {
			touch(op);
			assert(references[op] > 0);
			references[op]--;
			if
			:: references[op] == 0 -> release(op)
			:: else
			fi
		}
	fi
}

/* op.c: pawl__op_run_completed; check.c: hand_out */
inline run_and_unref(op, what)
{
#ifdef BROKEN_RELEASE_FIRST
	unref(op);
	call(op, what)
#else
	call(op, what);
	unref(op)
#endif
}

/* table.h: the bits of the filter follow the lists */
inline set_filter()
{
	filter[0] = linked[0] || linked[OPS - 1];
	filter[1] = linked[0]
}

/* Broken: only the batches of its own keys are searched, though another batch may have collected it. */
#ifdef BROKEN_COLLISION
#define FINDS(op, batch) ((batch) >= CHECKERS || HAS(op, KEY(batch)))
#else
#define FINDS(op, batch) true
#endif

/* table.h: batch_with. The batch, from 1, is in `b`; 0: none. */
inline batch_with(op)
{
	b = 0;
	do
	:: b == BATCHES -> b = 0; break
	:: b < BATCHES && batch_linked[b] && (members[b] & BIT(op)) && FINDS(op, b) -> b++; break
	:: else -> b++
	od
}

/* table.h: op_win, under the lock */
inline win(op)
{
	touch(op);
	assert(state[op] == WAITING && linked[op]);
	state[op] = ENDED;
	linked[op] = 0;
	timer[op] = 0;
	delayed--;
	set_filter()
}

/* table.h: op_win_from_others, under the lock */
inline win_from_others(op)
{
	touch(op);
	batch_with(op);
	if
	:: b > 0 ->
		batch_gone[b - 1] = batch_gone[b - 1] | BIT(op);
		members[b - 1] = members[b - 1] & ~BIT(op);
#ifndef BROKEN_NO_REFERENCE
		references[op]++;
#endif
		b = 0
	:: else
	fi;
	win(op)
}

/* table.h: batch_link and batch_unlink, under the lock */
inline batch_link(batch, which_ops)
{
	members[batch] = which_ops;
	batch_linked[batch] = 1
}

/* No other thread uses the batch from here on: the thread copies what it still needs to its own `gone` and `rescan`. */
inline batch_unlink(batch)
{
	gone = batch_gone[batch];
	rescan = rescan || batch_rescan[batch];
	batch_linked[batch] = 0;
	members[batch] = 0;
	batch_retry[batch] = 0;
	batch_gone[batch] = 0;
	batch_rescan[batch] = 0
}

/* The thread that finds `gone` gives back the reference that the winner has added for it. */
inline unref_left(op)
{
#ifndef BROKEN_NO_REFERENCE
	unref(op)
#else
	touch(op)
#endif
}

#if defined(BROKEN_LINK_FENCE) || defined(BROKEN_CHECK_FENCE)
/*
 * A store buffer: other threads see a write later, at the latest when the thread next acquires the lock. For a thread
 * that links the write is the filter, for one that checks it is the change.
 */
bit buffered_filter, buffered_change[3];

active proctype store_buffer()
{
end_empty:
	do
	:: atomic { buffered_filter -> buffered_filter = 0; set_filter() }
	:: atomic { buffered_change[0] -> buffered_change[0] = 0; changes[KEY(0)]++ }
	:: atomic { buffered_change[1] -> buffered_change[1] = 0; changes[KEY(1)]++ }
	od
}
#endif

/* op.c: link_to_try, in one step. `must_try`: it waits, and is in this thread's batch. */
inline link_to_try(op)
{
	touch(op);
	if
#ifndef BROKEN_LINK_CLOSED
	:: closed
	:: !closed && state[op] == FRESH ->
#else
	:: state[op] == FRESH ->
#endif
		state[op] = WAITING;
		linked[op] = 1;
		batch_link(OF_SUBMITTER(op), BIT(op));
		delayed++;
		must_try = 1;
		arm = DEADLINE;
#ifdef BROKEN_LINK_FENCE
		buffered_filter = 1
#else
		set_filter()
#endif
	:: else
	fi
}

/* op.c: end_try, under the lock */
inline end_try(op)
{
	touch(op);
#ifdef BROKEN_RETRY_SUBMITTER
	must_try = 0;
#else
	must_try = batch_retry[OF_SUBMITTER(op)] && members[OF_SUBMITTER(op)] && !can;
#endif
#ifndef BROKEN_GONE_SUBMITTER
	can = can && members[OF_SUBMITTER(op)];
#endif
	if
	:: can -> win(op)
#if DEADLINE
	:: !can && members[OF_SUBMITTER(op)] && arm -> timer[op] = 1; set_alarm = 1; arm = 0
#endif
	:: else
	fi;
	batch_retry[OF_SUBMITTER(op)] = 0;
	if
	:: !must_try -> batch_unlink(OF_SUBMITTER(op)); arm = 0
	:: else
	fi
}

/* op.c: try_watched. `must_try`: try, or retry. */
inline try_watched(op)
{
	do
	:: must_try ->
#ifndef BROKEN_NO_SECOND_TRY
		atomic { try_begins(op) }
		atomic { try_ends(op); can = found; found = 0 }
#endif
		atomic {
#ifdef BROKEN_LINK_FENCE
			!buffered_filter;
#endif
			end_try(op)
		}
#if DEADLINE
		if
		:: !set_alarm
		:: set_alarm -> atomic { alarm_armed = 1; set_alarm = 0 } /* pawl__alarm_set */
		fi
#endif
	:: else -> break
	od;
	if
	:: atomic { can -> can = 0 }
		run_and_unref(op, COMPLETED)
	:: atomic { !can && gone -> gone = 0 }
		unref_left(op)
	:: else
	fi
}

/* op.c: pawl_purgatory_try_or_watch */
proctype submitter(byte op)
{
	bit can, must_try, arm, set_alarm, rescan;
	byte gone;

	if
	:: atomic { closed -> refused[op] = 1 } /* refuse */
		goto out
	:: atomic { !closed -> try_begins(op) }
	fi;
	atomic { try_ends(op); can = found; found = 0 }
	if
	:: atomic { can && state[op] == FRESH -> touch(op); state[op] = ENDED; can = 0 }
		run_and_unref(op, COMPLETED)
	:: atomic { !can || state[op] != FRESH -> touch(op); can = 0 }
		atomic { link_to_try(op) } /* and lock_release; fence */
		if
		:: must_try -> try_watched(op)
		:: !must_try -> /* end_unwatched */
			if
			:: atomic { state[op] != FRESH -> touch(op) }
			:: atomic { state[op] == FRESH -> touch(op); refused[op] = 1 }
			fi
		fi
	fi;
out:
	if
	:: OWN_REFERENCE(op) -> unref(op)
	:: else
	fi;
	returned++
}

/*
 * check.c: batch_begin, under the lock. `todo` is the rest of a paused walk: of the operations that were on
 * the list when it began. (What is added later comes before the walk's cursor.)
 */
inline batch_begin(c)
{
	found = 0; /* another check of the same key is under way */
	for (b : 0 .. CHECKERS - 1) {
		if
		:: b != c && batch_linked[b] && KEY(b) == KEY(c) -> batch_rescan[b] = 1; found = 1
		:: else
		fi
	}
	if
	:: found ->
		found = 0;
		rescan = 0;
		todo = 0
	:: else ->
		if
#ifndef BROKEN_RESCAN_EARLY
		:: todo == 0 -> rescan = 0; todo = LIST(KEY(c))
#else
		:: rescan = 0; todo = (todo == 0 -> LIST(KEY(c)) : todo)
#endif
		:: else
		fi;
		collect(c);
		if
		:: which != 0 -> batch_link(c, which)
		:: else
		fi
	fi;
	b = 0
}

/* check.c: walk_collect and leave_to_others; what is left for this batch is in `which` */
inline collect(c)
{
	collected = (OPS_PER_BATCH == 1 && todo == 3 -> 1 : todo);
	todo = todo & ~collected;
	for (o : 0 .. OPS - 1) {
		if
		:: (collected & BIT(o)) && linked[o] ->
			touch(o);
			assert(state[o] == WAITING);
			batch_with(o);
			if
#ifndef BROKEN_TWO_BATCHES
			:: b > 0 -> batch_retry[b - 1] = batch_retry[b - 1] | BIT(o)
#endif
			:: else -> which = which | BIT(o)
			fi;
			b = 0
		:: else
		fi
	}
	o = 0;
	collected = 0
}

/* check.c: try_all and try_some: each of `which`; those that can complete are in `can` */
inline try_each()
{
	atomic { try_begins(FIRST(which)) }
	do
	:: atomic {
		which != 0 ->
		held = FIRST(which);
		try_ends(held);
		can = can | (found << held);
		found = 0;
		which = which & ~BIT(held);
		held = 0;
		if
		:: which != 0 -> try_begins(1)
		:: else
		fi
	}
	:: which == 0 -> break
	od
}

/* check.c: the critical section of batch_try: win_each and batch_retries. `which`: to be tried again. */
inline batch_win(c)
{
#ifndef BROKEN_GONE_BATCH
	can = can & members[c];
#endif
	members[c] = members[c] & ~can;
	for (o : 0 .. OPS - 1) {
		if
		:: can & BIT(o) -> win(o)
		:: else
		fi
	}
	o = 0;
	won = won | can;
	can = 0;
#ifndef BROKEN_RETRY_BATCH
	which = batch_retry[c] & members[c];
#endif
	batch_retry[c] = 0;
	if
	:: which != 0 && retries >= RETRIES -> rescan = 1; which = 0
	:: which != 0 && retries < RETRIES -> retries++
	:: else
	fi;
#ifndef BROKEN_BATCH_END
	if
	:: which == 0 -> batch_unlink(c); retries = 0
	:: else
	fi
#endif
}

/* check.c: batch_finish */
inline batch_finish()
{
	do
	:: atomic { gone != 0 -> i = FIRST(gone); gone = gone & ~BIT(i) }
		unref_left(i);
		i = 0
	:: gone == 0 -> break
	od;
	do
	:: atomic { won != 0 -> i = FIRST(won); won = won & ~BIT(i) }
		run_and_unref(i, COMPLETED);
		i = 0
	:: won == 0 -> break
	od
}

/* Something changes; then check.c: pawl_purgatory_check and check_shard */
proctype checker(byte c)
{
	byte todo, which, can, won, gone, i, retries, checks = CHECKS;
	bit rescan;

	do
	:: checks > 0 ->
#ifdef BROKEN_CHECK_FENCE
		atomic { checks--; buffered_change[c] = 1 }
#else
		atomic { checks--; changes[KEY(c)]++ } /* fence */
#endif
		if
		:: !filter[KEY(c)] -> goto next
		:: filter[KEY(c)]
		fi;
		do
		:: atomic {
#ifdef BROKEN_CHECK_FENCE
			!buffered_change[c];
#endif
			batch_begin(c)
		}
			do
			:: which != 0 -> try_each(); atomic { batch_win(c) }
			:: which == 0 -> break
			od;
#ifdef BROKEN_BATCH_END
			atomic { batch_unlink(c); retries = 0 }
#endif
			batch_finish();
#ifdef BROKEN_RESCAN
			rescan = 0;
#endif
			if
			:: todo == 0 && !rescan -> break
			:: else
			fi
		od;
next:
		skip
	:: checks == 0 -> break
	od;
	returned++
}

#if COMPLETER
/* op.c: complete_fresh */
inline complete_fresh()
{
	if
	:: atomic { state[0] == FRESH -> touch(0); state[0] = ENDED; won = 1 }
		run_and_unref(0, COMPLETED)
	:: atomic { state[0] != FRESH -> touch(0) }
	fi
}

/* op.c: complete_waiting. Broken: it reads the state in one critical section, and wins in another. */
inline complete_waiting()
{
	atomic {
		touch(0);
		if
		:: state[0] == WAITING ->
			won = 1;
#ifndef BROKEN_COMPLETE_UNLOCKED
			win_from_others(0)
#endif
		:: else
		fi
	}
#ifdef BROKEN_COMPLETE_UNLOCKED
	atomic {
		if
		:: won -> win_from_others(0)
		:: else
		fi
	}
#endif
	if
	:: won -> run_and_unref(0, COMPLETED)
	:: else
	fi
}

/* op.c: pawl_op_complete, and pawl_op_unref of the reference that it needs */
proctype completer()
{
	bit won;

	if
	:: atomic { state[0] == FRESH -> touch(0) }
		complete_fresh()
	:: atomic { state[0] != FRESH -> touch(0) }
	fi;
	if
	:: !won ->
		if
		:: atomic { state[0] == WAITING -> touch(0) }
			complete_waiting()
		:: atomic { state[0] != WAITING -> touch(0) }
		fi
	:: else
	fi;
	won = 0;
	unref(0);
	returned++
}
#endif

#if CANCEL
/* check.c: pawl_purgatory_cancel_key of key 0, and cancel_in */
active proctype canceller()
{
	byte todo, won, i;

	if
	:: !filter[0] -> goto out
	:: atomic { filter[0] -> todo = 4 } /* the walk has not begun */
	fi;
	do
	:: atomic {
		todo = (todo == 4 -> LIST(0) : todo);
		collected = (OPS_PER_BATCH == 1 && todo == 3 -> 1 : todo);
		todo = todo & ~collected;
		for (o : 0 .. OPS - 1) {
			if
			:: (collected & BIT(o)) && linked[o] -> win_from_others(o); won = won | BIT(o)
			:: else
			fi
		}
		o = 0;
		collected = 0
	}
		do
		:: atomic { won != 0 -> i = FIRST(won); won = won & ~BIT(i) }
			run_and_unref(i, CANCELLED);
			i = 0
		:: won == 0 -> break
		od;
		if
		:: todo == 0 -> break
		:: else
		fi
	od;
out:
	returned++
}
#endif

#if DEADLINE
#define ANY_TIMER (timer[0] || timer[OPS - 1])

/*
 * alarm.c: expire_one, under the lock: pops a deadline and wins. Broken: the two are two critical sections; the
 * second one reads whether the operation still waits.
 */
inline expire_one()
{
	atomic {
		if
		:: timer[0] -> popped = 1
		:: OPS > 1 && timer[OPS - 1] -> popped = OPS
		:: !ANY_TIMER
		fi;
		if
		:: popped ->
			timer[popped - 1] = 0;
#ifndef BROKEN_POP
			win_from_others(popped - 1)
#endif
		:: else
		fi
	}
#ifdef BROKEN_POP
	atomic {
		if
		:: popped ->
			touch(popped - 1);
			if
			:: state[popped - 1] == WAITING -> win_from_others(popped - 1)
			:: else -> popped = 0
			fi
		:: else
		fi
	}
#endif
}

/* alarm.c: run_alarm. How many deadlines are due is left open. */
active proctype alarm()
{
	byte popped;

end_armed:
	do
	:: atomic { alarm_armed -> alarm_armed = 0; alarm_runs = 1 }
		do
		:: expire_one();
			if
			:: popped -> run_and_unref(popped - 1, EXPIRED); popped = 0
			:: else -> break
			fi
		:: ANY_TIMER -> break
		od;
		atomic { alarm_runs = 0; alarm_armed = alarm_armed || ANY_TIMER } /* end_run */
	od
}
#endif

#if STOP
/* open.c: pawl_purgatory_stop; check.c: pawl__shard_withdraw_all; alarm.c: pawl__alarms_stop */
active proctype stop()
{
	byte withdrawn;

	atomic { closed = 1 }
	do
	:: atomic {
		if
		:: linked[0] -> win_from_others(0); withdrawn = 1
		:: OPS > 1 && linked[OPS - 1] -> win_from_others(OPS - 1); withdrawn = OPS
		:: !linked[0] && !linked[OPS - 1]
		fi
	}
		if
		:: withdrawn -> run_and_unref(withdrawn - 1, DROPPED); withdrawn = 0
		:: else -> break
		fi
	od;
	atomic { !alarm_runs -> alarm_armed = 0 }
	returned++
}
#endif

/* Starts the others, and checks the end state. */
active proctype close()
{
	atomic {
		for (o : 0 .. OPS - 1) {
			references[o] = 1 + (COMPLETER && o == 0) + OWN_REFERENCE(o);
			run submitter(o)
		}
		for (b : 0 .. 2) {
			if
			:: b < CHECKERS -> run checker(b)
			:: else
			fi
		}
#if COMPLETER
		run completer();
#endif
		o = 0;
		b = 0
	}
	atomic {
		returned == THREADS && !alarm_runs;
		for (o : 0 .. OPS - 1) {
			if
			:: refused[o] && state[o] == FRESH -> assert(!released[o] && !linked[o] && references[o] == 1)
			:: !refused[o] && state[o] == WAITING ->
				lost_trigger = CAN_COMPLETE;
				assert(!lost_trigger);
				assert(linked[o] && references[o] == 1 && outcome[o] == 0);
				assert(timer[o] == DEADLINE && !STOP)
			:: else -> assert(state[o] == ENDED && outcome[o] != 0 && released[o])
			fi;
			found = found || timer[o];
			held = held + (state[o] == WAITING)
		}
		assert(delayed == held);
		assert(!found || alarm_armed);
		for (b : 0 .. BATCHES - 1) {
			assert(!batch_linked[b])
		}
		b = 0;
#ifndef BROKEN_CLOSE
		alarm_armed = (STOP -> 0 : alarm_armed); /* pawl__alarms_stop, when no call is under way any more */
#endif
		assert(!STOP || !alarm_armed);
		o = 0;
		found = 0;
		held = 0
	}
}
