// Saves a game as a record, an image or an animation.
import { signal } from '@preact/signals';
import type { csaLine, Format } from '../shogi/records';
import { t } from '../i18n';
import { lossOf, gradeOf } from '../shogi/grades';
import { lineOf } from '../shogi/notation';
import { turnOf } from '../shogi/position';
import { ownComment, type Node } from '../shogi/tree';
import { notify } from '../ui/notices';
import { game, line, node, orientation } from './state';
import { lineText, nodeText, UNKNOWN_LENGTH } from './words';

export const gifProgress = signal<number | undefined>(undefined);

export function download(name: string, content: Blob | string, type = 'text/plain;charset=utf-8'): void {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function fileName(extension: string): string {
  const { name, headers } = game.value;
  const base = name.replace(/\.[^.]*$/, '') || [headers.black, headers.white].filter(Boolean).join('-') || 'komadori';
  return `${base.replace(/[\\/:*?"<>|\s]+/g, '_').slice(0, 80)}.${extension}`;
}

/** A node's comment with its score and line, in ShogiHome's format for KIF and floodgate's for CSA. */
export function analysedComment(at: Node, inCsa?: typeof csaLine): string {
  const score = at.score?.isPlayers ? undefined : at.score;
  if (!score) return [ownComment(at), playersScore(at, !!inCsa)].filter(Boolean).join('\n');
  // An analysis of the record stays as it is; floodgate's lines are written anew, in either format.
  if (!inCsa && score.by === undefined && at.recorded && !/^\* /m.test(at.recorded)) return ownComment(at);
  const sign = turnOf(at.sfen) === 'sente' ? 1 : -1;
  if (inCsa) {
    const cp = score.mate !== undefined ? Math.sign(score.mate) * 30_000 : (score.cp ?? 0);
    return [at.comment, `* ${sign * cp} ${inCsa(at.sfen, score.pv).join(' ')}`.trim()].filter(Boolean).join('\n');
  }
  const value = score.mate !== undefined ? `${sign * score.mate > 0 ? '+' : '-'}詰${Math.abs(score.mate) < UNKNOWN_LENGTH ? Math.abs(score.mate) : ''}` : `${sign * (score.cp ?? 0) >= 0 ? '+' : ''}${sign * (score.cp ?? 0)}`;
  const parts = [at.comment, playersScore(at, false), `#評価値=${value}`];
  if (score.pv.length) parts.push(`#読み筋=${japaneseLine(at)}`);
  const loss = lossOf(at);
  const grade = loss === undefined ? undefined : gradeOf(loss);
  if (grade && at.parent?.score?.pv.length && score.by !== undefined)
    parts.push(`komadori: ${t(`grade.${grade}`)} −${Math.round(100 * loss!)}; ${t('instead.better')}: ${lineText(at.parent.sfen, at.parent.score.pv, 1, at.parent.usi)}`);
  return parts.filter(Boolean).join('\n');
}

/** The line for the score that a player gave its move, from Black's view; "" if the comment has a score. */
function playersScore(at: Node, inCsa: boolean): string {
  const score = at.parent?.score;
  if (!score?.isPlayers || score.pv[0] !== at.usi || /評価値|^\* /m.test(ownComment(at))) return '';
  const cp = (turnOf(at.parent!.sfen) === 'sente' ? 1 : -1) * (score.cp ?? 0);
  return inCsa ? `* ${cp}` : `*評価値=${cp}`;
}

function japaneseLine(at: Node): string {
  return lineOf(at.sfen, at.score!.pv, 'japanese', at.usi)
    .map(m => m.text)
    .join('');
}

export async function recordText(format: Format, withAnalysis = true): Promise<string> {
  const { csaLine, writeGame } = await import('../shogi/records');
  return writeGame(game.value, format, withAnalysis ? at => analysedComment(at, format === 'csa' ? csaLine : undefined) : ownComment);
}

export async function saveRecord(format: Format): Promise<void> {
  download(fileName(format), await recordText(format));
}

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  notify(t('copied'));
}

const captions = (at: Node) => {
  const { black, white } = game.value.headers;
  const names = { sente: `▲${black ?? ''}`, gote: `△${white ?? ''}` };
  const [below, above] = orientation.value === 'sente' ? [names.sente, names.gote] : [names.gote, names.sente];
  return { top: above.length > 1 ? above : undefined, bottom: `${below.length > 1 ? `${below}  ` : ''}${at.ply ? `${at.ply} ${nodeText(at)}` : ''}` };
};

const pictureOf = (at: Node) => ({ sfen: at.sfen, lastUsi: at.usi, orientation: orientation.value, ...captions(at) });

export async function savePng(): Promise<void> {
  const { boardPng } = await import('../board/picture');
  download(fileName(`${node.value.ply}.png`), await boardPng(pictureOf(node.value)));
}

export async function saveGif(): Promise<void> {
  const { boardGif } = await import('../board/picture');
  const nodes = line.value;
  gifProgress.value = 0;
  try {
    download(fileName('gif'), await boardGif(nodes.map(pictureOf), 900, done => (gifProgress.value = done / nodes.length)));
  } finally {
    gifProgress.value = undefined;
  }
}
