// The position editor.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Shogiground } from 'shogiground';
import type { Api } from 'shogiground/api';
import type { Key } from 'shogiground/types';
import { BoardCursor } from '../board/cursor';
import { coordinates, FORSYTH, PROMOTES } from '../board/Board';
import { t, word } from '../i18n';
import { HANDICAPS } from '../shogi/handicaps';
import { HAND_ROLES, isReadable, sfenIn, sfenProblem, START, type Color } from '../shogi/position';
import { GameTree } from '../shogi/tree';
import { Button, Choice, Dialog, Segments } from '../ui/parts';
import { addGames, node } from './state';

const EMPTY = '4k4/9/9/9/9/9/9/9/4K4 b - 1';
const MATE_PROBLEM = '4k4/9/9/9/9/9/9/9/9 b 2r2b4g4s4n4l18p 1';

const DOUBLE_TAP_MS = 400;

export function SetupDialog({ onClose }: { onClose: () => void }) {
  const start = useRef(node.peek().sfen);
  const board = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const ground = useRef<Api | undefined>(undefined);
  const [turn, setTurn] = useState<Color>(start.current.split(' ')[1] === 'w' ? 'gote' : 'sente');
  const [boardText, setBoardText] = useState(start.current.split(' ')[0]);
  const [hands, setHands] = useState(start.current.split(' ')[2]);
  const sfen = `${boardText} ${turn === 'gote' ? 'w' : 'b'} ${hands || '-'} 1`;
  /** What is in the text field, if it can't be shown on the board. */
  const [unreadable, setUnreadable] = useState<string | undefined>(undefined);
  const problem = sfenProblem(sfenIn(unreadable ?? sfen));

  const read = () => {
    setBoardText(ground.current!.getBoardSfen());
    setHands(ground.current!.getHandsSfen().replace(/\d*k/gi, '') || '-');
    setUnreadable(undefined);
  };

  /** Promotes a piece, then changes its side. */
  const cycle = (key: Key) => {
    const api = ground.current!;
    const piece = api.state.pieces.get(key);
    if (!piece) return;
    const promoted = PROMOTES!.promotesTo!(piece.role);
    const base = PROMOTES!.unpromotesTo!(piece.role) ?? piece.role;
    const next = promoted ? { ...piece, role: promoted } : { role: base, color: piece.color === 'sente' ? ('gote' as const) : ('sente' as const) };
    api.cancelMoveOrDrop();
    api.setPieces(new Map([[key, next]]));
    read();
  };

  /** Takes a piece from the board into a hand; a king there has left the game. */
  const take = (key: Key, color: Color = turn) => {
    const api = ground.current!;
    const piece = api.state.pieces.get(key);
    if (!piece) return;
    const role = PROMOTES!.unpromotesTo!(piece.role) ?? piece.role;
    api.cancelMoveOrDrop();
    api.setPieces(new Map([[key, undefined]]));
    api.addToHand({ role, color });
    read();
  };

  const onKey = (key: string, square: Key): boolean => {
    if (key === '+' || key === '=') cycle(square);
    else if (key === 'Delete' || key === 'Backspace') take(square);
    else return false;
    return true;
  };

  useEffect(() => {
    const [b, , h] = start.current.split(' ');
    ground.current = Shogiground(
      {
        sfen: { board: b, hands: h },
        orientation: 'sente',
        coordinates: coordinates(),
        activeColor: 'both',
        turnColor: 'sente',
        scaleDownPieces: false,
        disableContextMenu: true,
        blockTouchScroll: true,
        hands: { roles: ['king', ...HAND_ROLES] },
        movable: { free: true, showDests: false },
        droppable: { free: true, showDests: false },
        premovable: { enabled: false },
        predroppable: { enabled: false },
        selectable: { addSparesToHand: false },
        animation: { enabled: false },
        drawable: { enabled: false },
        forsyth: FORSYTH,
        promotion: { ...PROMOTES, movePromotionDialog: () => false, forceMovePromotion: () => false },
        events: { change: read },
      },
      { board: board.current!, hands: { top: top.current!, bottom: bottom.current! } },
    );
    const place = board.current!;
    // A double or right click cycles a piece.
    const cyclePiece = (e: MouseEvent) => {
      if (e.type === 'contextmenu' && (e as PointerEvent).pointerType === 'touch') return; // a long press, used for dragging
      const api = ground.current!;
      const cell = e.target as HTMLElement & { sgKey?: string };
      const key = (cell.closest('sq, piece') as { sgKey?: string } | null)?.sgKey ?? keyAt(place, e);
      if (!key || !api.state.pieces.has(key as Key)) return;
      e.preventDefault();
      cycle(key as Key);
    };
    // shogiground consumes touch events, so touches never produce `dblclick`.
    let tapped = { key: '', at: 0 };
    const tap = (e: PointerEvent) => {
      if (e.pointerType !== 'touch') return;
      const key = keyAt(place, e);
      const isSecond = key === tapped.key && e.timeStamp - tapped.at < DOUBLE_TAP_MS;
      tapped = isSecond ? { key: '', at: 0 } : { key, at: e.timeStamp };
      if (isSecond) cyclePiece(e);
    };
    // A piece dragged from the board to a hand. shogiground's own way would also delete pieces dropped elsewhere.
    let dragged = '';
    const grab = (e: PointerEvent) => (dragged = e.button === 0 && e.isPrimary ? keyAt(place, e) : '');
    const release = (e: PointerEvent) => {
      const key = dragged;
      dragged = '';
      if (!key || e.type !== 'pointerup') return;
      if (isWithin(top.current!, e)) take(key as Key, 'gote');
      else if (isWithin(bottom.current!, e)) take(key as Key, 'sente');
    };
    place.addEventListener('pointerdown', grab);
    document.addEventListener('pointerup', release);
    document.addEventListener('pointercancel', release);
    place.addEventListener('pointerup', tap);
    place.addEventListener('dblclick', cyclePiece);
    place.addEventListener('contextmenu', cyclePiece);
    return () => {
      document.removeEventListener('pointerup', release);
      document.removeEventListener('pointercancel', release);
      ground.current?.destroy();
    };
  }, []);

  const set = (text: string) => {
    if (!isReadable(sfenIn(text))) {
      setUnreadable(text);
      return;
    }
    setUnreadable(undefined);
    const [b, side, h] = sfenIn(text).split(' ');
    ground.current?.set({ sfen: { board: b, hands: h } });
    setBoardText(b);
    setHands(h);
    setTurn(side === 'w' ? 'gote' : 'sente');
  };

  return (
    <Dialog title={t('setup')} onClose={onClose} class="setup">
      <div class="board-set">
        <div class="hand-place top" ref={top} />
        <BoardCursor ground={ground} sfen={sfen} initialSfen={START} orientation="sente" onKey={onKey}>
          <div class="board-place" ref={board} />
        </BoardCursor>
        <div class="hand-place bottom" ref={bottom} />
      </div>
      <p class="hint">{t('setup.hint')}</p>
      <p class="hint keys-hint">{t('setup.keys')}</p>
      <div class="row">
        <Segments label={t('setup.turn')} value={turn} options={[['sente', t('setup.sente')], ['gote', t('setup.gote')]]} onChange={side => (setTurn(side), setUnreadable(undefined))} />
        <Choice
          label={t('setup.from')}
          value=""
          options={[['', '…'], [START, t('handicap.even')], ...HANDICAPS.map(h => [h.sfen, t(h.key)] as const), [EMPTY, t('setup.empty')], [MATE_PROBLEM, t('setup.mate')]]}
          onChange={v => v && set(v)}
        />
      </div>
      <label class="field">
        <span>SFEN</span>
        <input class="mono" value={unreadable ?? sfen} spellcheck={false} onChange={e => set(e.currentTarget.value.trim())} />
      </label>
      {problem && <p class="problem">{word('setup', problem)}</p>}
      <footer>
        <Button
          label={t('setup.use')}
          isWide
          class="primary"
          disabled={!!problem}
          onClick={() => {
            addGames([new GameTree(sfen)]);
            onClose();
          }}
        />
      </footer>
    </Dialog>
  );
}

function isWithin(element: HTMLElement, e: MouseEvent): boolean {
  const r = element.getBoundingClientRect();
  return e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom;
}

function keyAt(place: HTMLElement, e: MouseEvent): string {
  const r = place.getBoundingClientRect();
  const file = 9 - Math.floor((9 * (e.clientX - r.left)) / r.width);
  const rank = Math.floor((9 * (e.clientY - r.top)) / r.height);
  return file >= 1 && file <= 9 && rank >= 0 && rank < 9 ? file + 'abcdefghi'[rank] : '';
}
