"""Reading a machine's apt sources, and writing apt's configuration for a fetch of our own."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.archive import (
    DEBIAN_KEYRING,
    Mirror,
    SourceEntry,
    apt_configuration,
    debian_mirrors,
    explain_apt_failure,
    kernel_series,
    needed_libc,
    needs_own_libc,
    parse_deb822_sources,
    parse_one_line_sources,
    parse_stanzas,
    source_stanza,
)

DEB822 = """\
# the machine's own
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: https://vendor.example/node_20.x
Suites: nodistro
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main
"""

ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib  # comment
deb-src http://mirror.example/debian bookworm main
deb https://vendor.example/linux/debian bookworm stable

deb http://sec.example/debian-security bookworm-security main
"""


def test_deb822_sources() -> None:
    entries = parse_deb822_sources(DEB822)
    assert [entry.uris[0] for entry in entries] == [
        "http://mirror.example/debian",
        "http://mirror.example/debian-security",
        "https://vendor.example/node_20.x",
    ]
    assert entries[0].suites == ("bookworm", "bookworm-updates")
    assert entries[0].signed_by == DEBIAN_KEYRING
    assert entries[2].signed_by.startswith(" -----BEGIN PGP")


def test_one_line_sources() -> None:
    entries = parse_one_line_sources(ONE_LINE)
    assert entries[0] == SourceEntry(
        ("http://mirror.example/debian",), ("bookworm",), ("main", "contrib"), "/k.gpg"
    )
    assert len(entries) == 3


@pytest.mark.parametrize("entries", [parse_deb822_sources(DEB822), parse_one_line_sources(ONE_LINE)])
def test_only_debian_itself_is_a_mirror_and_its_own_keyring_is_trusted(entries: list[SourceEntry]) -> None:
    assert debian_mirrors(entries, "bookworm", keyring_exists=True) == [
        Mirror("http://mirror.example/debian", DEBIAN_KEYRING)
    ]


def test_an_address_that_looks_like_debian_comes_first() -> None:
    entries = [
        SourceEntry(("https://onion.example/project",), ("bookworm",), ("main",), "/o.gpg"),
        SourceEntry(("https://mirror.example/debian/",), ("bookworm",), ("main",), "/d.gpg"),
    ]
    mirrors = debian_mirrors(entries, "bookworm", keyring_exists=False)
    assert [mirror.signed_by for mirror in mirrors] == ["/d.gpg", "/o.gpg"]


def test_our_source_list_reads_back() -> None:
    key = " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc"
    for signed_by in ("/k.gpg", "", f"\n{key}"):
        (entry,) = parse_deb822_sources(source_stanza(Mirror("http://mirror.example/debian", signed_by), "forky"))
        assert entry == SourceEntry(
            ("http://mirror.example/debian",), ("forky",), ("main",), signed_by.strip("\n")
        )


def test_apt_is_kept_within_its_folder_and_to_signatures() -> None:
    text = apt_configuration(PurePosixPath("/cache/apt"))
    for line in (
        'Dir::Etc::SourceList "/cache/apt/debian.sources";',
        'Dir::Etc::SourceParts "/dev/null";',
        'Dir::State::Lists "/cache/apt/lists";',
        'Dir::State::status "/cache/apt/status";',
        'Dir::Cache "/cache/apt/cache";',
        'APT::Get::AllowUnauthenticated "false";',
        'Acquire::AllowInsecureRepositories "false";',
        "#clear APT::Update;",
        "#clear DPkg;",
    ):
        assert line in text.splitlines()


def test_a_folder_that_apt_cannot_name_is_refused() -> None:
    with pytest.raises(GuestError, match="quote"):
        apt_configuration(PurePosixPath('/ca"che'))


@pytest.mark.parametrize(
    ("version", "series"),
    [("7.2um1", (7, 2)), ("6.12um1+b3", (6, 12)), ("1:6.13.4-1", (6, 13)), ("10.0um1", (10, 0)), ("um", (0, 0))],
)
def test_kernel_series(version: str, series: tuple[int, int]) -> None:
    assert kernel_series(version) == series


def test_needed_libc() -> None:
    assert needed_libc("libc6 (>= 2.38)") == (2, 38)
    assert needed_libc("foo, libc6 (>= 2.4), bar (>= 9)") == (2, 4)
    assert needed_libc("foo-libc6 (>= 9)") == ()
    assert needed_libc("") == ()


def test_stanzas_keep_continuation_lines() -> None:
    assert parse_stanzas("A: 1\nB: x\n y\n\n\nA: 2\n") == [{"a": "1", "b": "x\n y"}, {"a": "2"}]


@pytest.mark.parametrize(
    ("output", "says", "not_there"),
    [
        (
            "W: GPG error: http://m forky InRelease: NO_PUBKEY 78\nE: The repository is not signed.",
            "signature",
            False,
        ),
        ("E: Failed to fetch http://m/InRelease  Could not resolve 'm'", "no network", False),
        ("E: The repository 'http://m nosuch Release' does not have a Release file.", "not there", True),
        ("E: Write error - write (28: No space left on device)", "no room", False),
        ("E: something else", "apt failed: E: something else", False),
        ("", "no message", False),
    ],
)
def test_apts_failures_are_explained(output: str, says: str, not_there: bool) -> None:
    failure = explain_apt_failure(output)
    assert says in failure.message
    assert failure.hint
    assert failure.not_there is not_there
    assert failure.no_network is (says == "no network")


@pytest.mark.parametrize(
    ("host", "own"),
    [((2, 36), True), ((2, 37), True), ((2, 38), False), ((2, 41), False), ((3, 0), False), ((), True)],
)
def test_a_machine_whose_c_library_is_new_enough_uses_it(host: tuple[int, ...], own: bool) -> None:
    assert needs_own_libc("foo, libc6 (>= 2.38)", host) is own


def test_a_kernel_that_asks_for_no_c_library_gets_none() -> None:
    assert not needs_own_libc("foo", (2, 36))
