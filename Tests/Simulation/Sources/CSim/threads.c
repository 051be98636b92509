#define _GNU_SOURCE
#include "internal.h"
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// Threads with a baton: one runs at a time.

_Thread_local worker *me;
_Thread_local int lock_depth;
_Thread_local int in_sched;
atomic_int main_go;
worker *idle;
int worker_count;

static long fut(atomic_int *a, int op, int v) { return syscall(SYS_futex, a, op | FUTEX_PRIVATE_FLAG, v, NULL, NULL, 0); }
void sleep_on(atomic_int *a) {
    for (int i = 0; i < 200; i++) {
        int one = 1;
        if (atomic_compare_exchange_strong(a, &one, 0)) return;
        __builtin_ia32_pause();
    }
    for (;;) {
        int one = 1;
        if (atomic_compare_exchange_strong(a, &one, 0)) return;
        fut(a, FUTEX_WAIT, 0);
    }
}
void wake(atomic_int *a) {
    atomic_store(a, 1);
    fut(a, FUTEX_WAKE, 1);
}

static void *worker_main(void *arg);

static worker *free_worker(void) {
    if (idle) {
        worker *w = idle;
        idle = w->next_idle;
        return w;
    }
    worker *w = calloc(1, sizeof(worker));
    w->number = ++worker_count;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 1 << 20);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_t t;
    if (pthread_create(&t, &a, worker_main, w)) abort();
    return w;
}

static entry handed; // the entry for a woken idle worker
static bool has_handed;

static void end_run(void) { wake(&main_go); }

// Gives the baton away: to a suspended thread, or to a free worker that runs the entry.
void hand(entry e) {
    if (e.kind == K_THREAD) {
        wake(&((worker *)e.p)->go);
        return;
    }
    handed = e;
    has_handed = true;
    wake(&free_worker()->go);
}

static void *worker_main(void *arg) {
    me = arg;
    me->thread = pthread_self();
    for (;;) {
        sleep_on(&me->go);
        if (!has_handed) abort();
        entry e = handed;
        has_handed = false;
        for (;;) {
            run_entry(e);
            if (!next_entry(&e)) {
                me->next_idle = idle;
                idle = me;
                end_run();
                break;
            }
            if (e.kind == K_THREAD) {
                me->next_idle = idle;
                idle = me;
                hand(e);
                break;
            }
        }
    }
    return NULL;
}

// Suspends this thread with the baton, and lets another entry run.
void suspend_self(bool blocked) {
    me->blocked = blocked;
    uint64_t p = csim_random();
    push((entry){.kind = K_THREAD, .p = me, .prio = p});
    entry e;
    if (!next_entry(&e)) { end_run(); sleep_on(&me->go); return; }
    if (e.kind == K_THREAD && e.p == me) return;
    hand(e);
    sleep_on(&me->go);
}

void csim_before_lock(void) {
    maybe_yield();
    lock_depth++;
}
void csim_after_lock(void) {
    lock_depth--;
    maybe_yield();
}

