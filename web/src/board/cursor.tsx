// Keyboard control of the board: arrow keys move a cursor, Enter picks up or places a piece, letters
// select a piece in hand. Announces the square under the cursor to screen readers.
import { type ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Api } from 'shogiground/api';
import type { Key } from 'shogiground/types';
import { t } from '../i18n';
import { sideText } from '../shogi/handicaps';
import { HAND_ROLES, turnOf, type Color } from '../shogi/position';

interface Props {
  ground: { current?: Api };
  sfen: string;
  initialSfen: string;
  orientation: Color;
  /** Handles further keys on a square; returns whether it did. */
  onKey?: (key: string, square: Key) => boolean;
  children: ComponentChildren;
}

const STEPS: Record<string, readonly [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const LETTERS = 'rbgsnlp';

const name = (file: number, rank: number) => `${file}${String.fromCharCode(96 + rank)}` as Key;
const clamp = (n: number) => Math.min(9, Math.max(1, n));

export function BoardCursor({ ground, sfen, initialSfen, orientation, onKey, children }: Props) {
  const [at, setAt] = useState<readonly [number, number]>([5, 5]);
  const [isActive, setActive] = useState(false);
  const [announcement, announce] = useState('');

  function describe(key: Key): string {
    const piece = ground.current?.state.pieces.get(key);
    const what = piece ? `${sideText('color', piece.color, initialSfen)} ${t(`role.${piece.role}` as never)}` : t('square.empty');
    return `${key} ${what}`;
  }

  function onKeyDown(e: KeyboardEvent) {
    const api = ground.current;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = STEPS[e.key];
    const key = name(...at);
    if (step && e.shiftKey) return;
    if (isActive && onKey?.(e.key, key)) announce(describe(key));
    else if (step) {
      const sign = orientation === 'sente' ? 1 : -1;
      const next = [clamp(at[0] + sign * step[0]), clamp(at[1] + sign * step[1])] as const;
      setAt(next);
      setActive(true);
      announce(describe(name(...next)));
    } else if (!api) return;
    else if (e.key === 'Enter' || e.key === ' ') {
      const choices = api.state.promotion.current;
      if (choices) api.selectSquare(null);
      else api.selectSquare(key);
      const selected = api.state.selected ?? api.state.selectedPiece;
      announce(api.state.promotion.current ? t('board.promote') : selected ? `${t('board.taken')} ${describe(key)}` : describe(key));
    } else if (e.key === 'Escape') {
      api.cancelMoveOrDrop();
    } else if (api.state.promotion.current && (e.key === '+' || e.key === '=')) {
      const pieces = e.currentTarget instanceof HTMLElement ? e.currentTarget.querySelectorAll('sg-promotion-choices piece') : [];
      const chosen = pieces[e.key === '+' ? 0 : 1];
      chosen?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
    } else if (isActive && LETTERS.includes(e.key)) {
      const role = HAND_ROLES[LETTERS.indexOf(e.key)];
      api.selectPiece({ role, color: turnOf(sfen) });
      announce(`${t('board.taken')} ${t(`role.${role}` as never)}`);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }

  const [file, rank] = orientation === 'sente' ? [9 - at[0], at[1] - 1] : [at[0] - 1, 9 - at[1]];
  return (
    <div
      class="board-cursor"
      tabIndex={0}
      role="application"
      aria-label={t('board.keys')}
      onKeyDown={onKeyDown}
      onBlur={() => setActive(false)}
    >
      {children}
      {isActive && <div class="cursor-square" aria-hidden="true" style={{ left: `${(file * 100) / 9}%`, top: `${(rank * 100) / 9}%` }} />}
      <span class="unseen" aria-live="assertive">
        {announcement}
      </span>
    </div>
  );
}
