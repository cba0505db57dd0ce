// Formats moves, scores and results.
import { count, t, word } from '../i18n';
import { language, notation } from '../settings';
import type { MateFound } from '../protocol';
import { sideText } from '../shogi/handicaps';
import { lineOf, moveText, type Notation } from '../shogi/notation';
import { parsePosition, turnOf } from '../shogi/position';
import { lastSquare } from '../shogi/notation';
import type { Node, Result } from '../shogi/tree';

const texts = new WeakMap<Node, { style: Notation; text: string }>();

/** A node's move in the selected notation. */
export function nodeText(node: Node): string {
  const style = notation();
  if (!node.parent) return t('start');
  const known = texts.get(node);
  if (known?.style === style) return known.text;
  const pos = parsePosition(node.parent.sfen);
  const text = pos ? moveText(pos, node.usi, style, lastSquare(node.parent.usi)) : node.usi;
  texts.set(node, { style, text });
  return text;
}

export function lineText(sfen: string, usis: readonly string[], most: number, lastUsi?: string): string {
  return lineOf(sfen, usis.slice(0, most), notation(), lastUsi)
    .map(m => m.text)
    .join(notation() === 'japanese' ? '' : ' ');
}

/** The plies of a mate in a record that doesn't state its length. */
export const UNKNOWN_LENGTH = 1 << 20;

/** Formats a score, such as +250 or the plies to mate; `sign` -1 takes the opponent's view. */
export function scoreText(cp: number | null | undefined, mate: number | null | undefined, sign = 1): string {
  if (mate && Math.abs(mate) >= UNKNOWN_LENGTH) return t(mate * sign > 0 ? 'mate.win' : 'mate.loss');
  if (mate !== null && mate !== undefined) return t(mate * sign > 0 ? 'mate.in' : 'mate.by', { n: Math.abs(mate) });
  if (cp === null || cp === undefined) return '';
  const value = sign * cp;
  return value > 0 ? `+${value}` : String(value);
}

/** A mate in the scores of played games, which don't state its length. */
const MATE_CP = 30_000;

/** Formats a score of a played game, the mover's view; "" if it has none. */
export function playedScoreText(cp: number | null | undefined): string {
  const isMate = Math.abs(cp ?? 0) >= MATE_CP;
  return scoreText(cp, isMate ? Math.sign(cp!) * UNKNOWN_LENGTH : null);
}

type Outcome = 'win' | 'loss' | 'draw' | 'none';

/** The endings that records state, with their name in the library and their outcome for the side to move. */
const ENDINGS: Record<string, readonly [end: string, outcome: Outcome]> = {
  投了: ['resign', 'loss'],
  詰み: ['mate', 'loss'],
  千日手: ['sennichite', 'draw'],
  持将棋: ['impasse', 'draw'],
  中断: ['interrupted', 'none'],
  切れ負け: ['time_up', 'loss'],
  入玉: ['declaration', 'win'],
  トライ: ['declaration', 'win'],
  反則勝ち: ['illegal_move', 'win'],
  反則負け: ['illegal_move', 'loss'],
  最大手数: ['max_moves', 'draw'],
  引き分け: ['adjudication', 'draw'],
  不戦勝: ['adjudication', 'win'],
  不戦敗: ['adjudication', 'loss'],
};

/** The ends of games played here by their names in records. */
const PLAYED_ENDS: Record<string, string> = {
  checkmate: 'mate',
  resignation: 'resign',
  repetition: 'sennichite',
  max_plies: 'max_moves',
  time: 'time_up',
  false_declaration: 'illegal_move',
};

function winnerOf(outcome: Outcome, sfen: string): Result['winner'] {
  if (outcome === 'draw' || outcome === 'none') return outcome;
  return (outcome === 'win') === (turnOf(sfen) === 'sente') ? 'black' : 'white';
}

/** Whether an ending is none or one whose meaning is known. */
export const isKnown = (ending: string): boolean => !ending || ending in ENDINGS;

/** Whether a word of records states a game's end, if it is known, and its winner in the final position. */
export function statesResult(ending: string, sfen: string, { winner, end }: Result): boolean {
  const stated = ENDINGS[ending];
  return !!stated && (end === 'unknown' || stated[0] === (PLAYED_ENDS[end] ?? end)) && winnerOf(stated[1], sfen) === winner;
}

/** The result of a word that states a ruling; undefined for other words. */
export function rulingOf(ending: string, sfen: string): Result | undefined {
  const stated = ENDINGS[ending];
  return stated?.[0] === 'adjudication' ? { end: stated[0], winner: winnerOf(stated[1], sfen) } : undefined;
}

/** The word of records that states a result; undefined if none does. */
export const wordOf = (result: Result, sfen: string): string | undefined => Object.keys(ENDINGS).find(word => ENDINGS[word][0] !== 'adjudication' && statesResult(word, sfen, result));

/** Translates how a game from `initialSfen` ended in a position: records state it in Japanese. */
export function endingText(ending: string, sfen: string, initialSfen: string, result?: Result): string {
  if (!result && (language.value === 'ja' || !ENDINGS[ending])) return ending;
  const [end, winner] = result ? [result.end, result.winner] : [ENDINGS[ending][0], winnerOf(ENDINGS[ending][1], sfen)];
  const isTold = winner === 'none' || (winner === 'draw' && !['adjudication', 'interrupted', 'unknown'].includes(end));
  const said = [isTold ? '' : sideText('winner', winner, initialSfen), end === 'unknown' ? '' : word('reason', end)];
  return said.filter(Boolean).join(' · ');
}

/** The result of a mate search for the side to move, or for its opponent after a pass. */
export function mateText(whose: 'own' | 'threat', { status, moves, nodes, is_shortest }: MateFound): string {
  if (status === 'check' || status === 'over') return t(`mate.${status}`);
  if (status === 'mate') return t(`mate.${whose}.mate`, { n: moves.length }) + (is_shortest ? t('mate.shortest') : '');
  return t(`mate.${whose}.${status}`, { nodes: count(nodes) });
}
