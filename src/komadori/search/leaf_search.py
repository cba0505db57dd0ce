"""Alpha-beta searches of a PUCT tree's leaves, mixed into the network's values."""

from __future__ import annotations

from collections.abc import Callable

from komadori._core.alphabeta import Engine
from komadori._core.tree import Tree
from komadori.encoding.value import ELMO_COEF
from komadori.search.options import PuctOptions

#: Transposition table of the searches, in MiB.
HASH_MB = 16


def leaf_engines(options: PuctOptions, hash_mb: int) -> Callable[[], Engine] | None:
    """Return a function that creates engines for the leaf searches of the options `leaf_*`; they
    share one copy of the weights. None if they are off.

    Raises ValueError or OSError if the NNUE can't be read.
    """
    if not options.leaf_weight:
        return None
    from komadori.search.alphabeta import AlphaBetaOptions, engine_factory

    settings = AlphaBetaOptions(
        threads=1,
        hash_mb=hash_mb,
        draw_ply=options.draw_ply,
        declaration=options.declaration,
    )
    make = engine_factory("nnue", options.leaf_file or None)
    return lambda: make(settings.to_core())


def search_leaves(tree: Tree, options: PuctOptions, engine: Engine) -> None:
    """Let `engine` search the leaves of a tree by the options `leaf_*`."""
    tree.set_leaf_search(engine, options.leaf_nodes, options.leaf_weight, ELMO_COEF)


class LeafSearch:
    """The leaf search of a tree, kept in sync with the options `leaf_*`."""

    def __init__(self) -> None:
        self._applied: tuple[object, ...] = ()
        self._engine: Engine | None = None

    def apply(self, tree: Tree, options: PuctOptions) -> None:
        """Configure the tree's leaf search by the options. A change clears the tree.

        Raises ValueError or OSError if the NNUE can't be read.
        """
        settings_key: tuple[object, ...] = ()
        if options.leaf_weight:
            rules = (options.declaration, options.draw_ply)
            settings_key = (
                tree,
                options.leaf_weight,
                options.leaf_nodes,
                options.leaf_file,
                *rules,
            )
        if settings_key == self._applied:
            return
        if not settings_key:
            tree.set_leaf_search(None)
        else:
            new_engine = leaf_engines(options, HASH_MB)
            assert new_engine is not None
            engine = new_engine()
            search_leaves(tree, options, engine)
            self._engine = engine
        self._applied = settings_key

    def new_game(self) -> None:
        """Clear the engine's transposition table."""
        if self._applied and self._engine is not None:
            self._engine.new_game()

    def close(self) -> None:
        """Release the tree and the engine."""
        self._applied, self._engine = (), None
