"""Whatever happens while a file is written, it is afterwards complete or unchanged."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lib.release import files

ROOT = Path(__file__).resolve().parents[3]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_at_the_end_with_its_folders(tmp_path):
    path = tmp_path / "new/folder/file.txt"
    with files.whole(path) as draft:
        draft.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it" and names(path.parent) == ["file.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path, error):
    (tmp_path / "file").write_text("before")
    with pytest.raises(error), files.whole(tmp_path / "file") as draft:
        draft.write_text("half of")
        raise error
    assert (tmp_path / "file").read_text() == "before" and names(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    (tmp_path / "file").write_text("before")
    with pytest.raises(OSError) as full, files.whole(tmp_path / "file") as draft:
        draft.unlink()
        draft.symlink_to("/dev/full")
        draft.write_text("after")
    assert full.value.errno == errno.ENOSPC
    assert (tmp_path / "file").read_text() == "before" and names(tmp_path) == ["file"]


def test_a_process_that_is_killed_leaves_the_file_as_it_was(tmp_path):
    (tmp_path / "file.csv").write_text("before")
    code = "import os, sys\nfrom lib.release import files\nwith files.whole(sys.argv[1]) as draft:\n"
    code += "    draft.write_text('half of')\n    os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "file.csv"], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL and (tmp_path / "file.csv").read_text() == "before"
    assert list(tmp_path.glob("*.csv")) == [tmp_path / "file.csv"]  # what is left behind does not pass for one


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path, mode):
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(mode)
    (tmp_path / "usual").touch()
    for name in ("old", "new"):
        with files.whole(tmp_path / name) as draft:
            draft.write_text("after")
    assert (tmp_path / "old").stat().st_mode & 0o777 == mode
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("folder/file")
    with files.whole(tmp_path / "link") as draft:
        draft.write_text("through it")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder/file").read_text() == "through it"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("folder", "is a folder, but must be a file"),
        ("file/below", r"cannot be written \(its folder is a file\)"),
        ("x" * 300 + "/below", "File name too long"),
        ("/proc/file", "cannot be written"),
        ("/dev/null", "exists and is not a regular file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_block(tmp_path, place, reason):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for call in (files.check_writable, lambda path: files.whole(path).__enter__()):
        with pytest.raises(OSError, match=reason) as refusal:
            call(tmp_path / place)
        assert refusal.value.filename == str(tmp_path / place)
    assert names(tmp_path) == ["file", "folder"] and Path("/dev/null").is_char_device()


def test_a_check_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("before")
    files.check_writable(tmp_path / "file")
    files.check_writable(tmp_path / "other")
    assert names(tmp_path) == ["file"] and (tmp_path / "file").read_text() == "before"


def test_a_check_finds_a_full_disk(tmp_path, monkeypatch):
    make = files._draft

    def on_a_full_disk(path):
        draft = make(path)
        draft.unlink()
        draft.symlink_to("/dev/full")
        return draft

    monkeypatch.setattr(files, "_draft", on_a_full_disk)
    with pytest.raises(OSError, match=r"cannot be written \(No space left on device\)") as refusal:
        files.check_writable(tmp_path / "file")
    assert refusal.value.filename == str(tmp_path / "file") and names(tmp_path) == []


def test_many_at_once_leave_one_whole_file(tmp_path):
    def write(text):
        with files.whole(tmp_path / "file") as draft:
            draft.write_text(text * 10_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set((tmp_path / "file").read_text())) == 1 and names(tmp_path) == ["file"]
    assert os.stat(tmp_path / "file").st_size == 10_000
