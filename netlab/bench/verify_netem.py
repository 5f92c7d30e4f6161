"""One flow through real netem in virtual time, for the figure ``verify-power``.

::

    profile --TOML--> netlab verify --virtual-time --traces FOLDER --> forward.csv --> Flow
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from netlab.errors import LabError
from netlab.run_folder import run_folder
from netlab.traces.conformance.flow import Flow, flow_of_trace
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.toml_profile import format_profile
from netlab.traces.trace_file import read_trace

__all__ = ["deliver_on_netem"]


def deliver_on_netem(profile: LinkProfile, packets: int, rate_hz: float, length_bytes: int, seed: int) -> Flow:
    """Return what real netem delivers of a flow.

    Args:
        profile: What it is asked to do, both ways.
        packets: How many are sent each way.
        rate_hz: Packets a second.
        length_bytes: Of each Ethernet frame.
        seed: Of the link.

    Raises:
        LabError: There is no guest with virtual time, or it did not come to its end.
    """
    # Not in memory, and where a guest may write too.
    with run_folder("bench", Path(tempfile.gettempdir())) as folder:
        written, traces = folder / "link.toml", folder / "traces"
        written.write_text(format_profile(ProfilePair("delivered", profile, profile)), encoding="utf-8")
        payload_bytes = length_bytes - 42  # Ethernet, IPv4 and UDP headers
        command = [
            sys.executable, "-P", "-m", "netlab", "verify", str(written), "--virtual-time",
            "--count", str(packets), "--rate", f"{rate_hz:g}", "--size", f"{payload_bytes}B",
            "--seed", str(seed), "--traces", str(traces),
        ]  # fmt: skip
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        found = traces / "forward.csv"
        if not found.exists():
            raise LabError("netem in virtual time could not be measured", done.returncode, done.stderr[-1000:])
        return flow_of_trace(read_trace(found), length_bytes)
