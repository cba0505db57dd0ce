"""Pages written by `komadori lab report`, rendered as HTML."""

from __future__ import annotations

import html
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote, urlsplit

from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.http_shapes import LabPage

if TYPE_CHECKING:
    from markdown_it.token import Token

Theme = Literal["light", "dark"]

_STYLE = """
:root{color-scheme:light;--ink:#2b251c;--back:#fffdf8;--line:#e1d8c7;--link:#2c6488}
:root[data-theme=dark]{color-scheme:dark;--ink:#efe8da;--back:#23201b;--line:#3a352c;--link:#7fb8dd}
html{background:var(--back)}
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:1rem auto;padding:0 1rem;
color:var(--ink)}
a[href]{color:var(--link)}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
img{max-width:100%;background:#fff;border-radius:4px}
code{background:#8882;padding:0 .2em}
"""


class LabPages:
    """The laboratory's pages. Names consist of the folder's and the file's without its suffix."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def _pages(self) -> dict[str, Path]:
        return self._folders.scan().pages

    def list(self) -> list[LabPage]:
        """Return all pages, each folder's index first."""
        found = []
        for name, path in self._pages().items():
            if path.suffix == ".md":
                found.append(LabPage(name=name, title=_title(path)))
        return sorted(
            found, key=lambda p: (p.name.rpartition("/")[0], not p.name.endswith("index"), p.name)
        )

    def page(self, name: str, theme: Theme = "light") -> str:
        """Return a page as HTML. Raises RefusedError."""
        pages = self._pages()
        path = pages.get(name)
        if path is None or path.suffix != ".md":
            raise RefusedError("unknown_name", f"no page {name!r}")
        from markdown_it import MarkdownIt

        # The text is untrusted: escape all HTML except line breaks.
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise RefusedError("unknown_name", f"{name}: {error.strerror}") from error
        markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = markdown.parse(text)
        _resolve(tokens, name, pages)
        body = markdown.renderer.render(tokens, markdown.options, {})
        body = body.replace("&lt;br&gt;", "<br>")
        title = html.escape(_title(path))
        return (
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
            f"<title>{title}</title>"
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{body}'
        )

    def image(self, name: str) -> Path:
        """Return the path of an SVG image. Raises RefusedError."""
        path = self._pages().get(name)
        if path is None or path.suffix != ".svg":
            raise RefusedError("unknown_name", f"no image {name!r}")
        return path


def _resolve(tokens: list[Token], name: str, pages: dict[str, Path]) -> None:
    """Make links of the page `name` open other pages in the browser interface, and its images
    those of its folder; remove links to files that aren't shown."""
    for token in tokens:
        for part in token.children or ():
            attribute = {"link_open": "href", "image": "src"}.get(part.type, "")
            target = str(part.attrs.get(attribute, ""))
            if not target or target.startswith("#"):
                continue
            if urlsplit(target).scheme:
                if attribute == "href":
                    part.attrs |= {"target": "_blank", "rel": "noopener"}
                continue
            file = unquote(target.partition("#")[0])
            found = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
            if attribute == "src":
                part.attrs["src"] = f"/api/lab/{quote(found)}"
            elif (page := found.removesuffix(".md")) != found and page in pages:
                part.attrs |= {"href": f"/#/lab/{quote(page, safe='')}", "target": "_top"}
            else:
                del part.attrs["href"]


def _title(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("# "):
                    return line[2:].strip()
    except OSError:
        pass
    return path.stem
