// SPDX-License-Identifier: Apache-2.0

#ifdef __linux__
#define _GNU_SOURCE
#endif
#ifdef __APPLE__
#define __APPLE_USE_RFC_3542
#endif

#include "CMulticast.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#endif

enum { PORT = 5353 };

static const uint8_t GROUP_4[4] = {224, 0, 0, 251};
static const uint8_t GROUP_6[16] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb};

static int set(int socket, int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof value);
}

static int nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

static int failed(int descriptor) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    return error ? -error : -EIO;
}

int divan_multicast_open(int family) {
    int isFour = family == 4;
    int fd = socket(isFour ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
    if (fd < 0) return failed(fd);
    // Linux lets several users share the port by this option alone; Darwin needs the other one.
    if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0) return failed(fd);
#ifdef __APPLE__
    if (set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0) return failed(fd);
#endif
    if (nonblocking(fd) < 0) return failed(fd);
    if (isFour) {
        struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
        if (set(fd, IPPROTO_IP, IP_PKTINFO, 1) < 0 || set(fd, IPPROTO_IP, IP_MULTICAST_TTL, 255) < 0 ||
            set(fd, IPPROTO_IP, IP_TTL, 255) < 0 || set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1) < 0)
            return failed(fd);
#ifdef __linux__
        // Only groups that this socket has joined itself.
        if (set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) < 0) return failed(fd);
#endif
        if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0) return failed(fd);
    } else {
        struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
        if (set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0 || set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0 ||
            set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) < 0 || set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255) < 0 ||
            set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1) < 0)
            return failed(fd);
        if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0) return failed(fd);
    }
    return fd;
}

static int membership(int fd, int family, unsigned int interface, int isJoining) {
    int result;
    if (family == 4) {
        struct ip_mreqn request = {.imr_ifindex = (int)interface};
        memcpy(&request.imr_multiaddr, GROUP_4, sizeof GROUP_4);
        result = setsockopt(fd, IPPROTO_IP, isJoining ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request, sizeof request);
    } else {
        struct ipv6_mreq request = {.ipv6mr_interface = interface};
        memcpy(&request.ipv6mr_multiaddr, GROUP_6, sizeof GROUP_6);
        result = setsockopt(fd, IPPROTO_IPV6, isJoining ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request, sizeof request);
    }
    return result < 0 ? -errno : 0;
}

int divan_multicast_join(int fd, int family, unsigned int interface) {
    int result = membership(fd, family, interface, 1);
    return result == -EADDRINUSE ? 0 : result;
}

int divan_multicast_leave(int fd, int family, unsigned int interface) { return membership(fd, family, interface, 0); }

int divan_multicast_send(int fd, const struct divan_packet *packet, const uint8_t *bytes, size_t count) {
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    union {
        char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
        struct cmsghdr alignment;
    } control = {{0}};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes};
    int isToGroup = packet->port == 0;
    uint16_t port = htons(isToGroup ? PORT : packet->port);

    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (packet->family == 4) {
        struct in_pktinfo info = {.ipi_ifindex = (int)packet->interface};
        head->cmsg_level = IPPROTO_IP;
        head->cmsg_type = IP_PKTINFO;
        head->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(head), &info, sizeof info);
        message.msg_controllen = CMSG_SPACE(sizeof info);
        four.sin_port = port;
        memcpy(&four.sin_addr, isToGroup ? GROUP_4 : packet->address, 4);
        message.msg_name = &four;
        message.msg_namelen = sizeof four;
    } else {
        struct in6_pktinfo info = {.ipi6_ifindex = packet->interface};
        head->cmsg_level = IPPROTO_IPV6;
        head->cmsg_type = IPV6_PKTINFO;
        head->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(head), &info, sizeof info);
        message.msg_controllen = CMSG_SPACE(sizeof info);
        six.sin6_port = port;
        six.sin6_scope_id = packet->interface;
        memcpy(&six.sin6_addr, isToGroup ? GROUP_6 : packet->address, 16);
        message.msg_name = &six;
        message.msg_namelen = sizeof six;
    }
    return sendmsg(fd, &message, 0) < 0 ? -errno : 0;
}

long divan_multicast_receive(int fd, int family, struct divan_packet *packet, uint8_t *bytes, size_t capacity) {
    union {
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } name;
    union {
        char bytes[256];
        struct cmsghdr alignment;
    } control;
    struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {
        .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t count = recvmsg(fd, &message, 0);
    if (count < 0) return -errno;
    memset(packet, 0, sizeof *packet);
    packet->family = family;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (family == 4 && head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(head), sizeof info);
            packet->interface = (unsigned int)info.ipi_ifindex;
        } else if (family == 6 && head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(head), sizeof info);
            packet->interface = info.ipi6_ifindex;
        }
    }
    if (family == 4) {
        memcpy(packet->address, &name.four.sin_addr, 4);
        packet->port = ntohs(name.four.sin_port);
    } else {
        memcpy(packet->address, &name.six.sin6_addr, 16);
        packet->port = ntohs(name.six.sin6_port);
    }
    return count;
}

static int bits(const uint8_t *bytes, int count) {
    int sum = 0;
    for (int index = 0; index < count; index++) sum += __builtin_popcount(bytes[index]);
    return sum;
}

// Addresses of IPv6 from which nothing can be sent: the system still makes sure that no other host has them, or has found one that does.
struct unsettled {
    int count;
    struct {
        char digits[33], name[16];
    } list[64];
};

static void find_unsettled(struct unsettled *all) {
    all->count = 0;
#ifdef __linux__
    FILE *file = fopen("/proc/net/if_inet6", "re");
    char line[128];
    if (!file) return;
    while (all->count < 64 && fgets(line, sizeof line, file)) {
        unsigned flags;
        if (sscanf(line, "%32s %*x %*x %*x %x %15s", all->list[all->count].digits, &flags, all->list[all->count].name) == 3)
            all->count += flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) && !(flags & IFA_F_OPTIMISTIC);
    }
    fclose(file);
#endif
}

static int is_unsettled(const struct unsettled *all, const struct ifaddrs *item) {
    const uint8_t *address = ((struct sockaddr_in6 *)item->ifa_addr)->sin6_addr.s6_addr;
    char digits[33];
    if (all->count == 0) return 0;
    for (int index = 0; index < 16; index++) snprintf(digits + 2 * index, 3, "%02x", address[index]);
    for (int index = 0; index < all->count; index++)
        if (strcmp(all->list[index].digits, digits) == 0 && strcmp(all->list[index].name, item->ifa_name) == 0) return 1;
    return 0;
}

int divan_interfaces(struct divan_interface *list, int capacity) {
    struct ifaddrs *first;
    struct unsettled unsettled;
    int count = 0;
    if (getifaddrs(&first) < 0) return -errno;
    find_unsettled(&unsettled);
    for (struct ifaddrs *item = first; item; item = item->ifa_next) {
        // An interface without a cable or a base station is up, and does not run.
        if (!item->ifa_addr || !(item->ifa_flags & IFF_UP) || !(item->ifa_flags & IFF_RUNNING)) continue;
        int family = item->ifa_addr->sa_family == AF_INET ? 4 : item->ifa_addr->sa_family == AF_INET6 ? 6 : 0;
        if (!family || (family == 6 && is_unsettled(&unsettled, item))) continue;
        if (count < capacity) {
            struct divan_interface *entry = &list[count];
            memset(entry, 0, sizeof *entry);
            entry->index = if_nametoindex(item->ifa_name);
            strncpy(entry->name, item->ifa_name, sizeof entry->name - 1);
            entry->multicasts = (item->ifa_flags & IFF_MULTICAST) && !(item->ifa_flags & IFF_LOOPBACK);
            entry->family = family;
            if (family == 4) {
                memcpy(entry->address, &((struct sockaddr_in *)item->ifa_addr)->sin_addr, 4);
                if (item->ifa_netmask)
                    entry->prefix = bits((const uint8_t *)&((struct sockaddr_in *)item->ifa_netmask)->sin_addr, 4);
            } else {
                memcpy(entry->address, &((struct sockaddr_in6 *)item->ifa_addr)->sin6_addr, 16);
                if (item->ifa_netmask)
                    entry->prefix = bits((const uint8_t *)&((struct sockaddr_in6 *)item->ifa_netmask)->sin6_addr, 16);
            }
        }
        count++;
    }
    freeifaddrs(first);
    return count;
}

int divan_interfaces_watch(void) {
#ifdef __linux__
    struct sockaddr_nl here = {
        .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0) return failed(fd);
    if (nonblocking(fd) < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) < 0) return failed(fd);
    return fd;
#else
    return -ENOSYS;
#endif
}

int divan_interfaces_drain(int fd, unsigned int *gone, int capacity) {
    int count = 0;
#ifdef __linux__
    union {
        char bytes[8192];
        struct nlmsghdr alignment;
    } buffer;
    for (;;) {
        ssize_t length = recv(fd, buffer.bytes, sizeof buffer.bytes, 0);
        // Messages were lost, so what has happened to which interface is not known.
        if (length < 0 && errno == ENOBUFS) count = capacity + 1;
        if (length < 0 && (errno == ENOBUFS || errno == EINTR)) continue;
        if (length <= 0) return count;
        int left = (int)length;
        for (struct nlmsghdr *head = &buffer.alignment; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type != RTM_NEWLINK && head->nlmsg_type != RTM_DELLINK) continue;
            const struct ifinfomsg *info = NLMSG_DATA(head);
            if (head->nlmsg_type == RTM_NEWLINK && info->ifi_flags & IFF_RUNNING) continue;
            if (count < capacity) gone[count] = (unsigned int)info->ifi_index;
            count++;
        }
    }
#else
    (void)fd;
    (void)gone;
    (void)capacity;
    return count;
#endif
}

void divan_close(int descriptor) {
    if (descriptor >= 0) close(descriptor);
}
