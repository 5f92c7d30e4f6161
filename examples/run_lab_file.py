"""Run the lab of a TOML file: start its commands, wait for the first to end, print what each has printed last.

    netlab guest run -- python examples/run_lab_file.py examples/two_hosts.toml

or, as root on a kernel with netem, without ``netlab guest run --``.
"""

import sys
import time

from netlab.lab import Lab

with Lab.from_toml(sys.argv[1]) as lab:
    lab.play()
    processes = lab.start_commands()
    while processes and all(process.poll() is None for process in processes):  # a server ends with the lab
        time.sleep(0.01)
    for process in processes:
        print(f"{process.label}: {process.last_lines()}")
    lab.check()
