// Move notation: ▲７六歩, P-7f or 7g7f.
import { makeJapaneseMoveOrDrop } from 'shogiops/notation/japanese';
import { makeWesternEngineMoveOrDrop } from 'shogiops/notation/western-engine';
import { makeSfen } from 'shogiops/sfen';
import { legalMoves, parseMove, parsePosition, type Position } from './position';

export type Notation = 'japanese' | 'western' | 'usi';

export interface LineMove {
  usi: string;
  text: string;
  /** The position after the move. */
  sfen: string;
}

const WORDS: Record<string, { ja: string; en: string }> = {
  resign: { ja: '投了', en: 'Resigns' },
  win: { ja: '入玉宣言', en: 'Declares a win' },
  pass: { ja: 'パス', en: 'Pass' },
};

/** A move in a position. `lastTo` is the square of the move before (同), in shogiops' number. */
export function moveText(pos: Position, usi: string, style: Notation, lastTo?: number): string {
  if (usi in WORDS) return style === 'japanese' ? WORDS[usi].ja : WORDS[usi].en;
  const move = parseMove(usi);
  if (!move || style === 'usi') return usi;
  if (style === 'western') return makeWesternEngineMoveOrDrop(pos, move) ?? usi;
  const words = makeJapaneseMoveOrDrop(pos, move, lastTo ?? -1);
  return words ? (pos.turn === 'sente' ? '▲' : '△') + words.replace('　', '') : usi;
}

/** A square by its number 9*(file-1)+(rank-1). */
export function squareText(square: number, style: Notation): string {
  const [file, rank] = [Math.floor(square / 9), square % 9];
  return style === 'japanese' ? '１２３４５６７８９'[file] + '一二三四五六七八九'[rank] : `${file + 1}${'abcdefghi'[rank]}`;
}

export function lastSquare(usi: string | undefined): number | undefined {
  return usi ? parseMove(usi)?.to : undefined;
}

const lines = new Map<string, LineMove[]>();
const MOST_LINES = 200;

/** A line of moves in words, cut at the first that isn't legal. Remembered, so that updates of a
 * search several times a second cost nothing where lines stay the same. */
export function lineOf(sfen: string, usis: readonly string[], style: Notation, lastUsi?: string): LineMove[] {
  const key = `${style}|${sfen}|${lastUsi ?? ''}|${usis.join(' ')}`;
  const known = lines.get(key);
  if (known) return known;
  const found: LineMove[] = [];
  const pos = parsePosition(sfen);
  let last = lastSquare(lastUsi);
  for (const usi of usis) {
    const move = parseMove(usi);
    if (!pos || !move || !pos.isLegal(move)) break;
    const text = moveText(pos, usi, style, last);
    pos.play(move);
    last = move.to;
    found.push({ usi, text, sfen: makeSfen(pos) });
  }
  if (lines.size >= MOST_LINES) lines.delete(lines.keys().next().value!);
  lines.set(key, found);
  return found;
}

const WIDE = '０１２３４５６７８９';
const KANJI = '〇一二三四五六七八九';

/** Normalises a typed move: half-width digits, no marks, no spaces, lower case. */
function plain(text: string): string {
  return text
    .replace(/[▲△☗☖▽▼\s　\-]/g, '')
    .replace(/[０-９]/g, d => String(WIDE.indexOf(d)))
    .replace(/[一二三四五六七八九]/g, d => String(KANJI.indexOf(d)))
    .replace(/王/g, '玉')
    .replace(/龍/g, '竜')
    .toLowerCase();
}

/** The legal move that was typed, in USI, Japanese or Western notation; undefined where none or
 * more than one fits. */
export function parseTyped(pos: Position, typed: string, lastUsi?: string): string | undefined {
  const wanted = plain(typed);
  if (!wanted) return undefined;
  const last = lastSquare(lastUsi);
  const fits = legalMoves(pos).filter(usi =>
    [usi, moveText(pos, usi, 'japanese'), moveText(pos, usi, 'japanese', last), moveText(pos, usi, 'western')].some(
      text => plain(text) === wanted,
    ),
  );
  return new Set(fits).size === 1 ? fits[0] : undefined;
}
