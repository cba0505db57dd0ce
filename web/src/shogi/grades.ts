// Grades mistakes by the loss of win rate.
import type { Node } from './tree';

export type Grade = 'inaccuracy' | 'mistake' | 'blunder' | 'disaster';

/** The minimum loss of win rate for each grade, worst first. */
export const GRADES: readonly (readonly [number, Grade])[] = [
  [0.5, 'disaster'],
  [0.2, 'blunder'],
  [0.1, 'mistake'],
  [0.05, 'inaccuracy'],
];

export const MARKS: Record<Grade, string> = { inaccuracy: '?!', mistake: '?', blunder: '??', disaster: '???' };

export function gradeOf(loss: number): Grade | undefined {
  return GRADES.find(([min]) => loss >= min - 1e-9)?.[1];
}

/** The win rate lost by a node's move, 0 for the engine's best move; undefined unless the positions
 * before and after the move have a score. */
export function lossOf(node: Node): number | undefined {
  const before = node.parent?.score;
  if (!before || !node.score) return undefined;
  if (before.pv[0] === node.usi) return 0;
  return Math.max(0, before.winRate - (1 - node.score.winRate));
}

export function mistakes(line: readonly Node[], min = 0.05): Node[] {
  return line.filter(n => (lossOf(n) ?? 0) >= min);
}
