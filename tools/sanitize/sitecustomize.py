"""For runs with sanitizers: use the package on PYTHONPATH instead of an editable install."""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
