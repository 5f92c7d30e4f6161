"""Measure the round trip between two hosts on a link that changes while we watch.

Run it as root on a kernel with netem, or anywhere with: netlab guest run -- python examples/two_hosts.py
"""

import sys
import time

from netlab.lab import Lab
from netlab.traces.profile import LinkProfile

ECHO = """
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("", 7))
print("up", flush=True)
while True:
    sock.sendto(*sock.recvfrom(100))
"""

ASK = """
import os, socket, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(1)
began = time.perf_counter()
sock.sendto(b"?", (os.environ["NETLAB_PEER"], 7))
sock.recv(100)
print(f"{(time.perf_counter() - began) * 1e3:.0f}")
"""

with Lab(seed=7) as lab:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    link = lab.add_link(edge, agent, LinkProfile(delay_s=0.010))
    echo = agent.start([sys.executable, "-c", ECHO])
    while echo.last_lines() != "up":
        time.sleep(0.01)
    for delay_s in (0.010, 0.050, 0.100):
        link.apply(LinkProfile(delay_s=delay_s))
        ask = edge.start([sys.executable, "-c", ASK])
        ask.wait(10)
        ask.check()
        print(f"{delay_s * 1e3:.0f} ms each way: a round trip of {ask.last_lines()} ms")
