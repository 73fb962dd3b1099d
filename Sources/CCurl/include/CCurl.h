// SPDX-License-Identifier: Apache-2.0

// An opaque fence around libcurl's multi interface: its functions with variable arguments, and its
// macros, in forms that Swift can call. Nothing here decides anything.

#ifndef DIVAN_CCURL_H
#define DIVAN_CCURL_H

#include <stddef.h>
#include <stdint.h>

typedef struct divan_curl_multi divan_curl_multi;
typedef struct divan_curl_easy divan_curl_easy;

/// Options with a text. The text is copied.
enum divan_curl_text {
    DIVAN_CURL_URL,
    DIVAN_CURL_METHOD,
    DIVAN_CURL_PROXY,
    DIVAN_CURL_NO_PROXY,
    DIVAN_CURL_PROXY_USER,
    DIVAN_CURL_PROXY_PASSWORD,
    DIVAN_CURL_PINNED_KEYS,
    DIVAN_CURL_KEY_PASSWORD,
    DIVAN_CURL_CA_FILE,
    DIVAN_CURL_CA_FOLDER,
    DIVAN_CURL_INTERFACE,
};

/// Options with a number.
enum divan_curl_number {
    DIVAN_CURL_NO_BODY,
    DIVAN_CURL_UPLOAD,
    DIVAN_CURL_UPLOAD_LENGTH,
    DIVAN_CURL_CONNECT_TIMEOUT_MS,
    DIVAN_CURL_VERIFY_PEER,
    DIVAN_CURL_VERIFY_HOST,
    DIVAN_CURL_ALLOW_HTTP2,
    DIVAN_CURL_CONNECT_ONLY,
    DIVAN_CURL_TUNNEL,
};

/// Options with bytes. They are copied.
enum divan_curl_blob {
    DIVAN_CURL_ANCHORS,
    DIVAN_CURL_CERTIFICATE,
    DIVAN_CURL_KEY,
};

/// What a transfer came to.
enum divan_curl_result {
    DIVAN_CURL_OK,
    DIVAN_CURL_CANNOT_RESOLVE,
    DIVAN_CURL_CANNOT_RESOLVE_PROXY,
    DIVAN_CURL_CANNOT_CONNECT,
    DIVAN_CURL_TIMED_OUT,
    DIVAN_CURL_TLS_UNTRUSTED,
    DIVAN_CURL_TLS_PIN_MISMATCH,
    DIVAN_CURL_TLS_CLIENT_CERTIFICATE,
    DIVAN_CURL_TLS_FAILED,
    DIVAN_CURL_LOST,
    DIVAN_CURL_TRUNCATED,
    DIVAN_CURL_EMPTY,
    DIVAN_CURL_MALFORMED,
    DIVAN_CURL_PROXY_FAILED,
    DIVAN_CURL_CANNOT_REWIND,
    DIVAN_CURL_BAD_URL,
    DIVAN_CURL_NO_MEMORY,
    DIVAN_CURL_OTHER,
};

/// What a transfer calls, always on the thread that runs its multi handle.
///
/// `head` gets a line of the head and answers its length, or another number to stop the transfer. `write` gets bytes
/// of the body and answers their number, or `divan_curl_write_pause()`. `read` fills bytes of the request's body
/// and answers their number, 0 at the end, `divan_curl_read_pause()` or `divan_curl_read_abort()`. `rewind` answers
/// 1 when the body begins anew.
struct divan_curl_callbacks {
    void *context;
    size_t (*head)(void *context, const uint8_t *bytes, size_t count);
    size_t (*write)(void *context, const uint8_t *bytes, size_t count);
    size_t (*read)(void *context, uint8_t *bytes, size_t count);
    int (*rewind)(void *context);
};

size_t divan_curl_write_pause(void);
size_t divan_curl_read_pause(void);
size_t divan_curl_read_abort(void);

/// The library's name and version.
const char *divan_curl_version(void);

/// Makes a multi handle. NULL without memory.
divan_curl_multi *divan_curl_multi_create(void);

/// Releases a multi handle that has no transfers, and closes its connections.
void divan_curl_multi_free(divan_curl_multi *multi);

/// Does what can be done without waiting. Answers 0, or a code of libcurl's.
int divan_curl_multi_perform(divan_curl_multi *multi);

/// Waits until something can be done, the time is up, or another thread wakes it.
int divan_curl_multi_poll(divan_curl_multi *multi, int timeout_ms);

/// Wakes the thread that polls. The one function that any thread may call.
void divan_curl_multi_wakeup(divan_curl_multi *multi);

/// Takes the next transfer that has ended, or NULL, and what it came to.
divan_curl_easy *divan_curl_multi_next_done(
    divan_curl_multi *multi, enum divan_curl_result *result);

/// Makes a transfer. NULL without memory.
divan_curl_easy *divan_curl_easy_create(const struct divan_curl_callbacks *callbacks);

/// Releases a transfer that is in no multi handle.
void divan_curl_easy_free(divan_curl_easy *easy);

/// Sets options. Answer 0, or a code of libcurl's.
int divan_curl_set_text(divan_curl_easy *easy, enum divan_curl_text option, const char *text);
int divan_curl_set_number(divan_curl_easy *easy, enum divan_curl_number option, int64_t number);
int divan_curl_set_blob(
    divan_curl_easy *easy, enum divan_curl_blob option, const uint8_t *bytes, size_t count);

/// Asks whether a server is trusted: gets its certificates in DER form, its own first, whether the system trusts
/// them for the host (1 or 0), and why not. Answers 1 for yes.
typedef int (*divan_curl_trust)(
    void *context, const uint8_t *const *certificates, const size_t *counts, size_t count, int trusted,
    const char *problem);

/// Has a function decide whether the server is trusted, in place of libcurl. Answers 0, or another number where the
/// TLS library is not OpenSSL, which alone is known to ask.
int divan_curl_set_trust(
    divan_curl_easy *easy, const char *host, divan_curl_trust trust, void *context);

/// Adds a header line, `Name: value`, or `Name:` to leave out one that libcurl would send.
int divan_curl_add_header(divan_curl_easy *easy, const char *line);

/// Begins a transfer. Answers 0, or a code of libcurl's.
int divan_curl_multi_add(divan_curl_multi *multi, divan_curl_easy *easy);

/// Takes a transfer out, whether it has ended or not.
void divan_curl_multi_remove(divan_curl_multi *multi, divan_curl_easy *easy);

/// Pauses or resumes both directions. Resuming may call the callbacks at once.
void divan_curl_pause(divan_curl_easy *easy, int receiving, int sending);

/// What came of sending or receiving on a connection that was only made.
enum divan_curl_moved { DIVAN_CURL_MOVED, DIVAN_CURL_LATER, DIVAN_CURL_GONE };

/// Sends bytes on the connection of a transfer that only connected; answers how many in `moved`.
enum divan_curl_moved divan_curl_send(
    divan_curl_easy *easy, const uint8_t *bytes, size_t count, size_t *moved);

/// Receives bytes on such a connection; none at its end.
enum divan_curl_moved divan_curl_receive(
    divan_curl_easy *easy, uint8_t *bytes, size_t count, size_t *moved);

/// Waits until such a connection can be read from (or written to), the time is up, or another thread wakes it.
int divan_curl_multi_poll_connection(
    divan_curl_multi *multi, divan_curl_easy *easy, int writing, int timeout_ms);

/// The context of a transfer's callbacks.
void *divan_curl_context(divan_curl_easy *easy);

/// What libcurl says about the failure, in its words; may be empty.
const char *divan_curl_message(divan_curl_easy *easy);

/// The number of connections that a transfer opened: 0 when it used one that was open already.
long divan_curl_opened_connections(divan_curl_easy *easy);

#endif
