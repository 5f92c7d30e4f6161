"""Catalogue of formats: which there are, and which of them a file is in.

::

    file --TraceSource--> rank 1: signatures --none--> rank 2: named columns --none--> rank 3: bare numbers
                             |                           |                                |
                             one: read it                one: read it                     two: refuse, ask --format

A format is recognised by content alone. Of the ranks, the first that recognises a file decides; where two
formats of one rank do, nobody can know, and the file is refused. A format's module is imported when it is
asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.trace import RowError, Trace
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTERS", "RANKS", "import_trace", "recognise"]

SIGNATURES, NAMED_COLUMNS, BARE_NUMBERS = "a signature", "named columns", "bare numbers"


class _Place(NamedTuple):
    """Where an importer lives, and by what it is recognised."""

    module: str
    rank: str


_PLACES = {
    "netlab": _Place("netlab_file", SIGNATURES),
    "pcap": _Place("pcap", SIGNATURES),
    "irtt": _Place("irtt", SIGNATURES),
    "iperf3": _Place("iperf3", SIGNATURES),
    "ping": _Place("ping", SIGNATURES),
    "lens": _Place("lens_csv", SIGNATURES),
    "errant": _Place("errant", SIGNATURES),
    "csv": _Place("csv_columns", NAMED_COLUMNS),
    "mahimahi": _Place("mahimahi", BARE_NUMBERS),
    "cooked": _Place("cooked", BARE_NUMBERS),
    "oboe": _Place("oboe", BARE_NUMBERS),
    "rtt-list": _Place("rtt_list", BARE_NUMBERS),
}

RANKS = (SIGNATURES, NAMED_COLUMNS, BARE_NUMBERS)
"""In the order in which they are asked."""

_PACKED = {
    b"\x1f\x8b": "gzip more than once",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_WORDS = {"interval_s": "--interval", "bin_s": "--bin", "columns": "--column", "kind": "--kind"}
_HINT = "name its format by --format; `netlab trace formats` lists them"


class _Importers(Mapping[str, Importer]):
    """The importers by name, in the order of recognition, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Importer:
        importer = import_module(f"netlab.traces.importers.{_PLACES[name].module}").IMPORTER
        assert isinstance(importer, Importer)
        return importer

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


IMPORTERS: Mapping[str, Importer] = _Importers()


def import_trace(
    path: str | os.PathLike[str], format_name: str = "", options: ImportOptions | None = None
) -> list[Trace]:
    """Return what a file in any known format holds: one to three traces.

    Args:
        path: The file; it may be compressed by gzip.
        format_name: Its format; empty to recognise it by content, or by the options: columns are a CSV's.
        options: What the file does not say itself.

    Raises:
        TraceError: It cannot be read, no format or more than one recognises it, it breaks its format's rules, or
            an option is given that the format does not use.
    """
    source = TraceSource(path)
    if format_name and format_name not in IMPORTERS:
        from netlab.did_you_mean import did_you_mean

        hint = did_you_mean(format_name, IMPORTERS) or f"there are {', '.join(IMPORTERS)}"
        raise source.refuse(f"the format {format_name[:40]!r} is not known", hint=hint)
    options = options or ImportOptions()
    if options.columns and not format_name:
        format_name = "csv"  # names that nobody else knows are what one says columns for
    _refuse_wrapped(source)
    importer = IMPORTERS[format_name] if format_name else recognise(source)
    _refuse_options(source, importer, options)
    try:
        return importer.read(source, options)
    except RowError as error:
        raise source.refuse(f"read as {importer.name}, row {error.row + 1}: {error.rule}", hint=_HINT) from None


def recognise(source: TraceSource) -> Importer:
    """Return the importer of the one format that a file is in.

    Raises:
        TraceError: It is empty, in no known format, or in what two formats claim.
    """
    if not source.head:
        source.data()  # a damaged gzip file says so itself
        raise source.refuse("is empty: it holds no measurement", hint="measure again, or name another file")
    for rank in RANKS:
        found = [
            importer
            for importer in (IMPORTERS[name] for name in IMPORTERS if _PLACES[name].rank == rank)
            if importer.recognises(source)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = " and ".join(importer.name for importer in found)
            raise source.refuse(f"{names} claim it equally: {rank} do not tell them apart", hint=_either(found))
    tried = ", ".join(IMPORTERS)
    raise source.refuse(f"is in none of the formats known by content (tried {tried})", hint=_HINT)


def _refuse_wrapped(source: TraceSource) -> None:
    """Refuse what no format is, whichever it is said to be: packed by another packer, or in another alphabet."""
    for magic, packer in _PACKED.items():
        if source.head.startswith(magic):
            raise source.refuse(
                f"is packed by {packer}", hint="unpack it first; of packed files gzip alone is read, once"
            )
    if source.head.startswith(_UTF_16):
        raise source.refuse("is text in UTF-16", hint="save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW")


def _refuse_options(source: TraceSource, importer: Importer, options: ImportOptions) -> None:
    """Refuse what was said of a file and would be passed over."""
    for name in sorted(options.given - importer.options):
        users = ", ".join(other for other in IMPORTERS if name in IMPORTERS[other].options)
        raise source.refuse(
            f"the format {importer.name} does not use {_WORDS[name]}", hint=f"leave it out: it is for {users}"
        )


def _either(found: list[Importer]) -> str:
    return "say which it is by " + " or ".join(f"--format {importer.name}" for importer in found)
