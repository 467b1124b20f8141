/* SPDX-License-Identifier: MIT */
/*
 * The service as a Promela model: one task, one shard, two workers, a timekeeper, two threads of the
 * user's that do what they like, and a clock. Checked by scripts/check-model.
 *
 * What is one step here: a critical section of the shard's lock (the lock itself is taken for right), but
 * cut in two where promise() writes `promised` and then reads `sleeps_until`; and outside of it every
 * single read and write of a word that another thread writes. Memory is sequentially consistent, as
 * promised, sleeps_until, ready, idle and stopping are in the source where it matters.
 *
 * What is checked
 *
 *	- The task never runs twice at once, and an arming is run, cancelled or dropped exactly once:
 *	  `live` is that arming, set and cleared at what the service claims.
 *	- Cancel is right about what it says: CANCELLED and IDLE: no run follows or is under way; RUNNING:
 *	  it is; and for cancel_wait that run's function has returned.
 *	- Memory: the user frees the task when a cancel says that he may, the task's function may free it
 *	  as well, and it may be initialised and armed once more in the same place. After a free nobody
 *	  of the service touches it until then.
 *	- No lost wake-up: the workers and the timekeeper may sleep for ever only once the users are done, the
 *	  last tick has come and nothing is pending. Any other rest is an invalid end state: the last process,
 *	  `clock`, does not come to its end.
 *	- The counts: pending = armed - ran - cancelled - dropped, and the places under max_pending.
 *
 * Left out: several shards and tasks, a wheel's advance that its bound stops half-way, settle, poll, the
 * limit's own refusal, and sleeps that end for no reason (they would hide a lost wake-up).
 *
 * All at once is too much to search. Without the first two of these, threads sleep ideally: whoever has
 * something to do is awake.
 *
 *	-DWORKERS_SLEEP       the workers' protocol of ready and idle, and await's of runs and changed
 *	-DTIMEKEEPER_SLEEPS   the timekeeper's, of promised and sleeps_until
 *	-DINLINE              no workers, the timekeeper runs the task: takes both of the above
 *	-DSTOP                a third thread stops the service, at any moment; every thread must end
 *	-DPERIODIC            the users use arm_every as well
 *	-DOPS= -DT= -DWORKERS= -DREBIRTHS= -DSELF_ARMS=    sizes
 *	-DBROKEN_*            a mistake, which spin must find
 */

#ifndef OPS
#define OPS 3 /* calls of the users, together */
#endif
#ifndef T
#define T 2 /* the last tick */
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef REBIRTHS
#define REBIRTHS 1 /* how often freed memory becomes a task again */
#endif
#ifndef SELF_ARMS
#define SELF_ARMS 1 /* how often the task's function arms its own task */
#endif
#define PERIODS 1 /* after which a periodic task cancels itself */
#define NEVER   (T + 1)
#define W       2

/* The task; `on_wheel`, `due`, `deadline` and `slot` (where the wheel has it) are its timer. */
bit on_wheel, due, periodic;
byte deadline, slot, runner;

/* The shard. */
bit lock, closed, ready;
byte wheel_now, promised = NEVER;
byte pending; /* armed - ran - cancelled - dropped */

/* The workers. */
bit current[W], again[W], ended[W], place[W], awaited[W];
byte runs[W];

/* The service. */
byte sleeps_until, idle, limited;
bit stopping;
bit mutex;
bit waits_work[W];    /* in pthread_cond_wait of `work` */
bit waits_changed[2]; /* in that of `changed`, by user */
bit clock_wake;       /* the sleeper's flag: a wake() that no wait() has seen */
byte now;

/* What is true, as the checks have it: not read by the service. */
bit live;      /* an arming that is neither run nor cancelled nor dropped */
bit inside[W]; /* the function has been called and has not returned */
bit running;   /* a run of the task as it is now in memory */
bit alive = 1; /* its memory is a task */
bit yours[2];  /* a cancel told this user that the memory is his, and nobody armed it since */
byte wants[2]; /* the worker, from 1, for the end of whose function this user waits */
bit worker_ended[W], timekeeper_ended, has_stopped;
byte users_done;
byte ops = OPS, periods = PERIODS, rebirths = REBIRTHS, self_arms = SELF_ARMS;

/* Used within one step only. */
hidden byte rw, moved, keep, waits;

#ifdef WORKERS_SLEEP
#define WAKES_WORKER 1
#else
#define WAKES_WORKER 0
#endif
#ifdef TIMEKEEPER_SLEEPS
#define PROMISES 1
#else
#define PROMISES 0
#endif
#ifdef STOP
#define STOPPING stopping
#else
#define STOPPING false
#endif

#define CANCELLED 1
#define RUNNING   2
#define IDLE      3

/* arm.c: runner_of. rw: the worker's number, from 1; 0 for none. */
inline runner_of()
{
#ifdef BROKEN_RUNNER_STALE
	rw = (current[0] -> 1 : (current[1] -> 2 : 0));
#else
	rw = runner;
	if
	:: rw != 0 && !current[rw - 1] -> rw = 0; runner = 0
	:: else
	fi
#endif
}

/* pawl_wheel_advance. A move that makes nothing due comes from a touch, or from a slot of a higher level. */
inline wheel_advance(tick)
{
	moved = 0;
	if
	:: tick > wheel_now ->
		wheel_now = tick;
		if
		:: on_wheel && !due && slot <= tick ->
			assert(alive);
			moved = 1;
			if
			:: deadline <= tick -> due = 1; slot = 0
			:: else -> slot = deadline
			fi
		:: else
		fi
	:: else
	fi
}

/* placing.h: put_on_wheel, with promise() up to its write. */
inline put_on_wheel(at, until, touch)
{
	assert(alive);
	wheel_advance(at);
	if
	:: moved && on_wheel && due -> ready = 1; wake_worker = WAKES_WORKER /* anything_due */
	:: else
	fi;
	waits = 1;
	if
	:: touch && on_wheel && !due && deadline > wheel_now && until >= deadline ->
		deadline = until
	:: else ->
		on_wheel = 1;
		deadline = until;
		due = 0;
		if
		:: until <= wheel_now -> due = 1; slot = 0; waits = 0
		:: until > wheel_now -> slot = until
		:: until > wheel_now + 1 -> slot = wheel_now + 1 /* a higher level */
		fi
	fi;
	if
	:: waits && until < promised -> promised = until; promises = PROMISES
	:: waits && until >= promised
	:: else -> ready = 1; wake_worker = WAKES_WORKER
	fi
}

/*
 * run.c: pawl__service_work; placing.h: wake; clock.c: wake. Who is to be woken stands in wake_worker and
 * wake_timekeeper. Reading `idle` is a step, waiting for the mutex another, and the signal a third. The call
 * for job.more is left out, as with one task there is never more.
 */
inline wake()
{
#ifdef WORKERS_SLEEP
	if
	:: !wake_worker
	:: wake_worker ->
#ifdef INLINE
		atomic { wake_worker = 0; signals = (sleeps_until != 0) }
		if
		:: !signals
		:: signals -> atomic { signals = 0; clock_wake = 1 }
		fi
#else
		atomic { wake_worker = 0; signals = (idle != 0) }
		if
		:: !signals
		:: signals ->
			atomic { !mutex; signals = 0 }
			atomic {
				if
				:: waits_work[0] -> waits_work[0] = 0
				:: waits_work[1] -> waits_work[1] = 0
				:: else
				fi
			}
		fi
#endif
	fi;
#endif
#ifdef TIMEKEEPER_SLEEPS
	if
	:: !wake_timekeeper
	:: wake_timekeeper -> atomic { clock_wake = 1; wake_timekeeper = 0 }
	fi;
#endif
	skip
}

/* placing.h: the read of promise(), a step of its own, still under the lock. */
#ifdef TIMEKEEPER_SLEEPS
#define SLEEPS_TOO_LONG wake_timekeeper = (until < sleeps_until); promises = 0
#else
#define SLEEPS_TOO_LONG skip
#endif

/*
 * arm.c: arm and arm_locked, for arm, arm_every and touch. The time has been read before: `at`. A user does
 * not touch what he freed: `alive`.
 */
inline arm()
{
	atomic {
		!lock;
		if
		:: alive && !closed ->
			until = (at + delay > T -> T : at + delay);
			runner_of();
			keep = touch && (rw != 0 -> again[rw - 1] || !ended[rw - 1] : on_wheel);
			if
			:: rw != 0 -> /* arm_running */
				if
				:: !again[rw - 1] ->
					limited = limited + !place[rw - 1];
					place[rw - 1] = 1;
					again[rw - 1] = 1;
					pending++;
					assert(!live);
					live = 1
				:: else
				fi;
				deadline = until
			:: rw == 0 && !on_wheel -> /* arm_waiting */
				limited++;
				pending++;
				assert(!live);
				live = 1
			:: else
			fi;
			assert(live);
			yours[0] = 0;
			yours[1] = 0;
			periodic = (keep -> periodic : every);
			if
			:: rw == 0 -> put_on_wheel(at, until, keep)
			:: else
			fi;
			lock = promises
		:: else
		fi;
		at = 0;
		delay = 0;
		every = 0;
		touch = 0;
		until = (promises -> until : 0)
	}
	if
	:: !promises
	:: promises -> atomic { SLEEPS_TOO_LONG; until = 0; lock = 0 }
	fi;
	wake()
}

/* arm.c: cancel_locked. In one step, under the lock; `by` waits if it is a user (0 or 1) and not a task. */
inline cancel_locked(found, waiting, by)
{
	runner_of();
	if
	:: rw != 0 -> /* cancel_running */
		assert(running);
		if
		:: again[rw - 1] ->
			pending--;
			assert(live);
			live = 0;
#ifndef BROKEN_CANCEL
			again[rw - 1] = 0
#endif
		:: else
		fi;
		ended[rw - 1] = 1;
		limited = limited - place[rw - 1];
		place[rw - 1] = 0;
		found = RUNNING;
		if
		:: waiting -> awaited[rw - 1] = 1; serial = runs[rw - 1]; whom = rw; wants[by] = (inside[rw - 1] -> rw : 0)
		:: else
		fi
	:: rw == 0 && on_wheel ->
		assert(alive && live && !running);
		on_wheel = 0;
		due = 0;
		deadline = 0;
		slot = 0;
		pending--;
		limited--;
		live = 0;
		found = CANCELLED
	:: else ->
		assert(!running);
		found = IDLE
	fi;
	assert(!live)
}

/* run.c: take. In one step, under the lock. */
inline take(w)
{
	if
	:: !closed && on_wheel && due ->
		assert(alive && live && !running);
		on_wheel = 0;
		due = 0;
		live = 0;
		running = 1;
#ifndef BROKEN_RUNNER_UNSET
		runner = w + 1;
#endif
		current[w] = 1;
		inside[w] = 1;
		again[w] = 0;
		ended[w] = 0;
		awaited[w] = 0;
		place[w] = periodic;
		limited = limited - !periodic;
		pending--;
		job = 1;
		job_periodic = periodic
	:: else ->
		ready = 0
	fi
}

/*
 * The function of the task, on worker w. It may arm or cancel its own task, and at last free it. The service
 * reads the clock when it has returned.
 */
inline task_function(w)
{
	atomic {
		assert(alive);
		if
		:: !job_periodic || periods > 0
		:: self_arms > 0 -> self_arms--; delay = 1; at = now
		:: job_periodic && !lock -> /* pawl_service_cancel; cancel_wait does not wait here */
			cancel_locked(found, 0, 0);
			assert(found == RUNNING);
			cancelled = 1;
			found = 0
		fi
	}
	if
	:: !delay
	:: delay -> arm()
	fi;
	atomic {
		assert(alive);
		if
		:: !live && (!job_periodic || cancelled) -> /* free: the user's threads know of it */
			alive = 0;
			freed = 1;
			running = 0;
			yours[0] = 0;
			yours[1] = 0
		:: true
		fi;
		cancelled = 0;
		inside[w] = 0;
		wants[0] = (wants[0] == w + 1 -> 0 : wants[0]);
		wants[1] = (wants[1] == w + 1 -> 0 : wants[1]);
		at = now
	}
}

/* run.c: the last lines of finish, and the take that shares its critical section. */
inline finish_and_take(w)
{
	deadline = (on_wheel || live -> deadline : 0);
	tell = awaited[w] && WAKES_WORKER;
	awaited[w] = 0;
	again[w] = 0;
	ended[w] = 0;
	place[w] = 0;
	job = 0;
	job_periodic = 0;
	freed = 0;
	at = 0;
	until = 0;
	take(w);
	wake_worker = wake_worker && !job;
	lock = 0
}

/* run.c: finish. next_deadline is the grid's next tick, or with PAWL_BURST one that is past. */
inline finish(w)
{
	atomic {
		!lock;
		if
		:: job_periodic && !again[w] && !ended[w] ->
			assert(alive && !freed && !live);
			live = 1;
			pending++;
			periods = (periods > 0 -> periods - 1 : 0);
			rearm = 1;
			if
			:: until = at
			:: until = (at < T -> at + 1 : T)
			fi
		:: again[w] -> until = deadline; rearm = 1
		:: else
		fi;
#ifdef BROKEN_FINISH_READS
		assert(alive && !freed);
#endif
		runs[w]++; /* end_run */
		current[w] = 0;
		running = (freed -> running : 0);
		if
		:: rearm ->
			assert(alive && !freed);
			put_on_wheel(at, until, 0)
		:: !rearm && place[w] -> limited--
		:: else
		fi;
		rearm = 0;
		if
		:: promises -> lock = 1
		:: else -> finish_and_take(w)
		fi
	}
	if
	:: !promises
	:: promises -> atomic { SLEEPS_TOO_LONG; finish_and_take(w) }
	fi
}

/* run.c: pawl__service_changed */
inline tell_changed()
{
#ifdef WORKERS_SLEEP
	if
	:: !tell
	:: tell ->
#ifndef BROKEN_CHANGED
		!mutex;
#endif
		atomic { tell = 0; waits_changed[0] = 0; waits_changed[1] = 0 }
	fi
#else
	skip
#endif
}

/* run.c: pawl__service_run_due and run_shard */
inline run_due(w)
{
	if
	:: ready ->
		atomic { !lock; take(w); ran = job }
		do
		:: job ->
			task_function(w);
			finish(w);
			wake();
			tell_changed()
		:: !job -> break
		od
	:: else
	fi
}

#define RUNNING_LOCALS \
	byte at, delay, until, serial, whom, found; \
	bit every, touch, wake_worker, wake_timekeeper, signals, promises; \
	bit job, job_periodic, rearm, freed, cancelled, tell, ran

/*
 * run.c: pawl__service_worker and sleep_until_work. Taking a mutex is one step with what comes after it, and
 * giving it back with what comes before: nobody else sees the difference.
 */
#ifndef INLINE
active [WORKERS] proctype worker()
{
	RUNNING_LOCALS;

	do
#ifndef WORKERS_SLEEP
	:: STOPPING -> break
	:: !STOPPING ->
end_asleep:
		STOPPING || ready;
		run_due(_pid);
		ran = 0
#else
	:: STOPPING -> break
	:: !STOPPING ->
		run_due(_pid);
		if
		:: ran -> ran = 0
		:: !ran ->
#ifdef BROKEN_IDLE /* it looks, and counts itself then */
			atomic { !mutex; mutex = 1 }
			if
			:: atomic { STOPPING || ready -> mutex = 0 }
			:: else ->
				atomic { idle++; waits_work[_pid] = 1; mutex = 0 }
end_asleep:
				atomic { !waits_work[_pid] && !mutex -> idle-- }
			fi
#else
			atomic { !mutex; mutex = 1; idle++ }
			do
			:: STOPPING -> break
			:: !STOPPING ->
				if
				:: ready -> break
				:: !ready ->
					atomic { waits_work[_pid] = 1; mutex = 0 }
end_asleep:
					atomic { !waits_work[_pid] && !mutex -> mutex = 1 }
				fi
			od;
			atomic { idle--; mutex = 0 }
#endif
		fi
#endif
	od;
	worker_ended[_pid] = 1
}
#endif

/* timekeeper.c: pawl__shard_advance */
#define ADVANCE \
	wheel_advance(tick); \
	ready = ready || (moved && due); \
	wake_worker = moved && due && WAKES_WORKER; \
	promised = (on_wheel && !due -> slot : NEVER)

/* timekeeper.c */
active proctype timekeeper()
{
	byte tick;
#ifdef INLINE
	RUNNING_LOCALS;
#else
	bit wake_worker, wake_timekeeper, signals;
#endif
#ifdef TIMEKEEPER_SLEEPS
	byte sleep;

	do
	:: STOPPING -> break
	:: atomic { !STOPPING -> tick = now }
		if
		:: promised <= tick -> /* advance_promised */
			atomic { !lock; ADVANCE }
			wake()
		:: else
		fi;
#ifdef INLINE
		run_due(0);
		ran = 0;
#endif
		sleep = promised; /* sleep_until_promise */
		if
		:: sleep <= tick
		:: sleep > tick ->
			sleeps_until = sleep;
			if /* must_stay_awake */
#ifndef BROKEN_NO_RECHECK
			:: promised < sleep -> goto awake
#endif
			:: else
			fi;
#ifdef STOP
			if
			:: stopping -> goto awake
			:: !stopping
			fi;
#endif
#if defined(INLINE) && !defined(BROKEN_INLINE)
			if
			:: ready -> goto awake
			:: !ready
			fi;
#endif
end_asleep: /* clock.c: wait */
			atomic { clock_wake || now >= sleep -> clock_wake = 0 }
awake:
			sleeps_until = 0
		fi;
		atomic { sleep = 0; tick = 0 }
	od;
#else
	do
	:: STOPPING -> break
	:: !STOPPING ->
end_asleep:
		if
		:: STOPPING
		:: atomic { promised <= now && !lock -> tick = now; ADVANCE; tick = 0 }
			wake()
		fi
	od;
#endif
	timekeeper_ended = 1
}

/* arm.c: cancel and cancel_wait; run.c: pawl__service_await. And then the user may free it. */
inline cancel(by)
{
	atomic {
		!lock;
		if
		:: alive ->
			cancel_locked(found, waiting, by);
			yours[by] = found != RUNNING || waiting;
			found = 0
		:: else
		fi;
		waiting = 0
	}
	if
	:: whom == 0
	:: whom != 0 ->
#ifdef WORKERS_SLEEP
		atomic { !mutex; mutex = 1 }
		do
		:: runs[whom - 1] != serial -> break
		:: else ->
			atomic { waits_changed[by] = 1; mutex = 0 }
			atomic { !waits_changed[by] && !mutex -> mutex = 1 }
		od;
		mutex = 0;
#endif
		atomic {
			runs[whom - 1] != serial;
			assert(wants[by] == 0); /* its function has returned */
			whom = 0;
			serial = 0
		}
	fi;
	atomic {
		if
		:: yours[by] && alive -> /* free */
			assert(!on_wheel && !running && !live);
			alive = 0
		:: true
		fi;
		yours[by] = 0
	}
}

/* The first of the two begins: they are alike. Each call reads the clock first. */
proctype user(bit by)
{
	byte at, delay, until, serial, whom, found;
	bit every, touch, waiting, wake_worker, wake_timekeeper, signals, promises;

	do
	:: atomic {
		ops > 0 && (by == 0 || ops < OPS) -> ops--;
		at = now;
		if
		:: goto arms
		:: delay = 1; goto arms
		:: delay = 2; goto arms
		:: delay = 2; touch = 1; goto arms
#ifdef PERIODIC
		:: delay = 1; every = 1; goto arms /* pawl_service_arm_every */
#endif
		:: at = 0; goto cancels
		:: at = 0; waiting = 1; goto cancels
		:: !alive && rebirths > 0 -> /* the same memory from malloc; pawl_task_init; arm */
			rebirths--;
			alive = 1;
			periodic = 0;
			deadline = 0;
#ifndef BROKEN_INIT
			runner = 0;
#endif
			goto arms
		fi
		}
arms:
		arm();
		goto next;
cancels:
		cancel(by);
next:
		skip
	:: atomic { ops == 0 -> users_done++; break }
	:: atomic { ops > 0 && (by == 0 || ops < OPS) -> ops = 0 } /* enough */
	od;
end_done:
	false
}

#ifdef STOP
/* open.c: pawl_service_stop; run.c: pawl__service_drop_pending */
active proctype stop()
{
	bit drops, freed, tell;

#ifndef BROKEN_NO_CLOSE
	atomic { !lock; closed = 1 } /* close_shards */
#endif
	stopping = 1; /* end_threads */
#ifdef BROKEN_STOP_WAKE
	atomic { waits_work[0] = 0; waits_work[1] = 0 }
#else
	atomic { !mutex; waits_work[0] = 0; waits_work[1] = 0 }
#endif
#ifndef INLINE
	worker_ended[0] && (worker_ended[1] || WORKERS < 2);
#endif
	clock_wake = 1;
	timekeeper_ended;
	atomic { /* drop_pending: take_pending, begin_run of the first worker */
		!lock;
		if
		:: on_wheel ->
			assert(alive && live && !running);
			on_wheel = 0;
			due = 0;
			deadline = 0;
			slot = 0;
			live = 0;
			pending--;
			limited--;
			running = 1;
#ifndef BROKEN_DROP
			runner = 1;
			current[0] = 1;
			inside[0] = 1;
#endif
			again[0] = 0;
			ended[0] = 0;
			awaited[0] = 0;
			place[0] = 0;
			drops = 1
		:: else
		fi
	}
	if
	:: !drops
	:: drops ->
		atomic { /* dropped(task), which may free it */
			assert(alive);
			if
			:: alive = 0; running = 0; yours[0] = 0; yours[1] = 0; freed = 1
			:: true
			fi;
			inside[0] = 0;
			wants[0] = 0;
			wants[1] = 0
		}
		atomic { /* end_drop */
			!lock;
			runs[0]++;
			current[0] = 0;
			running = (freed -> running : 0);
			tell = awaited[0] && WAKES_WORKER;
			drops = 0;
			freed = 0
		}
		tell_changed()
	fi;
	has_stopped = 1
}
#endif

/*
 * Time passes. At the end everything is accounted for; what was lost keeps this from its end, and the others
 * asleep for ever.
 */
active proctype clock()
{
	atomic { run user(0); run user(1) }
	do
	:: now < T -> now++
	:: else -> break
	od;
	users_done == 2;
#ifdef STOP
	has_stopped;
#else
	pending == 0 && !ready && !current[0] && !current[1];
#endif
	assert(pending == 0 && !live && limited == 0 && !on_wheel)
}
