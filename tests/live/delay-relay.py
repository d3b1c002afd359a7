# SPDX-License-Identifier: GPL-2.0-or-later
"""Forwards frames between two interfaces; once FILE exists, those of the first one are delayed.

delay-relay.py FIRST SECOND SECONDS FILE
"""
import heapq
import os
import select
import socket
import sys
import time

first, second, seconds, file = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
ETH_P_ALL, PACKET_OUTGOING = 3, 4
ends = {}
for name, other in ((first, second), (second, first)):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.bind((name, 0))
    ends[name] = s
late, number, delay = [], 0, 0.0
print("ready", flush=True)
while True:
    wait = max(late[0][0] - time.monotonic(), 0) if late else 0.05
    for s in select.select(list(ends.values()), [], [], wait)[0]:
        frame, source = s.recvfrom(65535)
        if source[2] == PACKET_OUTGOING:
            continue
        is_first = s is ends[first]
        if not delay and os.path.exists(file):
            delay = seconds
        number += 1
        heapq.heappush(late, (time.monotonic() + (delay if is_first else 0), number,
                              ends[second if is_first else first], frame))
    while late and late[0][0] <= time.monotonic():
        _, _, target, frame = heapq.heappop(late)
        target.send(frame)
