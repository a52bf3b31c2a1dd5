"""Text on standard output: headings, paragraphs, tables.

A table is as wide as its content: a narrow terminal breaks its lines, but no digit is cut.
"""

import os
import sys

_COLUMNS = 160  # paragraphs are broken there, or at the width of a wider terminal


def bold(text):
    """Text that stands out where the terminal can show it."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain else f"\033[1m{text}\033[0m"


def paragraph(text):
    """Print a line, broken between words where it is long."""
    if len(text) <= _COLUMNS:
        print(text)
        return
    import shutil
    import textwrap

    width = max(_COLUMNS, shutil.get_terminal_size().columns)
    print("\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)))


class Table:
    """Rows of text under headings.

    title, caption : lines above and below
    gap : spaces between columns
    indent : spaces before every row and heading
    """

    def __init__(self, title="", caption="", gap=2, indent=0):
        self.title, self.caption = title, caption
        self._gap, self._indent = " " * gap, " " * indent
        self._headings, self._rights, self._rows = [], [], []

    def add_column(self, heading="", right=False):
        """A further column, its cells on the left or on the right."""
        self._headings.append(heading)
        self._rights.append(right)

    def add_row(self, *cells):
        """A row, one text a column."""
        if len(cells) != len(self._headings):
            raise ValueError(f"{len(cells)} cells in a table of {len(self._headings)} columns")
        self._rows.append(cells)

    def print(self):
        """Print title, headings (where one is given), rows, caption."""
        if self.title:
            print(bold(self.title))
        widths = [max(map(len, cells)) for cells in zip(self._headings, *self._rows, strict=True)]
        if any(self._headings):
            print(bold(self._line(self._headings, widths)))
        for row in self._rows:
            print(self._line(row, widths))
        if self.caption:
            print(self.caption)

    def _line(self, cells, widths):
        placed = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(cells, widths, self._rights, strict=True)
        )
        return (self._indent + self._gap.join(placed)).rstrip()
