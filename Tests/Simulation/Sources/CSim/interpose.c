#define _GNU_SOURCE
#include "internal.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ---- the real functions

static void (*real_dispatch_async)(void *, void *);
static void (*real_dispatch_async_f)(void *, void *, void (*)(void *));
static void (*real_dispatch_sync)(void *, void *);
static void (*real_dispatch_sync_f)(void *, void *, void (*)(void *));
static intptr_t (*real_sem_wait)(void *, uint64_t);
static const char *(*real_label)(void *);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_mutex_lock)(pthread_mutex_t *);
static int (*real_mutex_trylock)(pthread_mutex_t *);
static void *(*block_copy)(const void *);
static void (*block_release)(const void *);
static void *main_queue;

void resolve(void) {
    static bool done;
    if (done) return;
    done = true;
    real_dispatch_async = dlsym(RTLD_NEXT, "dispatch_async");
    real_dispatch_async_f = dlsym(RTLD_NEXT, "dispatch_async_f");
    real_dispatch_sync = dlsym(RTLD_NEXT, "dispatch_sync");
    real_dispatch_sync_f = dlsym(RTLD_NEXT, "dispatch_sync_f");
    real_sem_wait = dlsym(RTLD_NEXT, "dispatch_semaphore_wait");
    real_label = dlsym(RTLD_DEFAULT, "dispatch_queue_get_label");
    block_copy = dlsym(RTLD_DEFAULT, "_Block_copy");
    block_release = dlsym(RTLD_DEFAULT, "_Block_release");
    main_queue = dlsym(RTLD_DEFAULT, "_dispatch_main_q");
}

// ---- dispatch queues

typedef struct { void *identity; uintptr_t impl; } ExecutorRef;
extern SWIFT_CC void swift_job_run(Job *job, ExecutorRef executor);

static queue_state queues[4096];
static int queue_count;

void reset_queues(void) {
    extern void dispatch_release(void *);
    for (int i = 0; i < queue_count; i++) dispatch_release(queues[i].queue);
    queue_count = 0;
}

static queue_state *state_of(void *q) {
    for (int i = queue_count - 1; i >= 0; i--) if (queues[i].queue == q) return &queues[i];
    if (queue_count == 4096) abort();
    queue_state *s = &queues[queue_count++];
    void *items = s->items;
    int cap = s->cap;
    memset(s, 0, sizeof *s);
    s->items = items;
    s->cap = cap;
    s->queue = q;
    const char *label = real_label ? real_label(q) : "";
    // The global queues, and the concurrent ones of the library.
    s->serial = !(label && (strstr(label, "com.apple.root") || strstr(label, "ness.cache.lookups")));
    extern void dispatch_retain(void *);
    dispatch_retain(q);
    return s;
}

static void call_block(void *block) {
    struct layout { void *isa; int flags, reserved; void (*invoke)(void *); } *b = block;
    b->invoke(block);
}

typedef struct { void *ctx; void (*fn)(void *); bool block; } item;
static void perform(void *arg) {
    item *i = arg;
    if (i->block) {
        call_block(i->ctx);
        block_release(i->ctx);
    } else i->fn(i->ctx);
}

static void perform_on(void *q, item i) {
    if (q == main_queue) perform(&i);
    else real_dispatch_sync_f(q, &i, perform);
}

static void start_queue(queue_state *s) {
    if (s->busy || s->count == 0) return;
    s->busy = true;
    item i = {s->items[s->head].ctx, s->items[s->head].fn, s->items[s->head].block};
    s->head++;
    s->count--;
    if (s->count == 0) s->head = 0;
    push((entry){.kind = K_QUEUE, .p = s, .ctx = i.ctx, .fn = i.fn, .block = i.block, .prio = csim_random()});
}

static void enqueue_work(void *q, item i) {
    if (!simulated()) {
        // Not one of ours: the real queue.
        if (i.block) { real_dispatch_async(q, i.ctx); block_release(i.ctx); } else real_dispatch_async_f(q, i.ctx, i.fn);
        return;
    }
    queue_state *s = state_of(q);
    if (!s->serial) {
        push((entry){.kind = K_QUEUE, .p = s, .ctx = i.ctx, .fn = i.fn, .block = i.block, .prio = csim_random()});
    } else {
        if (s->head + s->count == s->cap) {
            if (s->head > 64) {
                memmove(s->items, s->items + s->head, s->count * sizeof *s->items);
                s->head = 0;
            } else {
                s->cap = s->cap ? s->cap * 2 : 16;
                s->items = realloc(s->items, s->cap * sizeof *s->items);
            }
        }
        int at = s->head + s->count++;
        s->items[at].ctx = i.ctx;
        s->items[at].fn = i.fn;
        s->items[at].block = i.block;
        start_queue(s);
    }
    maybe_yield();
}

void run_entry(entry e) {
    if (e.kind == K_JOB) {
        swift_job_run(e.p, (ExecutorRef){0, 0});
        return;
    }
    queue_state *s = e.p;
    item i = {e.ctx, e.fn, e.block};
    if (!s) { perform(&i); return; }
    perform_on(s->queue, i);
    if (s->serial) {
        s->busy = false;
        start_queue(s);
    }
}

void dispatch_async(void *q, void *block) {
    resolve();
    if (!active) { real_dispatch_async(q, block); return; }
    enqueue_work(q, (item){block_copy(block), NULL, true});
}
void dispatch_async_f(void *q, void *ctx, void (*fn)(void *)) {
    resolve();
    if (!active) { real_dispatch_async_f(q, ctx, fn); return; }
    enqueue_work(q, (item){ctx, fn, false});
}
static void (*real_after_f)(uint64_t, void *, void *, void (*)(void *));
// The runtime's sleeps come here: `when` is the time of the monotonic clock, with the highest bit set.
void dispatch_after_f(uint64_t when, void *q, void *ctx, void (*fn)(void *)) {
    if (!real_after_f) real_after_f = dlsym(RTLD_NEXT, "dispatch_after_f");
    if (!active) { real_after_f(when, q, ctx, fn); return; }
    add_timer((int64_t)(when & ~(1ull << 63)) - 1000000000000ll, NULL, ctx, fn);
}
void dispatch_sync(void *q, void *block) {
    resolve();
    if (!simulated()) { real_dispatch_sync(q, block); return; }
    queue_state *s = state_of(q);
    if (!s->serial) { real_dispatch_sync(q, block); return; }
    while (s->busy || s->count) {
        me->why = "dispatch_sync";
        if (lock_depth || in_sched) { fprintf(stderr, "dispatch_sync inside a lock must wait\n"); abort(); }
        suspend_self(true);
    }
    s->busy = true;
    real_dispatch_sync(q, block);
    s->busy = false;
    start_queue(s);
}
intptr_t dispatch_semaphore_wait(void *sem, uint64_t timeout) {
    resolve();
    if (!simulated() || timeout != ~0ull) return real_sem_wait(sem, timeout);
    while (real_sem_wait(sem, 0) != 0) {
        me->why = "semaphore";
        if (lock_depth || in_sched) { fprintf(stderr, "semaphore inside a lock\n"); abort(); }
        suspend_self(true);
    }
    return 0;
}
int pthread_mutex_lock(pthread_mutex_t *m) {
    if (!real_mutex_lock) {
        real_mutex_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        real_mutex_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    }
    if (!simulated() || in_sched) return real_mutex_lock(m);
    for (;;) {
        int r = real_mutex_trylock(m);
        if (r != EBUSY) return r;
        if (lock_depth) return real_mutex_lock(m);
        me->why = "mutex";
        suspend_self(true);
    }
}

// ---- time and random numbers

#define WALL_START 1800000000ll
// A thread of the system gets the real time: the manager of libdispatch has a timer, and with the simulated time it would never be due.
int clock_gettime(clockid_t id, struct timespec *t) {
    if (!simulated()) {
        if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
        return real_clock_gettime(id, t);
    }
    int64_t n = now_ns;
    int64_t base = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? WALL_START : 1000;
    t->tv_sec = base + n / 1000000000;
    t->tv_nsec = n % 1000000000;
    return 0;
}
int64_t csim_real_ns(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static void fill(uint8_t *p, size_t n) {
    while (n) {
        uint64_t v = mix(&lib_rng);
        size_t k = n < 8 ? n : 8;
        memcpy(p, &v, k);
        p += k;
        n -= k;
    }
}
// Optimized code calls this function; the standard library itself makes the system call below.
void swift_stdlib_random(void *buf, size_t n) { fill(buf, n); }

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && active) {
        fill((uint8_t *)a, b);
        return b;
    }
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
