// Learning from the mistakes of a game: the positions before them, in which a better move is looked for.
import { computed, effect, signal } from '@preact/signals';
import { analysisEngine, finder, named } from '../engines';
import { explain } from '../i18n';
import type { Analysis } from '../protocol';
import { screen } from '../router';
import { studyAlphaBetaNodes, studyNodes } from '../settings';
import { GRADES, lossOf, mistakes } from '../shogi/grades';
import { opposite, type Color } from '../shogi/position';
import { moverOf, type GameTree, type Node } from '../shogi/tree';
import { connection } from '../socket';
import { tell } from '../ui/notices';
import { knock } from '../ui/sound';
import { changed, game, go, guess, isSearching, keepsMainLine, line, node, noteScore, orientation, playLine, positionText, scored } from './state';

/** Moves that lose less than the least mistake are right. */
const LEAST = GRADES.at(-1)![0];
/** How long a wrong move stays on the board. */
const LOOK_MS = 900;

export type Verdict = 'best' | 'good' | 'played' | 'better' | 'bad';

export interface Retry {
  tree: GameTree;
  side: Color;
  mistakes: readonly Node[];
  /** The exercise; after the last, as many as there are. */
  index: number;
  phase: 'looking' | 'judging' | 'refuted' | 'solved' | 'shown';
  isHinted: boolean;
  tried?: { usi: string; verdict?: Verdict; loss: number };
  /** Exercises solved without having been shown the answer. */
  solved: ReadonlySet<Node>;
}

export const retry = signal<Retry | undefined>(undefined);

/** The mistake of the exercise. */
export const exercise = computed(() => retry.value?.mistakes[retry.value.index]);

/** Whether the board shows the exercise, where it is still open. */
export const isAtExercise = computed(() => !!exercise.value && node.value === exercise.value.parent);

export function exercisesOf(side: Color): Node[] {
  void scored.value;
  return mistakes(line.value, LEAST).filter(n => moverOf(n) === side && n.parent!.score!.pv.length > 0);
}

let request = 0;
let timer = 0;
/** The move that is judged; new ones stay in the tree only if they are right. */
let tried: { child: Node; isNew: boolean } | undefined;

/** Ends what goes on in the exercise: takes a move that isn't known to be right back. */
function leave(): void {
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

const change = (fields: Partial<Retry>): void => void (retry.value = { ...retry.value!, ...fields });

/** Begins with the mistakes of one side, first that at the bottom of the board. */
export function startRetry(side?: Color): void {
  const wanted = side ?? (exercisesOf(orientation.value).length ? orientation.value : opposite(orientation.value));
  const found = exercisesOf(wanted);
  if (!found.length) return;
  leave();
  orientation.value = wanted;
  isSearching.value = false;
  retry.value = { tree: game.value, side: wanted, mistakes: found, index: 0, phase: 'looking', isHinted: false, solved: new Set() };
  go(found[0].parent);
}

export function endRetry(): void {
  leave();
  retry.value = undefined;
}

export const toggleRetry = (): void => (retry.value ? endRetry() : startRetry());

export function toExercise(index: number): void {
  const now = retry.value;
  if (!now || index < 0 || index > now.mistakes.length) return;
  leave();
  isSearching.value = false;
  change({ index, phase: 'looking', isHinted: false, tried: undefined });
  go(now.mistakes[index]?.parent);
}

export const nextExercise = (): void => toExercise((retry.value?.index ?? 0) + 1);
export const previousExercise = (): void => toExercise((retry.value?.index ?? 0) - 1);
export const backToExercise = (): void => go(exercise.value?.parent);

export function giveHint(): void {
  if (retry.value?.phase === 'looking') change({ isHinted: true });
}

/** Plays the engine's line. */
export function showAnswer(): void {
  const at = exercise.value?.parent;
  if (!at || retry.value!.phase === 'solved') return;
  leave();
  change({ phase: 'shown', tried: undefined });
  playLine(at, at.score!.pv.slice(0, 1));
}

/** Judges a move by the analysis, or by a search as long as that of a move of the game. */
function attempt(usi: string): void {
  const mistake = exercise.value;
  if (!mistake || retry.value!.phase !== 'looking') return;
  const at = mistake.parent!;
  const isNew = !at.children.some(c => c.usi === usi);
  const child = game.value.add(at, usi);
  if (!child) return;
  knock();
  tried = { child, isNew };
  change({ phase: 'judging', tried: { usi, loss: 0 } });
  changed();
  go(child);
  if (usi === mistake.usi || usi === at.score!.pv[0] || child.score) settle(child);
  else judge(child);
}

function judge(child: Node): void {
  const { by } = child.parent!.score!;
  const which = by === undefined ? named(analysisEngine.value) : by === 'alphabeta' ? { engine: 'alphabeta' as const, model: null } : { engine: 'model' as const, model: by };
  const nodes = (which.engine === 'alphabeta' ? studyAlphaBetaNodes : studyNodes).value;
  request = connection.request({ type: 'analyse', position: positionText(child), nodes, multipv: 1, interval_ms: 1000, candidates: 0, ...which }, answer => {
    if (answer.type === 'error') {
      request = 0;
      takeBack();
      tell(explain(answer), 'bad');
    } else if (answer.type === 'analysis' && answer.state === 'done') {
      connection.forget(request);
      request = 0;
      const { lines, win_rate, root_visits } = answer as Analysis;
      noteScore(child, lines[0], win_rate, root_visits, finder(answer as Analysis));
      scored.value++;
      settle(child);
    }
  });
}

function settle(child: Node): void {
  const mistake = exercise.value!;
  const loss = lossOf(child) ?? 0;
  const isBest = child.usi === mistake.parent!.score!.pv[0];
  const verdict = isBest ? 'best' : child === mistake ? 'played' : loss < LEAST ? 'good' : loss < lossOf(mistake)! - 0.01 ? 'better' : 'bad';
  const told = { usi: child.usi, verdict, loss } as const;
  if (verdict === 'best' || verdict === 'good') {
    tried = undefined;
    change({ phase: 'solved', tried: told, solved: new Set([...retry.value!.solved, mistake]) });
    return;
  }
  change({ phase: 'refuted', tried: told });
  timer = setTimeout(takeBack, LOOK_MS) as unknown as number;
}

function takeBack(): void {
  leave();
  change({ phase: 'looking' });
}

// The user's moves are answers as long as the exercise is open.
effect(() => {
  const isOpen = isAtExercise.value && screen() === 'analyse' && retry.value?.phase === 'looking';
  guess.value = isOpen ? attempt : retry.value?.phase === 'judging' || retry.value?.phase === 'refuted' ? () => {} : undefined;
});

effect(() => void (keepsMainLine.value = !!retry.value));

// Another game ends it; a search would give the answer away.
effect(() => {
  if (retry.value && game.value !== retry.value.tree) endRetry();
  if (guess.value && isSearching.value) isSearching.value = false;
});

// A new session of the server doesn't know what was asked.
effect(() => {
  void connection.epoch.value;
  if (request && retry.peek()?.phase === 'judging') {
    request = 0;
    takeBack();
  }
});
