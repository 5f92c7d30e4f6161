"""Describe a link in Python, keep it as a file, read it back, and see what it will deliver. Needs no root.

Run it with a file name to keep the file::

    python examples/profile_to_toml.py lte.toml
    netlab profile show lte.toml
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from netlab.traces.delivery import delivered_moments
from netlab.traces.horizon import horizon_ticks
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.toml_profile import read_profile, write_profile

PACKETS_PER_S = 50.0


def main(path: Path) -> None:
    # Up: slow and bursty. Down: fast. Both keep packets in order, as one path does.
    up = LinkProfile(
        delay_s=0.040,
        jitter_s=0.015,
        law="pareto",
        loss=GilbertElliott.from_mean(0.02, burst_packets=4),
        rate_bps=5e6,
    )
    down = LinkProfile(delay_s=0.030, jitter_s=0.005, rate_bps=40e6)
    pair = ProfilePair("lte", forward=up, back=down, description="a phone in a moving car")

    write_profile(pair, path)
    assert read_profile(path) == pair
    print(path.read_text())

    for name, link in (("forward", up), ("back", down)):
        asked = f"{1e3 * link.delay_mean_s:.1f} +- {1e3 * link.delay_sd_s:.1f} ms"
        mean_s, sd_s = delivered_moments(link, PACKETS_PER_S)
        print(f"{name}: asked {asked}, delivered at {PACKETS_PER_S:g}/s {1e3 * mean_s:.1f} +- {1e3 * sd_s:.1f} ms")
    print(f"play-out horizon at {PACKETS_PER_S:g} Hz: {horizon_ticks(pair, 1.0 / PACKETS_PER_S)} ticks")
    for warning in pair.warnings():
        print(f"note: {warning}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "lte.toml")
