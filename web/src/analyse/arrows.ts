import type { DrawShape } from 'shogiground/draw';
import type { Role } from 'shogiops/types';
import { isDrop, makeSquareName } from 'shogiops/util';
import { opposite, parseMove, turnOf, type Color } from '../shogi/position';

export function arrow(usi: string, turn: Color, brush: string): DrawShape | undefined {
  const move = parseMove(usi);
  if (!move) return undefined;
  const dest = makeSquareName(move.to);
  const orig = isDrop(move) ? { role: move.role as Role, color: turn } : makeSquareName(move.from);
  return { orig, dest, brush } as DrawShape;
}

/** Circles the piece that a move moves or drops. */
export function origin(sfen: string, usi: string): DrawShape[] {
  const shape = arrow(usi, turnOf(sfen), 'best');
  return shape ? [{ ...shape, dest: shape.orig }] : [];
}

const BRUSHES = ['best', 'second', 'third'];

/** Arrows for the first moves of the lines and for the opponent's threat. */
export function lineArrows(sfen: string, firstMoves: readonly string[], threat?: string): DrawShape[] {
  const turn = turnOf(sfen);
  const shapes = firstMoves.map((usi, i) => arrow(usi, turn, BRUSHES[i] ?? 'third'));
  if (threat) shapes.push(arrow(threat, opposite(turn), 'threat'));
  return shapes.filter(s => s !== undefined);
}
