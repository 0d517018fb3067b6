"""Line charts as SVG, readable on light and dark pages."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 320, 60, 130, 52, 44
COLOURS, INK, GREY = ("#2f6f9f", "#b2641f", "#5b8c3a", "#8a4f9e"), "#222222", "#666666"
GRID_LINES = 5


def axis(highest):
    """The distance of grid lines, a round number, and how many cover `highest`."""
    size = 10 ** math.floor(math.log10(highest / GRID_LINES))
    step = next(size * each for each in (1, 2, 5, 10) if size * each * GRID_LINES >= highest)
    return step, math.ceil(highest / step - 1e-9)


def lines(path, title, across, up, series):
    """`series` is a name and its points (x, y) for each line; both axes begin at 0."""
    across_step, columns = axis(max(x for points in series.values() for x, _ in points))
    up_step, rows = axis(max(y for points in series.values() for _, y in points))
    wide, high = across_step * columns, up_step * rows

    def place(x, y):
        return (f"{LEFT + x / wide * (WIDTH - LEFT - RIGHT):.1f}",
                f"{HEIGHT - BOTTOM - y / high * (HEIGHT - TOP - BOTTOM):.1f}")

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13" '
        f'fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        f'<text x="12" y="40" fill="{GREY}">{escape(up)}, by {escape(across)}</text>',
    ]
    for row in range(rows + 1):
        x, y = place(0, up_step * row)
        parts += [
            f'<path d="M{x} {y}H{WIDTH - RIGHT}" stroke="#dddddd"/>',
            f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end" fill="{GREY}">'
            f'{up_step * row:.3g}</text>',
        ]
    for column in range(columns + 1):
        parts.append(
            f'<text x="{place(across_step * column, 0)[0]}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle" fill="{GREY}">{across_step * column:.3g}</text>')
    for row, (name, points) in enumerate(series.items()):
        colour = COLOURS[row % len(COLOURS)]
        way = "L".join(" ".join(place(x, y)) for x, y in points)
        parts += [
            f'<path d="M{way}" stroke="{colour}" stroke-width="2" fill="none"/>',
            f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 14 + 20 * row}" fill="{colour}">'
            f'{escape(name)}</text>',
        ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*parts, "</svg>"]) + "\n")
