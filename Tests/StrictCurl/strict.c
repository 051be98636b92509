// A libcurl as strict as all supported versions together: passes each call on to the real one, and ends the process with the name of a rule
// where a call of the program breaks one. `.ci/strict-libcurl` builds it and loads it before libcurl.
//
// | rule | demanded by |
// | --- | --- |
// | buffer-size | a handle that has been in a transfer takes no CURLOPT_BUFFERSIZE: 7.x to 8.6.0, `if(data->state.buffer)` in lib/setopt.c |
// | attached-option | no option changes while a multi handle has the handle: all versions, curl_easy_setopt(3), libcurl-multi(3) |
// | callback-call | a callback calls no function of a multi handle but wakeup, and releases no handle: 7.59 and later, CURLM_RECURSIVE_API_CALL; before, a crash |
// | pause-after-end | only a handle in a transfer is paused or continued: all versions, curl_easy_pause(3); 7.76 reads `data->conn` |
// | cleanup-attached | curl_easy_cleanup after curl_multi_remove_handle, curl_multi_cleanup after both: all versions, curl_multi_cleanup(3) |
// | added-twice | a handle is added once: all versions, CURLM_ADDED_ALREADY |
// | option-type | a number where a number is read, a pointer where a pointer is read: all versions, curl_easy_option_by_id(3) |
// | list-released | a list lives as long as a transfer uses it: all versions, CURLOPT_HTTPHEADER(3), CURLOPT_RESOLVE(3) |
// | error-buffer | the buffer lives until its handle is released: all versions, CURLOPT_ERRORBUFFER(3) |
// | share-released | a share is released after its handles: all versions, curl_share_cleanup(3); 8.x fails with CURLSHE_IN_USE |
// | two-threads | one thread at a time uses a multi handle, and a share without lock functions: all versions, libcurl-thread(3) |
//
// With NESS_STRICT=reject, a handle that has been in a transfer takes no option at all: 43 is the result of each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG, VALUES, OFFSET, OBJECT, STRING, LIST, CALLBACK_POINTER, BLOB, FUNCTION };
enum { BUFFER_SIZE = 98, ERROR_BUFFER = 10010, HEADERS = 10023, SHARE = 10100, RESOLVE = 10203, BAD_ARGUMENT = 43 };

static void fail(const char *rule, const char *what) {
    fprintf(stderr, "strict libcurl: %s: %s\n", rule, what);
    abort();
}

/// The function of the real libcurl.
#define REAL(name, ...) \
    static __typeof__(name) *real; \
    if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    if (real == NULL) return __VA_ARGS__

// MARK: callers

static struct { uintptr_t start, end; } exempt[16];
static int exempt_count;
static bool is_checked, rejects;

/// libcurl calls functions of its own interface, and Foundation is not ours.
static int find_exempt(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (strstr(info->dlpi_name, "libcurl") == NULL && strstr(info->dlpi_name, "FoundationNetworking") == NULL) return 0;
    if (strstr(info->dlpi_name, "libcurl-strict") != NULL) return 0;
    for (int index = 0; index < info->dlpi_phnum && exempt_count < 16; index++) {
        if (info->dlpi_phdr[index].p_type != PT_LOAD) continue;
        exempt[exempt_count].start = info->dlpi_addr + info->dlpi_phdr[index].p_vaddr;
        exempt[exempt_count].end = exempt[exempt_count].start + info->dlpi_phdr[index].p_memsz;
        exempt_count++;
    }
    return 0;
}

static void begin(void) {
    const char *mode = getenv("NESS_STRICT");
    // The compiler, git and the like inherit the environment.
    is_checked = strstr(program_invocation_short_name, "Ness") != NULL || strstr(program_invocation_short_name, "ness") != NULL;
    rejects = mode != NULL && strcmp(mode, "reject") == 0;
    dl_iterate_phdr(find_exempt, NULL);
}

static bool checks(void *caller) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    if (!is_checked) return false;
    for (int index = 0; index < exempt_count; index++) {
        if ((uintptr_t)caller >= exempt[index].start && (uintptr_t)caller < exempt[index].end) return false;
    }
    return true;
}

#define CHECKED checks(__builtin_return_address(0))

// MARK: what is known of each handle

/// A list that an option points to, and whether it has been released since.
struct memory { void *start; bool is_released; };

struct easy {
    void *handle, *multi, *share;
    bool was_attached, has_ended;
    struct memory headers, addresses;
    void *error_buffer;
    struct easy *next;
};

/// A multi handle or a share.
struct owner { void *handle; pthread_t thread; int uses; struct owner *next; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct easy *easies[1024];
static struct owner *owners[64];
/// The number of calls of this thread that may call callbacks.
static __thread int depth;

static struct easy **find(void *handle) {
    struct easy **place = &easies[((uintptr_t)handle >> 4) % 1024];
    while (*place != NULL && (*place)->handle != handle) place = &(*place)->next;
    return place;
}

static struct owner *owner(void *handle) {
    struct owner **place = &owners[((uintptr_t)handle >> 4) % 64];
    while (*place != NULL && (*place)->handle != handle) place = &(*place)->next;
    if (*place == NULL) {
        *place = calloc(1, sizeof(struct owner));
        (*place)->handle = handle;
    }
    return *place;
}

/// Begins a call on a multi handle or a share.
static void enter(void *handle) {
    pthread_mutex_lock(&mutex);
    struct owner *owner_ = owner(handle);
    if (owner_->uses > 0 && !pthread_equal(owner_->thread, pthread_self())) fail("two-threads", "two threads use a handle");
    owner_->thread = pthread_self();
    owner_->uses++;
    pthread_mutex_unlock(&mutex);
    depth++;
}

static void leave(void *handle) {
    depth--;
    pthread_mutex_lock(&mutex);
    owner(handle)->uses--;
    pthread_mutex_unlock(&mutex);
}

static void expect_no_callback(const char *what) { if (depth > 0) fail("callback-call", what); }

/// The addresses that must not be released now. `free` looks here first.
static _Atomic(uintptr_t) watched[4096];

static _Atomic(uintptr_t) *watch_place(void *start, uintptr_t content) {
    for (int index = 0; index < 16; index++) {
        _Atomic(uintptr_t) *place = &watched[(((uintptr_t)start >> 4) + (uintptr_t)index) % 4096];
        if (atomic_load_explicit(place, memory_order_relaxed) == content) return place;
    }
    return NULL;
}

static void watch(void *start) {
    if (start == NULL || watch_place(start, (uintptr_t)start) != NULL) return;
    _Atomic(uintptr_t) *place = watch_place(start, 0);
    if (place != NULL) atomic_store(place, (uintptr_t)start);
}

extern void __libc_free(void *);

void free(void *start) {
    _Atomic(uintptr_t) *place = start != NULL ? watch_place(start, (uintptr_t)start) : NULL;
    if (place != NULL) {
        pthread_mutex_lock(&mutex);
        atomic_store(place, 0);
        for (int bucket = 0; bucket < 1024; bucket++) {
            for (struct easy *easy = easies[bucket]; easy != NULL; easy = easy->next) {
                if (easy->error_buffer == start) fail("error-buffer", "a handle still has the buffer that is released");
                struct memory *lists[] = {&easy->headers, &easy->addresses};
                for (int index = 0; index < 2; index++) {
                    if (lists[index]->start != start || lists[index]->is_released) continue;
                    if (easy->multi != NULL) fail("list-released", "a transfer uses the list that is released");
                    lists[index]->is_released = true;
                }
            }
        }
        pthread_mutex_unlock(&mutex);
    }
    __libc_free(start);
}

// MARK: easy handles

static void *add_easy(void *handle, struct easy *original) {
    if (handle == NULL) return NULL;
    struct easy *easy = calloc(1, sizeof(struct easy));
    easy->handle = handle;
    if (original != NULL) (easy->headers = original->headers, easy->addresses = original->addresses);
    pthread_mutex_lock(&mutex);
    *find(handle) = easy;
    pthread_mutex_unlock(&mutex);
    return handle;
}

void *curl_easy_init(void) {
    REAL(curl_easy_init, NULL);
    return CHECKED ? add_easy(real(), NULL) : real();
}

void *curl_easy_duphandle(void *handle) {
    REAL(curl_easy_duphandle, NULL);
    if (!CHECKED) return real(handle);
    pthread_mutex_lock(&mutex);
    struct easy *original = *find(handle);
    pthread_mutex_unlock(&mutex);
    return add_easy(real(handle), original);
}

void curl_easy_cleanup(void *handle) {
    REAL(curl_easy_cleanup, (void)0);
    if (!CHECKED || handle == NULL) return real(handle);
    expect_no_callback("curl_easy_cleanup");
    pthread_mutex_lock(&mutex);
    struct easy *easy = *find(handle);
    if (easy != NULL && easy->multi != NULL) fail("cleanup-attached", "a multi handle has the handle");
    pthread_mutex_unlock(&mutex);
    depth++;
    real(handle);
    depth--;
    pthread_mutex_lock(&mutex);
    struct easy **place = find(handle);
    if (*place != NULL) {
        if (easy->share != NULL) owner(easy->share)->uses -= 1 << 16;
        *place = easy->next;
        __libc_free(easy);
    }
    pthread_mutex_unlock(&mutex);
}

struct option { const char *name; int id, type; unsigned int flags; };

static void check_type(int option, uintptr_t value) {
    static const struct option *(*look_up)(int);
    if (look_up == NULL) look_up = (const struct option *(*)(int))dlsym(RTLD_NEXT, "curl_easy_option_by_id");
    const struct option *found = look_up != NULL ? look_up(option) : NULL;
    if (found == NULL) return;
    intptr_t number = (intptr_t)value;
    bool isWrong;
    switch (found->type) {
    case LONG: case VALUES: isWrong = number != (int32_t)number; break;
    case OFFSET: isWrong = number > (1ll << 46) || number < -1; break;
    default: isWrong = value != 0 && value < 4096;
    }
    if (isWrong) fail("option-type", found->name);
}

int curl_easy_setopt(void *handle, int option, ...) {
    va_list list;
    va_start(list, option);
    void *value = va_arg(list, void *);
    va_end(list);
    static int (*real)(void *, int, ...);
    if (real == NULL) real = (int (*)(void *, int, ...))dlsym(RTLD_NEXT, "curl_easy_setopt");
    if (real == NULL) return BAD_ARGUMENT;
    if (!CHECKED) return real(handle, option, value);
    check_type(option, (uintptr_t)value);
    pthread_mutex_lock(&mutex);
    struct easy *easy = *find(handle);
    if (easy == NULL) fail("option-type", "not a handle");
    char text[16];
    snprintf(text, sizeof(text), "%d", option);
    if (easy->multi != NULL) fail("attached-option", text);
    if (option == BUFFER_SIZE && easy->was_attached) fail("buffer-size", "the handle has been in a transfer");
    // The pointers that a handle loses before it is released are not for a transfer.
    bool isRejected = rejects && easy->was_attached && value != NULL;
    pthread_mutex_unlock(&mutex);
    int code = isRejected ? BAD_ARGUMENT : real(handle, option, value);
    if (code != 0) return code;
    pthread_mutex_lock(&mutex);
    switch (option) {
    case HEADERS: easy->headers = (struct memory){value, false}; watch(value); break;
    case RESOLVE: easy->addresses = (struct memory){value, false}; watch(value); break;
    case ERROR_BUFFER: easy->error_buffer = value; watch(value); break;
    case SHARE:
        // The upper half counts the handles that use a share.
        if (easy->share != NULL) owner(easy->share)->uses -= 1 << 16;
        easy->share = value;
        if (value != NULL) owner(value)->uses += 1 << 16;
        break;
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

int curl_easy_pause(void *handle, int bits) {
    REAL(curl_easy_pause, BAD_ARGUMENT);
    if (!CHECKED) return real(handle, bits);
    pthread_mutex_lock(&mutex);
    struct easy *easy = *find(handle);
    if (easy == NULL || easy->multi == NULL) fail("pause-after-end", "no multi handle has the handle");
    if (easy->has_ended) fail("pause-after-end", "the transfer has ended");
    pthread_mutex_unlock(&mutex);
    depth++;
    int code = real(handle, bits);
    depth--;
    return code;
}

// MARK: multi handles

int curl_multi_add_handle(void *multi, void *handle) {
    REAL(curl_multi_add_handle, 1);
    if (!CHECKED) return real(multi, handle);
    expect_no_callback("curl_multi_add_handle");
    pthread_mutex_lock(&mutex);
    struct easy *easy = *find(handle);
    if (easy == NULL || easy->multi != NULL) fail("added-twice", "a multi handle has the handle, or it was released");
    if (easy->headers.is_released || easy->addresses.is_released) fail("list-released", "the transfer would use a released list");
    if (easy->share != NULL) {
        struct owner *share = owner(easy->share);
        if ((share->uses & 0xffff) == 0) (share->thread = pthread_self(), share->uses++);
        if (!pthread_equal(share->thread, pthread_self())) fail("two-threads", "two threads use a share that has no locks");
    }
    (easy->multi = multi, easy->was_attached = true, easy->has_ended = false);
    pthread_mutex_unlock(&mutex);
    enter(multi);
    int code = real(multi, handle);
    leave(multi);
    if (code != 0) easy->multi = NULL;
    return code;
}

int curl_multi_remove_handle(void *multi, void *handle) {
    REAL(curl_multi_remove_handle, 1);
    if (!CHECKED) return real(multi, handle);
    expect_no_callback("curl_multi_remove_handle");
    enter(multi);
    int code = real(multi, handle);
    leave(multi);
    pthread_mutex_lock(&mutex);
    struct easy *easy = *find(handle);
    if (easy != NULL) easy->multi = NULL;
    pthread_mutex_unlock(&mutex);
    return code;
}

int curl_multi_socket_action(void *multi, int descriptor, int bits, int *running) {
    REAL(curl_multi_socket_action, 1);
    if (!CHECKED) return real(multi, descriptor, bits, running);
    expect_no_callback("curl_multi_socket_action");
    enter(multi);
    int code = real(multi, descriptor, bits, running);
    leave(multi);
    return code;
}

struct message { int kind; void *easy; union { void *pointer; int code; } data; };

struct message *curl_multi_info_read(void *multi, int *left) {
    REAL(curl_multi_info_read, NULL);
    if (!CHECKED) return real(multi, left);
    expect_no_callback("curl_multi_info_read");
    struct message *message = real(multi, left);
    if (message != NULL && message->kind == 1) {
        pthread_mutex_lock(&mutex);
        struct easy *easy = *find(message->easy);
        if (easy != NULL) easy->has_ended = true;
        pthread_mutex_unlock(&mutex);
    }
    return message;
}

int curl_multi_setopt(void *multi, int option, ...) {
    va_list list;
    va_start(list, option);
    void *value = va_arg(list, void *);
    va_end(list);
    static int (*real)(void *, int, ...);
    if (real == NULL) real = (int (*)(void *, int, ...))dlsym(RTLD_NEXT, "curl_multi_setopt");
    if (real == NULL) return 1;
    if (CHECKED) expect_no_callback("curl_multi_setopt");
    return real(multi, option, value);
}

int curl_multi_cleanup(void *multi) {
    REAL(curl_multi_cleanup, 1);
    if (!CHECKED) return real(multi);
    expect_no_callback("curl_multi_cleanup");
    pthread_mutex_lock(&mutex);
    for (int bucket = 0; bucket < 1024; bucket++) {
        for (struct easy *easy = easies[bucket]; easy != NULL; easy = easy->next) {
            if (easy->multi == multi) fail("cleanup-attached", "the multi handle has a handle");
        }
    }
    pthread_mutex_unlock(&mutex);
    enter(multi);
    int code = real(multi);
    leave(multi);
    return code;
}

// MARK: shares

int curl_share_cleanup(void *share) {
    REAL(curl_share_cleanup, 1);
    if (!CHECKED) return real(share);
    pthread_mutex_lock(&mutex);
    struct owner *known = owner(share);
    if (known->uses >> 16 != 0) fail("share-released", "a handle uses the share");
    // Another share may get the address.
    known->uses = 0;
    pthread_mutex_unlock(&mutex);
    return real(share);
}
