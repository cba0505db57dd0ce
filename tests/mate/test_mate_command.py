"""`komadori mate`: output and errors."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from komadori.cli.mate import command

MATE_IN_1 = "4k4/9/4GS3/9/9/9/9/9/4K4 b - 1"


def test_what_is_no_problem_is_refused_and_the_rest_solved(tmp_path: Path) -> None:
    path = tmp_path / "problems.txt"
    path.write_text(f"9/9/9/9/9/9/9/9/4K4 b G 1\nnonsense\n{MATE_IN_1}\tone ply\n")
    done = CliRunner().invoke(command, ["-f", str(path), ""])
    assert done.exit_code == 1
    assert "4\tmate in 1" in done.output
    assert "4 problems: 1 mate, 3 refused" in done.output
    assert "Traceback" not in done.output
    assert not isinstance(done.exception, IndexError)


def test_a_long_line_is_cut_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(bytes(100_000))
    done = CliRunner().invoke(command, ["-f", str(path)])
    assert done.exit_code == 1
    assert "refused" in done.output
    assert len(done.output) < 1000


def test_bad_settings_are_named(tmp_path: Path) -> None:
    for text in ("0", "-5", "nan", "1e9"):
        done = CliRunner().invoke(command, [MATE_IN_1, f"--hash={text}"])
        assert done.exit_code == 2, text
        assert "--hash" in done.output
    done = CliRunner().invoke(command, [MATE_IN_1, "--plies", str(10**14)])
    assert (done.exit_code, "--plies" in done.output) == (2, True)
    path = tmp_path / "other.txt"
    path.write_bytes(b"\xff\xfe\x00")
    done = CliRunner().invoke(command, ["-f", str(path)])
    assert done.exit_code == 1
    assert "neither UTF-8 nor UTF-16 text" in done.output
