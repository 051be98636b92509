#define _GNU_SOURCE
#include "internal.h"
#include <dlfcn.h>
#include <time.h>

// ---- the hooks of the Swift runtime

typedef SWIFT_CC void (*orig_fn)(Job *);
static SWIFT_CC void hook_global(Job *job, void *original) {
    if (!active) { ((SWIFT_CC void (*)(Job *))original)(job); return; }
    push_any((entry){.kind = K_JOB, .p = job, .prio = prio_of(job)});
    maybe_yield();
}
static SWIFT_CC void hook_main(Job *job, void *original) { hook_global(job, original); }
static SWIFT_CC void hook_delay(uint64_t delay, Job *job, void *original) {
    if (!active) { ((SWIFT_CC void (*)(uint64_t, Job *))original)(delay, job); return; }
    add_timer(now_ns + (int64_t)delay, job, NULL, NULL);
}
static SWIFT_CC void hook_deadline(long long sec, long long nsec, long long tsec, long long tnsec, int clock, Job *job, void *original) {
    if (!active) {
        ((SWIFT_CC void (*)(long long, long long, long long, long long, int, Job *))original)(sec, nsec, tsec, tnsec, clock, job);
        return;
    }
    if (sec > 4000000000ll) sec = 4000000000ll;
    add_timer((sec - 1000) * 1000000000ll + nsec, job, NULL, NULL);
}

void csim_install(void) {
    resolve();
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    *(void **)dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal_hook") = hook_global;
    *(void **)dlsym(RTLD_DEFAULT, "swift_task_enqueueMainExecutor_hook") = hook_main;
    *(void **)dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobalWithDelay_hook") = hook_delay;
    *(void **)dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobalWithDeadline_hook") = hook_deadline;
}

