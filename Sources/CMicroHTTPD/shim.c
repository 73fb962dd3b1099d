// SPDX-License-Identifier: Apache-2.0

// The flags of `socketpair`.
#define _GNU_SOURCE
#include "CMicroHTTPD.h"

#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// Leaves escapes as they are: `a%2Fb` and `a/b` are different names.
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

struct MHD_Daemon *divan_httpd_start(const struct divan_httpd_options *options) {
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {options->clientAnchors ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
         (void *)options->clientAnchors},
        {MHD_OPTION_END, 0, NULL},
    };
    if (options->key) flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, options->respond, options->context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)options->socket,
        MHD_OPTION_CONNECTION_LIMIT, options->connections,
        MHD_OPTION_CONNECTION_TIMEOUT, options->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->memory,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, options->begin, options->context,
        MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->context,
        MHD_OPTION_NOTIFY_CONNECTION, options->connection, options->context,
        MHD_OPTION_ARRAY, options->key ? tls : none,
        MHD_OPTION_END);
}

int divan_httpd_wake(struct MHD_Daemon *daemon) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) return 0;
    close(ends[1]);
    struct sockaddr address = {.sa_family = AF_UNIX};
    // It closes the other end, also where it does not take it.
    return MHD_add_connection(daemon, ends[0], &address, sizeof address) == MHD_YES;
}

int divan_httpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

void *divan_httpd_connection_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

size_t divan_httpd_client_certificates(
    struct MHD_Connection *connection, const uint8_t *certificates[DIVAN_HTTPD_CHAIN_MAXIMUM],
    size_t counts[DIVAN_HTTPD_CHAIN_MAXIMUM]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned int count = 0;
    const gnutls_datum_t *sent = info && info->tls_session
        ? gnutls_certificate_get_peers(info->tls_session, &count) : NULL;
    if (!sent) return 0;
    if (count > DIVAN_HTTPD_CHAIN_MAXIMUM) count = DIVAN_HTTPD_CHAIN_MAXIMUM;
    for (unsigned int index = 0; index < count; index++) {
        certificates[index] = sent[index].data;
        counts[index] = sent[index].size;
    }
    return count;
}

int divan_httpd_end_by_closing(struct MHD_Response *response) {
    return MHD_set_response_options(
        response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END) == MHD_YES;
}

unsigned int divan_httpd_connections(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}
