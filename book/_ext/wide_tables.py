"""Tables that a notebook shows, made to fit: much in a row closer together, words that wrap, and a dash where there is no number.

The notebooks' outputs stay as they are: pandas writes the tables, and this changes what the page shows of them.
"""

import re

from docutils import nodes

MANY = 6  # columns, heads of rows among them, from which on they stand closer together
WIDE = 60  # letters in the cells of a row that may not break, likewise
LONG = 24  # letters of a cell that may break into lines
LONG_HEAD = 16  # letters of a row's head that has room for some words in a line


def fitted(text: str) -> str:
    """The HTML of a page's output with the tables of pandas in it marked for compendium.css."""
    return re.sub(
        r'<table border="1" class="dataframe">.*?</table>', lambda found: _fitted(found[0]), text, flags=re.DOTALL
    )


def _fitted(table: str) -> str:
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    columns = max(len(re.findall(r"<t[hd]", row)) for row in rows)
    letters = max(sum(len(cell) for cell in re.findall(r"<td>([^<]*)", row) if len(cell) < LONG) for row in rows)
    table = table.replace("<td>NaN</td>", "<td>–</td>")
    table = re.sub(rf"<td>(?=[^<]{{{LONG},}})", '<td class="words">', table)
    head, body, rest = table.partition("<tbody>")
    table = head + body + re.sub(rf"<th>(?=[^<]{{{LONG_HEAD},}})", '<th class="words">', rest)
    close = " many" * (columns >= MANY or letters >= WIDE)
    return table.replace('class="dataframe"', f'class="dataframe{close}"', 1)


def fit(app, doctree):
    for node in doctree.findall(nodes.raw):
        if 'class="dataframe"' in node.astext():
            node.children = [nodes.Text(fitted(node.astext()))]


def setup(app):
    app.connect("doctree-read", fit)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
