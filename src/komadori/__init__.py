"""komadori: a deep-learning shogi laboratory and engine.

Importing the package loads neither torch nor openvino; each subpackage imports
what it needs when it is used.
"""

__version__ = "0.1.0"
