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


# ---- folders


@pytest.mark.parametrize("kind", ["absent", "below absent ones", "empty", "link", "dangling link"])
def test_a_new_folder_appears_whole_where_it_is_to_be(tmp_path, kind):
    output, target = tmp_path / "out", tmp_path / "elsewhere/target"
    if kind == "below absent ones":
        output = tmp_path / "one/two/out"
    elif kind == "empty":
        output.mkdir(mode=0o700)
    elif kind.endswith("link"):
        output.symlink_to(target)
        if kind == "link":
            target.mkdir(parents=True)
    with files.new_folder(output) as made:
        assert not output.exists() or not list(output.iterdir())
        (made / "file").write_text("all")
    assert (output / "file").read_text() == "all" and output.is_symlink() == kind.endswith("link")
    assert kind != "empty" or output.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.rglob(".released-*"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device", "file")])
@pytest.mark.parametrize(("place", "there"), [("out", True), ("out", False), ("above/and/out", False)])
def test_a_block_that_ends_early_leaves_no_folder(tmp_path, error, place, there):
    (tmp_path / "out").mkdir() if there else None
    with pytest.raises(type(error)) as raised, files.new_folder(tmp_path / place) as made:
        (made / "file").write_text("half")
        raise error
    assert raised.value is error
    assert names(tmp_path) == ["out"] * there and not list(tmp_path.rglob("file"))


def test_of_two_that_make_one_folder_the_second_is_refused_and_the_first_stays(tmp_path):
    output = tmp_path / "out"
    said = r"cannot be created, so nothing was released \(Directory not empty\)"
    with pytest.raises(OSError, match=said) as refusal, files.new_folder(output) as second:
        (second / "file").write_text("of the second")
        with files.new_folder(output) as first:
            (first / "file").write_text("of the first")
    assert refusal.value.filename == str(output)
    assert (output / "file").read_text() == "of the first" and names(tmp_path) == ["out"]


@pytest.mark.parametrize("place", ["file", "full", "link to a file", "file/below", ".", "/proc/out", "/", "circle"])
def test_a_place_for_no_folder_is_refused_before_the_block(tmp_path, monkeypatch, place):
    """What is done at the end is tried at the beginning; the current folder would be taken away from the shell."""
    (tmp_path / "file").touch()
    (tmp_path / "full/of").mkdir(parents=True)
    (tmp_path / "link to a file").symlink_to("file")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = names(tmp_path)
    with pytest.raises(OSError) as refusal, files.new_folder(place if place in ("/", ".") else tmp_path / place):
        raise AssertionError
    assert ".released-" not in str(refusal.value) and names(tmp_path) == before


def test_a_place_that_cannot_be_replaced_is_refused_before_the_block(tmp_path):
    """A mounted folder is one: it is empty, but nothing can take its place."""
    (tmp_path / "disk").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tmp_path / "disk"], capture_output=True).returncode:
        pytest.skip("only an administrator may mount a disk")
    try:
        said, folder = "cannot be created, so nothing was released", files.new_folder(tmp_path / "disk")
        with pytest.raises(OSError, match=said), folder:
            raise AssertionError
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)
    assert names(tmp_path) == ["disk"]
