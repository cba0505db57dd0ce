// Move notations: ▲７六歩, P-7f and 7g7f.
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

/** Formats a move. `lastTo` is the previous move's destination (for 同), a shogiops square. */
export function moveText(pos: Position, usi: string, style: Notation, lastTo?: number): string {
  if (usi in WORDS) return style === 'japanese' ? WORDS[usi].ja : WORDS[usi].en;
  const move = parseMove(usi);
  if (!move || style === 'usi') return usi;
  if (style === 'western') return makeWesternEngineMoveOrDrop(pos, move) ?? usi;
  const words = makeJapaneseMoveOrDrop(pos, move, lastTo ?? -1);
  return words ? (pos.turn === 'sente' ? '▲' : '△') + words.replace('　', '') : usi;
}

/** Formats a square, given as 9*(file-1)+(rank-1). */
export function squareText(square: number, style: Notation): string {
  const [file, rank] = [Math.floor(square / 9), square % 9];
  return style === 'japanese' ? '１２３４５６７８９'[file] + '一二三四五六七八九'[rank] : `${file + 1}${'abcdefghi'[rank]}`;
}

export function lastSquare(usi: string | undefined): number | undefined {
  return usi ? parseMove(usi)?.to : undefined;
}

const lineCache = new Map<string, LineMove[]>();
const MAX_CACHED_LINES = 200;

/** Formats a line up to its first illegal move. Cached: a search sends several updates per second, in
 * which most lines are unchanged. */
export function lineOf(sfen: string, usis: readonly string[], style: Notation, lastUsi?: string): LineMove[] {
  const key = `${style}|${sfen}|${lastUsi ?? ''}|${usis.join(' ')}`;
  const known = lineCache.get(key);
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
  if (lineCache.size >= MAX_CACHED_LINES) lineCache.delete(lineCache.keys().next().value!);
  lineCache.set(key, found);
  return found;
}

const WIDE = '０１２３４５６７８９';
const KANJI = '〇一二三四五六七八九';

/** Normalises a move as typed: half-width digits, no side marks or spaces, lower case. */
function normalise(text: string): string {
  return text
    .replace(/[▲△☗☖▽▼\s　\-]/g, '')
    .replace(/[０-９]/g, d => String(WIDE.indexOf(d)))
    .replace(/[一二三四五六七八九]/g, d => String(KANJI.indexOf(d)))
    .replace(/王/g, '玉')
    .replace(/龍/g, '竜')
    .toLowerCase();
}

/** Parses a move typed in USI, Japanese or Western notation; undefined if no legal move matches, or
 * more than one. */
export function parseTyped(pos: Position, typed: string, lastUsi?: string): string | undefined {
  const wanted = normalise(typed);
  if (!wanted) return undefined;
  const last = lastSquare(lastUsi);
  const matches = legalMoves(pos).filter(usi =>
    [usi, moveText(pos, usi, 'japanese'), moveText(pos, usi, 'japanese', last), moveText(pos, usi, 'western')].some(
      text => normalise(text) === wanted,
    ),
  );
  return new Set(matches).size === 1 ? matches[0] : undefined;
}
