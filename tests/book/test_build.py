"""`python -m book.site.build html`: the editions are made side by side, and an edition that fails makes the build fail.

A function stands in for the pages.
"""

import multiprocessing
import pickle
import threading
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from book._ext import editions
from book.editions import catalogues, edition
from book.site import build

STATUS = {"en": 0, "ja": 0}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Provide the status of a build whose editions end as told, where English comes as far as `read`; and the folder."""
    monkeypatch.setattr(catalogues, "FOUND", tmp_path / "messages.json")

    def make(read=True, **ends):
        def pages(builder, folder, language, editions):
            (folder / language / builder).mkdir(parents=True)
            (folder / language / builder / "index.html").write_text(language)
            print(f"what Sphinx says of {language}")
            if language == "en" and read:
                edition.read.set()
            return (STATUS | ends)[language]

        monkeypatch.setattr(build, "pages", pages)
        return build.html(tmp_path, ["en", "ja"])

    others = multiprocessing.active_children()  # of other tests
    yield make, tmp_path
    for process in multiprocessing.active_children():
        if process not in others:
            process.terminate()


def test_the_others_lie_in_folders_of_the_first(made, capfd):
    make, folder = made
    assert make() == 0
    assert [(folder / place).read_text() for place in ("html/index.html", "html/ja/index.html")] == ["en", "ja"]
    said = capfd.readouterr().out
    assert "what Sphinx says of en" in said and "what Sphinx says of ja" in said


@pytest.mark.parametrize(("read", "ends"), [(True, {"en": 1}), (True, {"ja": 1}), (False, {"en": 2})])
def test_a_failure_of_any_is_told_and_leaves_nothing_where_the_book_would_be(made, capfd, read, ends):
    make, folder = made
    assert make(read, **ends) == 1
    assert not (folder / "html").exists()
    assert ("what Sphinx says of ja" in capfd.readouterr().out) == read


@pytest.mark.parametrize("told", ["the next page has begun", "all are read"])
def test_a_page_waits_until_the_english_one_is_read(tmp_path, monkeypatch, told):
    env = SimpleNamespace(found_docs={"first", "second"}, docname="first")
    document = new_document("first")
    document += nodes.section(ids=["claims"])
    (tmp_path / "first.doctree").write_bytes(pickle.dumps(document))
    monkeypatch.setattr(edition, "language", "ja")
    monkeypatch.setattr(edition, "environment", tmp_path / "environment.pickle")
    monkeypatch.setattr(edition, "read", threading.Event())
    monkeypatch.setattr(edition, "begun", SimpleNamespace(value=1))
    page = new_document("first")
    page += nodes.section(ids=["主張"])
    waiting = threading.Thread(target=editions.same_places, args=(SimpleNamespace(env=env), page), daemon=True)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive() and page[0]["ids"] == ["主張"]
    if told == "all are read":
        edition.read.set()
    else:
        edition.begun.value = 2
    waiting.join(10)
    assert page[0]["ids"] == ["claims", "主張"]
