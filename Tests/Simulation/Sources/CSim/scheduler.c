#define _GNU_SOURCE
#include "internal.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern uint64_t swift_task_getJobTaskId(Job *job);

// ---- random numbers

static uint64_t rng_state;
uint64_t mix(uint64_t *s) {
    uint64_t z = (*s += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
uint64_t csim_random(void) { return mix(&rng_state); }
uint64_t lib_rng;

// ---- what is runnable

static entry *run;
int run_count;
static int run_cap;
static struct { int64_t at; uint64_t seq; Job *job; void *ctx; void (*fn)(void *); } *timers;
static int timer_count, timer_cap;

bool active;
uint64_t steps;
static uint64_t seq, max_steps, hash;
int64_t now_ns;
static int64_t max_time;
static int strategy;
uint32_t preempt_chance;
static uint64_t prio_salt;
static int verdict;
static bool (*stop_fn)(void);
static int blocked_tries, patience;
// jobs from foreign threads
static atomic_flag foreign_lock = ATOMIC_FLAG_INIT;
static entry foreign_items[1024];
static atomic_int foreign_count;

uint64_t csim_hash(void) { return hash; }

void push(entry e) {
    if (run_count == run_cap) {
        run_cap = run_cap ? run_cap * 2 : 256;
        run = realloc(run, run_cap * sizeof(entry));
    }
    e.seq = ++seq;
    run[run_count++] = e;
}

static void take_foreign(void) {
    if (atomic_load(&foreign_count) == 0) return;
    while (atomic_flag_test_and_set(&foreign_lock)) {}
    int n = atomic_load(&foreign_count);
    for (int i = 0; i < n; i++) push(foreign_items[i]);
    atomic_store(&foreign_count, 0);
    atomic_flag_clear(&foreign_lock);
}

bool simulated(void) { return active && me != NULL; }

void push_any(entry e) {
    if (simulated() || !active) { push(e); return; }
    while (atomic_flag_test_and_set(&foreign_lock)) {}
    if (foreign_count < 1024) foreign_items[foreign_count++] = e;
    else abort();
    atomic_flag_clear(&foreign_lock);
}

static uint64_t first_task;
uint64_t prio_of(Job *job) {
    uint64_t id = swift_task_getJobTaskId(job);
    if (!first_task) first_task = id;
    uint64_t s = prio_salt ^ ((id - first_task) * 0x2545F4914F6CDD1Dull);
    return mix(&s);
}

static int pick(void) {
    // returns an index
    if (run_count == 1) return 0;
    uint64_t r = csim_random();
    switch (strategy) {
    case 1: {
        if (r % 64 == 0) prio_salt = csim_random();
        int best = 0;
        for (int i = 1; i < run_count; i++)
            if (run[i].prio > run[best].prio || (run[i].prio == run[best].prio && run[i].seq < run[best].seq)) best = i;
        return best;
    }
    case 2:
    case 3: {
        if (r % 8 == 0) return (r >> 8) % run_count;
        int best = 0;
        for (int i = 1; i < run_count; i++)
            if (strategy == 2 ? run[i].seq < run[best].seq : run[i].seq > run[best].seq) best = i;
        return best;
    }
    default: return r % run_count;
    }
}

static entry take(int i) {
    entry e = run[i];
    run[i] = run[--run_count];
    hash = (hash ^ (e.seq * 31 + e.kind)) * 0x100000001B3ull;
    return e;
}

static bool all_blocked(void) {
    for (int i = 0; i < run_count; i++)
        if (run[i].kind != K_THREAD || !((worker *)run[i].p)->blocked) return false;
    return true;
}

// True if a thread waits for a mutex. A thread of the system, such as one of libdispatch, may hold it for a moment of real time.
static bool waits_for_mutex(void) {
    for (int i = 0; i < run_count; i++)
        if (run[i].kind == K_THREAD && ((worker *)run[i].p)->blocked && ((worker *)run[i].p)->why && !strcmp(((worker *)run[i].p)->why, "mutex")) return true;
    return false;
}

static void advance_to_next(void) {
    int best = 0;
    for (int i = 1; i < timer_count; i++)
        if (timers[i].at < timers[best].at || (timers[i].at == timers[best].at && timers[i].seq < timers[best].seq)) best = i;
    if (timers[best].at > now_ns) now_ns = timers[best].at;
    // all that are due become runnable together
    for (int i = 0; i < timer_count;) {
        if (timers[i].at <= now_ns) {
            Job *job = timers[i].job;
            if (job) push((entry){.kind = K_JOB, .p = job, .prio = prio_of(job)});
            else push((entry){.kind = K_QUEUE, .p = NULL, .ctx = timers[i].ctx, .fn = timers[i].fn, .prio = csim_random()});
            timers[i] = timers[--timer_count];
        } else i++;
    }
}

// The next entry to run, or false if the simulation is over. Called with the baton.
bool next_entry(entry *e) {
    for (;;) {
        take_foreign();
        bool stuck = run_count > 0 && all_blocked();
        if (run_count > 0 && !(stuck && blocked_tries > 3 * run_count + 3)) {
            if (++steps > max_steps) {
                verdict = 2;
                return false;
            }
            *e = take(pick());
            if (stuck) blocked_tries++; else blocked_tries = patience = 0;
            return true;
        }
        if (atomic_load(&foreign_count)) continue;
        if (stuck && patience < 2000 && waits_for_mutex()) {
            patience++;
            usleep(1000);
            blocked_tries = 0;
            continue;
        }
        if (run_count == 0 && stop_fn) {
            in_sched++;
            bool stop = stop_fn();
            in_sched--;
            take_foreign();
            if (run_count > 0) continue;
            if (stop) { verdict = 1; return false; }
        }
        if (timer_count == 0) {
            verdict = run_count ? 3 : 0;
            if (run_count && getenv("CSIM_DEBUG"))
                for (int i = 0; i < run_count; i++) {
                    worker *w = run[i].p;
                    fprintf(stderr, "--- thread %d waits for %s\n", w->number, w->why ? w->why : "?");
                    if (w != me) { pthread_kill(w->thread, SIGUSR1); usleep(100000); } else raise(SIGUSR1);
                }
            return false;
        }
        if (now_ns > max_time) { verdict = 2; return false; }
        blocked_tries = 0;
        advance_to_next();
    }
}

// ---- timers

void add_timer(int64_t at, Job *job, void *ctx, void (*fn)(void *)) {
    if (timer_count == timer_cap) {
        timer_cap = timer_cap ? timer_cap * 2 : 256;
        timers = realloc(timers, timer_cap * sizeof *timers);
    }
    // A real clock has moved on before a sleep of less than a nanosecond ends.
    if (at <= now_ns) at = now_ns + 1;
    timers[timer_count].at = at;
    timers[timer_count].seq = ++seq;
    timers[timer_count].ctx = ctx;
    timers[timer_count].fn = fn;
    timers[timer_count++].job = job;
}
void csim_begin(uint64_t seed, int s, uint32_t preempt) {
    rng_state = seed * 0x9E3779B97F4A7C15ull + 1;
    lib_rng = seed ^ 0xD1B54A32D192ED03ull;
    prio_salt = csim_random();
    strategy = s;
    preempt_chance = preempt;
    reset_queues();
    run_count = timer_count = 0;
    seq = steps = 0;
    now_ns = 0;
    hash = 0xCBF29CE484222325ull;
    blocked_tries = 0;
    first_task = 0;
    // The thread of the runner may start tasks: it counts as a simulated one until csim_run.
    static worker main_worker;
    me = &main_worker;
    in_sched++;
    active = true;
}

int csim_run(bool (*stop)(void), uint64_t limit, int64_t time_limit) {
    stop_fn = stop;
    max_steps = steps + limit;
    max_time = now_ns + time_limit;
    entry e;
    verdict = 0;
    if (!next_entry(&e)) return verdict;
    worker *self = me;
    me = NULL;
    hand(e);
    sleep_on(&main_go);
    me = self;
    return verdict;
}

void csim_end(void) {
    active = false;
    in_sched--;
    me = NULL;
}

