"""The scan of the folders on the command line."""

from __future__ import annotations

from pathlib import Path

from komadori.web.folders import Folders


def test_links_are_followed_only_to_models(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / "pages" / "data").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "net.onnx").write_bytes(b"")
    (elsewhere / "secret").write_text("secret")
    (root / "net.onnx").symlink_to(elsewhere / "net.onnx")
    (root / "outside").symlink_to(elsewhere)
    (root / "up").symlink_to(root)
    for name in ("circle", "circle.onnx", "circle.db", "circle.md"):
        (root / name).symlink_to(name)
    (root / "gone.onnx").symlink_to("nowhere")
    (root / "pages" / "index.md").write_text("# Pages")
    (root / "pages" / "stolen.md").symlink_to(elsewhere / "secret")
    found = Folders([root]).scan()
    assert set(found.model_files) == {"net.onnx"}
    assert set(found.pages) == {"pages/index"}
    assert not found.ladders
