// The interactive board: a Preact wrapper of shogiground.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Shogiground } from 'shogiground';
import type { Api } from 'shogiground/api';
import type { Config } from 'shogiground/config';
import type { DrawShape, SquareHighlight } from 'shogiground/draw';
import { forsythToRole, roleToForsyth } from 'shogiops/sfen';
import type { Role, SquareName } from 'shogiops/types';
import { promote, unpromote } from 'shogiops/variant/util';
import { t } from '../i18n';
import { language, pieceSet } from '../settings';
import { sideText } from '../shogi/handicaps';
import { dests, dropLetter, HAND_ROLES, moveSquares, parsePosition, promotion, turnOf, type Color } from '../shogi/position';
import { BoardCursor } from './cursor';
import { installPieces } from './pieces';

export interface BoardProps {
  sfen: string;
  /** The position the game began with; names the sides. */
  initialSfen: string;
  orientation: Color;
  lastUsi?: string;
  /** The side that the user may move. */
  movable?: Color | 'both';
  onMove?: (usi: string) => void;
  shapes?: DrawShape[];
  squares?: SquareHighlight[];
  /** Heat map: 81 values in [0, 1], indexed by 9*(file-1)+(rank-1). */
  heat?: readonly number[];
  onSquare?: (key: SquareName) => void;
  class?: string;
}

const isTouch = () => typeof matchMedia !== 'undefined' && matchMedia('(pointer: coarse)').matches;
const prefersReducedMotion = () => typeof matchMedia !== 'undefined' && matchMedia('(prefers-reduced-motion: reduce)').matches;

export const FORSYTH: Config['forsyth'] = {
  toForsyth: role => roleToForsyth('standard')(role as Role),
  fromForsyth: text => forsythToRole('standard')(text),
};

export const PROMOTES: Config['promotion'] = {
  promotesTo: role => promote('standard')(role as Role),
  unpromotesTo: role => unpromote('standard')(role as Role),
};

export function coordinates(): Config['coordinates'] {
  return { enabled: true, files: 'numeric', ranks: language.value === 'ja' ? 'japanese' : 'engine' };
}

/** The part of the configuration that changes with the position. */
function positionConfig(props: BoardProps): Config {
  const { sfen, lastUsi, movable } = props;
  const [board, , hands] = sfen.split(' ');
  const turn = turnOf(sfen);
  const pos = parsePosition(sfen);
  const mayMove = !!props.onMove && !!movable && (movable === 'both' || movable === turn);
  const found = pos && mayMove ? dests(pos) : undefined;
  return {
    sfen: { board, hands },
    turnColor: turn,
    activeColor: mayMove ? turn : undefined,
    checks: pos?.isCheck() ? turn : false,
    lastDests: lastUsi ? moveSquares(lastUsi) : [],
    lastPiece: undefined, // set by shogiground at one's own drop, which is soon not the last move
    movable: { dests: (found?.moves ?? new Map()) as never },
    droppable: { dests: (found?.drops ?? new Map()) as never },
  };
}

export function Board(props: BoardProps) {
  const board = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const ground = useRef<Api | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const lang = language.value;
  installPieces(pieceSet.value);

  useLayoutEffect(() => {
    const api = Shogiground(
      {
        ...positionConfig(latest.current),
        orientation: props.orientation,
        coordinates: coordinates(),
        scaleDownPieces: false,
        blockTouchScroll: true,
        disableContextMenu: true,
        viewOnly: false,
        hands: { roles: HAND_ROLES },
        animation: { enabled: !prefersReducedMotion(), duration: 150, hands: true },
        highlight: { lastDests: true, check: true, hovered: false },
        draggable: { showTouchSquareOverlay: isTouch(), showGhost: true },
        drawable: { enabled: true, visible: true, eraseOnClick: true },
        premovable: { enabled: false },
        predroppable: { enabled: false },
        forsyth: FORSYTH,
        movable: {
          free: false,
          showDests: true,
          events: { after: (from, to, prom) => latest.current.onMove?.(from + to + (prom ? '+' : '')) },
        },
        droppable: {
          free: false,
          showDests: true,
          events: { after: (piece, to) => latest.current.onMove?.(`${dropLetter(piece.role as Role)}*${to}`) },
        },
        promotion: {
          ...PROMOTES,
          movePromotionDialog: (from, to) => promotionChoice(latest.current.sfen, from as SquareName, to as SquareName) === 'ask',
          forceMovePromotion: (from, to) => promotionChoice(latest.current.sfen, from as SquareName, to as SquareName) === 'must',
        },
        events: { select: key => latest.current.onSquare?.(key as SquareName) },
      },
      { board: board.current!, hands: { top: top.current!, bottom: bottom.current! } },
    );
    ground.current = api;
    return () => {
      api.destroy();
      ground.current = undefined;
    };
  }, [props.orientation, lang]);

  const { sfen, lastUsi, movable } = props;
  useEffect(() => {
    const api = ground.current;
    if (!api) return;
    if (api.state.promotion.current) api.cancelMoveOrDrop();
    api.set(positionConfig(latest.current));
  }, [sfen, lastUsi, movable, !!props.onMove, props.orientation, lang]);

  useEffect(() => {
    ground.current?.setAutoShapes(props.shapes ?? []);
  }, [props.shapes, props.orientation, lang]);

  useEffect(() => {
    ground.current?.setSquareHighlights(props.squares ?? []);
  }, [props.squares, props.orientation, lang]);

  useEffect(() => {
    const cells = board.current?.querySelectorAll<HTMLElement & { sgKey: string }>('sg-squares > sq') ?? [];
    for (const cell of cells) {
      const index = 9 * (Number(cell.sgKey[0]) - 1) + cell.sgKey.charCodeAt(1) - 97;
      const value = props.heat?.[index] ?? 0;
      cell.style.setProperty('--heat', value ? value.toFixed(3) : '0');
      cell.toggleAttribute('data-heat', value > 0);
    }
  }, [props.heat, props.orientation, lang]);

  const isFlipped = props.orientation === 'gote';
  return (
    <div class={`board-set ${props.class ?? ''}`} role="group" aria-label={t('board')}>
      <div class="hand-place top" ref={top} role="group" aria-label={sideText('hand', isFlipped ? 'black' : 'white', props.initialSfen)} />
      <BoardCursor ground={ground} sfen={sfen} initialSfen={props.initialSfen} orientation={props.orientation}>
        <div class="board-place" ref={board} />
      </BoardCursor>
      <div class="hand-place bottom" ref={bottom} role="group" aria-label={sideText('hand', isFlipped ? 'white' : 'black', props.initialSfen)} />
    </div>
  );
}

function promotionChoice(sfen: string, from: SquareName, to: SquareName): 'ask' | 'must' | 'no' {
  const pos = parsePosition(sfen);
  if (!pos) return 'no';
  const { can, must } = promotion(pos, from, to);
  return must ? 'must' : can ? 'ask' : 'no';
}
