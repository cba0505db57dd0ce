"""Use the package on PYTHONPATH instead of the editable install, in runs with sanitizers."""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
