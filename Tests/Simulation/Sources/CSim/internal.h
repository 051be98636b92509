// The parts of the scheduler, for each other.
#ifndef CSIM_INTERNAL_H
#define CSIM_INTERNAL_H
#include "csim.h"
#include <stdatomic.h>
#include <pthread.h>
#include <stddef.h>

#define SWIFT_CC __attribute__((swiftcall))
#pragma GCC visibility push(hidden)

typedef struct Job Job;

// A thread of the simulation. One of them has the baton and runs; the others sleep.
typedef struct worker {
    atomic_int go;
    struct worker *next_idle;
    int number;
    bool blocked;
    pthread_t thread;
    const char *why;
} worker;

typedef struct queue_state {
    void *queue;
    bool serial, busy;
    int head, count, cap;
    struct { void *ctx; void (*fn)(void *); bool block; } *items;
} queue_state;

// What can run next: a job of Swift's concurrency, a block of a queue, or a suspended thread.
enum { K_JOB, K_QUEUE, K_THREAD };
typedef struct {
    int kind;
    void *p;
    void *ctx;
    void (*fn)(void *);
    bool block;
    uint64_t seq;
    uint64_t prio;
} entry;

extern _Thread_local worker *me;
extern _Thread_local int lock_depth;
extern _Thread_local int in_sched;
extern bool active;
extern int64_t now_ns;
extern uint32_t preempt_chance;
extern int run_count;
extern uint64_t lib_rng;
extern uint64_t steps;
extern atomic_int main_go;
extern worker *idle;
extern int worker_count;

uint64_t mix(uint64_t *s);
bool simulated(void);
void push(entry e);
void push_any(entry e);
uint64_t prio_of(Job *job);
void add_timer(int64_t at, Job *job, void *ctx, void (*fn)(void *));
bool next_entry(entry *e);
void hand(entry e);
void sleep_on(atomic_int *a);
void wake(atomic_int *a);
void suspend_self(bool blocked);
void run_entry(entry e);
void reset_queues(void);
void resolve(void);

static inline void maybe_yield(void) {
    if (!preempt_chance || !simulated() || lock_depth || in_sched) return;
    if ((csim_random() & 0xFFFF) < preempt_chance) suspend_self(false);
}
#pragma GCC visibility pop
#endif
