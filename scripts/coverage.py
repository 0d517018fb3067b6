"""Prints what tests run, from `llvm-cov export`: coverage.py [--no-list] EXPORT LIST

LIST has a line `FILE: FUNCTION: REASON` for what no test runs, where a star stands for anything.
Ends with 1 if it lacks one. What it names and a test ran is printed: some of it runs by chance, as
faults go.
"""

import collections
import fnmatch
import json
import subprocess
import sys


def targets(files):
    """Lines and regions of each target, and how many of them ran."""
    found = collections.defaultdict(collections.Counter)
    for file in files:
        name = file["filename"].split("/Sources/")[-1].split("/")[0]
        for kind in ("lines", "regions"):
            found[name][kind] += file["summary"][kind]["count"]
            found[name]["run " + kind] += file["summary"][kind]["covered"]
    return found


def idle_functions(functions):
    """`FILE: FUNCTION` of what never ran, however many times it was compiled."""
    counts, names = collections.Counter(), {}
    for function in functions:
        file = function["filenames"][0]
        if "/Sources/" not in file:
            continue
        place = (file.split("/Sources/")[-1], *function["regions"][0][:4])
        counts[place] += function["count"]
        names[place] = function["name"].split(":")[-1]
    idle = [place for place in names if counts[place] == 0]
    words = subprocess.run(
        ["swift", "demangle", "--simplified"], input="\n".join(names[place] for place in idle),
        capture_output=True, text=True, check=True).stdout.splitlines()
    # What an expression makes lazily, such as the words of a precondition, is part of it.
    return sorted({f"{place[0]}: {word}" for place, word in zip(idle, words)
                   if "implicit closure" not in word})


def read_list(path):
    """Pattern and reason of each line."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [line.rsplit(": ", 1) for line in lines]


def compare(idle, listed):
    """What is not listed, and what is listed in vain."""
    patterns = [pattern for pattern, _ in listed]
    unlisted = [name for name in idle
                if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    needless = [pattern for pattern in patterns
                if not any(fnmatch.fnmatchcase(name, pattern) for name in idle)]
    return unlisted, needless


def main():
    """Prints the table, and what differs from the list."""
    is_compared = sys.argv[1] != "--no-list"
    export, path = sys.argv[-2:]
    with open(export, encoding="utf-8") as file:
        data = json.load(file)["data"][0]
    print("| target | lines | run | regions | run |\n| --- | ---: | ---: | ---: | ---: |")
    total = collections.Counter()
    found = targets(data["files"])
    for name in sorted(found):
        total.update(found[name])
    for name, count in [*sorted(found.items()), ("all", total)]:
        print(f"| {name} | {count['lines']:,} | {count['run lines'] / count['lines']:.1%} | "
              f"{count['regions']:,} | {count['run regions'] / count['regions']:.1%} |")
    idle = idle_functions(data["functions"])
    print(f"\n{len(idle)} functions that no test runs")
    if not is_compared:
        return
    unlisted, needless = compare(idle, read_list(path))
    for pattern in needless:
        print(f"listed, and run: {pattern}")
    for name in unlisted:
        print(f"NOT LISTED: {name}")
    sys.exit(1 if unlisted else 0)


if __name__ == "__main__":
    main()
