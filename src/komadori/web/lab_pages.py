"""Pages written by `komadori lab report`, rendered as HTML."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Literal

from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.http_shapes import LabPage

Theme = Literal["light", "dark"]

_STYLE = """
:root{color-scheme:light;--ink:#2b251c;--back:#fffdf8;--line:#e1d8c7;--link:#2c6488}
:root[data-theme=dark]{color-scheme:dark;--ink:#efe8da;--back:#23201b;--line:#3a352c;--link:#7fb8dd}
html{background:var(--back)}
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:1rem auto;padding:0 1rem;
color:var(--ink)}
a{color:var(--link)}
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
        path = self._pages().get(name)
        if path is None or path.suffix != ".md":
            raise RefusedError("unknown_name", f"no page {name!r}")
        from markdown_it import MarkdownIt

        # The text is untrusted: escape all HTML except line breaks.
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise RefusedError("unknown_name", f"{name}: {error.strerror}") from error
        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
        body = body.replace("&lt;br&gt;", "<br>")
        body = re.sub(r'href="([\w.-]+)\.md(#[\w-]*)?"', rf'href="\1?theme={theme}\2"', body)
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


def _title(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("# "):
                    return line[2:].strip()
    except OSError:
        pass
    return path.stem
