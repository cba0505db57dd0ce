// Formats moves, scores and results.
import { count, t, word } from '../i18n';
import { language, notation } from '../settings';
import type { MateFound } from '../protocol';
import { lineOf, moveText, type Notation } from '../shogi/notation';
import { parsePosition } from '../shogi/position';
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

/** Formats a score, such as +250 or the plies to mate; `sign` -1 takes the opponent's view. */
export function scoreText(cp: number | null | undefined, mate: number | null | undefined, sign = 1): string {
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

/** Translates how a game ended: records state it in Japanese. */
export const endingText = (ending: string): string => (language.value !== 'ja' && ENDINGS[ending] ? word('reason', ENDINGS[ending]) : ending);

/** The result of a mate search for the side to move, or for its opponent after a pass. */
export function mateText(whose: 'own' | 'threat', { status, moves, nodes, is_shortest }: MateFound): string {
  if (status === 'not_possible') return t('mate.check');
  if (status === 'mate') return t(`mate.${whose}.mate`, { n: moves.length }) + (is_shortest ? t('mate.shortest') : '');
  return t(`mate.${whose}.${status}`, { nodes: count(nodes) });
}
