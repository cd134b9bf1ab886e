#!/usr/bin/env python3
"""Turns what a terminal shows into an SVG picture.

    tmux capture-pane -ep -t SESSION | scripts/terminal-to-svg.py --columns 110 > picture.svg

Understands the colours and weights that a terminal program writes (SGR escapes); lines and blocks
are drawn as shapes, so that they join in every viewer. Needs nothing but Python.
"""

import argparse
import re
import sys
import unicodedata
from html import escape

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, BASELINE = 8.4, 18, 14, 13.5
MARGIN, BAR_HEIGHT, RADIUS = 14, 30, 9
BACKGROUND, FOREGROUND, FRAME = "#14171c", "#d6dae0", "#2b3038"
PALETTE = [
    "#3a3f4a", "#e06c75", "#8cc97a", "#e2c07a", "#6ca8ef", "#c586d9", "#56bfc9", "#d6dae0",
    "#6b7280", "#f28b92", "#a9dd98", "#f0d49a", "#8fc0ff", "#dba4eb", "#7fd9e0", "#ffffff",
]
ESCAPE = re.compile(r"\x1b\[([0-9;:]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[()].|[\x0e\x0f]")


class Look:
    """How the next characters look."""

    def __init__(self):
        self.bold = self.dim = self.inverse = False
        self.front = self.back = None

    def key(self):
        front, back = self.front or FOREGROUND, self.back
        if self.inverse:
            front, back = back or BACKGROUND, front
        if self.dim:
            front = mixed(front, back or BACKGROUND, 0.5)
        return front, back, self.bold

    def apply(self, parameters):
        codes = [int(code or 0) for code in re.split("[;:]", parameters)]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 7:
                self.inverse = True
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.inverse = False
            elif code in (38, 48):
                colour = self.extended(codes)
                if code == 38:
                    self.front = colour
                else:
                    self.back = colour
            elif code == 39:
                self.front = None
            elif code == 49:
                self.back = None
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.front = PALETTE[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = PALETTE[code - 40 if code < 100 else code - 92]

    @staticmethod
    def extended(codes):
        kind = codes.pop(0) if codes else 0
        if kind == 2 and len(codes) >= 3:
            return "#%02x%02x%02x" % tuple(codes.pop(0) & 255 for _ in range(3))
        if kind == 5 and codes:
            number = codes.pop(0)
            if number < 16:
                return PALETTE[number]
            if number >= 232:
                return "#" + "%02x" % (8 + 10 * (number - 232)) * 3
            steps = [0, 95, 135, 175, 215, 255]
            cube = number - 16
            return "#%02x%02x%02x" % (steps[cube // 36], steps[cube // 6 % 6], steps[cube % 6])
        return None


def mixed(front, back, share):
    """The colour `share` of the way from `back` to `front`."""
    pairs = [(int(front[i:i + 2], 16), int(back[i:i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join("%02x" % round(b + (f - b) * share) for f, b in pairs)


def cells(line, look):
    """The (column, character, width, look) of each character of a line."""
    column, position = 0, 0
    while position < len(line):
        found = ESCAPE.match(line, position)
        if found:
            if found.group(2) == "m":
                look.apply(found.group(1))
            position = found.end()
            continue
        character = line[position]
        position += 1
        if unicodedata.combining(character):
            continue
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        yield column, character, width, look.key()
        column += width


def shape(character, x, y, colour):
    """Lines and blocks as rectangles; nothing for other characters."""
    middle = y + CELL_HEIGHT / 2
    half = CELL_WIDTH / 2
    lines = {"━": (0, CELL_WIDTH, 3.2), "╸": (0, half, 3.2), "╺": (half, half, 3.2),
             "─": (0, CELL_WIDTH, 1.1), "╶": (half, half, 1.1), "╴": (0, half, 1.1)}
    if character in lines:
        start, length, height = lines[character]
        # A little longer, so that neighbours join without a seam.
        return rectangle(x + start, middle - height / 2, length + 0.4, height, colour)
    if "▉" <= character <= "▏" or character == "█":
        share = 1 if character == "█" else (0x2590 - ord(character)) / 8
        return rectangle(x, y + 2, CELL_WIDTH * share, CELL_HEIGHT - 4, colour)
    return None


def rectangle(x, y, width, height, colour):
    return '<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"/>' % (
        x, y, width, height, colour)


def drawing(lines):
    look, parts = Look(), []
    for row, line in enumerate(lines):
        y = MARGIN + BAR_HEIGHT + row * CELL_HEIGHT
        runs = []
        for column, character, width, key in cells(line, look):
            front, back, bold = key
            x = MARGIN + column * CELL_WIDTH
            if back:
                parts.append(rectangle(x, y, width * CELL_WIDTH + 0.3, CELL_HEIGHT, back))
            drawn = shape(character, x, y, front)
            if drawn:
                parts.append(drawn)
            elif character != " ":
                last = runs[-1] if runs else None
                if last and last["key"] == key and last["end"] == column and width == 1:
                    last["text"] += character
                    last["end"] += width
                else:
                    runs.append({"key": key, "x": x, "text": character, "end": column + width})
        for run in runs:
            front, _, bold = run["key"]
            parts.append(
                '<text x="%.2f" y="%.2f" textLength="%.2f" fill="%s"%s>%s</text>' % (
                    run["x"], y + BASELINE, len(run["text"]) * CELL_WIDTH, front,
                    ' font-weight="bold"' if bold else "", escape(run["text"])))
    return parts


def picture(lines, columns, title):
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + 2 * MARGIN + BAR_HEIGHT - 6
    buttons = "".join(
        '<circle cx="%d" cy="18" r="5.5" fill="#3b424d"/>' % (20 + 18 * i) for i in range(3))
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" '
        'height="%.0f" role="img" aria-label="%s">' % (width, height, width, height, escape(title)),
        '<rect x="0.5" y="0.5" width="%.1f" height="%.1f" rx="%d" fill="%s" stroke="%s"/>' % (
            width - 1, height - 1, RADIUS, BACKGROUND, FRAME),
        buttons,
        '<g font-family="ui-monospace, \'SF Mono\', Menlo, Consolas, \'DejaVu Sans Mono\', '
        'monospace" font-size="%d" xml:space="preserve">'
        % FONT_SIZE,
        *drawing(lines), "</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=110)
    parser.add_argument("--title", default="A terminal")
    arguments = parser.parse_args()
    lines = sys.stdin.read().rstrip("\n").split("\n")
    sys.stdout.write(picture(lines, arguments.columns, arguments.title))


if __name__ == "__main__":
    main()
