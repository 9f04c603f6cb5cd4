"""What a page of feedback shows of texts and pictures that a browser would take long to show, or that fill its memory."""

import base64
import json
import struct
import zlib

import pytest

from notebooks.assignments import feedback, grade


def record(*texts: str, answer: str = "") -> dict:
    """Return the record of a submission with an own cell for each of `texts`, and an answer in words."""
    own = {"id": "", "kind": "own", "type": "markdown", "points": 0.0, "outcome": None}
    question = {"id": "q", "by_hand": True, "points": None, "out_of": 3.0, "note": "", "text": answer, "part": ""}
    return {
        "plan": [own | {"shown": text} for text in texts],
        "questions": [question],
        "language": "en",
        "problems": [],
    }


def test_what_takes_long_to_show_is_shown_as_it_was_typed(tmp_path, monkeypatch):
    """Each formula is short enough by itself."""
    monkeypatch.setattr(feedback, "MOST_TAGS", 2000)
    many = ["$x$\n\n" * 10] * 50
    with pytest.raises(ValueError, match="would take too long"):
        feedback.parts(record(*many))
    grade._write_record(record(*many), tmp_path / "record.json")
    written = json.loads((tmp_path / "record.json").read_text())
    assert sum(each.count("<") for each in written["shown"]["cells"]) == 200 and "plain text" in written["problems"][0]


@pytest.mark.parametrize(("answer", "shown"), [
    ("It is $x$.", "<math>"), ("$x$ " * 2000, "<pre>$x$ $x$ "), ("word " * 10_000, "[the rest is left out]</pre>"),
    (r"$\def\x{" + "x" * 1000 + "}" + r" \x" * 90 + "$", r"$\def\x{x"),
])  # fmt: skip
def test_an_answer_takes_a_fair_part_of_the_page_of_all_answers(answer, shown):
    made = feedback.parts(record(answer=answer))["answers"]["q"]
    assert shown in made and made.count("<") <= feedback.MOST_TAGS_OF_ANSWER and len(made) < 30_000


@pytest.mark.parametrize(
    ("width", "height", "is_shown"), [(640, 480, True), (30_000, 30_000, False), (2**31 - 1, 1, False)]
)
def test_a_picture_with_too_many_pixels_is_not_shown(width, height, is_shown):
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    data = {"image/png": base64.encodebytes(png).decode(), "text/plain": "<Figure>"}
    output = feedback.nbformat.v4.new_output("display_data", data)
    assert ("<img " in feedback._output(output, False, "en")) == is_shown
    for odd in (
        "",
        "x",
        "é" * 40,
        base64.b64encode(bytes(24)).decode(),
        base64.b64encode(b"<svg onload='alert(1)'/>" * 2).decode(),
    ):
        output.data["image/png"] = odd
        assert feedback._output(output, False, "en") == '<pre class="out">&lt;Figure&gt;</pre>'
