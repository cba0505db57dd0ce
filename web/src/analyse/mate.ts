// Mate search: does the side to move mate, and if not, does its opponent threaten to?
import { effect, signal } from '@preact/signals';
import { explain } from '../i18n';
import type { MateFound } from '../protocol';
import type { Node } from '../shogi/tree';
import { connection } from '../socket';
import { notify } from '../ui/notices';
import { node, positionText } from './state';

export interface MateSearch {
  at: Node;
  isRunning: boolean;
  own?: MateFound;
  /** The opponent's mate after a pass; searched only if the side to move has none. */
  threat?: MateFound;
}

export const mateSearch = signal<MateSearch | undefined>(undefined);

async function search(at: Node): Promise<void> {
  const position = positionText(at);
  const isCurrent = () => mateSearch.peek()?.at === at;
  const own = await connection.ask({ type: 'mate', position }, 'mate');
  if (!isCurrent()) return;
  if (own.status === 'mate' || own.status === 'over') {
    mateSearch.value = { at, isRunning: false, own };
    return;
  }
  mateSearch.value = { at, isRunning: true, own };
  const threat = await connection.ask({ type: 'mate', position, after_pass: true }, 'mate');
  if (isCurrent()) mateSearch.value = { at, isRunning: false, own, threat };
}

function stop(): void {
  if (mateSearch.peek()?.isRunning) void connection.ask({ type: 'stop', what: 'mate' }, 'ok');
  mateSearch.value = undefined;
}

/** Starts a mate search in the current position, or dismisses the previous one. */
export function toggleMate(): void {
  if (mateSearch.value) {
    stop();
    return;
  }
  const at = node.value;
  mateSearch.value = { at, isRunning: true };
  search(at).catch((e: Error) => {
    if (mateSearch.peek()?.at === at) mateSearch.value = undefined;
    notify(explain(e), 'bad');
  });
}

effect(() => {
  const at = node.value;
  if (mateSearch.peek() && mateSearch.peek()!.at !== at) stop();
});
