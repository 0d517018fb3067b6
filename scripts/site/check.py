"""Removes from the built site what it does not need, and checks every reference that is left.

A warning here fails the build, because mkdocs.yml says `strict`.
"""

import html.parser
import logging
import pathlib
import re
import shutil
import urllib.parse

from mkdocs.plugins import event_priority

log = logging.getLogger("mkdocs.hooks.check")


@event_priority(-200)  # after the search has written its index
def on_post_build(config):
    site = pathlib.Path(config.site_dir)
    # The first three need the address of a server.
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (site / name).unlink(missing_ok=True)
    shutil.rmtree(site / "assets/javascripts/lunr", ignore_errors=True)  # other languages
    for path in site.rglob("*.map"):
        path.unlink()
    # The theme would load a script from there for diagrams, and one for browsers before 2020.
    for path in site.glob("assets/javascripts/bundle.*.js"):
        path.write_text(path.read_text().replace("https://unpkg.com/", "absent/"))
    check(site)


class Page(html.parser.HTMLParser):
    """The references of a page, each with its tag, and the page's anchors."""

    def __init__(self, path):
        super().__init__()
        self.references, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("src", "srcset", "href", "action", "poster") and value:
                self.references.append((tag, value))


def check(site):
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    leads = {path: [] for path in pages}
    for path, page in pages.items():
        name = path.relative_to(site)
        for tag, reference in page.references:
            parts = urllib.parse.urlsplit(reference)
            if parts.scheme == "data" or tag == "a" and parts.scheme:
                continue
            place = path.parent.joinpath(urllib.parse.unquote(parts.path)).resolve()
            place = path if not parts.path else place / "index.html" if place.is_dir() else place
            leads[path].append(place)
            if parts.scheme or parts.netloc:
                log.warning("%s takes %s from outside", name, reference)
            elif not place.is_relative_to(site) or not place.is_file():
                log.warning("%s leads to %s, which is not there", name, reference)
            elif place in pages and parts.fragment:
                if urllib.parse.unquote(parts.fragment) not in pages[place].anchors:
                    log.warning("%s leads to %s, which has no such anchor", name, reference)
    reached, waiting = set(), [site / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in pages and path not in reached:
            reached.add(path)
            waiting.extend(leads[path])
    for path in sorted(pages.keys() - reached):
        log.warning("nothing leads from the first page to %s", path.relative_to(site))
    for path in sorted(site.rglob("*.css")):
        if re.search(r"(?:url\(|@import)[\s'\"]*(?:https?:)?//", path.read_text()):
            log.warning("%s takes something from outside", path.relative_to(site))
