"""The feature tables and label schemes as markdown, for the documentation."""

from collections.abc import Iterable
from itertools import groupby, takewhile

from komadori.encoding.features import FEATURES, FeatureBlock, FeatureInput, FeatureTable
from komadori.encoding.labels import LABELS, LabelHead, LabelScheme


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    columns = list(header)
    lines = [columns, ["---"] * len(columns), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _common(names: Iterable[str]) -> str:
    """The common prefix of the names, in whole words."""
    words = zip(*(name.split(" ") for name in names), strict=False)
    return " ".join(takewhile(bool, (w[0] if len(set(w)) == 1 else "" for w in words)))


def _row(blocks: list[FeatureBlock]) -> tuple[object, ...]:
    """A row for one block, or for the adjacent hand blocks of a side."""
    names = [name for block in blocks for name in block.planes]
    title = _common(block.name for block in blocks)
    block = blocks[0]
    if len(blocks) > 1:
        planes = " ".join(f"{b.name.split(' ')[-1]}{len(b.planes)}" for b in blocks)
    elif block.kind in ("PLACEMENT", "ATTACKS"):
        planes = " ".join(name.rsplit(" ", 1)[1] for name in names)
    else:
        shown = [name.removeprefix(title).strip() for name in names]
        planes = shown[0] if len(shown) == 1 else f"{shown[0]} … {shown[-1]}"
    return _span(block.first, len(names)), len(names), title, block.kind.lower(), planes


def _input_section(one: FeatureInput, binary: bool) -> str:
    shape = " x ".join(str(size) for size in one.shape)
    packed = f"; packed {one.packed_bits} bits, {one.packed_bytes} bytes" if binary else ""
    unit = "token" if one.blocks[0].kind == "SQUARE_TOKENS" else "plane"
    groups = groupby(one.blocks, lambda b: _common([b.name]).rpartition(" hand ")[0] or b)
    rows = [_row(list(blocks)) for _, blocks in groups]
    return f"**`{one.name}`**, {shape}{packed}.\n\n" + _table(
        [unit, "count", "block", "kind", "planes"], rows
    )


def _feature_section(table: FeatureTable) -> str:
    parts = [f"### {table.name}\n\n{table.summary}. Source: {table.source}.\n"]
    for one in table.inputs:
        same = next((t for t in FEATURES.values() if one in t.inputs), table)
        parts.append(
            _input_section(one, table.is_binary)
            if same is table
            else f"**`{one.name}`** is that of `{same.name}`.\n"
        )
    return "\n".join(parts)


def features_markdown() -> str:
    """An overview of every feature table, then its blocks. Tables `diary-*` are in the overview
    only: they are `diary` with one more block.
    """
    overview = _table(
        ["table", "inputs", "packed bytes", "uint8 and packed", "requires", "description"],
        (
            (
                f"`{t.name}`",
                ", ".join(f"{one.name} {'x'.join(map(str, one.shape))}" for one in t.inputs),
                " + ".join(str(one.packed_bytes) for one in t.inputs) if t.is_binary else "",
                "yes" if t.is_binary else "no",
                "plies" if t.needs_plies else "",
                t.summary,
            )
            for t in FEATURES.values()
        ),
    )
    base = FEATURES["diary"]
    extras = [
        (f"`{t.name}`", block.name, block.kind.lower(), " / ".join(block.planes), t.source)
        for t in FEATURES.values()
        if t.name.startswith("diary-")
        for block in t.inputs[1].blocks[len(base.inputs[1].blocks) :]
    ]
    sections = [_feature_section(t) for t in FEATURES.values() if not t.name.startswith("diary-")]
    variants = "### diary-*\n\nThe tables `diary-...` add one block to `hands`.\n\n" + _table(
        ["table", "block", "kind", "planes", "source"], extras
    )
    return "\n".join([overview, *sections, variants])


def _block(plane: str) -> str:
    """The block a label plane belongs to: drops, a piece type, or promoting directions."""
    first, _, rest = plane.partition(" ")
    if first == "drop" or (rest and "_" not in first and first not in _DIRECTIONS):
        return first
    if not rest and first not in _DIRECTIONS:
        return "piece type"
    return "promoting" if rest else "not promoting"


_DIRECTIONS = frozenset(name for name in LABELS["2187"].heads[0].planes if " " not in name)


def _runs(head: LabelHead) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for block, run in groupby(enumerate(head.planes), lambda item: _block(item[1])):
        numbered = list(run)
        names = (n.removeprefix(f"{block} ").replace(" promoting", "+") for _, n in numbered)
        rows.append((_span(numbered[0][0], len(numbered)), len(numbered), block, ", ".join(names)))
    return rows


def _scheme_section(scheme: LabelScheme) -> str:
    parts = [f"### {scheme.name}\n\n{scheme.summary}. Source: {scheme.source}.\n"]
    for head in scheme.heads:
        title = f"**`{head.name}`**, {head.size} labels"
        if not head.planes:
            parts.append(f"{title}: origin square 0-80, then 81 + (P L N S B R G) for drops.\n")
        elif head.dense is not None:
            drops = sum(head.planes[n // 81].startswith("drop") for n in head.dense)
            promoting = sum(head.planes[n // 81].endswith("promoting") for n in head.dense)
            plain = head.size - drops - promoting
            parts.append(
                f"{title}: of {81 * len(head.planes)}, {plain} without promotion, {promoting} "
                f"promoting, {drops} drops.\n"
            )
        else:
            parts.append(f"{title}, 81 * plane + destination.\n")
            parts.append(_table(["plane", "count", "block", "planes (+ promotes)"], _runs(head)))
    return "\n".join(parts)


def labels_markdown() -> str:
    """An overview of every label scheme, then its planes."""
    overview = _table(
        ["scheme", "labels", "planes", "depends on the piece", "invertible", "description"],
        (
            (
                f"`{s.name}`",
                " + ".join(str(head.size) for head in s.heads),
                " + ".join(str(len(head.planes)) if head.planes else "" for head in s.heads),
                "yes" if s.needs_piece else "no",
                "yes" if s.is_invertible else "no",
                s.summary,
            )
            for s in LABELS.values()
        ),
    )
    return "\n".join([overview, *(_scheme_section(s) for s in LABELS.values())])
