"""Bar charts as SVG: the median of each as a bar, the lowest and the highest as a whisker."""

import statistics

from charts import LETTER, MARGIN, TOP, WIDTH, axis, number, save, text

ROW, BAR, GAP = 34, 18, 8


def write(path, title, unit, samples, ours="Sallyport"):
    """`samples` is a name and its values for each bar; names that begin with `ours` stand out."""
    left = MARGIN + LETTER * max(map(len, samples)) + GAP
    step, columns = axis(max(map(max, samples.values())))
    scale = widest(left, step * columns, samples.values())
    bottom = TOP + ROW * len(samples)
    parts = [
        text(MARGIN, 40, "Median (lowest–highest) of the rounds", "grey"),
        *grid(left, bottom, step * scale, [number(step * each) for each in range(columns + 1)]),
        text(left + step * columns * scale / 2, bottom + 38, unit, "grey", "middle"),
    ]
    for row, (name, values) in enumerate(samples.items()):
        middle = TOP + ROW * (row + 0.5)
        parts.append(text(left - GAP, middle + 5, name, anchor="end"))
        parts += bar(left, middle, scale, values, "ours" if name.startswith(ours) else "others")
    save(path, bottom + 52, title, unit, parts)


def widest(left, end, samples):
    """Pixels for one unit, so that the axis to its `end` and each whisker with its figure fit."""
    room = WIDTH - left - MARGIN
    return min((room - LETTER * len(number(end)) / 2) / end,
               *((room - GAP - LETTER * len(figure(values))) / max(values) for values in samples))


def figure(values):
    """The median stands before the whisker's ends, all with the digits that the tables have."""
    digits = 0 if max(values) >= 1000 or all(value % 1 == 0 for value in values) else 1
    middle, low, high = (
        f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({low}–{high})"


def grid(left, bottom, distance, figures):
    """Lines from the top to figures at the bottom."""
    for column, each in enumerate(figures):
        x = left + column * distance
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" class="grid" stroke="currentColor"/>'
        yield text(x, bottom + 18, each, "grey", "middle")


def bar(left, middle, scale, values, colour):
    """A bar, its whisker and the figure."""
    low, high = left + min(values) * scale, left + max(values) * scale
    return [
        f'<rect x="{left}" y="{middle - BAR / 2:.1f}" height="{BAR}" '
        f'width="{statistics.median(values) * scale:.1f}" class="{colour}"/>',
        f'<path d="M{low:.1f} {middle - 5:.1f}v10M{low:.1f} {middle:.1f}H{high:.1f}'
        f'M{high:.1f} {middle - 5:.1f}v10" stroke="currentColor" fill="none"/>',
        '<g class="halo" stroke-width="4" paint-order="stroke">'
        f"{text(high + GAP, middle + 5, figure(values))}</g>",
    ]
