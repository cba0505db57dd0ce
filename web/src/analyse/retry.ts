// "Learn from your mistakes": exercises to find a better move than a mistake of the game.
import { computed, effect, signal } from '@preact/signals';
import { analysisEngine, engineFields, engineId } from '../engines';
import { explain } from '../i18n';
import type { Analysis } from '../protocol';
import { screen } from '../router';
import { studyAlphaBetaNodes, studyNodes } from '../settings';
import { GRADES, lossOf, mistakes } from '../shogi/grades';
import { opposite, type Color } from '../shogi/position';
import { moverOf, type GameTree, type Node } from '../shogi/tree';
import { connection } from '../socket';
import { notify } from '../ui/notices';
import { knock } from '../ui/sound';
import { changed, game, go, isSearching, keepsMainLine, line, node, noteScore, onGuess, orientation, positionText, scored } from './state';

/** An answer is correct if it loses less than the smallest mistake. */
const MIN_MISTAKE = GRADES.at(-1)![0];
/** How long a wrong move stays on the board. */
const WRONG_MOVE_MS = 900;

export type Verdict = 'best' | 'good' | 'played' | 'better' | 'bad';

export interface Retry {
  tree: GameTree;
  side: Color;
  mistakes: readonly Node[];
  /** Index of the current exercise; `mistakes.length` after the last. */
  index: number;
  phase: 'looking' | 'judging' | 'refuted' | 'solved' | 'shown';
  isHinted: boolean;
  tried?: { usi: string; verdict?: Verdict; loss: number };
  /** Exercises solved without showing the answer. */
  solved: ReadonlySet<Node>;
}

export const retry = signal<Retry | undefined>(undefined);

/** The mistake that the current exercise is about. */
export const exercise = computed(() => retry.value?.mistakes[retry.value.index]);

/** Whether the board shows the exercise's position. */
export const isAtExercise = computed(() => !!exercise.value && node.value === exercise.value.parent);

export function exercisesOf(side: Color): Node[] {
  void scored.value;
  return mistakes(line.value, MIN_MISTAKE).filter(n => moverOf(n) === side && n.parent!.score!.pv.length > 0);
}

let request = 0;
let timer = 0;
/** The move being judged; a new one is removed from the tree again unless it is correct. */
let tried: { child: Node; isNew: boolean } | undefined;

/** Cancels the pending attempt: stops its search and takes its move back. */
function cancelAttempt(): void {
  if (request) {
    connection.forget(request);
    connection.request({ type: 'stop' }, () => {});
  }
  request = 0;
  clearTimeout(timer);
  if (!tried) return;
  const { child, isNew } = tried;
  tried = undefined;
  if (node.value === child) go(child.parent);
  if (!isNew || child.children.length) return;
  retry.value!.tree.remove(child);
  changed();
}

const update = (fields: Partial<Retry>): void => void (retry.value = { ...retry.value!, ...fields });

/** Starts the exercises of one side, by default the side at the bottom of the board. */
export function startRetry(side?: Color): void {
  const wanted = side ?? (exercisesOf(orientation.value).length ? orientation.value : opposite(orientation.value));
  const found = exercisesOf(wanted);
  if (!found.length) return;
  cancelAttempt();
  orientation.value = wanted;
  isSearching.value = false;
  retry.value = { tree: game.value, side: wanted, mistakes: found, index: 0, phase: 'looking', isHinted: false, solved: new Set() };
  go(found[0].parent);
}

export function endRetry(): void {
  cancelAttempt();
  retry.value = undefined;
}

export const toggleRetry = (): void => (retry.value ? endRetry() : startRetry());

export function toExercise(index: number): void {
  const now = retry.value;
  if (!now || index < 0 || index > now.mistakes.length) return;
  cancelAttempt();
  isSearching.value = false;
  update({ index, phase: 'looking', isHinted: false, tried: undefined });
  go(now.mistakes[index]?.parent);
}

export const nextExercise = (): void => toExercise((retry.value?.index ?? 0) + 1);
export const previousExercise = (): void => toExercise((retry.value?.index ?? 0) - 1);
export const backToExercise = (): void => go(exercise.value?.parent);

export function giveHint(): void {
  if (retry.value?.phase === 'looking') update({ isHinted: true });
}

/** Plays the engine's best move. */
export function showAnswer(): void {
  const at = exercise.value?.parent;
  if (!at || retry.value!.phase === 'solved') return;
  cancelAttempt();
  update({ phase: 'shown', tried: undefined });
  const answer = game.value.addLine(at, at.score!.pv.slice(0, 1));
  changed();
  go(answer);
}

/** Judges a move by its known score, or by a search with the node limit of the game's analysis. */
function attempt(usi: string): void {
  const mistake = exercise.value;
  if (!mistake || retry.value!.phase !== 'looking') return;
  const at = mistake.parent!;
  const isNew = !at.children.some(c => c.usi === usi);
  const child = game.value.add(at, usi);
  if (!child) return;
  knock();
  tried = { child, isNew };
  update({ phase: 'judging', tried: { usi, loss: 0 } });
  changed();
  go(child);
  if (usi === mistake.usi || usi === at.score!.pv[0] || child.score) settle(child);
  else judge(child);
}

function judge(child: Node): void {
  const { by } = child.parent!.score!;
  const which = by === undefined ? engineFields(analysisEngine.value) : by === 'alphabeta' ? { engine: 'alphabeta' as const, model: null } : { engine: 'model' as const, model: by };
  const nodes = (which.engine === 'alphabeta' ? studyAlphaBetaNodes : studyNodes).value;
  request = connection.request({ type: 'analyse', position: positionText(child), nodes, multipv: 1, interval_ms: 1000, candidates: 0, ...which }, answer => {
    if (answer.type === 'error') {
      request = 0;
      takeBack();
      notify(explain(answer), 'bad');
    } else if (answer.type === 'analysis' && answer.state === 'done') {
      connection.forget(request);
      request = 0;
      const { lines, win_rate, root_visits } = answer as Analysis;
      noteScore(child, lines[0], win_rate, root_visits, engineId(answer as Analysis));
      scored.value++;
      settle(child);
    }
  });
}

function settle(child: Node): void {
  const mistake = exercise.value!;
  const loss = lossOf(child) ?? 0;
  const isBest = child.usi === mistake.parent!.score!.pv[0];
  const verdict = isBest ? 'best' : child === mistake ? 'played' : loss < MIN_MISTAKE ? 'good' : loss < lossOf(mistake)! - 0.01 ? 'better' : 'bad';
  const judged = { usi: child.usi, verdict, loss } as const;
  if (verdict === 'best' || verdict === 'good') {
    tried = undefined;
    update({ phase: 'solved', tried: judged, solved: new Set([...retry.value!.solved, mistake]) });
    return;
  }
  update({ phase: 'refuted', tried: judged });
  timer = setTimeout(takeBack, WRONG_MOVE_MS) as unknown as number;
}

function takeBack(): void {
  cancelAttempt();
  update({ phase: 'looking' });
}

// While an exercise is open, the user's moves are answers to it.
effect(() => {
  const isOpen = isAtExercise.value && screen() === 'analyse' && retry.value?.phase === 'looking';
  onGuess.value = isOpen ? attempt : retry.value?.phase === 'judging' || retry.value?.phase === 'refuted' ? () => {} : undefined;
});

effect(() => void (keepsMainLine.value = !!retry.value));

// Opening another game ends the exercises; a search would give the answer away.
effect(() => {
  if (retry.value && game.value !== retry.value.tree) endRetry();
  if (onGuess.value && isSearching.value) isSearching.value = false;
});

// A new server session has lost the pending search.
effect(() => {
  void connection.epoch.value;
  if (request && retry.peek()?.phase === 'judging') {
    request = 0;
    takeBack();
  }
});
