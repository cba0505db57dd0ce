"""Self-contained HTML pages: styles and pictures are embedded."""

from __future__ import annotations

from pathlib import Path


def render_template(name: str, **values: object) -> str:
    """Render the template `report/templates/NAME`; values are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)
