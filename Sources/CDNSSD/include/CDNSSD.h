// SPDX-License-Identifier: Apache-2.0
//
// The system's service for DNS-SD by the interface that is called dns_sd.h: Avahi's, or Bonjour's. Its library is loaded when it is first
// used, so a program needs it neither to be linked nor to run.
//
// An operation goes on until it is closed, and is named by its descriptor. When that can be read, `divan_dnssd_process` reads what the
// service says, and `divan_dnssd_next` hands it over. One thread at a time uses an operation.
//
// Functions that begin an operation give its descriptor, or an error, which is negative.

#ifndef DIVAN_CDNSSD_H
#define DIVAN_CDNSSD_H

#include <stddef.h>
#include <stdint.h>

enum {
    /// The library is not there.
    DIVAN_DNSSD_MISSING = -1,
    /// The service has closed the operation, or does not keep to the interface.
    DIVAN_DNSSD_BROKEN = -2,
};

/// What the service says of an operation.
struct divan_dnssd_event {
    /// 0, or the error that ends it.
    int error;
    /// Whether what was found is there, or is gone.
    int is_there;
    /// The system's number of the interface.
    unsigned int interface;
    /// The port that was resolved.
    uint16_t port;
    /// The name that was registered or found, or the host that was resolved: UTF-8, unless a stranger has made something else of it.
    char name[1016];
    /// How many bytes of a text or an address go with it.
    size_t count;
};

/// Announces a service, under another name where its own is taken.
int divan_dnssd_register(const char *name, const char *type, uint16_t port, const uint8_t *text, size_t count);

/// Announces another text for a service; 0 or an error.
int divan_dnssd_set_text(int operation, const uint8_t *text, size_t count);

/// Looks for the names of services.
int divan_dnssd_browse(const char *type);

/// Looks for host, port and text of a service.
int divan_dnssd_resolve(const char *name, const char *type);

/// Looks for records of a host: kind 1 are addresses of IPv4, 28 of IPv6.
int divan_dnssd_query(const char *host, uint16_t kind);

/// Reads what the service says; 0 or an error. It waits unless the descriptor can be read.
int divan_dnssd_process(int operation);

/// Takes the next thing that was said; 0 when there is none. Bytes that the buffer has no room for are left off, and counted.
int divan_dnssd_next(int operation, struct divan_dnssd_event *event, uint8_t *bytes, size_t capacity);

/// Ends an operation, and closes its descriptor.
void divan_dnssd_close(int operation);

#endif
