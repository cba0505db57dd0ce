"""The laboratory's pages: what `komadori lab report` wrote, as HTML."""

from __future__ import annotations

import html
import re
from pathlib import Path

from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.http_shapes import LabPage

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:1rem auto;padding:0 1rem;
color:#222;background:#fff}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}
img{max-width:100%;background:#fff}
code{background:#8882;padding:0 .2em}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}td,th{border-color:#555}
a{color:#8bf}}
"""


class LabPages:
    """Pages by name: the folder's name and the file's, without its suffix."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def _pages(self) -> dict[str, Path]:
        return self._folders.scan().pages

    def list(self) -> list[LabPage]:
        """Each folder's index first."""
        found = []
        for name, path in self._pages().items():
            if path.suffix == ".md":
                found.append(LabPage(name=name, title=_title(path)))
        return sorted(
            found, key=lambda p: (p.name.rpartition("/")[0], not p.name.endswith("index"), p.name)
        )

    def page(self, name: str) -> str:
        """A page as HTML. Raises RefusedError."""
        path = self._pages().get(name)
        if path is None or path.suffix != ".md":
            raise RefusedError("unknown_name", f"no page {name!r}")
        from markdown_it import MarkdownIt

        # Text that isn't ours: no HTML of its own but line breaks.
        text = path.read_text(encoding="utf-8")
        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
        body = body.replace("&lt;br&gt;", "<br>")
        body = re.sub(r'href="([\w.-]+)\.md(#[\w-]*)?"', r'href="\1\2"', body)
        title = html.escape(_title(path))
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{body}'
        )

    def picture(self, name: str) -> Path:
        """A picture beside the pages. Raises RefusedError."""
        path = self._pages().get(name)
        if path is None or path.suffix != ".svg":
            raise RefusedError("unknown_name", f"no picture {name!r}")
        return path


def _title(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("# "):
                    return line[2:].strip()
    except (OSError, UnicodeDecodeError):
        pass
    return path.stem
