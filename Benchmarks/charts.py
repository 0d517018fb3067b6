"""Line charts as SVG, readable on light and dark pages, and what bar charts share with them."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, MARGIN = 760, 340, 60, 60, 56, 12
GRID_LINES = 5
# Common fonts take less for a letter of 13 px on average, and nothing here can measure them.
LETTER = 8
# Text has a contrast of 4.5 to the page and more, bars and lines have 3, and so has the ink on
# bars: WCAG 2.2, 1.4.3 and 1.4.11. The grid only helps the eye.
BARS = {"ours": "#3b82c4", "others": "#7d8791"}
LIGHT = {
    "page": "#ffffff", "ink": "#1f2328", "grey": "#59636e", "grid": "#d9dee3", **BARS,
    "line0": "#1f5f99", "line1": "#9a4a00", "line2": "#3c6e1f", "line3": "#7a3f99",
}
DARK = {
    "page": "#0d1117", "ink": "#f0f6fc", "grey": "#9198a1", "grid": "#30363d", **BARS,
    "line0": "#6cb6ff", "line1": "#f0a35e", "line2": "#8fcf6d", "line3": "#d2a8ff",
}
# Dashes tell lines apart where colours do not.
DASHES = ("none", "7 3", "2 3", "9 3 2 3")


def axis(highest):
    """The distance of grid lines, a round number, and how many cover `highest`."""
    size = 10 ** math.floor(math.log10(highest / GRID_LINES))
    step = next(size * each for each in (1, 2, 5, 10) if size * each * GRID_LINES >= highest)
    return step, math.ceil(highest / step - 1e-9)


def number(value):
    """A figure at a grid line, which is a round one."""
    return f"{value:,.12g}"


def text(x, y, words, colour="ink", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{colour}" text-anchor="{anchor}">'
            f"{escape(words)}</text>")


def rules(colours):
    """The halo keeps grid lines away from a figure that stands on them."""
    return ("".join(f".{name}{{color:{colour}}}" for name, colour in colours.items())
            + f".halo{{stroke:{colours['page']}}}")


def save(path, height, title, unit, parts):
    """The page has a colour of its own, because a site may be dark where its reader is not."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" class="ink" fill="currentColor" '
        'font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}: {escape(unit)}</title>",
        f"<style>{rules(LIGHT)}",
        f"@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>",
        f'<rect width="{WIDTH}" height="{height}" class="page"/>',
        f'<text x="{MARGIN}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*head, *parts, "</svg>"]) + "\n")


class Plane:
    """Where points are drawn, left of the names of lines; both axes begin at 0."""

    def __init__(self, series):
        points = [point for line in series.values() for point in line]
        self.across_step, self.columns = axis(max(x for x, _ in points))
        self.up_step, self.rows = axis(max(y for _, y in points))
        self.right = WIDTH - LETTER * max(map(len, series)) - 2 * MARGIN
        self.bottom = HEIGHT - BOTTOM

    def place(self, x, y):
        wide, high = self.across_step * self.columns, self.up_step * self.rows
        return (LEFT + x / wide * (self.right - LEFT),
                self.bottom - y / high * (self.bottom - TOP))

    def grid(self):
        """Lines across with their figures, and the figures below."""
        for row in range(self.rows + 1):
            x, y = self.place(0, self.up_step * row)
            yield (f'<path d="M{x:.1f} {y:.1f}H{self.right}" class="grid" '
                   'stroke="currentColor"/>')
            yield text(x - 8, y + 4, number(self.up_step * row), "grey", "end")
        for column in range(self.columns + 1):
            x, y = self.place(self.across_step * column, 0)
            yield text(x, y + 18, number(self.across_step * column), "grey", "middle")

    def line(self, row, name, points):
        """A line, and its name with a piece of it above."""
        look, left = row % len(DASHES), self.right + MARGIN
        placed = (self.place(*point) for point in points)
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        level = TOP + 8 + 36 * row
        yield (f'<path d="M{way}M{left} {level}h40" class="line{look}" fill="none" '
               'stroke="currentColor" stroke-width="2" stroke-linejoin="round" '
               f'stroke-dasharray="{DASHES[look]}"/>')
        yield text(left, level + 17, name, f"line{look}")


def lines(path, title, across, up, series):
    """`series` is a name and its points (x, y) for each line; `across` and `up` name the axes."""
    plane = Plane(series)
    parts = [
        text(MARGIN, 40, up, "grey"), *plane.grid(),
        text((LEFT + plane.right) / 2, HEIGHT - 14, across, "grey", "middle"),
    ]
    for row, (name, points) in enumerate(series.items()):
        parts += plane.line(row, name, points)
    save(path, HEIGHT, title, up, parts)
