#define _GNU_SOURCE
#include "Allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// While it is off, an allocation costs one more load.
static atomic_bool is_counting;
static atomic_long count, bytes, tasks;

static int counting(void) { return atomic_load_explicit(&is_counting, memory_order_relaxed); }

static void *counted(void *memory, long before) {
    if (memory != NULL && counting()) {
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes, (long)malloc_usable_size(memory) - before, memory_order_relaxed);
    }
    return memory;
}

void *malloc(size_t size) { return counted(__libc_malloc(size), 0); }
void *calloc(size_t number, size_t size) { return counted(__libc_calloc(number, size), 0); }
void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), 0); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

void *realloc(void *memory, size_t size) {
    long before = counting() ? (long)malloc_usable_size(memory) : 0;
    return counted(__libc_realloc(memory, size), before);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *memory = made;
    return 0;
}

void free(void *memory) {
    if (memory != NULL && counting()) {
        atomic_fetch_sub_explicit(&bytes, (long)malloc_usable_size(memory), memory_order_relaxed);
    }
    __libc_free(memory);
}

// The runtime's function that makes a task, as stdlib/public/Concurrency declares it.
typedef struct { void *task, *context; } made_task;
typedef __attribute__((swiftcall)) made_task make_task(size_t, void *, const void *, void *, void *);

__attribute__((swiftcall)) made_task swift_task_create(size_t flags, void *options, const void *type, void *entry, void *context) {
    static _Atomic(make_task *) known;
    make_task *make = atomic_load_explicit(&known, memory_order_relaxed);
    if (make == NULL) {
        make = (make_task *)dlsym(RTLD_NEXT, "swift_task_create");
        if (make == NULL) abort();
        atomic_store_explicit(&known, make, memory_order_relaxed);
    }
    if (counting()) atomic_fetch_add_explicit(&tasks, 1, memory_order_relaxed);
    return make(flags, options, type, entry, context);
}

void allocations_begin(void) {
    atomic_store(&tasks, 0);
    atomic_store(&count, 0);
    atomic_store(&bytes, 0);
    atomic_store(&is_counting, 1);
}

allocations allocations_end(void) {
    atomic_store(&is_counting, 0);
    return (allocations){atomic_load(&count), atomic_load(&bytes), atomic_load(&tasks)};
}
#else
void allocations_begin(void) {}
allocations allocations_end(void) { return (allocations){-1, -1, -1}; }
#endif
