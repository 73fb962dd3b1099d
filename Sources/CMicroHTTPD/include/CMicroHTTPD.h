// SPDX-License-Identifier: Apache-2.0
//
// The system's libmicrohttpd, and what Swift cannot say to it: its variadic functions.

#ifndef DIVAN_CMICROHTTPD_H
#define DIVAN_CMICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/// What a server is started with.
struct divan_httpd_options {
    /// A bound, listening, non-blocking socket; the daemon closes it.
    int socket;
    unsigned int connections;
    /// Seconds a connection may be silent.
    unsigned int timeout;
    /// Bytes of memory a connection may take for heads and buffers.
    size_t memory;
    /// PEM texts; NULL for plain HTTP.
    const char *key;
    const char *certificate;
    /// PEM text of the authorities whose certificates clients are asked for; NULL to ask for none.
    const char *clientAnchors;
    /// Handed to each callback.
    void *context;
    MHD_AccessHandlerCallback respond;
    void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
};

/// Starts a daemon with one thread of its own on epoll, whose connections can be suspended. Targets
/// are handed over as they came. NULL on failure.
struct MHD_Daemon *divan_httpd_start(const struct divan_httpd_options *options);

/// Has the daemon's thread see a new connection, which its other end has closed already. 0 on failure.
int divan_httpd_wake(struct MHD_Daemon *daemon);

/// The socket of a connection; -1 if it has none.
int divan_httpd_socket(struct MHD_Connection *connection);

/// What the callback for connections has kept of one when it began; NULL if nothing.
void *divan_httpd_connection_context(struct MHD_Connection *connection);

/// The most certificates of a client that are looked at.
enum { DIVAN_HTTPD_CHAIN_MAXIMUM = 8 };

/// The certificates that the client of a TLS connection has sent, in DER form, its own first; it has shown to have the key
/// of that one. They are lent as long as the connection is open, to the daemon's thread. Answers how many: 0 for none.
size_t divan_httpd_client_certificates(
    struct MHD_Connection *connection, const uint8_t *certificates[DIVAN_HTTPD_CHAIN_MAXIMUM],
    size_t counts[DIVAN_HTTPD_CHAIN_MAXIMUM]);

/// Has a response whose length is not known go without chunks, and end where the connection is closed. 0 on failure.
int divan_httpd_end_by_closing(struct MHD_Response *response);

/// How many connections are open.
unsigned int divan_httpd_connections(struct MHD_Daemon *daemon);

#endif
