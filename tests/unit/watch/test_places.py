"""Which folders are watched, what in them matters, and which of them send no events."""

from pathlib import Path

import pytest

from ocmem.settings import Overrides, resolve
from ocmem.watch.places import Place, places_of, why_without_events
from tests.unit.chats import Chats


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    return Chats(tmp_path)


def test_an_agents_places_are_its_root_files_its_notes_extra_paths_and_chats(
    chats: Chats,
) -> None:
    (chats.root / "more").mkdir()
    chats.configure(extraPaths=[str(chats.root / "more"), str(chats.root / "one.md")])
    workspace = str(chats.workspace)

    found = places_of(chats.settings, ("memory", "sessions"))

    assert found == [
        Place(workspace, "memory", False, frozenset({"MEMORY.md", "memory.md", "memory"})),
        Place(f"{workspace}/memory", "memory", True),
        Place(str(chats.root / "more"), "memory", True),
        Place(str(chats.root), "memory", False, frozenset({"one.md"})),
        Place(str(chats.folder), "sessions", False),
    ]
    assert places_of(chats.settings, ("sessions",)) == found[-1:]


def test_a_plain_folder_is_watched_as_a_whole(chats: Chats) -> None:
    folder = chats.root / "notes"
    folder.mkdir()
    env = {"HOME": str(chats.root), "OCMEM_CONFIG": str(chats.overlay)}
    settings = resolve(Overrides(workspace=str(folder)), env)

    assert places_of(settings, ("memory",)) == [Place(str(folder), "memory", True)]


@pytest.mark.parametrize(
    ("place", "path", "is_folder", "matters"),
    [
        (Place("/w", "memory", True), "/w/a.md", False, True),
        (Place("/w", "memory", True), "/w/a.txt", False, False),
        (Place("/w", "memory", True), "/w/.a.md.swp", False, False),
        (Place("/w", "memory", True), "/w/deep", True, True),
        (Place("/w", "memory", False, frozenset({"memory"})), "/w/memory", True, True),
        (Place("/w", "memory", False, frozenset({"memory"})), "/w/other", True, False),
        (Place("/w", "memory", False, frozenset({"MEMORY.md"})), "/w/MEMORY.md", False, True),
        (Place("/w", "memory", False, frozenset({"MEMORY.md"})), "/w/README.md", False, False),
        (Place("/s", "sessions", False), "/s/a.jsonl", False, True),
        (Place("/s", "sessions", False), "/s/a.jsonl", True, False),
        (Place("/s", "sessions", False), "/s/sessions.json", False, False),
        (Place("/s", "sessions", False), "/s/a.jsonl.reset.2026", False, False),
    ],
)
def test_only_what_may_be_indexed_matters(
    place: Place, path: str, is_folder: bool, matters: bool
) -> None:
    assert place.cares_about(path, is_folder=is_folder) is matters


MOUNTS = """\
22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /mnt/my\\040notes rw - nfs4 server:/export rw
24 23 0:22 / /mnt/my\\040notes/local rw - tmpfs tmpfs rw
25 22 0:23 / /mnt/ssh rw - fuse.sshfs me@host: rw
26 22 0:24 / /mnt/usb rw - fuseblk /dev/sdb1 rw
27 22 0:25 / /mnt/é rw shared:3 master:1 - cifs //nas/notes rw
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me", None),
        ("/mnt/my notes", "nfs4"),
        ("/mnt/my notes/deep/er", "nfs4"),
        ("/mnt/my notes/local", None),
        ("/mnt/my notesworthy", None),
        ("/mnt/ssh/x", "fuse.sshfs"),
        ("/mnt/usb/x", None),
        ("/mnt/é/x", "cifs"),
    ],
)
def test_folders_on_other_machines_send_no_events(path: str, kind: str | None) -> None:
    told = f"it is on a {kind} file system" if kind else None

    assert why_without_events(path, MOUNTS) == told


def test_where_mounts_are_not_listed_events_are_expected() -> None:
    assert why_without_events("/x", "") is None
