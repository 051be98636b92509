// libcurl and the libraries of content codings without their headers: found at run time, called through a few typed functions.
//
// libFoundationNetworking links libcurl, so that the library is in the process already wherever Swift's Foundation is. Nothing has to be
// installed, and nothing is linked. The numbers and the callbacks' shapes are their binary interface, which never changes.
#ifndef CNESSCURL_H
#define CNESSCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: libcurl

/// Finds libcurl; from the second call on, says what the first found. Safe from any thread.
/// Returns its version as 0xMMmmpp (0x075801 is 7.88.1), or 0 where there is none, or one that lacks a function.
uint32_t ness_curl_load(void);

/// The version in libcurl's words, with the TLS library's. Only after a successful load.
const char *ness_curl_version(void);

/// What an exchange hears. Each is called on the thread that drives the multi handle, with the exchange's `user` pointer.
typedef struct {
    /// A line of a head, or a trailer. Returns the number of bytes taken; another number ends the exchange.
    size_t (*head)(char *bytes, size_t size, size_t count, void *user);
    /// A piece of the body. Returns the number of bytes taken, or NESS_CURL_WRITE_PAUSE.
    size_t (*body)(char *bytes, size_t size, size_t count, void *user);
    /// Asks for a piece of the request's body. Returns the number of bytes, 0 at the end, NESS_CURL_READ_ABORT or NESS_CURL_READ_PAUSE.
    size_t (*read)(char *bytes, size_t size, size_t count, void *user);
    /// Asks for the request's body from another place. Returns 0, or 1 where that fails.
    int (*seek)(void *user, int64_t offset, int origin);
    /// Says how many bytes have moved. Returns 0; another number ends the exchange.
    int (*progress)(void *user, int64_t toReceive, int64_t received, int64_t toSend, int64_t sent);
    /// Asks whether the request may be sent on a connection. Returns 0 if so.
    int (*prerequest)(void *user, char *remoteAddress, char *localAddress, int remotePort, int localPort);
    /// Asks whether libcurl may look a name up itself. Returns 0 if so. libcurl knows addresses and the names in its memory without this.
    int (*look_up)(void *resolver, void *reserved, void *user);
    /// Asks whether a connection to an address may be opened: the 4 or 16 bytes of an IP address, or none for any other. Returns true if so.
    bool (*may_connect)(void *user, const uint8_t *address, size_t count);
    /// Tells of a socket that was opened. Returns false if it must not be used.
    bool (*socket_opened)(void *user, int descriptor);
    /// Tells a NESS_CURL_NOTE_*, which libcurl tells only in its log.
    void (*noted)(void *user, int note);
} ness_curl_callbacks;

enum {
    /// The new connection speaks HTTP/2.
    NESS_CURL_NOTE_HTTP2 = 1,
    /// The server has certainly not processed the request.
    NESS_CURL_NOTE_UNPROCESSED = 2,
    /// A part of the request has been sent. Only before 7.80, which does not call `prerequest`.
    NESS_CURL_NOTE_SENT = 3,
};

enum {
    NESS_CURL_WRITE_PAUSE = 0x10000001,
    NESS_CURL_READ_ABORT = 0x10000000,
    NESS_CURL_READ_PAUSE = 0x10000001,
};

/// Keeps this thread from ending the process when it writes to a connection that the peer has closed. Before 7.87 libcurl has OpenSSL do
/// so. The signal goes to the thread that writes.
void ness_curl_block_broken_pipes(void);

/// Begins a use of libcurl or of what it links, other than waiting. Does not return if the process has begun to exit: then the libraries are
/// being torn down. Not recursive.
void ness_curl_enter(void);
/// Ends the use.
void ness_curl_leave(void);
/// True while a thread is between the two.
bool ness_curl_is_in_use(void);

/// What libcurl was built with, as the bits CURL_VERSION_*. Only after a successful load.
int ness_curl_features(void);

void *ness_curl_easy_init(void);
void ness_curl_easy_cleanup(void *easy);
/// Makes a handle with the options of another. Returns NULL where memory ran out.
void *ness_curl_easy_copy(void *easy);
/// Sets an option; each returns a CURLcode, 0 for success.
int ness_curl_set_long(void *easy, int option, long value);
int ness_curl_set_offset(void *easy, int option, int64_t value);
int ness_curl_set_text(void *easy, int option, const char *value);
int ness_curl_set_pointer(void *easy, int option, const void *value);
/// Sets bytes, of which libcurl makes a copy.
int ness_curl_set_blob(void *easy, int option, const void *bytes, size_t count);
/// Makes a file in memory, which the path /proc/self/fd/N names. Returns its descriptor; -1 where that fails.
int ness_memory_file(const void *bytes, size_t count);
/// Keeps the callbacks of all handles. To be called once, before the first handle gets them.
void ness_curl_register(const ness_curl_callbacks *callbacks);
/// Sets the callbacks; has sockets opened that no child process inherits.
int ness_curl_set_callbacks(void *easy);
/// Sets the `user` pointer of the callbacks.
int ness_curl_set_user(void *easy, void *user);
/// The `user` pointer of a handle.
void *ness_curl_get_user(void *easy);
/// Numbers about a transfer; each returns a CURLcode. Times are in microseconds.
int ness_curl_get_long(void *easy, int info, long *value);
int ness_curl_get_offset(void *easy, int info, int64_t *value);
/// A text that libcurl owns; NULL where there is none.
const char *ness_curl_get_text(void *easy, int info);
/// Returns true if a transfer that no callback has paused has a connection. Safe in a callback of another transfer.
bool ness_curl_is_connected(void *easy);
/// Goes on with a transfer that a callback paused. With `sends_only`, the response stays paused, or pauses.
int ness_curl_easy_continue(void *easy, bool sends_only);
const char *ness_curl_error_text(int code);
/// Makes a list of lines from a text in which each line ends with a zero byte. Returns NULL for no lines, or where memory ran out.
void *ness_curl_list_make(const char *text, size_t count);
void ness_curl_list_free(void *list);

/// Makes the descriptor that wakes the thread of multi handles. Returns -1 where the system has none left.
int ness_curl_waker_make(void);
void ness_curl_waker_close(int waker);
/// Ends the current wait of the handle that has the waker, or else the next one. Safe from any thread.
void ness_curl_wake(int waker);

/// Makes a multi handle that a waker wakes.
void *ness_curl_multi_init(int waker);
void ness_curl_multi_cleanup(void *multi);
int ness_curl_multi_set_long(void *multi, int option, long value);
int ness_curl_multi_add(void *multi, void *easy);
int ness_curl_multi_remove(void *multi, void *easy);
/// Has libcurl do what it can without a wait.
void ness_curl_multi_perform(void *multi);
/// Stops or resumes the wait for a socket's input, although libcurl waits for it.
void ness_curl_multi_mute(void *multi, int descriptor, bool is_muted);
/// Waits until something can be done, `milliseconds` have passed, or `ness_curl_wake` is called.
void ness_curl_multi_wait(void *multi, int milliseconds);
/// The next transfer that has ended. Returns NULL where there is none; else its easy handle, and its CURLcode in `code`.
void *ness_curl_multi_next_ended(void *multi, int *code);

/// Makes a memory of TLS sessions, for the handles of one thread. Returns NULL where memory ran out.
void *ness_curl_sessions_make(void);
/// Releases it, after the handles that use it.
void ness_curl_sessions_free(void *sessions);

// MARK: content codings

/// The formats that can be inflated. NESS_ZLIB is gzip, or zlib's format; NESS_RAW_DEFLATE has neither a header nor a checksum.
enum { NESS_ZLIB, NESS_RAW_DEFLATE, NESS_BROTLI, NESS_ZSTANDARD };
enum { NESS_INFLATE_DAMAGED = -1 };

/// Begins to inflate a format. Returns NULL where its library is not found or has no memory.
void *ness_inflate_begin(int format);
/// Inflates on. Returns 0, 1 at the end of a stream, or NESS_INFLATE_DAMAGED.
int ness_inflate(void *stream, const uint8_t *input, size_t inputCount, uint8_t *output, size_t outputCount, size_t *consumed,
                 size_t *produced);
/// Begins with the stream after one that has ended. Returns false for a format without a second one.
bool ness_inflate_reset(void *stream);
void ness_inflate_end(void *stream);

/// Begins to deflate, without a header and a checksum. Returns NULL where zlib is not found or has no memory.
void *ness_deflate_begin(void);
/// Deflates on; `ends` with the last input. Returns zlib's code: 0, 1 at the end, negative for an error (-5: nothing could be done).
int ness_deflate(void *stream, const uint8_t *input, size_t inputCount, bool ends, uint8_t *output, size_t outputCount,
                 size_t *consumed, size_t *produced);
void ness_deflate_end(void *stream);

#endif
