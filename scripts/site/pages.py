"""Gives MkDocs the pages of this repository, with the files that they link to.

The pages are written for GitHub. What MkDocs reads in another way is changed here.
"""

import pathlib
import re
import urllib.parse

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CHANGELOG.md", "SECURITY.md", "Benchmarks/README.md", "conf/README.md",
         "clients/*/README.md", "deploy/**/*.md", "docs/**/*.md"]
HISTORY = ("CHANGELOG.md", "docs/decisions/")  # the search lists these last
LINK = re.compile(r"\[([^][]+)\]\((?!\w+:)([^()#\s]+)\)")
TARGETS = [re.compile(r"\]\((?!\w+:)([^()#\s]+)"), re.compile(r'\bsrc(?:set)?="(?!\w+:)([^"]+)"')]


def found(patterns):
    return [str(path.relative_to(ROOT)) for pattern in patterns
            for path in sorted(ROOT.glob(pattern))]


def target(page, link):
    """The path below ROOT that a link of a page leads to. None if it is elsewhere."""
    path = (ROOT / page).parent.joinpath(urllib.parse.unquote(link)).resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else None


def on_config(config):
    """Replaces each pattern in the navigation by the pages that match it."""
    def expand(item):
        if isinstance(item, str):
            return found([item]) if "*" in item else [item]
        if isinstance(item, list):
            return [each for part in item for each in expand(part)]
        return [{title: part if isinstance(part, str) else expand(part)}
                for title, part in item.items()]

    config.nav = expand(config.nav)
    return config


def on_files(files, config):
    pages = found(PAGES)
    linked = {target(page, link) for page in pages for pattern in TARGETS
              for link in pattern.findall((ROOT / page).read_text())}
    others = {str(path) for path in linked if path and (ROOT / path).is_file()}
    for path in pages + sorted(others - set(pages)):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith(HISTORY):
        page.meta["search"] = {"boost": 0.1}

    def without_folder(match):
        """Leads to the README.md of a folder or of the one above, or else becomes its words."""
        path = target(page.file.src_uri, match[2])
        if not path or not (ROOT / path).is_dir():
            return match[0]
        for folder in (path, path.parent):
            readme = files.get_file_from_path(str(folder / "README.md"))
            if readme and folder != pathlib.Path():
                depth = len(pathlib.Path(page.file.src_uri).parent.parts)
                return f"[{match[1]}]({'../' * depth}{readme.src_uri})"
        return match[1]

    return "\n".join(indented(LINK.sub(without_folder, markdown).split("\n")))


def indented(lines):
    r"""Changes lists and tables from GitHub's form to the one that MkDocs reads.

    What belongs to an item is indented by four columns, where GitHub wants the width of its mark.
    An item that follows a paragraph needs an empty line. Code in tables needs no escaped bars.

    >>> page = ["- a", "  2. b", "", "  c", "- d", "  - e", "", "| `x\|y` |"]
    >>> print("\n".join(indented(page)))
    - a
        2\. b
    <BLANKLINE>
        c
    <BLANKLINE>
    - d
        - e
    <BLANKLINE>
    | `x|y` |
    """
    columns = []  # where the text of each open item begins
    fence, last, is_loose = "", "", False
    for line in lines:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        is_sibling = False
        while text and not fence and columns and indent < columns[-1]:
            columns.pop()
            is_sibling = True
        inside = columns[-1] if columns else 0
        mark = not fence and indent - inside < 4 and re.match(r"(?:[-*+]|\d+[.)]) +", text)
        if mark and last and not is_sibling and re.match(r"(?!1[.)])\d", text):
            # The number belongs to the paragraph above: only a list that begins with 1 ends one.
            mark, text = None, re.sub(r"^\d+", r"\g<0>\\", text)
        if mark and last and is_loose:
            yield ""
        is_loose = not mark and (is_loose or not text)
        if fence and text.rstrip() == fence:
            fence = ""
        elif not fence:
            fence = (re.match("`{3,}|~{3,}", text) or [""])[0]
            if text.startswith("|"):
                text = re.sub("`[^`]*`", lambda code: code[0].replace(r"\|", "|"), text)
        last = text
        yield " " * (4 * len(columns) + max(0, indent - inside)) + text if text else ""
        if mark:
            columns.append(indent + len(mark[0]))
