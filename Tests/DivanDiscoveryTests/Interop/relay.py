#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries Ethernet frames between two interfaces, of which it loses some and delays all.

    relay.py ONE OTHER LOSS DELAY SEED

LOSS is the share of frames that are lost, DELAY the longest delay in seconds; each frame has one between half of it and all of it,
so that frames overtake each other.
"""

import heapq
import itertools
import random
import select
import socket
import sys
import time

ALL_PROTOCOLS = 3
SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_IGNORE_OUTGOING = 23


def opened(interface):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # Between virtual interfaces checksums are left for later. The header of virtio tells of it, and is sent along.
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.bind((interface, ALL_PROTOCOLS))
    return end


def main():
    one, other = opened(sys.argv[1]), opened(sys.argv[2])
    loss, delay, chance = float(sys.argv[3]), float(sys.argv[4]), random.Random(int(sys.argv[5]))
    across = {one: other, other: one}
    waiting, numbers = [], itertools.count()
    print("ready", flush=True)
    while True:
        pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select([one, other], [], [], pause)[0]:
            frame = end.recv(65536)
            if chance.random() >= loss:
                due = time.monotonic() + delay * chance.uniform(0.5, 1)
                heapq.heappush(waiting, (due, next(numbers), across[end], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            try:
                end.send(frame)
            except OSError:
                pass  # The interface is down, so the frame is lost.


main()
