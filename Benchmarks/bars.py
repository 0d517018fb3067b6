"""Bar charts as SVG: the median of each as a bar, the lowest and the highest as a whisker."""

import statistics
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 760, 190, 150
ROW, BAR, TOP = 34, 18, 52
OURS, OTHERS, INK = "#2f6f9f", "#a9b4bd", "#222222"


def write(path, title, unit, samples, ours="Sallyport"):
    """`samples` is a name and its values for each bar; names that begin with `ours` stand out."""
    scale = (WIDTH - LEFT - RIGHT) / max(max(values) for values in samples.values())
    height = TOP + ROW * len(samples) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13" '
        f'fill="{INK}">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        f'<text x="12" y="40" fill="#666666">{escape(unit)}: '
        "median, lowest and highest of the rounds</text>",
    ]
    for number, (name, values) in enumerate(samples.items()):
        top = TOP + ROW * number + (ROW - BAR) / 2
        parts += bar(name, values, top, scale, OURS if name.startswith(ours) else OTHERS)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*parts, "</svg>"]) + "\n")


def bar(name, values, top, scale, colour):
    """One row: its name, the bar, its whisker and the figure."""
    middle = statistics.median(values)
    low, high = LEFT + min(values) * scale, LEFT + max(values) * scale
    centre, base = top + BAR / 2, top + BAR - 4
    figure = f"{middle:,.0f}" if middle >= 100 else f"{middle:.1f}"
    return [
        f'<text x="{LEFT - 10}" y="{base:.1f}" text-anchor="end">{escape(name)}</text>',
        f'<rect x="{LEFT}" y="{top:.1f}" width="{middle * scale:.1f}" height="{BAR}" '
        f'fill="{colour}"/>',
        f'<path d="M{low:.1f} {centre - 5:.1f}v10M{low:.1f} {centre:.1f}H{high:.1f}'
        f'M{high:.1f} {centre - 5:.1f}v10" stroke="{INK}" fill="none"/>',
        f'<text x="{high + 8:.1f}" y="{base:.1f}">{figure}</text>',
    ]
