"""The parts of the front page and of the page of downloads: bars, wide tables, the site in one file."""

import zipfile

import pytest

from book._ext import pages, tables
from book.site import downloads


def test_bars_are_as_long_as_their_numbers():
    assert tables.parts([3200.58, 1.15], 0) == pytest.approx([1, 1.15 / 3200.58])
    assert tables.parts([0.9, 0.7], 0.5) == pytest.approx([1, 0.5])
    made = tables.drawn([("as printed", "3,200.58"), (r"$\alpha$", "1.15")], "Bound", unit=" %")
    assert '<th scope="row">as printed</th><td><span style="--part: 1.0000"></span>3,200.58 %</td>' in made
    assert "--part: 0.0004" in made and r"\(\alpha\)" in made and "begin" not in made
    assert "Bound; bars begin at 0.5" in tables.drawn([("a", "0.9"), ("b", "0.7")], "Bound", 0.5)


@pytest.mark.parametrize("numbers, start", [([0.4, 0.9], 0.5), ([0.0, 0.0], 0), ([-1.0], 0)])
def test_bars_that_would_mislead_are_refused(numbers, start):
    with pytest.raises(ValueError, match="bars must begin below"):
        tables.parts(numbers, start)


def table(columns, cell="1.5"):
    row = "<tr>" + f"<td>{cell}</td>" * columns + "</tr>"
    return (
        f'<div><table border="1" class="dataframe"><thead><tr><th></th></tr></thead><tbody>{row}</tbody></table></div>'
    )


def test_a_table_of_many_columns_stands_closer_and_its_words_wrap():
    assert 'class="dataframe many"' in pages.fitted(table(pages.MANY))
    assert pages.fitted(table(pages.MANY - 1)) == table(pages.MANY - 1)
    assert '<td class="words">' + "a b " * 8 in pages.fitted(table(2, "a b " * 8))
    assert pages.fitted(table(2, "NaN")).count("<td>–</td>") == 2


def test_a_table_of_wide_cells_stands_closer_and_long_heads_of_rows_have_room():
    interval = "+1.0 (+0.0 to +2.0)"
    few = pages.WIDE // len(interval)
    assert 'class="dataframe many"' in pages.fitted(table(few + 1, interval))
    assert pages.fitted(table(few, interval)) == table(few, interval)
    headed = (
        table(1)
        .replace("<th></th>", "<th>the head of a column</th>")
        .replace("<tr><td>", "<tr><th>all but our choice</th><td>")
    )
    found = pages.fitted(headed)
    assert '<th class="words">all but our choice' in found and "<th>the head of a column" in found
    assert pages.fitted(headed.replace("all but our choice", "short")).count("words") == 0


OFFERED = '<td><p><span class="offer" data-file="{}">`make` puts it here</span></p></td>'


def test_the_site_is_offered_in_one_file_and_the_pdf_beside_it(tmp_path):
    page = tmp_path / "html/take-away.html"
    page.parent.mkdir()
    page.write_text(OFFERED.format(downloads.SITE) + OFFERED.format(downloads.PDF))
    (tmp_path / "html/theme.css.map").write_text("{}")
    (tmp_path / "book.pdf").write_bytes(b"%PDF" + b"0" * 2_000_000)
    assert (
        downloads.main(["zip", str(page.parent)])
        == 0
        == downloads.main(["pdf", str(page.parent), str(tmp_path / "book.pdf")])
    )
    assert downloads.main(["zip", str(page.parent)]) == 0  # again: neither file is packed
    assert zipfile.ZipFile(page.parent / downloads.SITE).namelist() == ["compendium/take-away.html"]
    assert f'<a href="{downloads.PDF}" download>{downloads.PDF}</a>, 2 MB</span>' in page.read_text()
    assert (page.parent / downloads.PDF).stat().st_size > 2_000_000


def test_what_cannot_be_offered_is_said(tmp_path, capsys):
    assert downloads.main(["zip", str(tmp_path)]) == 2 and "Give a built site" in capsys.readouterr().err
    (tmp_path / downloads.PAGE).write_text("no place for it")
    with pytest.raises(ValueError, match="must have one place for compendium-site.zip, got 0"):
        downloads.main(["zip", str(tmp_path)])
