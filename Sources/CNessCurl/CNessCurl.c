#define _GNU_SOURCE
#include "CNessCurl.h"

#if defined(__linux__)

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// MARK: libcurl

static struct {
    uint32_t version;
    int features;
    int (*global_init)(long);
    char *(*version_text)(void);
    struct { int age; const char *version; unsigned int number; const char *host; int features; } *(*version_info)(int);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    void *(*easy_duphandle)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    int (*easy_pause)(void *, int);
    const char *(*easy_strerror)(int);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, int, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_socket_action)(void *, int, int, int *);
    int (*multi_wakeup)(void *);
    struct { int kind; void *easy; union { void *pointer; int code; } data; } *(*multi_info_read)(void *, int *);
    void *(*share_init)(void);
    int (*share_cleanup)(void *);
    int (*share_setopt)(void *, int, ...);
} curl;

/// Looks a function up where the process has it already, else in the library of that name. A second libcurl beside the first would crash.
static bool find(void **place, void **library, const char *file, const char *name) {
    *place = *library == NULL ? dlsym(RTLD_DEFAULT, name) : dlsym(*library, name);
    if (*place == NULL && *library == NULL) {
        *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (*library != NULL) *place = dlsym(*library, name);
    }
    return *place != NULL;
}

/// Held for reading by a thread that uses libcurl, and for ever for writing once the process exits.
static pthread_rwlock_t in_use;

/// OpenSSL releases its memory when the process exits, while our threads may be inside it. So they are stopped first: handlers run in the
/// reverse order, and OpenSSL registered its own when libcurl was initialized. A thread that is stuck holds the exit up for a second only.
static void stop_before_exit(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    pthread_rwlock_timedwrlock(&in_use, &limit);
}

void ness_curl_block_broken_pipes(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

void ness_curl_enter(void) { pthread_rwlock_rdlock(&in_use); }
void ness_curl_leave(void) { pthread_rwlock_unlock(&in_use); }

bool ness_curl_is_in_use(void) {
    if (pthread_rwlock_trywrlock(&in_use) != 0) return true;
    pthread_rwlock_unlock(&in_use);
    return false;
}

static void load_curl(void) {
    void *library = NULL;
#define FIND(member, name) \
    if (!find((void **)&curl.member, &library, "libcurl.so.4", name)) return
    FIND(version_text, "curl_version");
    FIND(version_info, "curl_version_info");
    FIND(global_init, "curl_global_init");
    FIND(easy_init, "curl_easy_init");
    FIND(easy_cleanup, "curl_easy_cleanup");
    FIND(easy_duphandle, "curl_easy_duphandle");
    FIND(easy_setopt, "curl_easy_setopt");
    FIND(easy_getinfo, "curl_easy_getinfo");
    FIND(easy_pause, "curl_easy_pause");
    FIND(easy_strerror, "curl_easy_strerror");
    FIND(multi_init, "curl_multi_init");
    FIND(multi_cleanup, "curl_multi_cleanup");
    FIND(multi_setopt, "curl_multi_setopt");
    FIND(multi_add_handle, "curl_multi_add_handle");
    FIND(multi_remove_handle, "curl_multi_remove_handle");
    FIND(multi_socket_action, "curl_multi_socket_action");
    FIND(multi_wakeup, "curl_multi_wakeup");
    FIND(multi_info_read, "curl_multi_info_read");
    FIND(share_init, "curl_share_init");
    FIND(share_cleanup, "curl_share_cleanup");
    FIND(share_setopt, "curl_share_setopt");
#undef FIND
    // CURL_GLOBAL_ALL
    if (curl.global_init(3) != 0) return;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__
    // Otherwise busy threads, which overlap, would never let the exit in.
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&in_use, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    if (atexit(stop_before_exit) != 0) return;
    curl.features = curl.version_info(0)->features;
    curl.version = curl.version_info(0)->number;
}

uint32_t ness_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_curl);
    return curl.version;
}

int ness_curl_features(void) { return curl.features; }
const char *ness_curl_version(void) { return curl.version_text(); }
void *ness_curl_easy_init(void) { return curl.easy_init(); }
void ness_curl_easy_cleanup(void *easy) { curl.easy_cleanup(easy); }
void *ness_curl_easy_copy(void *easy) { return curl.easy_duphandle(easy); }
int ness_curl_set_long(void *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int ness_curl_set_offset(void *easy, int option, int64_t value) { return curl.easy_setopt(easy, option, value); }
int ness_curl_set_text(void *easy, int option, const char *value) { return curl.easy_setopt(easy, option, value); }
int ness_curl_set_pointer(void *easy, int option, const void *value) { return curl.easy_setopt(easy, option, value); }

int ness_curl_set_blob(void *easy, int option, const void *bytes, size_t count) {
    if (!bytes) return curl.easy_setopt(easy, option, NULL);
    struct { const void *data; size_t count; unsigned int flags; } blob = {bytes, count, 1};
    return curl.easy_setopt(easy, option, &blob);
}

int ness_memory_file(const void *bytes, size_t count) {
    int descriptor = memfd_create("ness", MFD_CLOEXEC);
    if (descriptor >= 0 && write(descriptor, bytes, count) == (ssize_t)count) return descriptor;
    if (descriptor >= 0) close(descriptor);
    return -1;
}

struct address { int family; int type; int protocol; unsigned int length; struct sockaddr address; };

static ness_curl_callbacks callbacks;

void ness_curl_register(const ness_curl_callbacks *given) { callbacks = *given; }

/// The bytes of an IP address, in network order. NULL and no bytes for any other address.
static const uint8_t *ip_bytes(const struct address *address, size_t *count) {
    const void *start = &address->address;
    *count = address->family == AF_INET ? 4 : address->family == AF_INET6 ? 16 : 0;
    if (address->family == AF_INET) return (const uint8_t *)&((const struct sockaddr_in *)start)->sin_addr;
    return address->family == AF_INET6 ? ((const struct sockaddr_in6 *)start)->sin6_addr.s6_addr : NULL;
}

/// libcurl 7.88 does not set CLOEXEC: a child process would keep the connection open.
static int open_socket(void *user, int purpose, struct address *address) {
    (void)purpose;
    size_t count;
    const uint8_t *bytes = ip_bytes(address, &count);
    // CURL_SOCKET_BAD: libcurl tries the next address.
    if (!callbacks.may_connect(user, bytes, count)) return -1;
    int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    if (descriptor < 0 || callbacks.socket_opened(user, descriptor)) return descriptor;
    close(descriptor);
    // CURL_SOCKET_BAD
    return -1;
}

static bool begins(const char *text, size_t count, const char *start) {
    return count >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/// True for a libcurl that does not ask before it sends.
static bool sends_unasked(void) { return curl.version < 0x075000; }

/// Reads the log, where libcurl says what no number tells. A line of a request or a response cannot begin like these.
static int read_log(void *easy, int kind, char *text, size_t count, void *user) {
    (void)easy;
    // CURLINFO_HEADER_OUT comes after the bytes were sent. A tunnel through a proxy is not the request.
    if (kind == 2 && sends_unasked() && !begins(text, count, "CONNECT ")) callbacks.noted(user, NESS_CURL_NOTE_SENT);
    // CURLINFO_TEXT
    if (kind != 0) return 0;
    if (begins(text, count, "ALPN: server accepted h2")) {
        callbacks.noted(user, NESS_CURL_NOTE_HTTP2);
        // From 8.19 on the first line comes with each refusal. The second one may then come from an earlier refusal of the same transfer.
    } else if ((begins(text, count, "HTTP/2 stream ") && memmem(text, count, " refused by server", 18) != NULL) ||
               (curl.version < 0x081300 && begins(text, count, "REFUSED_STREAM, retrying"))) {
        callbacks.noted(user, NESS_CURL_NOTE_UNPROCESSED);
    }
    return 0;
}

#define SET(option, value) \
    if (code == 0) code = curl.easy_setopt(easy, option, value)

int ness_curl_set_callbacks(void *easy) {
    int code = 0;
    SET(20079, callbacks.head);
    SET(20011, callbacks.body);
    SET(20012, callbacks.read);
    SET(20167, callbacks.seek);
    SET(20219, callbacks.progress);
    SET(43, 0L);
    if (!sends_unasked()) SET(20312, callbacks.prerequest);
    SET(20163, open_socket);
    SET(20272, callbacks.look_up);
    SET(20094, read_log);
    return code;
}

int ness_curl_set_user(void *easy, void *user) {
    int code = 0;
    SET(10029, user);
    SET(10001, user);
    SET(10009, user);
    SET(10168, user);
    SET(10057, user);
    if (!sends_unasked()) SET(10313, user);
    SET(10164, user);
    SET(10273, user);
    SET(10095, user);
    SET(10103, user);
    return code;
}

#undef SET

void *ness_curl_get_user(void *easy) {
    void *user = NULL;
    // CURLINFO_PRIVATE
    return curl.easy_getinfo(easy, 0x100000 + 21, &user) == 0 ? user : NULL;
}

int ness_curl_get_long(void *easy, int info, long *value) { return curl.easy_getinfo(easy, info, value); }
int ness_curl_get_offset(void *easy, int info, int64_t *value) { return curl.easy_getinfo(easy, info, value); }

const char *ness_curl_get_text(void *easy, int info) {
    char *text = NULL;
    return curl.easy_getinfo(easy, info, &text) == 0 ? text : NULL;
}

// It continues what is not paused; for a handle without a connection that is CURLE_BAD_FUNCTION_ARGUMENT.
bool ness_curl_is_connected(void *easy) { return curl.easy_pause(easy, 0) != 43; }
int ness_curl_easy_continue(void *easy, bool sends_only) { return curl.easy_pause(easy, sends_only ? 1 : 0); }
const char *ness_curl_error_text(int code) { return curl.easy_strerror(code); }

/// curl_slist of libcurl's interface.
struct line { char *text; struct line *next; };

void *ness_curl_list_make(const char *text, size_t count) {
    size_t lines = 0;
    for (size_t index = 0; index < count; index++) lines += text[index] == 0;
    struct line *list = lines > 0 ? malloc(lines * sizeof(struct line) + count) : NULL;
    if (list == NULL) return NULL;
    char *copy = memcpy(list + lines, text, count);
    for (size_t index = 0; index < lines; index++) {
        list[index].text = copy;
        list[index].next = index + 1 < lines ? &list[index + 1] : NULL;
        copy += strlen(copy) + 1;
    }
    return list;
}

void ness_curl_list_free(void *list) { free(list); }

/// Finds the sockets in the UNIX domain that a program started now would inherit, and that have no bytes under way.
/// Returns their number, at most `capacity`.
static int find_silent_sockets(int *found, int capacity) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) return 0;
    for (struct dirent *entry; count < capacity && (entry = readdir(folder)) != NULL;) {
        int descriptor = atoi(entry->d_name), domain = 0, unread = 1, unsent = 1;
        socklen_t size = sizeof(domain);
        if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
            (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0 && ioctl(descriptor, FIONREAD, &unread) == 0 && unread == 0 &&
            ioctl(descriptor, TIOCOUTQ, &unsent) == 0 && unsent == 0)
            found[count++] = descriptor;
    }
    closedir(folder);
    return count;
}

/// A child process shall not inherit the pair of sockets by which a handle is woken; nothing tells their descriptors. They are those on
/// which a byte is under way after the handle was woken, and none was before. Only old versions have such a pair.
static void hide_wakeup_sockets(void *multi) {
    int silent[64];
    int count = find_silent_sockets(silent, 64);
    if (count == 0 || curl.multi_wakeup(multi) != 0) return;
    for (int index = 0; index < count; index++) {
        int unread = 0, unsent = 0;
        ioctl(silent[index], FIONREAD, &unread);
        ioctl(silent[index], TIOCOUTQ, &unsent);
        if (unread > 0 || unsent > 0) fcntl(silent[index], F_SETFD, FD_CLOEXEC);
    }
}

/// A multi handle and the sockets that it waits for. libcurl's own loop, `curl_multi_perform`, looks at every transfer in each turn; this one
/// looks at the sockets that are ready, so a turn costs the same with 10 transfers in flight and with 10,000.
struct multi {
    void *handle;
    /// The kernel's set of sockets (epoll).
    int set;
    /// The descriptor (eventfd) that wakes the thread. It outlives the handle.
    int waker;
    /// The time of libcurl's next timer in nanoseconds; -1 for none.
    int64_t due;
    /// What libcurl waits for at each descriptor, as the bits of CURL_POLL_IN and CURL_POLL_OUT.
    uint8_t *wanted;
    int wanted_count;
    /// The sockets that the last wait found ready.
    struct epoll_event ready[128];
    int ready_count;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/// The bit of `wanted` for a socket whose transfer is paused. libcurl 8.5.0 still waits for its input, and would keep all of it in memory.
enum { MUTED = 4 };

/// What the set waits for, as the bits of CURL_POLL_IN and CURL_POLL_OUT.
static uint8_t effective(uint8_t wanted) { return wanted & MUTED ? wanted & 2 : wanted & 3; }

static void register_socket(struct multi *multi, int descriptor) {
    uint8_t wanted = effective(multi->wanted[descriptor]);
    struct epoll_event event = {.events = (wanted & 1 ? EPOLLIN : 0) | (wanted & 2 ? EPOLLOUT : 0), .data.fd = descriptor};
    // A socket that was closed has left the set, and another one may have its number.
    if (epoll_ctl(multi->set, EPOLL_CTL_MOD, descriptor, &event) != 0) epoll_ctl(multi->set, EPOLL_CTL_ADD, descriptor, &event);
}

/// libcurl begins or ends to wait for a socket. A socket stays in the set between two transfers: most connections are used again soon.
static int watch(void *easy, int descriptor, int what, void *user, void *socket) {
    (void)easy, (void)socket;
    struct multi *multi = user;
    if (descriptor >= multi->wanted_count) {
        int count = descriptor < 512 ? 1024 : 2 * descriptor;
        uint8_t *wanted = realloc(multi->wanted, (size_t)count);
        // The transfer then ends by its timeout. An error would end the handle, with all transfers.
        if (wanted == NULL) return 0;
        memset(wanted + multi->wanted_count, 0, (size_t)(count - multi->wanted_count));
        multi->wanted = wanted;
        multi->wanted_count = count;
    }
    // CURL_POLL_REMOVE is 4.
    uint8_t wanted = what & 3;
    if ((multi->wanted[descriptor] & 3) == wanted) return 0;
    multi->wanted[descriptor] = wanted | (multi->wanted[descriptor] & MUTED);
    if (wanted != 0) register_socket(multi, descriptor);
    return 0;
}

void ness_curl_multi_mute(void *opaque, int descriptor, bool is_muted) {
    struct multi *multi = opaque;
    if (descriptor < 0 || descriptor >= multi->wanted_count || ((multi->wanted[descriptor] & MUTED) != 0) == is_muted) return;
    multi->wanted[descriptor] ^= MUTED;
    if ((multi->wanted[descriptor] & 3) != 0) register_socket(multi, descriptor);
}

static int set_timer(void *handle, long milliseconds, void *user) {
    (void)handle;
    ((struct multi *)user)->due = milliseconds < 0 ? -1 : now() + milliseconds * 1000000ll;
    return 0;
}

void ness_curl_multi_cleanup(void *opaque) {
    struct multi *multi = opaque;
    if (multi->handle != NULL) curl.multi_cleanup(multi->handle);
    if (multi->set >= 0) close(multi->set);
    free(multi->wanted);
    free(multi);
}

int ness_curl_waker_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
void ness_curl_waker_close(int waker) { close(waker); }
void ness_curl_wake(int waker) { eventfd_write(waker, 1); }

void *ness_curl_multi_init(int waker) {
    struct multi *multi = calloc(1, sizeof(struct multi));
    if (multi == NULL) return NULL;
    multi->due = -1;
    multi->set = epoll_create1(EPOLL_CLOEXEC);
    multi->waker = waker;
    multi->handle = curl.multi_init();
    // Each wake-up is an edge, so that no one has to read the counter.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = multi->waker};
    // CURLMOPT_SOCKETFUNCTION, _SOCKETDATA, _TIMERFUNCTION and _TIMERDATA
    if (multi->handle == NULL || epoll_ctl(multi->set, EPOLL_CTL_ADD, multi->waker, &event) != 0 ||
        curl.multi_setopt(multi->handle, 20001, watch) != 0 || curl.multi_setopt(multi->handle, 10002, multi) != 0 ||
        curl.multi_setopt(multi->handle, 20004, set_timer) != 0 || curl.multi_setopt(multi->handle, 10005, multi) != 0) {
        ness_curl_multi_cleanup(multi);
        return NULL;
    }
    hide_wakeup_sockets(multi->handle);
    return multi;
}

int ness_curl_multi_set_long(void *multi, int option, long value) {
    return curl.multi_setopt(((struct multi *)multi)->handle, option, value);
}

int ness_curl_multi_add(void *multi, void *easy) { return curl.multi_add_handle(((struct multi *)multi)->handle, easy); }
int ness_curl_multi_remove(void *multi, void *easy) { return curl.multi_remove_handle(((struct multi *)multi)->handle, easy); }

void ness_curl_multi_wait(void *opaque, int milliseconds) {
    struct multi *multi = opaque;
    if (multi->due >= 0) {
        int64_t left = (multi->due - now() + 999999) / 1000000;
        if (left < milliseconds) milliseconds = left < 0 ? 0 : (int)left;
    }
    int count = epoll_wait(multi->set, multi->ready, 128, milliseconds);
    multi->ready_count = count < 0 ? 0 : count;
}

void ness_curl_multi_perform(void *opaque) {
    struct multi *multi = opaque;
    int running = 0;
    // Commands may have kept the thread from its wait.
    if (multi->ready_count == 0) ness_curl_multi_wait(multi, 0);
    for (int index = 0; index < multi->ready_count; index++) {
        int descriptor = multi->ready[index].data.fd, events = (int)multi->ready[index].events;
        if (descriptor == multi->waker) continue;
        // An error is found by a read or a write.
        int bits = events & (EPOLLERR | EPOLLHUP) ? 3 : (events & EPOLLIN ? 1 : 0) | (events & EPOLLOUT ? 2 : 0);
        if (effective(multi->wanted[descriptor]) == 0) {
            // The server has closed an idle connection, or sent bytes on it. libcurl notices before it uses the connection. Or the
            // connection of a paused transfer broke; the resume registers the socket again.
            epoll_ctl(multi->set, EPOLL_CTL_DEL, descriptor, NULL);
        } else if ((bits &= effective(multi->wanted[descriptor])) != 0) {
            curl.multi_socket_action(multi->handle, descriptor, bits, &running);
        }
    }
    multi->ready_count = 0;
    if (multi->due < 0 || multi->due > now()) return;
    multi->due = -1;
    // CURL_SOCKET_TIMEOUT
    curl.multi_socket_action(multi->handle, -1, 0, &running);
}

void *ness_curl_multi_next_ended(void *multi, int *code) {
    int left = 0;
    for (;;) {
        __auto_type message = curl.multi_info_read(((struct multi *)multi)->handle, &left);
        if (message == NULL) return NULL;
        // CURLMSG_DONE, the only kind there is.
        if (message->kind != 1) continue;
        *code = message->data.code;
        return message->easy;
    }
}

void *ness_curl_sessions_make(void) {
    void *share = curl.share_init();
    // CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION
    if (share == NULL || curl.share_setopt(share, 1, 4) == 0) return share;
    curl.share_cleanup(share);
    return NULL;
}

void ness_curl_sessions_free(void *sessions) { curl.share_cleanup(sessions); }

// MARK: content codings

/// z_stream of zlib's interface, unchanged since 1.2.
typedef struct {
    const uint8_t *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
} zlib_stream;

static struct {
    bool found;
    int (*inflate_init)(zlib_stream *, int, const char *, int);
    int (*inflate)(zlib_stream *, int);
    int (*inflate_reset)(zlib_stream *);
    int (*inflate_end)(zlib_stream *);
    int (*deflate_init)(zlib_stream *, int, int, int, int, int, const char *, int);
    int (*deflate)(zlib_stream *, int);
    int (*deflate_end)(zlib_stream *);
} zlib;

static void load_zlib(void) {
    void *library = NULL;
    zlib.found = find((void **)&zlib.inflate_init, &library, "libz.so.1", "inflateInit2_") &&
                 find((void **)&zlib.inflate, &library, "libz.so.1", "inflate") &&
                 find((void **)&zlib.inflate_reset, &library, "libz.so.1", "inflateReset") &&
                 find((void **)&zlib.inflate_end, &library, "libz.so.1", "inflateEnd") &&
                 find((void **)&zlib.deflate_init, &library, "libz.so.1", "deflateInit2_") &&
                 find((void **)&zlib.deflate, &library, "libz.so.1", "deflate") &&
                 find((void **)&zlib.deflate_end, &library, "libz.so.1", "deflateEnd");
}

/// Brotli's decoder (RFC 7932). Its codes: 0 damaged, 1 the end, 2 needs input, 3 needs room.
static struct {
    bool found;
    void *(*create)(void *, void *, void *);
    void (*destroy)(void *);
    int (*decode)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
} brotli;

static void load_brotli(void) {
    void *library = NULL;
    brotli.found = find((void **)&brotli.create, &library, "libbrotlidec.so.1", "BrotliDecoderCreateInstance") &&
                   find((void **)&brotli.destroy, &library, "libbrotlidec.so.1", "BrotliDecoderDestroyInstance") &&
                   find((void **)&brotli.decode, &library, "libbrotlidec.so.1", "BrotliDecoderDecompressStream");
}

/// Zstandard's buffers, and its decoder (RFC 8878).
struct zstd_output { void *bytes; size_t size, position; };
struct zstd_input { const void *bytes; size_t size, position; };

static struct {
    bool found;
    void *(*create)(void);
    size_t (*destroy)(void *);
    size_t (*set)(void *, int, int);
    size_t (*decode)(void *, struct zstd_output *, struct zstd_input *);
    unsigned (*is_error)(size_t);
} zstd;

static void load_zstd(void) {
    void *library = NULL;
    zstd.found = find((void **)&zstd.create, &library, "libzstd.so.1", "ZSTD_createDStream") &&
                 find((void **)&zstd.destroy, &library, "libzstd.so.1", "ZSTD_freeDStream") &&
                 find((void **)&zstd.set, &library, "libzstd.so.1", "ZSTD_DCtx_setParameter") &&
                 find((void **)&zstd.decode, &library, "libzstd.so.1", "ZSTD_decompressStream") &&
                 find((void **)&zstd.is_error, &library, "libzstd.so.1", "ZSTD_isError");
}

static void load_codings(void) {
    load_zlib();
    load_brotli();
    load_zstd();
}

static pthread_once_t codings_once = PTHREAD_ONCE_INIT;

struct inflater {
    int format;
    zlib_stream zlib;
    /// The state of the decoder of another format.
    void *other;
};

void *ness_inflate_begin(int format) {
    pthread_once(&codings_once, load_codings);
    struct inflater *inflater = calloc(1, sizeof(struct inflater));
    if (inflater == NULL) return NULL;
    inflater->format = format;
    bool begun = false;
    if (format == NESS_BROTLI && brotli.found) {
        inflater->other = brotli.create(NULL, NULL, NULL);
        begun = inflater->other != NULL;
    } else if (format == NESS_ZSTANDARD && zstd.found) {
        inflater->other = zstd.create();
        // ZSTD_d_windowLogMax: a body with a window of more than 8 MiB is not one of HTTP (RFC 9659, 3).
        begun = inflater->other != NULL && !zstd.is_error(zstd.set(inflater->other, 100, 23));
        if (!begun) zstd.destroy(inflater->other);
    } else if ((format == NESS_ZLIB || format == NESS_RAW_DEFLATE) && zlib.found) {
        // 15 + 32: gzip or zlib's format, as the first bytes say.
        begun = zlib.inflate_init(&inflater->zlib, format == NESS_RAW_DEFLATE ? -15 : 47, "1.2.11", (int)sizeof(zlib_stream)) == 0;
    }
    if (begun) return inflater;
    free(inflater);
    return NULL;
}

int ness_inflate(void *opaque, const uint8_t *input, size_t inputCount, uint8_t *output, size_t outputCount, size_t *consumed,
                 size_t *produced) {
    struct inflater *inflater = opaque;
    if (inflater->format == NESS_BROTLI) {
        size_t inputLeft = inputCount, outputLeft = outputCount;
        int code = brotli.decode(inflater->other, &inputLeft, &input, &outputLeft, &output, NULL);
        *consumed = inputCount - inputLeft;
        *produced = outputCount - outputLeft;
        return code == 0 ? NESS_INFLATE_DAMAGED : code == 1;
    }
    if (inflater->format == NESS_ZSTANDARD) {
        struct zstd_input in = {input, inputCount, 0};
        struct zstd_output out = {output, outputCount, 0};
        size_t code = zstd.decode(inflater->other, &out, &in);
        *consumed = in.position;
        *produced = out.position;
        return zstd.is_error(code) ? NESS_INFLATE_DAMAGED : code == 0;
    }
    zlib_stream *stream = &inflater->zlib;
    stream->next_in = input;
    stream->avail_in = inputCount > 0x7fffffff ? 0x7fffffff : (unsigned int)inputCount;
    stream->next_out = output;
    stream->avail_out = outputCount > 0x7fffffff ? 0x7fffffff : (unsigned int)outputCount;
    int code = zlib.inflate(stream, 0);
    *consumed = (size_t)(stream->next_in - input);
    *produced = (size_t)(stream->next_out - output);
    // Z_BUF_ERROR: nothing could be done.
    return code == -5 ? 0 : code == 0 || code == 1 ? code : NESS_INFLATE_DAMAGED;
}

bool ness_inflate_reset(void *opaque) {
    struct inflater *inflater = opaque;
    // Zstandard's decoder begins the next frame by itself. A body of Brotli has one stream.
    return inflater->format == NESS_ZSTANDARD || (inflater->format == NESS_ZLIB && zlib.inflate_reset(&inflater->zlib) == 0);
}

void ness_inflate_end(void *opaque) {
    struct inflater *inflater = opaque;
    if (inflater->format == NESS_BROTLI) brotli.destroy(inflater->other);
    else if (inflater->format == NESS_ZSTANDARD) zstd.destroy(inflater->other);
    else zlib.inflate_end(&inflater->zlib);
    free(inflater);
}

void *ness_deflate_begin(void) {
    pthread_once(&codings_once, load_codings);
    if (!zlib.found) return NULL;
    zlib_stream *stream = calloc(1, sizeof(zlib_stream));
    if (stream == NULL) return NULL;
    // The default level, the only method (8), the largest window without a header (-15), the default memory (8) and strategy (0).
    if (zlib.deflate_init(stream, -1, 8, -15, 8, 0, "1.2.11", (int)sizeof(zlib_stream)) != 0) {
        free(stream);
        return NULL;
    }
    return stream;
}

int ness_deflate(void *opaque, const uint8_t *input, size_t inputCount, bool ends, uint8_t *output, size_t outputCount,
                 size_t *consumed, size_t *produced) {
    zlib_stream *stream = opaque;
    bool fits = inputCount <= 0x7fffffff;
    stream->next_in = input;
    stream->avail_in = fits ? (unsigned int)inputCount : 0x7fffffff;
    stream->next_out = output;
    stream->avail_out = outputCount > 0x7fffffff ? 0x7fffffff : (unsigned int)outputCount;
    // Z_FINISH only with the very last input.
    int code = zlib.deflate(stream, ends && fits ? 4 : 0);
    *consumed = (size_t)(stream->next_in - input);
    *produced = (size_t)(stream->next_out - output);
    return code;
}

void ness_deflate_end(void *stream) {
    zlib.deflate_end(stream);
    free(stream);
}

#else
uint32_t ness_curl_load(void) { return 0; }
#endif
