"""Inside the guest: an agent whose decisions are declared to cost something, on a clean link."""

from __future__ import annotations

import sys
from pathlib import Path

from netlab.lab import Lab
from netlab.lab_key import lab_key
from netlab.run_folder import run_folder

if __name__ == "__main__":
    with run_folder("inference") as folder, Lab("inference") as lab:
        key = folder / "key"
        lab_key().write(key)
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent)
        netlab = [sys.executable, "-P", "-m", "netlab"]
        address = f"{agent.address}:7447"
        serving = agent.start(
            [*netlab, "agent", "serve", "--bind", address, "--key-file", str(key), "--inference", sys.argv[1]]
        )
        output = folder / "result.json"
        run = edge.start([*netlab, "env", "run", "--agent", address, "--key-file", str(key), "--wait", "60s",
                          "--output", str(output)])  # fmt: skip
        run.wait(120)
        run.check()
        serving.check()
        print(Path(output).read_text())
