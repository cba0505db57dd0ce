// Classes of moves by loss of win rate.
import type { Node } from './tree';

export type Grade = 'inaccuracy' | 'mistake' | 'blunder' | 'disaster';

/** Minimum loss of win rate of each class, worst first. */
export const GRADES: readonly (readonly [number, Grade])[] = [
  [0.5, 'disaster'],
  [0.2, 'blunder'],
  [0.1, 'mistake'],
  [0.05, 'inaccuracy'],
];

export const MARKS: Record<Grade, string> = { inaccuracy: '?!', mistake: '?', blunder: '??', disaster: '???' };

export function gradeOf(loss: number): Grade | undefined {
  return GRADES.find(([least]) => loss >= least - 1e-9)?.[1];
}

/** Win rate that the move of a node gave away, 0 for the search's own; undefined where the position
 * before or after wasn't searched. */
export function lossOf(node: Node): number | undefined {
  const before = node.parent?.score;
  if (!before || !node.score) return undefined;
  if (before.pv[0] === node.usi) return 0;
  return Math.max(0, before.winRate - (1 - node.score.winRate));
}

export function mistakes(line: readonly Node[], least = 0.05): Node[] {
  return line.filter(n => (lossOf(n) ?? 0) >= least);
}
