// Loads games of the library as trees.
import { noteStored } from '../analyse/keep';
import { applyRecorded } from '../analyse/recorded';
import { noteScore, scored } from '../analyse/state';
import { get } from '../http';
import type { Found, StoredGame, StoredStudy } from '../protocol';
import { applyHeaders, treeOf } from '../shogi/played';
import type { GameTree } from '../shogi/tree';
import { lacks } from '../shogi/whole';

/** A time that the server has noted, unlike a date that a record has. */
const IS_TIME = /^\d{4}-\d\d-\d\dT/;

/** A date as records have it, in this place's time; other text unchanged. */
export function dateOf(started: string): string {
  const date = IS_TIME.test(started) ? new Date(started) : undefined;
  if (!date || Number.isNaN(date.getTime())) return started;
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}/${two(date.getMonth() + 1)}/${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A date for lists: without seconds, in this place's time; other text shortened. */
export function shortDateOf(started: string): string {
  const date = dateOf(started).replace(/(\d:\d\d):\d\d$/, '$1');
  return date.length > 24 ? `${date.slice(0, 23)}…` : date;
}

/** Loads a game with its variations, comments, scores and analysis. */
export async function loadGame(number: number): Promise<GameTree> {
  const stored = await get<StoredGame>(`games/${number}`);
  const { summary } = stored;
  let tree: GameTree | undefined;
  if (stored.record) {
    const { isKif, readGames } = await import('../shogi/records');
    try {
      [tree] = readGames(stored.record, summary.title);
      if (tree && isKif(tree) && lacks(tree, stored, [summary.black, summary.white])) [tree] = readGames(await get<string>(`games/${number}/record`));
    } catch {
      tree = undefined; // fall back to the stored moves
    }
  }
  const isWhole = !!tree || !stored.record;
  if (!tree) {
    tree = treeOf({ ...stored, black: summary.black, white: summary.white });
    applyHeaders(tree, stored.headers);
  }
  tree.number = number;
  const line = tree.mainLine();
  for (const [ply, comment] of Object.entries(stored.comments)) {
    const at = line[Number(ply)];
    if (at && !at.comment) at.comment = comment;
  }
  applyRecorded(tree, { ...stored, winner: summary.winner, end: summary.end });
  // Of games that weren't played here it may be the time of saving, which is no date of the game.
  const date = summary.source === 'played' || !IS_TIME.test(summary.started) ? dateOf(summary.started) : '';
  tree.headers = { black: summary.black, white: summary.white, ...(date && { date }), ...tree.headers };
  tree.name = summary.title;
  if (summary.is_studied) {
    const study = await get<StoredStudy>(`games/${number}/study`).catch(() => undefined);
    for (const found of (study?.found ?? []) as unknown as Found[]) {
      const at = line[found.ply];
      if (at) noteScore(at, found.lines[0], found.win_rate, found.visits, study!.model);
    }
    if (study) tree.analysed = number;
    scored.value++;
  }
  // Else the tree lacks something of the stored game, which stays as it is.
  if (isWhole && line.slice(1).map(({ usi }) => usi).join(' ') === stored.moves.join(' ')) await noteStored(tree, { game: number, version: stored.version });
  return tree;
}
