// Analysis of whole games by the server; stores the results in the games' nodes.
import { explain, t } from '../i18n';
import { effect, signal } from '@preact/signals';
import { chosenModel } from '../models';
import type { Found, StudyGame, StudyProgress } from '../protocol';
import { analysisEngine, engineFields } from '../engines';
import { studyAlphaBetaNodes, studyNodes } from '../settings';
import { movesTo, type GameTree, type Node } from '../shogi/tree';
import { connection } from '../socket';
import { notify } from '../ui/notices';
import { keptResult } from './recorded';
import { keptHeaders } from '../shogi/played';
import { changed, games, noteScore, positionText, scored } from './state';

export interface GameStatus {
  done: number;
  total: number;
}

export const study = signal<StudyProgress | undefined>(undefined);
export const statuses = signal<ReadonlyMap<GameTree, GameStatus>>(new Map());
let requestId = 0;
/** The games of the study, by their place in its messages, and the positions that it analyses: the game may be changed
 * meanwhile. Those that a reloaded page hasn't opened are missing. */
let studied: ({ tree: GameTree; line: readonly Node[] } | undefined)[] = [];
/** The moves of these games. */
let moves: string[] = [];
let studiedBy = '';
/** The results for games that this page hasn't opened yet. */
let waiting: Found[] = [];

/** Where the tab keeps its running study, to follow it after a reload. */
const RUNNING = 'komadori.study';

interface Running {
  study: string;
  by: string;
  games: number[];
  moves?: string[];
}

export const isStudying = (): boolean => study.value?.state === 'running';

/** The most bytes of a request's games: the server refuses messages of 256 KB. */
const MAX_BYTES = 200_000;

/** Headers and comments for the report, and the record for the library; those beyond the size of a message are left out. */
function textsOf(trees: GameTree[], recordOf: (tree: GameTree) => string): (tree: GameTree) => Pick<StudyGame, 'headers' | 'comments' | 'record'> {
  let left = MAX_BYTES - trees.reduce((sum, tree) => sum + 200 + positionText(tree.mainLine().at(-1)!).length, 0);
  const takes = (texts: unknown): boolean => {
    const size = 3 * JSON.stringify(texts).length; // in UTF-8, at most
    if (size > left) return false;
    left -= size;
    return true;
  };
  const fitting = (texts: Record<string, string>) => (takes(texts) ? texts : {});
  const headers = new Map(trees.map(tree => [tree, fitting(keptHeaders(tree))]));
  return tree => {
    const comments = tree.mainLine().slice(0, 2000).map(({ comment }, ply) => [String(ply), comment]);
    const texts = { headers: headers.get(tree)!, comments: fitting(Object.fromEntries(comments.filter(([, text]) => text))) };
    const record = recordOf(tree);
    return { ...texts, record: takes(record) ? record : '' };
  };
}

/** Starts the analysis of all positions of games. */
export async function startStudy(trees: GameTree[]): Promise<void> {
  const { writeGame } = await import('../shogi/records');
  const engine = analysisEngine.value;
  studied = trees.map(tree => ({ tree, line: tree.mainLine() }));
  moves = studied.map(game => movesTo(game!.line.at(-1)!).join(' '));
  waiting = [];
  studiedBy = engine === 'alphabeta' ? engine : (chosenModel.value?.id ?? '');
  if (requestId) connection.forget(requestId);
  const texts = textsOf(trees, tree => writeGame(tree, 'kif'));
  requestId = connection.request(
    {
      type: 'study',
      games: trees.map(tree => ({
        game: tree.stored?.game,
        position: positionText(tree.mainLine().at(-1)!),
        black: tree.headers.black ?? '',
        white: tree.headers.white ?? '',
        ...keptResult(tree),
        ...texts(tree),
      })),
      nodes: (engine === 'alphabeta' ? studyAlphaBetaNodes : studyNodes).value,
      ...engineFields(engine),
      lines: 2,
    },
    answer => {
      if (answer.type === 'study') receive(answer);
      else if (answer.type === 'error') {
        study.value = undefined;
        notify(explain(answer), 'bad');
      }
    },
  );
}

export function stopStudy(): void {
  const running = study.value;
  if (running) connection.request({ type: 'study_stop', study: running.study }, () => {});
}

/** Stores results in the games' nodes; returns those of games that aren't open. */
function note(results: readonly Found[], numbers: readonly number[]): Found[] {
  const lines = new Map<number, (readonly Node[])[]>();
  studied.forEach((game, i) => game && lines.set(numbers[i]!, [...(lines.get(numbers[i]!) ?? []), game.line]));
  const left: Found[] = [];
  for (const found of results) {
    const open = lines.get(found.game) ?? [];
    if (!open.length) left.push(found);
    for (const line of open) {
      const at = line[found.ply];
      if (at) noteScore(at, found.lines[0], found.win_rate, found.visits, studiedBy);
    }
  }
  return left;
}

/** The nodes of a tree along moves, as far as it has them. */
function along(tree: GameTree, usis: string): Node[] {
  const line = [tree.root];
  for (const usi of usis.split(' ')) {
    const next = line.at(-1)!.children.find(child => child.usi === usi);
    if (!next) break;
    line.push(next);
  }
  return line;
}

/** Finds the games of a study that a reloaded page has opened since; returns whether there are any. */
function findOpened(numbers: readonly number[]): boolean {
  let isAny = false;
  numbers.forEach((number, i) => {
    if (studied[i]) return;
    const tree = games.value.find(tree => tree.number === number && !studied.some(game => game?.tree === tree));
    if (!tree) return;
    studied[i] = { tree, line: moves[i] === undefined ? tree.mainLine() : along(tree, moves[i]) };
    isAny = true;
  });
  return isAny;
}

export function receive(progress: StudyProgress): void {
  const numbers = progress.games.map(g => g.game);
  const next = new Map(statuses.value);
  let isNumbered = false;
  findOpened(numbers);
  progress.games.forEach((g, i) => {
    const tree = studied[i]?.tree;
    if (!tree) return;
    isNumbered ||= tree.number === undefined;
    tree.number ??= g.game;
    tree.analysed = g.game;
    next.set(tree, { done: g.done, total: g.plies + 1 });
  });
  statuses.value = next;
  waiting = [...waiting, ...note(progress.found, numbers)];
  study.value = { ...progress, found: [], mistakes: [] };
  scored.value++;
  if (progress.state !== 'running') {
    sessionStorage.removeItem(RUNNING);
    changed();
  } else if (numbers.length) {
    const running: Running = { study: progress.study, by: studiedBy, games: numbers, moves };
    sessionStorage.setItem(RUNNING, JSON.stringify(running));
    if (isNumbered) changed(); // the game's address
  }
  if (progress.state === 'failed') notify(t('error.failed', { detail: progress.message }), 'bad');
}

// The results that came before their game was opened.
effect(() => {
  void games.value;
  const numbers = study.peek()?.games.map(g => g.game) ?? [];
  if (!waiting.length || !findOpened(numbers)) return;
  waiting = note(waiting, numbers);
  scored.value++;
});

/** The study that this tab followed before it was reloaded. */
function known(): Running | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(RUNNING) ?? 'null') as Running | undefined ?? undefined;
  } catch {
    return undefined;
  }
}

// A new server session has no subscriptions: follow the running study again.
effect(() => {
  if (!connection.epoch.value) return;
  const running = study.peek();
  const before = running ? undefined : known();
  const name = running?.state === 'running' ? running.study : before?.study;
  if (!name) return;
  if (before) [studiedBy, moves] = [before.by, before.moves ?? []];
  const id = connection.request({ type: 'study_follow', study: name }, answer => {
    if (answer.type === 'study') {
      // A restarted server may give the name to another study.
      if (before?.games.some((game, i) => answer.games[i] && answer.games[i].game !== game)) {
        connection.forget(id);
        sessionStorage.removeItem(RUNNING);
      } else receive(answer);
    } else if (answer.type === 'error') {
      sessionStorage.removeItem(RUNNING);
      if (running) study.value = { ...running, state: 'stopped' };
    }
  });
  requestId = id;
});

export const studyable = (): GameTree[] => games.value.filter(tree => tree.root.children.length > 0);
