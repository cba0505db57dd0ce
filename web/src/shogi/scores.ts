// The lines of comments for what a player said of its move, from Black's view: `* 30 -3334FU +2726FU` in CSA
// (floodgate's), `*評価値=30` and `*読み筋=△３四歩(33)▲２六歩(27)` in KIF, JKF and the page. Loaded with tsshogi.
import { Color, formatCSAMove, formatKIFMove, Move, parseCSAMove, parseMoves, Position } from 'tsshogi';
import type { Node } from './tree';

const IN_CSA = /^\* ([+-]?\d+(?:\.\d+)?)(?:\s+(\S.*))?$/;
const SCORE = /^\*?評価値=\s*(?:([+-]?\d+(?:\.\d+)?)|\+?(-?)詰\d*)\s*$/;
const LINE = /^\*?読み筋=(.+)$/;
const MATE = /^\*?評価値=\+?(-?)詰\d+\s*$/;
const ANALYSIS = /^#評価値=([+-]?\d+)$/;

/** Converts a comment of CSA; what follows a line's last legal move becomes a line of its own. Of several scores the
 * last in floodgate's form is the move's, in KIF the first. */
export function withScoresOfKif(comment: string, { sfen }: Node): string {
  const rows = comment.split('\n');
  const analysis = rows.map(row => ANALYSIS.exec(row)?.[1]).find(Boolean);
  const first = rows.findIndex(row => SCORE.test(row) || IN_CSA.test(row));
  const last = rows.findLastIndex(row => IN_CSA.test(row));
  if (last > first) rows.splice(first, 0, ...rows.splice(last, 1));
  const mates = rows.map(row => MATE.exec(row)).filter(Boolean).map(found => `${found![1]}30000`);
  return rows
    .flatMap(row => {
      const [, score, line = ''] = IN_CSA.exec(row) ?? [];
      if (score === undefined) return [row];
      const position = Position.newBySFEN(sfen)!;
      const moves = line.split(/\s+/);
      let said = '';
      for (let move = parseCSAMove(position, moves[0]!); move instanceof Move && position.doMove(move); move = parseCSAMove(position, moves[0] ?? '')) {
        said += (move.color === Color.BLACK ? '▲' : '△') + formatKIFMove(move);
        moves.shift();
      }
      const isAnalysis = analysis !== undefined && Number(analysis) === Number(score); // the comment has it already
      return [isAnalysis || mates.includes(score) ? '' : `*評価値=${score}`, said && !(isAnalysis && comment.includes('#読み筋=')) ? `*読み筋=${said}` : '', moves.join(' ')].filter(Boolean);
    })
    .join('\n');
}

/** Converts a comment of KIF, unless it ends with the line of an analysis in CSA. A mate is 30,000; its length stays. */
export function withScoresOfCsa(comment: string, { sfen, usi, parent }: Node): string {
  const rows = comment.split('\n');
  const scores = rows.map(row => SCORE.exec(row));
  const at = scores.findIndex(Boolean);
  const score = scores[at];
  if (!score || !parent || IN_CSA.test(rows.at(-1)!)) return comment;
  const next = scores.findIndex((other, i) => other && i > at);
  const row = rows.slice(0, next < 0 ? undefined : next).find(text => LINE.test(text));
  const line = row ? LINE.exec(row)![1]! : '';
  const position = Position.newBySFEN(sfen)!;
  const last = Position.newBySFEN(parent.sfen)!.createMoveByUSI(usi) ?? undefined;
  const moves = parseMoves(position, line, last)[0].filter(move => position.doMove(move));
  const isWhole = moves.length === (line.match(/[▲△▼▽☗☖]/g) ?? []).length;
  const inCsa = ['*', score[1] ?? `${score[2]}30000`, ...(isWhole ? moves.map(formatCSAMove) : [])].join(' ');
  const ofLine = isWhole && row !== undefined ? rows.indexOf(row) : -1;
  return rows
    .flatMap((text, i) => (i === at ? [inCsa, ...(MATE.test(text) ? [text] : [])] : i === ofLine ? [] : [text]))
    .join('\n');
}
