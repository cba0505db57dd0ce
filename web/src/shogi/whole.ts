// Whether a tree has all that the server's parser has read: tsshogi passes over lines of KIF and KI2 that were edited by hand.
import type { GameTree } from './tree';

/** What the server's parser has read of a game. */
export interface Read {
  moves: readonly string[];
  headers: Record<string, string>;
  comments: Record<string, string>;
}

const dense = (text: string): string => text.replace(/\s+/g, '');

/** Whether a game lacks moves at its end, comments of the main line, headers or players that the server has read. */
export function lacks(tree: GameTree, { moves, headers, comments }: Read, players: readonly string[]): boolean {
  const line = tree.mainLine();
  const played = line.slice(1);
  if (played.length > moves.length || played.some(({ usi }, i) => usi !== moves[i])) return false;
  if (played.length < moves.length) return true;
  const kept = [...Object.values(tree.headers), ...tree.further.standard.values(), ...tree.further.custom.values()].map(value => dense(value ?? ''));
  if ([...players, ...Object.values(headers)].some(value => !kept.some(own => own.includes(dense(value))))) return true;
  return Object.entries(comments).some(([ply, text]) => {
    const own = dense(line[Number(ply)]?.comment ?? '');
    return text.split('\n').some(row => !own.includes(dense(row)));
  });
}
