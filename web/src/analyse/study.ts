// Analysis of whole games by the server; results are stored in the games' nodes.
import { explain, t } from '../i18n';
import { effect, signal } from '@preact/signals';
import { chosenModel } from '../models';
import type { StudyProgress } from '../protocol';
import { analysisEngine, named } from '../engines';
import { studyAlphaBetaNodes, studyNodes } from '../settings';
import type { GameTree } from '../shogi/tree';
import { connection } from '../socket';
import { tell } from '../ui/notices';
import { changed, games, noteScore, positionText, scored } from './state';

export interface GameStatus {
  done: number;
  total: number;
  /** Its number in the library. */
  number?: number;
}

export const study = signal<StudyProgress | undefined>(undefined);
export const statuses = signal<ReadonlyMap<GameTree, GameStatus>>(new Map());
let requestId = 0;
let studied: GameTree[] = [];
let studiedBy = '';
/** Library numbers of the studied games, in their order. */
let numbers: number[] = [];

export const isStudying = (): boolean => study.value?.state === 'running';

/** Analyses games from the first move to the last. */
export function startStudy(trees: GameTree[]): void {
  const engine = analysisEngine.value;
  studied = trees;
  studiedBy = engine === 'alphabeta' ? engine : (chosenModel.value?.id ?? '');
  numbers = [];
  if (requestId) connection.forget(requestId);
  requestId = connection.request(
    {
      type: 'study',
      games: trees.map(tree => ({
        position: positionText(tree.mainLine().at(-1)!),
        black: tree.headers.black ?? '',
        white: tree.headers.white ?? '',
        end: tree.ending.slice(0, 40),
      })),
      nodes: (engine === 'alphabeta' ? studyAlphaBetaNodes : studyNodes).value,
      ...named(engine),
      lines: 2,
    },
    answer => {
      if (answer.type === 'study') receive(answer);
      else if (answer.type === 'error') {
        study.value = undefined;
        tell(explain(answer), 'bad');
      }
    },
  );
}

export function stopStudy(): void {
  const running = study.value;
  if (running) connection.request({ type: 'study_stop', study: running.study }, () => {});
}

export function receive(progress: StudyProgress): void {
  if (!numbers.length) numbers = progress.games.map(g => g.game);
  for (const found of progress.found) {
    const tree = studied[numbers.indexOf(found.game)];
    const at = tree?.mainLine()[found.ply];
    if (at) noteScore(at, found.lines[0], found.win_rate, found.visits, studiedBy);
  }
  statuses.value = new Map([
    ...statuses.value,
    ...progress.games.flatMap((g): [GameTree, GameStatus][] => {
      const tree = studied[numbers.indexOf(g.game)];
      if (tree) tree.number ??= g.game;
      return tree ? [[tree, { done: g.done, total: g.plies + 1, number: g.game }]] : [];
    }),
  ]);
  study.value = { ...progress, found: [], mistakes: [] };
  scored.value++;
  if (progress.state !== 'running') changed();
  if (progress.state === 'failed') tell(t('error.failed', { detail: progress.message }), 'bad');
}

// A new server session doesn't know a study's listeners.
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
