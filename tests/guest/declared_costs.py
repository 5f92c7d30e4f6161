"""Inside the guest: what declared costs take on a lab host with N virtual CPUs; one line of JSON."""

from __future__ import annotations

import json
import sys
import time

from netlab.lab import Lab

CHARGES = "from netlab.charge import charge\nfor _ in range(50): charge(0.004)\n"
START = "import os, sys\nos.read(0, 1)\n"

if __name__ == "__main__":
    import os

    with Lab("costs") as lab:
        host = lab.add_host("robot", virtual_cpus=int(sys.argv[1]))
        read_end, write_end = os.pipe()
        # All have started, and wait for one byte each, before the clock is read.
        programs = [host.start([sys.executable, "-c", START + CHARGES], stdin=read_end) for _ in range(4)]
        time.sleep(10.0)
        begin_s = time.monotonic()
        os.write(write_end, b"4444")
        for program in programs:
            program.wait(60)
            program.check()
        print(json.dumps(time.monotonic() - begin_s))
