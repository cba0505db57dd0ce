"""For a run with sanitizers: an editable install must not hide the package on PYTHONPATH."""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
