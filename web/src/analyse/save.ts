// Saves a game as a record, an image or an animation.
import { signal } from '@preact/signals';
import type { csaLine, Format } from '../shogi/records';
import { t, type Key } from '../i18n';
import { lossOf, gradeOf } from '../shogi/grades';
import { lineOf } from '../shogi/notation';
import { turnOf } from '../shogi/position';
import { ownComment, variations, type GameTree, type Node } from '../shogi/tree';
import { notify } from '../ui/notices';
import { game, line, node, orientation, saved } from './state';
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

/** A player's line in KIF's comments, other than an analysis. */
const PLAYERS = /^(\*(評価値|詰み|読み筋|深さ|ノード数|エンジン)=|\*?対局\s)/;

/** A score of a player or of an analysis in a comment. */
const SCORE = /^(\*?評価値=|\*詰み=|#(評価値|詰み)=|\*?(解析|検討|対局)\s.*評価値)/m;

/** A node's comment with its score and line, in ShogiHome's format for KIF. In CSA, where `writeGame` converts a
 * player's, an analysis is floodgate's line, except before the first move. */
export function analysedComment(at: Node, lineInCsa?: typeof csaLine): string {
  const inCsa = at.parent && lineInCsa;
  const score = at.score?.isPlayers ? undefined : at.score;
  const sign = turnOf(at.sfen) === 'sente' ? 1 : -1;
  const cp = sign * (score?.mate !== undefined ? Math.sign(score.mate) * 30_000 : (score?.cp ?? 0));
  const inFloodgate = () => `* ${cp} ${inCsa!(at.sfen, score!.pv).join(' ')}`.trim();
  if (score?.by === undefined) {
    const parts = [ownComment(at)];
    if (!score) parts.push(playersScore(at));
    else if (inCsa ? !/^\*?評価値=/m.test(parts[0]!) : !SCORE.test(parts[0]!)) parts.push(...(inCsa ? [inFloodgate()] : [`*評価値=${cp}`, score.pv.length ? `*読み筋=${japaneseLine(at)}` : '']));
    return parts.filter(Boolean).join('\n');
  }
  // A new analysis takes the place of the record's, not of what the players said.
  const parts = [at.comment, ...(at.recorded ?? '').split('\n').filter(row => PLAYERS.test(row)), playersScore(at)];
  if (inCsa) return [...parts, inFloodgate()].filter(Boolean).join('\n');
  const mate = score.mate ?? 0;
  parts.push(`#評価値=${score.mate !== undefined ? `${sign * mate > 0 ? '+' : '-'}詰${Math.abs(mate) < UNKNOWN_LENGTH ? Math.abs(mate) : ''}` : `${cp >= 0 ? '+' : ''}${cp}`}`);
  if (score.pv.length) parts.push(`#読み筋=${japaneseLine(at)}`);
  const loss = lossOf(at);
  const grade = loss === undefined ? undefined : gradeOf(loss);
  if (grade && at.parent?.score?.pv.length)
    parts.push(`komadori: ${t(`grade.${grade}`)} −${Math.round(100 * loss!)}; ${t('instead.better')}: ${lineText(at.parent.sfen, at.parent.score.pv, 1, at.parent.usi)}`);
  return parts.filter(Boolean).join('\n');
}

/** KIF's line for the score that a player gave its move, from Black's view; "" if the comment has a score. */
function playersScore(at: Node): string {
  const score = at.parent?.score;
  if (!score?.isPlayers || score.pv[0] !== at.usi || SCORE.test(ownComment(at))) return '';
  return `*評価値=${(turnOf(at.parent!.sfen) === 'sente' ? 1 : -1) * (score.cp ?? 0)}`;
}

function japaneseLine(at: Node): string {
  return lineOf(at.sfen, at.score!.pv, 'japanese', at.usi)
    .map(m => m.text)
    .join('');
}

export async function treeText(tree: GameTree, format: Format): Promise<string> {
  const { csaLine, writeGame } = await import('../shogi/records');
  return writeGame(tree, format, at => analysedComment(at, format === 'csa' ? csaLine : undefined));
}

export const recordText = (format: Format): Promise<string> => treeText(game.value, format);

/** Without this line Kifu for Windows reads a .kif or .ki2 file as Shift-JIS. */
const encodingOf = (format: Format): string =>
  format === 'kif' || format === 'ki2' ? `#${format.toUpperCase()} version=2.0 encoding=UTF-8\n` : '';

/** The text that says what a format leaves out of a game; undefined if it holds it all. */
function leftOut(tree: GameTree, format: Format): Key | undefined {
  if (format !== 'csa' && format !== 'usi' && format !== 'ki2') return undefined;
  const nodes = [...tree.nodes()];
  const isTimed = nodes.some(n => n.timeMs || n.ending?.timeMs);
  if (format === 'ki2') return isTimed ? 'save.noTimes' : undefined;
  const isTold = format === 'usi' && (isTimed || nodes.some(ownComment) || !!tree.ending || Object.values(tree.headers).some(Boolean));
  if (isTold) return 'save.movesOnly';
  return nodes.some(n => variations(n).length > 0) ? 'save.mainLineOnly' : undefined;
}

export async function saveRecord(format: Format): Promise<void> {
  const tree = game.value;
  const text = await recordText(format);
  download(fileName(format), encodingOf(format) + text);
  const missing = leftOut(tree, format);
  if (missing) notify(t(missing, { format: format.toUpperCase() }), 'bad');
  else saved(tree);
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
