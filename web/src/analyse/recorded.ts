// Analyses that records hold in their comments, as the server reads them.
import type { RecordFormatType } from 'tsshogi';
import type { RecordedAnalysis, RecordedLine } from '../protocol';
import type { GameTree, Node, Result } from '../shogi/tree';
import { applyHeaders } from '../shogi/played';
import { isKnown, statesResult, wordOf } from './words';

/** tsshogi's `RecordFormatType.CSA`; the library is loaded only where it reads or writes. */
const CSA: RecordFormatType.CSA = 4;

/** What is used of the server's answer. */
export interface Recorded extends RecordedAnalysis {
  moves: string[];
  times_ms?: (number | null)[];
  headers: Record<string, string>;
  comments: Record<number, string>;
  winner?: Result['winner'];
  end?: string;
}

/** Sets the scores of the main line and of variations, and moves the lines of analyses out of their comments. */
export function applyRecorded(tree: GameTree, game: Recorded): void {
  if (tree.readFrom === CSA) applyCsa(tree, game);
  const line = tree.mainLine();
  const differs = game.moves.findIndex((usi, i) => line[i + 1]?.usi !== usi);
  const same = differs < 0 ? line.length : differs + 1;
  game.times_ms?.slice(0, same - 1).forEach((ms, i) => ms && (line[i + 1]!.timeMs = ms));
  const lines = [line.slice(0, same)];
  applyLine(lines[0]!, game);
  for (const variation of game.variations) {
    const from = lines[variation.parent]?.[variation.ply];
    const nodes = from ? [from, ...follow(from, variation.moves)] : [];
    lines.push(nodes);
    applyLine(nodes, variation);
  }
  applyResult(tree, game);
}

/** The nodes that moves lead to, as far as the tree has them. */
function follow(from: Node, moves: string[]): Node[] {
  const nodes: Node[] = [];
  for (const usi of moves) {
    const next = (nodes.at(-1) ?? from).children.find(child => child.usi === usi);
    if (!next) break;
    nodes.push(next);
  }
  return nodes;
}

function applyLine(nodes: Node[], { analysis, texts }: RecordedLine): void {
  for (const { ply, win_rate, visits, lines } of analysis) {
    const at = nodes[ply];
    const best = lines[0];
    if (at) at.score = { winRate: win_rate, cp: best?.score_cp ?? undefined, mate: best?.mate_plies ?? undefined, pv: best?.pv ?? [], nodes: visits };
  }
  for (const [ply, text] of Object.entries(texts)) setComment(nodes[Number(ply)], text);
}

/** Sets the headers and the comments of a record of CSA as the server reads them: tsshogi leaves headers and empty
 * lines out. */
function applyCsa(tree: GameTree, { headers, comments }: Recorded): void {
  tree.further.standard.clear();
  tree.further.custom.clear();
  if (headers.time_limit) tree.headers.timeControl = headers.time_limit;
  applyHeaders(tree, headers);
  const line = tree.mainLine();
  const dense = (text: string) => text.replace(/\s+/g, '');
  for (const [ply, text] of Object.entries(comments)) {
    const at = line[Number(ply)];
    if (at && at.comment !== text && dense(at.comment) === dense(text)) at.comment = text;
  }
}

/** Sets the ending to the word for the server's result, or the result itself if no word states it. */
export function applyResult(tree: GameTree, { winner, end }: Partial<Result>): void {
  if (end === 'interrupted' && !tree.ending) tree.ending = '中断';
  if (!winner || (winner === 'none' && (!end || end === 'interrupted' || end === 'unknown'))) return;
  const result = { winner, end: end || 'unknown' };
  const { sfen } = tree.mainLine().at(-1)!;
  if (statesResult(tree.ending, sfen, result)) return;
  const said = result.end === 'unknown' ? undefined : wordOf(result, sfen);
  if (said) tree.ending = said;
  else {
    if (isKnown(tree.ending)) tree.ending = '中断';
    tree.result = result;
  }
}

/** The result of a game as the library takes it; an unknown end is "". */
export const keptResult = ({ ending, result }: GameTree): { winner: Result['winner']; end: string } =>
  result ? { ...result, end: result.end === 'unknown' ? '' : result.end } : { winner: 'none', end: ending.slice(0, 40) };

function setComment(at: Node | undefined, text: string): void {
  if (!at || at.comment === text) return;
  const bare = (row: string) => row.trim(); // tsshogi keeps spaces that the server leaves out
  const kept = text.split('\n').map(bare);
  const all = at.comment.split('\n');
  const rows = all.filter(row => bare(row) && !kept.includes(bare(row)));
  at.recorded = [at.recorded, ...rows].filter(Boolean).join('\n');
  const rest = all.filter(row => !rows.includes(row)).map(bare);
  if (rest.join('\n') === kept.join('\n')) at.asRead = { whole: at.comment, comment: text };
  at.comment = text;
}
