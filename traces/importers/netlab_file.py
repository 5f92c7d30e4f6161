"""netlab's own trace file, among the formats that can be imported: it comes out as it is."""

from __future__ import annotations

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.trace import Trace
from netlab.traces.trace_file import parse_trace
from netlab.traces.trace_header import SIGNATURE
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]


def _recognises(source: TraceSource) -> bool:
    return source.head.startswith(SIGNATURE)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    return [parse_trace(source)]


IMPORTER = Importer("netlab", "netlab's own trace file: # lines, then CSV", _recognises, _read)
