// Positions and legal moves in the browser, using shogiops (shogiground's companion); the server
// validates moves itself.
import { shogigroundDropDests, shogigroundMoveDests } from 'shogiops/compat';
import { makeSfen, parseSfen } from 'shogiops/sfen';
import type { MoveOrDrop, Role, SquareName } from 'shogiops/types';
import { isDrop, makeSquareName, parseUsi } from 'shogiops/util';
import { pieceCanPromote, pieceForcePromote } from 'shogiops/variant/util';
import type { Shogi } from 'shogiops/variant/shogi';

export type Position = Shogi;
export type Color = 'sente' | 'gote';

export const START = 'lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1';
export const HAND_ROLES: Role[] = ['rook', 'bishop', 'gold', 'silver', 'knight', 'lance', 'pawn'];

/** Parses an SFEN to a position, or to an error code if it is invalid or, if strict, not playable. */
function parse(sfen: string, isStrict: boolean): Position | string {
  try {
    return parseSfen('standard', sfen, isStrict).unwrap(
      p => p as Position | string,
      e => e.message,
    );
  } catch {
    return 'ERR_SFEN'; // shogiops throws at a number or a plus sign without a piece after it
  }
}

/** Parses an SFEN; undefined if invalid. */
export function parsePosition(sfen: string): Position | undefined {
  const found = parse(sfen.trim().replace(/^sfen\s+/, ''), false);
  return typeof found === 'string' ? undefined : found;
}

/** The SFEN in a text that may have USI's words before it: `sfen`, `position`, `startpos`. */
export function sfenIn(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replace(/^position /, '').replace(/^sfen /, '').replace(/^startpos$/, START);
}

/** The error code of an SFEN that isn't a playable position; undefined if it is. */
export function sfenProblem(sfen: string): string | undefined {
  const found = parse(sfen, true);
  if (typeof found === 'string') return found;
  return hasTooMany(sfen) ? 'ERR_TOO_MANY_PIECES' : undefined;
}

const UNREADABLE = ['ERR_SFEN', 'ERR_BOARD_DIMS', 'ERR_BOARD_PIECE', 'ERR_HANDS', 'ERR_TURN', 'ERR_MOVENUMBER'];

/** Whether an SFEN has a board, a side to move and hands, playable or not. */
export const isReadable = (sfen: string): boolean => !UNREADABLE.includes(sfenProblem(sfen) ?? '');

/** The pieces of a set; kings are counted for each side. */
const SET: Record<string, number> = { P: 18, L: 4, N: 4, S: 4, G: 4, B: 2, R: 2 };

export function hasTooMany(sfen: string): boolean {
  const [board = '', , hands = ''] = sfen.split(' ');
  const counts: Record<string, number> = {};
  for (const [, n, piece] of `${board.replace(/\d/g, ' ')} ${hands}`.toUpperCase().matchAll(/(\d*)([A-Z])/g)) counts[piece] = (counts[piece] ?? 0) + Number(n || 1);
  return Object.entries(SET).some(([piece, most]) => (counts[piece] ?? 0) > most);
}

export function turnOf(sfen: string): Color {
  return sfen.split(' ')[1] === 'w' ? 'gote' : 'sente';
}

export const opposite = (c: Color): Color => (c === 'sente' ? 'gote' : 'sente');

export function isLegal(pos: Position, usi: string): boolean {
  const move = parseUsi(usi);
  return !!move && pos.isLegal(move);
}

/** The SFEN after a move; undefined if the move is illegal. */
export function play(sfen: string, usi: string): string | undefined {
  const pos = parsePosition(sfen);
  const move = parseUsi(usi);
  if (!pos || !move || !pos.isLegal(move)) return undefined;
  pos.play(move);
  return makeSfen(pos);
}

/** The position with the other side to move, to show threats. */
export function passed(sfen: string): string {
  const [board, turn, hands, n] = sfen.split(' ');
  return [board, turn === 'b' ? 'w' : 'b', hands, String(Number(n || 1) + 1)].join(' ');
}

/** An SFEN without the move number: equal for equal positions. */
export const positionKey = (sfen: string): string => sfen.split(' ').slice(0, 3).join(' ');

export interface Dests {
  moves: Map<SquareName, SquareName[]>;
  drops: Map<string, SquareName[]>;
}

export function dests(pos: Position): Dests {
  return { moves: shogigroundMoveDests(pos), drops: shogigroundDropDests(pos) };
}

/** All legal moves, in USI. */
export function legalMoves(pos: Position): string[] {
  const found: string[] = [];
  const { moves, drops } = dests(pos);
  for (const [from, tos] of moves)
    for (const to of tos) {
      const { can, must } = promotion(pos, from, to);
      if (!must) found.push(from + to);
      if (can) found.push(`${from}${to}+`);
    }
  for (const [name, tos] of drops) {
    const letter = dropLetter(name.split(' ')[1] as Role);
    for (const to of tos) found.push(`${letter}*${to}`);
  }
  return found;
}

export function dropLetter(role: Role): string {
  return { pawn: 'P', lance: 'L', knight: 'N', silver: 'S', gold: 'G', bishop: 'B', rook: 'R' }[role as string] ?? '?';
}

/** Whether a move may promote, and whether it must. */
export function promotion(pos: Position, from: SquareName, to: SquareName): { can: boolean; must: boolean } {
  const move = parseUsi(from + to);
  if (!move || isDrop(move)) return { can: false, must: false };
  const piece = pos.board.get(move.from);
  if (!piece) return { can: false, must: false };
  return {
    can: pieceCanPromote('standard')(piece, move.from, move.to, undefined),
    must: pieceForcePromote('standard')(piece, move.to),
  };
}

/** Origin (none for a drop) and destination of a move, as shogiground's square names. */
export function moveSquares(usi: string): SquareName[] {
  const move = parseUsi(usi);
  if (!move) return [];
  return isDrop(move) ? [makeSquareName(move.to)] : [makeSquareName(move.from), makeSquareName(move.to)];
}

export function parseMove(usi: string): MoveOrDrop | undefined {
  return parseUsi(usi);
}
