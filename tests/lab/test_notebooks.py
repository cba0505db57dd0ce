"""The notebooks run from top to bottom, and show boards and curves inline."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("onnx")

FOLDER = Path(__file__).parents[2] / "notebooks"
#: Replaces the settings cell for a short run.
SETTINGS = {
    "training": 'seconds, net, test_positions, playouts = 2, "resnet1x8", 300, 50\nfolder = "run"',
    "search": "nodes, game_nodes = 60, 4",
    "colab": 'source, drive, hours, games, small = "", "drive", 2 / 3600, [], True',
}


def test_every_notebook_is_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_runs_and_shows(name, tmp_path):
    """About half a minute each: a kernel, a short training, a report."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    (settings,) = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    settings.source = SETTINGS[name]
    client = nbclient.NotebookClient(
        notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()  # raises where a cell does
    kinds = [
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    ]
    assert kinds.count("image/svg+xml") >= 3  # boards and the report's figures
    assert kinds.count("image/png") >= 1  # the curve


@pytest.mark.parametrize("name", SETTINGS)
def test_outputs_are_kept_in_the_file(name):
    """A reader of the repository's pages sees boards and curves too."""
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "error" for output in outputs)
