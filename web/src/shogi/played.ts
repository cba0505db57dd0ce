// Converts games from the server to trees.
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

/** A game with the players' scores, from the mover's view. */
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
      // The score is the mover's, of the position before the move.
      if (cp !== null && winRate !== null && n.parent) n.parent.score ??= { winRate, cp, pv: [n.usi], nodes: 0 };
    });
  return tree;
}
