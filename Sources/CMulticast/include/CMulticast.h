// SPDX-License-Identifier: Apache-2.0
//
// Sockets of multicast DNS, and what Swift cannot say to them: control messages and unions. All functions give a negated errno where they
// fail.

#ifndef DIVAN_CMULTICAST_H
#define DIVAN_CMULTICAST_H

#include <stddef.h>
#include <stdint.h>

/// One address of an interface.
struct divan_interface {
    unsigned int index;
    char name[16];
    /// Whether it is up, multicasts and is not the loopback.
    int multicasts;
    /// 4 or 6.
    int family;
    uint8_t address[16];
    /// Bits of the address that all hosts of the link share.
    int prefix;
};

/// Where a packet came from, or goes to.
struct divan_packet {
    /// 4 or 6.
    int family;
    /// The interface.
    unsigned int interface;
    uint8_t address[16];
    uint16_t port;
};

/// Opens a non-blocking socket on the port of multicast DNS, which other programs may have open, too. Family is 4 or 6.
int divan_multicast_open(int family);

/// Hears the group of multicast DNS on an interface.
int divan_multicast_join(int socket, int family, unsigned int interface);

/// No longer hears it.
int divan_multicast_leave(int socket, int family, unsigned int interface);

/// Sends a packet by an interface; to the group where the port is 0.
int divan_multicast_send(int socket, const struct divan_packet *packet, const uint8_t *bytes, size_t count);

/// Takes a packet; the number of its bytes, -EAGAIN when none is there.
long divan_multicast_receive(int socket, int family, struct divan_packet *packet, uint8_t *bytes, size_t capacity);

/// Lists addresses of interfaces that are up and run, and that can be sent from; their number, which may be more than there is room for.
int divan_interfaces(struct divan_interface *list, int capacity);

/// Opens a socket that can be read when interfaces or their addresses change; -ENOSYS where the system has none.
int divan_interfaces_watch(void);

/// Takes what the system has written to such a socket, and lists interfaces that were down in the meantime, maybe for a moment; their
/// number, which is more than there is room for where that is not known of each.
int divan_interfaces_drain(int socket, unsigned int *gone, int capacity);

/// Closes a descriptor.
void divan_close(int descriptor);

#endif
