/* SPDX-License-Identifier: MIT */
/*
 * The states of a task as a Promela model: one task, one shard, two workers, two user threads that make any call, and a
 * clock. sleep.pml models how workers sleep and are woken; here a thread that has something to do is awake. Checked by
 * scripts/check-model.
 *
 * One step is a critical section of the shard's lock (the lock itself is assumed to be right) or, outside of it, a
 * single read or write of a word that another thread writes. Memory is sequentially consistent, as `runs` is in the
 * source where it matters.
 *
 * What is checked
 *
 *	- The task never runs twice at once, and an arming is run, cancelled or dropped exactly once: `live` is that
 *	  arming, set and cleared at what the service claims.
 *	- The result of cancel is true. CANCELLED and IDLE: no run follows or is under way. RUNNING: one is; and for
 *	  cancel_wait that run's function has returned.
 *	- Memory: the user frees the task when a cancel allows it. The task's function may free it, too. The same memory
 *	  may be initialised and armed again. Between a free and that, the service does not touch it.
 *	- No lost task: the workers may sleep for ever only when the users are done, the last tick has come and nothing
 *	  is pending; and a thread that waits for the end of a run is woken. Any other state without a step is an
 *	  invalid end state: the last process, `clock`, does not come to its end.
 *	- The counts: pending = armed - ran - cancelled - dropped, and the quota of max_pending.
 *
 * Left out: several shards and tasks, an advance of a wheel that stops at its bound, settle, poll, and an arming that
 * is refused by the limit.
 *
 *	-DAWAITS              await.c's protocol of runs and changed; without it, a waiting thread is woken at once
 *	-DSTOP                a third thread stops the service, at any time; every thread must end
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
#define W       2

/* The task; `on_wheel`, `due`, `deadline` and `slot` (where the wheel has it) are its timer. */
bit on_wheel, due, periodic;
byte deadline, slot, runner;

/* The shard. */
bit closed, ready;
byte wheel_now;
byte pending; /* armed - ran - cancelled - dropped */

/* The workers. */
bit current[W], again[W], ended[W], place[W], awaited[W];
byte runs[W];

/* The service. */
byte quota_used;
bit stopping;
bit mutex;
bit waits_changed[2]; /* in pthread_cond_wait of `changed`, by user */
byte now;

/* What is true, as the checks have it: not read by the service. */
bit live;      /* an arming that is neither run nor cancelled nor dropped */
bit inside[W]; /* the function has been called and has not returned */
bit running;   /* a run of the task as it is now in memory */
bit alive = 1; /* its memory is a task */
bit yours[2];  /* a cancel told this user that the memory is his, and nobody armed it since */
byte wants[2]; /* the worker, from 1, for the end of whose function this user waits */
bit worker_ended[W], has_stopped;
byte users_done;
byte ops = OPS, periods = PERIODS, rebirths = REBIRTHS, self_arms = SELF_ARMS;

/* Used within one step only. */
hidden byte rw, moved, keep;

#ifdef AWAITS
#define TELLS 1
#else
#define TELLS 0
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

/* shard.h: put_on_wheel */
inline put_on_wheel(at, until, touch)
{
	assert(alive);
	wheel_advance(at);
	ready = ready || (moved && on_wheel && due); /* anything_due */
	if
	:: touch && on_wheel && !due && deadline > wheel_now && until >= deadline ->
		deadline = until
	:: else ->
		on_wheel = 1;
		deadline = until;
		due = 0;
		if
		:: until <= wheel_now -> due = 1; slot = 0; ready = 1
		:: until > wheel_now -> slot = until
		:: until > wheel_now + 1 -> slot = wheel_now + 1 /* a higher level */
		fi
	fi
}

/*
 * arm.c: arm and arm_locked, for arm, arm_every and touch. The time has been read before: `at`. A user does not touch
 * what he freed: `alive`.
 */
inline arm()
{
	atomic {
		if
		:: alive && !closed ->
			until = (at + delay > T -> T : at + delay);
			runner_of();
			keep = touch && (rw != 0 -> again[rw - 1] || !ended[rw - 1] : on_wheel);
			if
			:: rw != 0 -> /* arm_running */
				if
				:: !again[rw - 1] ->
					quota_used = quota_used + !place[rw - 1];
					place[rw - 1] = 1;
					again[rw - 1] = 1;
					pending++;
					assert(!live);
					live = 1
				:: else
				fi;
				deadline = until
			:: rw == 0 && !on_wheel -> /* arm_waiting */
				quota_used++;
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
			fi
		:: else
		fi;
		at = 0;
		delay = 0;
		every = 0;
		touch = 0;
		until = 0
	}
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
		quota_used = quota_used - place[rw - 1];
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
		quota_used--;
		live = 0;
		found = CANCELLED
	:: else ->
		assert(!running);
		found = IDLE
	fi;
	assert(!live)
}

/* run.c: begin_next. In one step, under the lock. */
inline begin_next(w)
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
		quota_used = quota_used - !periodic;
		pending--;
		job = 1;
		job_periodic = periodic
	:: else ->
		ready = 0
	fi
}

/*
 * The function of the task, on worker w. It may arm or cancel its own task, and at last free it. The service reads the
 * clock when it has returned.
 */
inline task_function(w)
{
	atomic {
		assert(alive);
		if
		:: !job_periodic || periods > 0
		:: self_arms > 0 -> self_arms--; delay = 1; at = now
		:: job_periodic -> /* pawl_service_cancel; cancel_wait does not wait here */
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

/* run.c: finish. next_deadline is the grid's next tick, or with PAWL_SERVICE_BURST one that is past. */
inline finish(w)
{
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
	:: !rearm && place[w] -> quota_used--
	:: else
	fi;
	rearm = 0
}

/* run.c: finish, and begin_next in the same critical section */
inline finish_and_begin(w)
{
	atomic {
		finish(w);
		deadline = (on_wheel || live -> deadline : 0);
		tell = awaited[w] && TELLS;
		awaited[w] = 0;
		again[w] = 0;
		ended[w] = 0;
		place[w] = 0;
		job = 0;
		job_periodic = 0;
		freed = 0;
		at = 0;
		until = 0;
		begin_next(w)
	}
}

/* await.c: pawl__service_changed */
inline tell_changed()
{
#ifdef AWAITS
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

/* run.c: pawl__worker_run_due and run_shard */
inline run_due(w)
{
	if
	:: ready ->
		atomic { begin_next(w) }
		do
		:: job ->
			task_function(w);
			finish_and_begin(w);
			tell_changed()
		:: !job -> break
		od
	:: else
	fi
}

#define SOMETHING_TO_DO (STOPPING || ready || (on_wheel && !due && slot <= now))

/* run.c: pawl__worker_thread; advance.c: pawl__shard_advance */
active [WORKERS] proctype worker()
{
	byte at, delay, until, serial, whom, found;
	bit every, touch, job, job_periodic, rearm, freed, cancelled, tell;

	do
	:: STOPPING -> break
	:: !STOPPING ->
end_asleep:
		SOMETHING_TO_DO;
		atomic { wheel_advance(now); ready = ready || (moved && due) }
		run_due(_pid)
	od;
	worker_ended[_pid] = 1
}

/* arm.c: cancel and cancel_wait; await.c: pawl__service_await_run. And then the user may free it. */
inline cancel(by)
{
	atomic {
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
#ifdef AWAITS
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
	bit every, touch, waiting;

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
/* stop.c: pawl_service_stop and drop_pending */
active proctype stop()
{
	bit drops, freed, tell;

#ifndef BROKEN_NO_CLOSE
	atomic { closed = 1 } /* close_shards */
#endif
	stopping = 1; /* end_threads */
	worker_ended[0] && (worker_ended[1] || WORKERS < 2);
	atomic { /* drop_pending: begin_drop, begin_run of the first worker */
		if
		:: on_wheel ->
			assert(alive && live && !running);
			on_wheel = 0;
			due = 0;
			deadline = 0;
			slot = 0;
			live = 0;
			pending--;
			quota_used--;
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
			runs[0]++;
			current[0] = 0;
			running = (freed -> running : 0);
			tell = awaited[0] && TELLS;
			drops = 0;
			freed = 0
		}
		tell_changed()
	fi;
	has_stopped = 1
}
#endif

/*
 * Time passes. At the end everything is accounted for; what was lost keeps this from its end, and the others asleep for
 * ever.
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
	assert(pending == 0 && !live && quota_used == 0 && !on_wheel)
}
