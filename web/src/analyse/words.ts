// Formats moves, scores and results.
import { count, t, word } from '../i18n';
import { language, notation } from '../settings';
import type { MateFound } from '../protocol';
import { lineOf, moveText, type Notation } from '../shogi/notation';
import { parsePosition, turnOf } from '../shogi/position';
import { lastSquare } from '../shogi/notation';
import type { Node } from '../shogi/tree';

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

const ENDINGS: Record<string, string> = {
  投了: 'resign',
  詰み: 'checkmate',
  千日手: 'repetition',
  中断: 'interrupted',
  切れ負け: 'time',
  入玉勝ち: 'declaration',
  反則勝ち: 'illegal_move',
  反則負け: 'illegal_move',
  最大手数: 'max_plies',
};

/** Endings that the side to move brings about as the winner or, otherwise, the loser. */
const WON_BY_MOVER: Record<string, boolean> = { 投了: false, 詰み: false, 切れ負け: false, 反則負け: false, 入玉勝ち: true, 反則勝ち: true };

/** Translates how a game ended in a position: records state it in Japanese. */
export function endingText(ending: string, sfen: string, adjudicated?: 'black' | 'white' | 'draw'): string {
  if (adjudicated) return `${t(`winner.${adjudicated}`)} · ${word('reason', 'adjudication')}`;
  if (language.value === 'ja' || !ENDINGS[ending]) return ending;
  const reason = word('reason', ENDINGS[ending]);
  const won = WON_BY_MOVER[ending];
  if (won === undefined) return reason;
  const winner = won === (turnOf(sfen) === 'sente') ? 'black' : 'white';
  return `${t(`winner.${winner}`)} · ${reason}`;
}

/** The result of a mate search for the side to move, or for its opponent after a pass. */
export function mateText(whose: 'own' | 'threat', { status, moves, nodes, is_shortest }: MateFound): string {
  if (status === 'not_possible') return t('mate.check');
  if (status === 'mate') return t(`mate.${whose}.mate`, { n: moves.length }) + (is_shortest ? t('mate.shortest') : '');
  return t(`mate.${whose}.${status}`, { nodes: count(nodes) });
}
