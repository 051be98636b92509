#define _GNU_SOURCE
#include "internal.h"
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile uint64_t csim_current_seed;
void csim_set_seed(uint64_t s) { csim_current_seed = s; }

static void on_dump(int sig) {
    void *frames[64];
    int count = backtrace(frames, 64);
    backtrace_symbols_fd(frames, count, 2);
}
static const char *note;
void csim_note(const char *text) { note = text; }

static void on_crash(int sig) {
    char buffer[200];
    int n = snprintf(buffer, sizeof buffer, "\nCRASH signal %d in seed %llu%s%s\n", sig, (unsigned long long)csim_current_seed, note ? " " : "", note ? note : "");
    (void)!write(2, buffer, n);
    void *frames[64];
    int count = backtrace(frames, 64);
    backtrace_symbols_fd(frames, count, 2);
    _exit(99);
}
static void *watchdog(void *arg) {
    uint64_t last = ~0ull, lastSteps = 0;
    int same = 0;
    for (;;) {
        usleep(500000);
        if (active && last == csim_current_seed && lastSteps == steps) same++; else same = 0;
        last = csim_current_seed;
        lastSteps = steps;
        if (same == 20) {
            fprintf(stderr, "\nSTUCK: a thread blocks or loops, seed %llu (%s) steps %llu, runnable %d\n", (unsigned long long)csim_current_seed,
                    note ? note : "", (unsigned long long)steps, run_count);
            abort();
        }
    }
    return NULL;
}
void csim_crash_handlers(void) {
    int all[] = {SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
    for (int i = 0; i < 6; i++) signal(all[i], on_crash);
    signal(SIGUSR1, on_dump);
    pthread_t t;
    pthread_create(&t, NULL, watchdog, NULL);
}
