// State of the current game, synchronised with the server.
import { explain } from '../i18n';
import { batch, computed, signal } from '@preact/signals';
import type { GameState, Line, StartGame } from '../protocol';
import { parsePosition, play as playSfen, START, turnOf, type Color } from '../shogi/position';
import { connection } from '../socket';
import { notify } from '../ui/notices';
import { knock } from '../ui/sound';

export const current = signal<GameState | undefined>(undefined);
/** When the state arrived; clocks run on from then. */
export const receivedAt = signal(0);
export const hints = signal<Line[]>([]);
export const isAsking = signal(false);
/** The displayed ply; undefined: the latest. */
export const lookedAt = signal<number | undefined>(undefined);
/** The user's move, shown optimistically until the server confirms it. */
export const pending = signal<string | undefined>(undefined);
export const orientation = signal<Color>('sente');

let listener = 0;
/** Where the tab keeps the number of its running game, to rejoin it after a reload. */
const RUNNING = 'komadori.game';
/** The session (`connection.epoch`) of the latest state. */
let epoch = 0;

const sfenOf = (text: string): string => (text === 'startpos' || !text ? START : text.replace(/^sfen /, ''));

/** The positions of the game, from the start. */
export const positions = computed<{ sfen: string; usi: string }[]>(() => {
  const game = current.value;
  if (!game) return [{ sfen: START, usi: '' }];
  const found = [{ sfen: sfenOf(game.sfen), usi: '' }];
  for (const usi of pending.value ? [...game.moves, pending.value] : game.moves) {
    const sfen = playSfen(found.at(-1)!.sfen, usi);
    if (!sfen) break;
    found.push({ sfen, usi });
  }
  return found;
});

export const shown = computed(() => {
  const all = positions.value;
  return all[Math.min(lookedAt.value ?? all.length - 1, all.length - 1)];
});

export const human = computed<Color | 'both' | undefined>(() => {
  const game = current.value;
  if (!game) return undefined;
  const [black, white] = [game.black.kind === 'human', game.white.kind === 'human'];
  return black && white ? 'both' : black ? 'sente' : white ? 'gote' : undefined;
});

/** Whether the game has a move of the user to take back. */
export const mayTakeBack = computed(() => {
  const game = current.value;
  if (game?.phase !== 'playing' || !human.value) return false;
  const isSecond = human.value !== 'both' && human.value !== turnOf(sfenOf(game.sfen));
  return game.moves.length > (isSecond ? 1 : 0);
});

/** Whether the user may move now. */
export const mayMove = computed(() => {
  const game = current.value;
  return (
    !!game && game.phase === 'playing' && !pending.value && lookedAt.value === undefined && !!parsePosition(shown.value.sfen) && game[game.turn].kind === 'human'
  );
});

function receive(game: GameState): void {
  batch(() => {
    const last = current.peek();
    const isNew = last?.game !== game.game;
    if (!isNew && game.moves.length > positions.peek().length - 1) knock();
    if (isNew || last.moves.length !== game.moves.length) hints.value = [];
    pending.value = undefined;
    current.value = game;
    epoch = connection.epoch.peek();
    if (game.phase === 'over') sessionStorage.removeItem(RUNNING);
    else sessionStorage.setItem(RUNNING, String(game.game));
    receivedAt.value = performance.now();
    if (isNew) {
      lookedAt.value = undefined;
      const side = human.value;
      orientation.value = side === 'gote' ? 'gote' : 'sente';
    }
  });
}

type Body<T> = Omit<T, 'id'>;

function listen(message: Body<StartGame> | { type: 'game_join'; game: number }, onRefused = (reason: string): void => notify(reason, 'bad')): void {
  if (listener) connection.forget(listener);
  let isJoined = false;
  listener = connection.request(message, answer => {
    if (answer.type === 'game') {
      isJoined = true;
      receive(answer.game);
    } else if (answer.type === 'error' && isJoined) notify(explain(answer), 'bad');
    else if (answer.type === 'error') {
      isAsking.value = false;
      onRefused(explain(answer));
    }
  });
}

export const start = (message: Body<StartGame>): void => listen(message);
export const join = (game: number): void => listen({ type: 'game_join', game });

/** Rejoins the game that this tab played before a reload or in a session that is lost, if the server still
 * keeps it. */
export function rejoin(): void {
  const known = current.peek();
  if (known && (known.phase === 'over' || epoch === connection.epoch.peek())) return;
  const game = Number(sessionStorage.getItem(RUNNING));
  if (!game) return;
  listen({ type: 'game_join', game }, () => {
    sessionStorage.removeItem(RUNNING);
    interrupt();
  });
}

/** Marks the game as interrupted: the server was restarted or has closed it. */
function interrupt(): void {
  const game = current.peek();
  if (!game || game.phase === 'over') return;
  batch(() => {
    pending.value = undefined;
    hints.value = [];
    isAsking.value = false;
    current.value = { ...game, phase: 'over', thinking: null, result: { winner: 'none', reason: 'interrupted', detail: '' } };
  });
}

export function move(usi: string): void {
  const game = current.value;
  if (!game || !mayMove.value) return;
  pending.value = usi;
  knock();
  connection.ask({ type: 'game_move', game: game.game, move: usi }, 'ok').catch((e: Error) => {
    pending.value = undefined;
    notify(explain(e), 'bad');
  });
}

export function act(action: 'take_back' | 'resign' | 'declare' | 'pause' | 'resume' | 'stop'): void {
  const game = current.value;
  if (!game) return;
  connection.ask({ type: 'game_action', game: game.game, action }, 'ok').catch((e: Error) => notify(explain(e), 'bad'));
}

export async function askHint(): Promise<void> {
  const game = current.value;
  if (!game || isAsking.value) return;
  isAsking.value = true;
  try {
    const answer = await connection.ask({ type: 'hint', game: game.game, nodes: 400 }, 'hint');
    if (current.value?.game === answer.game) hints.value = answer.lines;
  } catch (e) {
    notify(explain(e as Error), 'bad');
  } finally {
    isAsking.value = false;
  }
}

/** The time a side has left, and whether it is in byoyomi. */
export function timeLeft(game: GameState, side: 'black' | 'white', now: number): { ms: number; isByoyomi: boolean } | undefined {
  const { clock } = game;
  if (!clock) return undefined;
  const main = side === 'black' ? clock.black_ms : clock.white_ms;
  const isRunning = clock.running === side && game.phase === 'playing';
  // A negative value is the time used of the byoyomi period.
  const left = main - (isRunning ? now - receivedAt.value : 0);
  const isByoyomi = clock.byoyomi_ms > 0 && left <= 0;
  return { ms: Math.max(0, isByoyomi ? clock.byoyomi_ms + left : left), isByoyomi };
}
