"""The report of a training run: curves, accuracy by phase, calibration, positions with the largest
loss.

    write_run_report("runs/first", samples, None, "runs/first/report")

Needs matplotlib and jinja2.
"""

from komadori.report.run_page import write_run_report

__all__ = ["write_run_report"]
