// Converts the server's games to game trees.
import { START } from './position';
import { GameTree } from './tree';

export interface Played {
  sfen: string;
  moves: readonly string[];
  black: string;
  white: string;
  scores_cp?: readonly (number | null)[];
  win_rates?: readonly (number | null)[];
  times_ms?: readonly (number | null)[];
}

/** Builds the tree of a game with the scores that the players reported. */
export function treeOf(game: Played): GameTree {
  const tree = new GameTree(game.sfen === 'startpos' || !game.sfen ? START : game.sfen.replace(/^sfen /, ''));
  tree.headers = { black: game.black, white: game.white };
  tree.addLine(tree.root, game.moves);
  tree
    .mainLine()
    .slice(1)
    .forEach((n, i) => {
      const cp = game.scores_cp?.[i] ?? null;
      const winRate = game.win_rates?.[i] ?? null;
      const ms = game.times_ms?.[i];
      if (ms) n.timeMs = ms;
      // A player's score is from its own view and belongs to the position before its move.
      if (cp !== null && winRate !== null && n.parent) n.parent.score ??= { winRate, cp, pv: [n.usi], nodes: 0 };
    });
  return tree;
}
