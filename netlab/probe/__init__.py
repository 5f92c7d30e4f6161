"""Probe: prober and reflector, which measure what a path delivers; they run on real hosts too."""
