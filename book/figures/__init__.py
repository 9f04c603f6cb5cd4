"""The book's drawing style, and the numbers of every figure for download."""

from book.figures.style import COLORS, HOUSE_STYLE, use_house_style
