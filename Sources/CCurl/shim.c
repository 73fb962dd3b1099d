// SPDX-License-Identifier: Apache-2.0

#include "CCurl.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct divan_curl_easy {
    CURL *handle;
    struct curl_slist *headers;
    struct divan_curl_callbacks callbacks;
    divan_curl_trust trust;
    void *trustContext;
    char *host;
    char message[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void prepare(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

size_t divan_curl_write_pause(void) { return CURL_WRITEFUNC_PAUSE; }
size_t divan_curl_read_pause(void) { return CURL_READFUNC_PAUSE; }
size_t divan_curl_read_abort(void) { return CURL_READFUNC_ABORT; }
const char *divan_curl_version(void) { return curl_version(); }

// The multi handle is libcurl's own under another name.
static CURLM *raw(divan_curl_multi *multi) { return (CURLM *)multi; }

divan_curl_multi *divan_curl_multi_create(void) {
    pthread_once(&once, prepare);
    CURLM *multi = curl_multi_init();
    if (!multi) return NULL;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 32L);
    return (divan_curl_multi *)multi;
}

void divan_curl_multi_free(divan_curl_multi *multi) { curl_multi_cleanup(raw(multi)); }

int divan_curl_multi_perform(divan_curl_multi *multi) {
    int running = 0;
    return curl_multi_perform(raw(multi), &running);
}

int divan_curl_multi_poll(divan_curl_multi *multi, int timeout_ms) {
    return curl_multi_poll(raw(multi), NULL, 0, timeout_ms, NULL);
}

void divan_curl_multi_wakeup(divan_curl_multi *multi) { curl_multi_wakeup(raw(multi)); }

static enum divan_curl_result result_of(CURLcode code) {
    switch (code) {
    case CURLE_OK: return DIVAN_CURL_OK;
    case CURLE_COULDNT_RESOLVE_HOST: return DIVAN_CURL_CANNOT_RESOLVE;
    case CURLE_COULDNT_RESOLVE_PROXY: return DIVAN_CURL_CANNOT_RESOLVE_PROXY;
    // A network that is not there now may come back.
    case CURLE_INTERFACE_FAILED:
    case CURLE_COULDNT_CONNECT: return DIVAN_CURL_CANNOT_CONNECT;
    case CURLE_OPERATION_TIMEDOUT: return DIVAN_CURL_TIMED_OUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR: return DIVAN_CURL_TLS_UNTRUSTED;
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return DIVAN_CURL_TLS_PIN_MISMATCH;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CLIENTCERT: return DIVAN_CURL_TLS_CLIENT_CERTIFICATE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED: return DIVAN_CURL_TLS_FAILED;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return DIVAN_CURL_LOST;
    case CURLE_PARTIAL_FILE: return DIVAN_CURL_TRUNCATED;
    case CURLE_GOT_NOTHING: return DIVAN_CURL_EMPTY;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return DIVAN_CURL_MALFORMED;
    case CURLE_PROXY: return DIVAN_CURL_PROXY_FAILED;
    case CURLE_SEND_FAIL_REWIND: return DIVAN_CURL_CANNOT_REWIND;
    case CURLE_URL_MALFORMAT: return DIVAN_CURL_BAD_URL;
    case CURLE_OUT_OF_MEMORY: return DIVAN_CURL_NO_MEMORY;
    default: return DIVAN_CURL_OTHER;
    }
}

divan_curl_easy *divan_curl_multi_next_done(
    divan_curl_multi *multi, enum divan_curl_result *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(raw(multi), &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        char *easy = NULL;
        *result = result_of(message->data.result);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &easy);
        return (divan_curl_easy *)easy;
    }
    return NULL;
}

static size_t on_head(char *bytes, size_t size, size_t count, void *context) {
    divan_curl_easy *easy = context;
    return easy->callbacks.head(easy->callbacks.context, (const uint8_t *)bytes, size * count);
}

static size_t on_write(char *bytes, size_t size, size_t count, void *context) {
    divan_curl_easy *easy = context;
    return easy->callbacks.write(easy->callbacks.context, (const uint8_t *)bytes, size * count);
}

static size_t on_read(char *bytes, size_t size, size_t count, void *context) {
    divan_curl_easy *easy = context;
    return easy->callbacks.read(easy->callbacks.context, (uint8_t *)bytes, size * count);
}

static int on_seek(void *context, curl_off_t offset, int origin) {
    divan_curl_easy *easy = context;
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    return easy->callbacks.rewind(easy->callbacks.context) ? CURL_SEEKFUNC_OK
                                                           : CURL_SEEKFUNC_CANTSEEK;
}

divan_curl_easy *divan_curl_easy_create(const struct divan_curl_callbacks *callbacks) {
    divan_curl_easy *easy = calloc(1, sizeof *easy);
    if (!easy) return NULL;
    easy->callbacks = *callbacks;
    CURL *handle = easy->handle = curl_easy_init();
    if (!handle) {
        free(easy);
        return NULL;
    }
    curl_easy_setopt(handle, CURLOPT_PRIVATE, easy);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, easy->message);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, easy);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, easy);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(handle, CURLOPT_READDATA, easy);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, easy);
    return easy;
}

void divan_curl_easy_free(divan_curl_easy *easy) {
    if (!easy) return;
    curl_easy_cleanup(easy->handle);
    curl_slist_free_all(easy->headers);
    free(easy->host);
    free(easy);
}

enum { CHAIN_MAXIMUM = 16 };

static int names_host(X509 *certificate, const char *host) {
    int isAddress = X509_check_ip_asc(certificate, host, 0);
    // -2: this is no address.
    return isAddress == -2 ? X509_check_host(certificate, host, 0, 0, NULL) == 1 : isAddress == 1;
}

static int on_verify(X509_STORE_CTX *store, void *context) {
    divan_curl_easy *easy = context;
    int trusted = X509_verify_cert(store) == 1;
    const char *problem = trusted
        ? NULL : X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
    X509 *own = X509_STORE_CTX_get0_cert(store);
    if (trusted && !names_host(own, easy->host)) {
        trusted = 0;
        problem = "host name mismatch";
    }
    unsigned char *certificates[CHAIN_MAXIMUM] = {NULL};
    size_t counts[CHAIN_MAXIMUM], count = 0;
    STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(store);
    for (int index = 0; index < sk_X509_num(sent) && count < CHAIN_MAXIMUM; index++) {
        int length = i2d_X509(sk_X509_value(sent, index), &certificates[count]);
        if (length > 0) counts[count++] = (size_t)length;
    }
    int answer = easy->trust(
        easy->trustContext, (const uint8_t *const *)certificates, counts, count, trusted, problem);
    for (size_t index = 0; index < count; index++) OPENSSL_free(certificates[index]);
    X509_STORE_CTX_set_error(store, answer ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
    return answer;
}

static CURLcode on_ssl_context(CURL *handle, void *ssl, void *context) {
    (void)handle;
    SSL_CTX_set_cert_verify_callback(ssl, on_verify, context);
    // The transfer that made a connection may be gone when the server would ask for a second handshake.
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
    return CURLE_OK;
}

int divan_curl_set_trust(
    divan_curl_easy *easy, const char *host, divan_curl_trust trust, void *context) {
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    if (!library || strncmp(library, "OpenSSL/", 8) != 0) return CURLE_NOT_BUILT_IN;
    easy->host = strdup(host);
    if (!easy->host) return CURLE_OUT_OF_MEMORY;
    easy->trust = trust;
    easy->trustContext = context;
    CURL *handle = easy->handle;
    // A resumed session would not be asked about.
    curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, easy);
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, on_ssl_context);
}

int divan_curl_set_text(divan_curl_easy *easy, enum divan_curl_text option, const char *text) {
    static const CURLoption options[] = {
        [DIVAN_CURL_URL] = CURLOPT_URL,
        [DIVAN_CURL_METHOD] = CURLOPT_CUSTOMREQUEST,
        [DIVAN_CURL_PROXY] = CURLOPT_PROXY,
        [DIVAN_CURL_NO_PROXY] = CURLOPT_NOPROXY,
        [DIVAN_CURL_PROXY_USER] = CURLOPT_PROXYUSERNAME,
        [DIVAN_CURL_PROXY_PASSWORD] = CURLOPT_PROXYPASSWORD,
        [DIVAN_CURL_PINNED_KEYS] = CURLOPT_PINNEDPUBLICKEY,
        [DIVAN_CURL_KEY_PASSWORD] = CURLOPT_KEYPASSWD,
        [DIVAN_CURL_CA_FILE] = CURLOPT_CAINFO,
        [DIVAN_CURL_CA_FOLDER] = CURLOPT_CAPATH,
        [DIVAN_CURL_INTERFACE] = CURLOPT_INTERFACE,
    };
    return curl_easy_setopt(easy->handle, options[option], text);
}

int divan_curl_set_number(divan_curl_easy *easy, enum divan_curl_number option, int64_t number) {
    CURL *handle = easy->handle;
    switch (option) {
    case DIVAN_CURL_NO_BODY: return curl_easy_setopt(handle, CURLOPT_NOBODY, (long)number);
    case DIVAN_CURL_UPLOAD: return curl_easy_setopt(handle, CURLOPT_UPLOAD, (long)number);
    case DIVAN_CURL_UPLOAD_LENGTH:
        return curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)number);
    case DIVAN_CURL_CONNECT_TIMEOUT_MS:
        return curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)number);
    case DIVAN_CURL_VERIFY_PEER:
        return curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, (long)number);
    case DIVAN_CURL_VERIFY_HOST:
        return curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, number ? 2L : 0L);
    case DIVAN_CURL_ALLOW_HTTP2:
        return curl_easy_setopt(
            handle, CURLOPT_HTTP_VERSION,
            (long)(number ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    case DIVAN_CURL_CONNECT_ONLY:
        return curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, (long)number);
    case DIVAN_CURL_TUNNEL:
        return curl_easy_setopt(handle, CURLOPT_HTTPPROXYTUNNEL, (long)number);
    }
    return CURLE_UNKNOWN_OPTION;
}

int divan_curl_set_blob(
    divan_curl_easy *easy, enum divan_curl_blob option, const uint8_t *bytes, size_t count) {
    static const CURLoption options[] = {
        [DIVAN_CURL_ANCHORS] = CURLOPT_CAINFO_BLOB,
        [DIVAN_CURL_CERTIFICATE] = CURLOPT_SSLCERT_BLOB,
        [DIVAN_CURL_KEY] = CURLOPT_SSLKEY_BLOB,
    };
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy->handle, options[option], &blob);
}

int divan_curl_add_header(divan_curl_easy *easy, const char *line) {
    struct curl_slist *longer = curl_slist_append(easy->headers, line);
    if (!longer) return CURLE_OUT_OF_MEMORY;
    easy->headers = longer;
    return CURLE_OK;
}

int divan_curl_multi_add(divan_curl_multi *multi, divan_curl_easy *easy) {
    curl_easy_setopt(easy->handle, CURLOPT_HTTPHEADER, easy->headers);
    return curl_multi_add_handle(raw(multi), easy->handle);
}

void divan_curl_multi_remove(divan_curl_multi *multi, divan_curl_easy *easy) {
    curl_multi_remove_handle(raw(multi), easy->handle);
}

void divan_curl_pause(divan_curl_easy *easy, int receiving, int sending) {
    int bits = (receiving ? CURLPAUSE_RECV : 0) | (sending ? CURLPAUSE_SEND : 0);
    curl_easy_pause(easy->handle, bits);
}

static enum divan_curl_moved moved_of(CURLcode code) {
    if (code == CURLE_OK) return DIVAN_CURL_MOVED;
    return code == CURLE_AGAIN ? DIVAN_CURL_LATER : DIVAN_CURL_GONE;
}

enum divan_curl_moved divan_curl_send(
    divan_curl_easy *easy, const uint8_t *bytes, size_t count, size_t *moved) {
    return moved_of(curl_easy_send(easy->handle, bytes, count, moved));
}

enum divan_curl_moved divan_curl_receive(
    divan_curl_easy *easy, uint8_t *bytes, size_t count, size_t *moved) {
    return moved_of(curl_easy_recv(easy->handle, bytes, count, moved));
}

int divan_curl_multi_poll_connection(
    divan_curl_multi *multi, divan_curl_easy *easy, int writing, int timeout_ms) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy->handle, CURLINFO_ACTIVESOCKET, &socket);
    struct curl_waitfd entry = {.fd = socket, .events = CURL_WAIT_POLLIN};
    if (writing) entry.events |= CURL_WAIT_POLLOUT;
    if (socket == CURL_SOCKET_BAD) return CURLE_RECV_ERROR;
    return curl_multi_poll(raw(multi), &entry, 1, timeout_ms, NULL);
}

void *divan_curl_context(divan_curl_easy *easy) { return easy->callbacks.context; }

const char *divan_curl_message(divan_curl_easy *easy) { return easy->message; }

long divan_curl_opened_connections(divan_curl_easy *easy) {
    long count = 0;
    curl_easy_getinfo(easy->handle, CURLINFO_NUM_CONNECTS, &count);
    return count;
}
