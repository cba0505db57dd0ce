// Analysis of whole games by the server; stores the results in the games' nodes.
import { explain, t } from '../i18n';
import { effect, signal } from '@preact/signals';
import { chosenModel } from '../models';
import type { StudyGame, StudyProgress } from '../protocol';
import { analysisEngine, engineFields } from '../engines';
import { studyAlphaBetaNodes, studyNodes } from '../settings';
import type { GameTree, Node } from '../shogi/tree';
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
let studied: GameTree[] = [];
let studiedBy = '';

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
  studied = trees;
  studiedBy = engine === 'alphabeta' ? engine : (chosenModel.value?.id ?? '');
  if (requestId) connection.forget(requestId);
  const texts = textsOf(trees, tree => writeGame(tree, 'kif'));
  requestId = connection.request(
    {
      type: 'study',
      games: trees.map(tree => ({
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

export function receive(progress: StudyProgress): void {
  const next = new Map(statuses.value);
  const lines = new Map<number, Node[][]>();
  progress.games.forEach((g, i) => {
    const tree = studied[i];
    if (!tree) return;
    tree.number ??= g.game;
    tree.analysed = g.game;
    next.set(tree, { done: g.done, total: g.plies + 1 });
    if (progress.found.length) lines.set(g.game, [...(lines.get(g.game) ?? []), tree.mainLine()]);
  });
  statuses.value = next;
  for (const found of progress.found)
    for (const nodes of lines.get(found.game) ?? []) {
      const at = nodes[found.ply];
      if (at) noteScore(at, found.lines[0], found.win_rate, found.visits, studiedBy);
    }
  study.value = { ...progress, found: [], mistakes: [] };
  scored.value++;
  if (progress.state !== 'running') changed();
  if (progress.state === 'failed') notify(t('error.failed', { detail: progress.message }), 'bad');
}

// A new server session has no subscriptions: follow the running study again.
effect(() => {
  void connection.epoch.value;
  const running = study.peek();
  if (running?.state !== 'running') return;
  requestId = connection.request({ type: 'study_follow', study: running.study }, answer => {
    if (answer.type === 'study') receive(answer);
    else if (answer.type === 'error') study.value = { ...running, state: 'stopped' };
  });
});

export const studyable = (): GameTree[] => games.value.filter(tree => tree.root.children.length > 0);
