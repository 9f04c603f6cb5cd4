"""The Binder and Colab buttons (book/_ext/web.py) open the notebooks that are in git."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from book._ext import web

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "remote, address",
    [
        ("https://github.com/someone/compendium.git\n", "https://github.com/someone/compendium"),
        ("https://github.com/someone/compendium", "https://github.com/someone/compendium"),
        ("git@github.com:someone/a.b-c.git", "https://github.com/someone/a.b-c"),
        ("ssh://git@github.com/someone/compendium.git", "https://github.com/someone/compendium"),
        ("https://example.org/someone/compendium.git", ""),
        ("https://github.com.example.org/someone/compendium", ""),
        ("/srv/git/compendium", ""),
        ("", ""),
    ],
)
def test_the_address_of_a_remote(remote, address):
    assert web.on_github(remote) == address


def options_after(folder, **given):
    config = SimpleNamespace(html_theme_options={"launch_buttons": {"binderhub_url": "b", "colab_url": "c"}, **given})
    web.find_address(SimpleNamespace(srcdir=folder), config)
    return config.html_theme_options


def test_origin_is_taken_unless_the_configuration_names_an_address(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert options_after(tmp_path)["launch_buttons"] == {}
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:a/b.git"], cwd=tmp_path, check=True)
    assert options_after(tmp_path)["repository_url"] == "https://github.com/a/b"
    assert (
        options_after(tmp_path, repository_url="https://github.com/c/d")["repository_url"] == "https://github.com/c/d"
    )
    assert options_after(tmp_path)["launch_buttons"] == {"binderhub_url": "b", "colab_url": "c"}


@pytest.mark.full
def test_the_buttons_of_a_small_book(tmp_path):
    """With the book's own settings and an address, a chapter's buttons name its notebook's path in git."""
    book = tmp_path / "book"
    (book / "notebooks/miura2022").mkdir(parents=True)
    (book / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: notebooks/miura2022/01_proofs\n")
    (book / "index.md").write_text("# A book\n")
    notebook = next((ROOT / "notebooks/miura2022").glob("01_proofs.ipynb"))
    (book / "notebooks/miura2022/01_proofs.ipynb").write_text(
        '{"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A chapter"}], "nbformat": 4, "nbformat_minor": 5,'
        ' "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}}}'
    )
    own = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    theme = {name: style for name, style in own["sphinx"]["config"]["html_theme_options"].items() if "pygments" in name}
    settings = {
        "title": "A book",
        "execute": own["execute"],
        "launch_buttons": own["launch_buttons"],
        "repository": own["repository"] | {"url": "https://github.com/someone/compendium"},
        "sphinx": {
            "recursive_update": True,
            "local_extensions": {"book._ext.web": str(ROOT)},
            "config": {"html_theme_options": theme},
        },
    }
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(settings))
    built = subprocess.run(
        [
            sys.executable,
            "-c",
            "from jupyter_book.cli.main import main; main()",
            "build",
            book,
            "--config",
            tmp_path / "_config.yml",
            "--path-output",
            tmp_path,
        ],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    page = (tmp_path / "_build/html/notebooks/miura2022/01_proofs.html").read_text(encoding="utf-8")
    path = notebook.relative_to(ROOT).as_posix()
    assert f"https://mybinder.org/v2/gh/someone/compendium/main?urlpath=lab/tree/{path}" in page
    assert f"https://colab.research.google.com/github/someone/compendium/blob/main/{path}" in page
