"""Where figures go beside the tables: JSON, and bar charts as SVG."""

import json
import os
import re

import bars

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(REPOSITORY, ".build/bench")
# What is charted of a group, by the end of the file's name: unit, and name of the figure.
CHARTS = {
    "rate": ("requests per second", "requests_per_second"),
    "processor": ("processor time per request, µs", "processor_us_per_request"),
    "p50": ("median latency, µs", "p50_us"),
    "p99": ("99th percentile, µs", "p99_us"),
}


def path(name):
    return os.path.join(FOLDER, name)


def file_name(text):
    """A title as a part of a file's name."""
    return re.sub("[^a-z0-9]+", "-", text.lower())


def write(file_path, facts, settings, groups):
    """`groups` has, by title, a list of figures by name for each server: one for each round."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    with open(file_path, "w", encoding="utf-8") as file:
        json.dump({"facts": facts, **settings, **groups}, file, indent=2)
        file.write("\n")
    print(f"\n{file_path}")


def draw(name, title, group, kinds):
    """A chart of each of `kinds`, of which the group has the figures, in `name`-kind.svg."""
    os.makedirs(FOLDER, exist_ok=True)
    for kind in kinds:
        unit, figure = CHARTS[kind]
        # The time of Redis is counted nowhere, and bars that need one have to say so.
        if kind == "processor" and any("Redis" in server for server in group):
            unit += ", without that of Redis itself"
        chart = path(f"{name}-{kind}.svg")
        bars.write(chart, title, unit, {
            server: [each[figure] for each in rounds] for server, rounds in group.items()})
        print(chart)
