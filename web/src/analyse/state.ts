// State of the analysis screen: open games, current position, running search.
import { explain, t } from '../i18n';
import { batch, computed, effect, signal } from '@preact/signals';
import type { Analysis, Line, ThreatsFound } from '../protocol';
import { analysisEngine, engineFields, engineId, searchEngine } from '../engines';
import { multipv, showThreats } from '../settings';
import { lossOf, mistakes } from '../shogi/grades';
import { positionKey, START, turnOf, type Color } from '../shogi/position';
import { continuation, GameTree, lineThrough, movesTo, ownComment, pathTo, variations, type Node } from '../shogi/tree';
import { screen } from '../router';
import { connection } from '../socket';
import { isPrinting } from '../ui/media';
import { notify } from '../ui/notices';
import { knock } from '../ui/sound';

export const games = signal<GameTree[]>([new GameTree()]);
export const gameIndex = signal(0);
export const game = computed(() => games.value[gameIndex.value] ?? games.value[0]);
export const node = signal<Node>(game.value.root);
/** Incremented when moves, comments or headers change. */
export const version = signal(0);
/** Incremented when scores arrive, at most four times per second. */
export const scored = signal(0);
export const orientation = signal<Color>('sente');
export const isSearching = signal(false);
/** Hides engine output, so that the user can think unaided. */
export const isBlind = signal(false);
/** Receives the user's moves during an exercise, instead of the game. */
export const onGuess = signal<((usi: string) => void) | undefined>(undefined);
export const hidesEngine = computed(() => isBlind.value || onGuess.value !== undefined);
export const live = signal<Analysis | undefined>(undefined);
export const threats = signal<ThreatsFound | undefined>(undefined);
export const preview = signal<{ sfen: string; usi: string } | undefined>(undefined);
/** The heat map on the board; set by the network screen's panels. */
export const heat = signal<readonly number[] | undefined>(undefined);

/** Whether graph and mistakes show the main line even inside a variation, as the printed report does. */
export const keepsMainLine = signal(false);

export const line = computed(() => {
  void version.value;
  return lineThrough(keepsMainLine.value || isPrinting.value ? game.value.root : node.value);
});

export const searched = computed(() => {
  const found = live.value;
  return found && found.engine === searchEngine.value && found.position === positionText(node.value) ? found : undefined;
});

/** A node's position as the arguments of USI's `position` command. */
export function positionText(at: Node): string {
  const moves = movesTo(at);
  const { initialSfen } = rootGame(at);
  const start = initialSfen === START ? 'startpos' : `sfen ${initialSfen}`;
  return moves.length ? `${start} moves ${moves.join(' ')}` : start;
}

const rootGame = (at: Node) => ({ initialSfen: pathTo(at)[0].sfen });

// -- navigation

export function go(to: Node | undefined): void {
  if (!to || to === node.value) return;
  batch(() => {
    preview.value = undefined;
    node.value = to;
  });
}

/** The last visited child of a node, which `forward` prefers to the first. */
const lastVisited = new WeakMap<Node, Node>();

export const nextOf = (at: Node): Node | undefined => {
  const known = lastVisited.get(at);
  return known && at.children.includes(known) ? known : at.children[0];
};

effect(() => {
  for (const n of pathTo(node.value)) if (n.parent) lastVisited.set(n.parent, n);
});

export const forward = () => go(nextOf(node.value));
export const back = () => go(node.value.parent);
export const toStart = () => go(game.value.root);

export function toEnd(): void {
  let at = node.value;
  for (let next = nextOf(at); next; next = nextOf(at)) at = next;
  go(at);
}

/** Goes to the next or previous variation of the current move. */
export function toSibling(step: 1 | -1): void {
  const siblings = node.value.parent?.children ?? [];
  if (siblings.length > 1) go(siblings[(siblings.indexOf(node.value) + step + siblings.length) % siblings.length]);
}

/** Goes back to where the variation left the main line. */
export function leaveVariation(): void {
  const path = pathTo(node.value);
  const fork = path.findIndex(n => n.parent && continuation(n.parent) !== n);
  if (fork > 0) go(path[fork - 1]);
}

export function enterVariation(): void {
  go(variations(node.value)[0] ?? node.value.children[0]);
}

export function changed(): void {
  version.value++;
}

/** The games with changes by the user that are neither in a file nor in the library. */
const unsaved = new WeakSet<GameTree>();

/** Notes a change by the user. */
export function edited(): void {
  unsaved.add(game.value);
  changed();
}

export function saved(tree: GameTree): void {
  unsaved.delete(tree);
}

export const hasUnsaved = (trees = games.value): boolean => trees.some(tree => unsaved.has(tree));

/** Plays a move in the current position. */
export function play(usi: string): void {
  if (onGuess.value) {
    onGuess.value(usi);
    return;
  }
  const isNew = !node.value.children.some(c => c.usi === usi);
  const next = game.value.add(node.value, usi);
  if (!next) return;
  knock();
  if (isNew) edited();
  else changed();
  go(next);
}

export function playLine(from: Node, usis: readonly string[]): void {
  const end = game.value.addLine(from, usis);
  edited();
  go(end);
}

/** Removes a move and what follows it, which can't be undone; asks first if that is more than the move. */
export function remove(at: Node): void {
  if (!at.parent) return;
  if ((at.children.length || ownComment(at)) && !confirm(t('move.confirmDelete'))) return;
  const { parent } = at;
  game.value.remove(at);
  if (pathTo(node.value).includes(at)) go(parent);
  edited();
}

export function promote(at: Node): void {
  game.value.promote(at);
  edited();
}

export function openGames(opened: GameTree[], index = 0): void {
  if (!opened.length) return;
  batch(() => {
    games.value = opened;
    gameIndex.value = index;
    node.value = opened[index].root;
    live.value = undefined;
    changed();
  });
}

export function addGames(opened: GameTree[]): void {
  const isBlank = games.value.length === 1 && !games.value[0].root.children.length && games.value[0].initialSfen === START && !hasUnsaved();
  if (isBlank) openGames(opened);
  else {
    const first = games.value.length;
    batch(() => {
      games.value = [...games.value, ...opened];
      selectGame(first);
    });
  }
}

export function selectGame(index: number): void {
  batch(() => {
    gameIndex.value = index;
    node.value = games.value[index].root;
    changed();
  });
}

export function closeGame(index: number): void {
  const rest = games.value.filter((_, i) => i !== index);
  openGames(rest.length ? rest : [new GameTree()], Math.min(Math.max(0, gameIndex.value - (index <= gameIndex.value ? 1 : 0)), Math.max(0, rest.length - 1)));
}

// -- mistakes

export const gameMistakes = computed(() => {
  void scored.value;
  return mistakes(line.value);
});

export function toMistake(step: 1 | -1): void {
  const found = gameMistakes.value;
  const here = node.value.ply;
  const next = step > 0 ? found.find(n => n.ply > here) ?? found[0] : [...found].reverse().find(n => n.ply < here) ?? found.at(-1);
  go(next);
}

export { lossOf };

// -- the search

/** Candidates requested for the network screen, which shows the top 20 by any column. */
const MAX_CANDIDATES = 100;

let searchId = 0;
let threatsId = 0;
let frame = 0;
let pending: { found: Analysis; at: Node } | undefined;
let lastScored = 0;

/** Stores a node's score, unless the same engine has searched more nodes before. */
export function noteScore(at: Node, best: Line | undefined, winRate: number, nodes: number, by: string): void {
  if (at.score && at.score.by === by && at.score.nodes > nodes) return;
  at.score = {
    winRate,
    cp: best?.score_cp ?? undefined,
    mate: best?.mate_plies ?? undefined,
    pv: best?.pv ?? [],
    nodes,
    by,
  };
}

/** Applies only the latest update per animation frame. */
function scheduleUpdate(found: Analysis, at: Node): void {
  pending = { found, at };
  if (!frame) frame = requestAnimationFrame(flushUpdate);
}

function flushUpdate(now: number): void {
  frame = 0;
  if (!pending) return;
  const { found, at } = pending;
  pending = undefined;
  batch(() => {
    live.value = found;
    // The network screen's search doesn't replace the analysis engine's scores.
    if (found.engine === analysisEngine.peek() || !at.score) noteScore(at, found.lines[0], found.win_rate, found.root_visits, engineId(found));
    if (found.state === 'done' || now - lastScored > 250) {
      lastScored = now;
      scored.value++;
    }
  });
}

function stopSearch(): void {
  if (!searchId) return;
  connection.forget(searchId);
  searchId = 0;
  connection.request({ type: 'stop' }, () => {});
}

/** Makes the server's search follow the current position. Returns a function that stops it. */
export function followPosition(): () => void {
  const disposers = [
    effect(() => {
      const at = node.value;
      const wanted = { isOn: isSearching.value, multipv: multipv.value, ...engineFields(searchEngine.value) };
      void connection.epoch.value;
      if (connection.status.peek() !== 'open' && !connection.welcome.peek()) return;
      if (!wanted.isOn) {
        stopSearch();
        return;
      }
      if (searchId) connection.forget(searchId);
      searchId = connection.request(
        {
          type: 'analyse',
          position: positionText(at),
          multipv: wanted.multipv,
          engine: wanted.engine,
          model: wanted.model,
          candidates: screen() === 'network' ? MAX_CANDIDATES : 0,
          interval_ms: 100,
        },
        answer => {
          if (answer.type === 'analysis') scheduleUpdate(answer, at);
          else if (answer.type === 'error') {
            isSearching.value = false;
            notify(explain(answer), 'bad');
          }
        },
      );
    }),
    effect(() => {
      const at = node.value;
      void connection.epoch.value;
      threats.value = undefined;
      if (threatsId) connection.forget(threatsId);
      if (!showThreats.value || !connection.welcome.peek()) return;
      threatsId = connection.request({ type: 'threats', position: positionText(at), ...engineFields(searchEngine.value) }, answer => {
        if (answer.type === 'threats') threats.value = answer;
      });
    }),
  ];
  return () => {
    for (const dispose of disposers) dispose();
    stopSearch();
  };
}

/** The lines to show: those of the running search, or the stored score's. */
export const shownLines = computed<Line[]>(() => {
  void scored.value;
  const found = searched.value;
  if (found) return found.lines;
  const { score } = node.value;
  if (!score?.pv.length) return [];
  return [
    {
      multipv: 1,
      win_rate: score.winRate,
      score_cp: score.cp ?? null,
      mate_plies: score.mate ?? null,
      visits: score.nodes,
      depth: 0,
      pv: score.pv,
    },
  ];
});

/** Black's win rate in the current position. */
export const senteRate = computed<number | undefined>(() => {
  void scored.value;
  const rate = searched.value?.win_rate ?? node.value.score?.winRate;
  return rate === undefined ? undefined : turnOf(node.value.sfen) === 'sente' ? rate : 1 - rate;
});

export { positionKey };
