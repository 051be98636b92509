#define _GNU_SOURCE
#include "CurlInC.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The numbers of libcurl's binary interface (curl.h, multi.h).
enum {
    OPTION_URL = 10002,
    OPTION_WRITE_DATA = 10001,
    OPTION_PRIVATE = 10103,
    OPTION_COPIED_BODY = 10165,
    OPTION_AUTHORITIES = 10065,
    OPTION_WRITE_FUNCTION = 20011,
    OPTION_NO_SIGNAL = 99,
    OPTION_HTTP_VERSION = 84,
    INFO_PRIVATE = 0x100000 + 21,
    INFO_STATUS = 0x200000 + 2,
    MULTI_MAX_CONNECTS = 6,
    VERSION_1_1 = 2,
    GLOBAL_ALL = 3,
};

typedef struct { int kind; void *easy; union { void *pointer; int code; } data; } message;

static struct {
    int (*global_init)(long);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, int, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_perform)(void *, int *);
    int (*multi_poll)(void *, void *, unsigned int, int, int *);
    message *(*multi_info_read)(void *, int *);
} curl;

typedef struct { void *easy; long received; } transfer;

struct curl_in_c { void *multi; int parallel; transfer transfers[]; };

/// Looks libcurl up in this process, else in the system's library.
static int load(void) {
    void *library = NULL;
#define FIND(member, name) \
    if ((*(void **)&curl.member = dlsym(library != NULL ? library : RTLD_DEFAULT, name)) == NULL) { \
        if (library != NULL || (library = dlopen("libcurl.so.4", RTLD_NOW)) == NULL) return 0; \
        if ((*(void **)&curl.member = dlsym(library, name)) == NULL) return 0; \
    }
    FIND(global_init, "curl_global_init");
    FIND(easy_init, "curl_easy_init");
    FIND(easy_cleanup, "curl_easy_cleanup");
    FIND(easy_setopt, "curl_easy_setopt");
    FIND(easy_getinfo, "curl_easy_getinfo");
    FIND(multi_init, "curl_multi_init");
    FIND(multi_cleanup, "curl_multi_cleanup");
    FIND(multi_setopt, "curl_multi_setopt");
    FIND(multi_add_handle, "curl_multi_add_handle");
    FIND(multi_remove_handle, "curl_multi_remove_handle");
    FIND(multi_perform, "curl_multi_perform");
    FIND(multi_poll, "curl_multi_poll");
    FIND(multi_info_read, "curl_multi_info_read");
#undef FIND
    return curl.global_init(GLOBAL_ALL) == 0;
}

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
    (void)bytes;
    ((transfer *)user)->received += (long)(size * count);
    return size * count;
}

curl_in_c *curl_in_c_new(const char *const *urls, int parallel, const char *body, const char *authorities) {
    if (curl.multi_info_read == NULL && !load()) return NULL;
    curl_in_c *client = calloc(1, sizeof(curl_in_c) + (size_t)parallel * sizeof(transfer));
    if (client == NULL) return NULL;
    client->multi = curl.multi_init();
    client->parallel = parallel;
    curl.multi_setopt(client->multi, MULTI_MAX_CONNECTS, 2L * parallel);
    for (int index = 0; index < parallel; index++) {
        transfer *each = &client->transfers[index];
        each->easy = curl.easy_init();
        curl.easy_setopt(each->easy, OPTION_URL, urls[index]);
        curl.easy_setopt(each->easy, OPTION_WRITE_FUNCTION, receive);
        curl.easy_setopt(each->easy, OPTION_WRITE_DATA, each);
        curl.easy_setopt(each->easy, OPTION_PRIVATE, each);
        curl.easy_setopt(each->easy, OPTION_NO_SIGNAL, 1L);
        curl.easy_setopt(each->easy, OPTION_HTTP_VERSION, (long)VERSION_1_1);
        if (body != NULL) curl.easy_setopt(each->easy, OPTION_COPIED_BODY, body);
        if (authorities != NULL) curl.easy_setopt(each->easy, OPTION_AUTHORITIES, authorities);
    }
    return client;
}

static void start(curl_in_c *client, transfer *transfer) {
    transfer->received = 0;
    curl.multi_add_handle(client->multi, transfer->easy);
}

long curl_in_c_run(curl_in_c *client, long count, long length) {
    long started = 0, ended = 0, good = 0;
    for (; started < client->parallel && started < count; started++) start(client, &client->transfers[started]);
    while (ended < count) {
        int running = 0, left = 0;
        curl.multi_perform(client->multi, &running);
        for (message *next; (next = curl.multi_info_read(client->multi, &left)) != NULL;) {
            transfer *each = NULL;
            long status = 0;
            // The message is gone once its handle is removed.
            int code = next->data.code;
            void *easy = next->easy;
            curl.easy_getinfo(easy, INFO_PRIVATE, &each);
            curl.easy_getinfo(easy, INFO_STATUS, &status);
            curl.multi_remove_handle(client->multi, easy);
            ended++;
            if (code == 0 && status == 200 && each->received == length) good++;
            if (started < count) {
                start(client, each);
                started++;
            }
        }
        // This returns at once if a transfer was started above.
        if (ended < count) curl.multi_poll(client->multi, NULL, 0, 1000, NULL);
    }
    return good;
}

void curl_in_c_hold(curl_in_c *client) {
    for (int index = 0; index < client->parallel; index++) start(client, &client->transfers[index]);
    // Some turns connect and send, the last ones find nothing to do.
    for (int turn = 0, running = 0; turn < 20; turn++) {
        curl.multi_perform(client->multi, &running);
        curl.multi_poll(client->multi, NULL, 0, 50, NULL);
    }
}

void curl_in_c_free(curl_in_c *client) {
    for (int index = 0; index < client->parallel; index++) curl.easy_cleanup(client->transfers[index].easy);
    curl.multi_cleanup(client->multi);
    free(client);
}
