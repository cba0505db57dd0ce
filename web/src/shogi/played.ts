// Converts the server's games to game trees.
import { START } from './position';
import { GameTree, type Headers } from './tree';

export interface Played {
  sfen: string;
  moves: readonly string[];
  black: string;
  white: string;
  scores_cp?: readonly (number | null)[];
  win_rates?: readonly (number | null)[];
  times_ms?: readonly (number | null)[];
}

const SHOWN: Record<string, keyof Headers> = { event: 'event', start_time: 'date', site: 'place', time_limit: 'timeControl' };
/** tsshogi's names of headers that pages don't show. */
const FURTHER: Record<string, string> = { end_time: 'endDatetime', opening: 'strategy' };

/** The most headers that the server takes. */
const MAX_HEADERS = 100;

/** Sets a game's headers to those that the server has read. */
export function applyHeaders(tree: GameTree, headers: Record<string, string>): void {
  for (const [key, value] of Object.entries(headers)) {
    const shown = SHOWN[key];
    if (shown) tree.headers[shown] ||= value;
    else if (FURTHER[key]) tree.further.standard.set(FURTHER[key], value);
    else if (key !== 'black' && key !== 'white') tree.further.custom.set(key, value);
  }
}

/** The headers of a game by the server's names, without the players. */
export function keptHeaders({ headers, further }: GameTree): Record<string, string> {
  const found = [
    ...Object.entries(SHOWN).map(([key, shown]) => [key, headers[shown] ?? '']),
    ...Object.entries(FURTHER).map(([key, name]) => [key, further.standard.get(name) ?? '']),
    ...further.custom,
  ];
  return Object.fromEntries(found.filter(([, value]) => value).slice(0, MAX_HEADERS));
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
      if (cp !== null && winRate !== null && n.parent) n.parent.score ??= { winRate, cp, pv: [n.usi], nodes: 0, isPlayers: true };
    });
  return tree;
}
