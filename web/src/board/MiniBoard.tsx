// A small static board, drawn as one SVG.
import { memo } from '../ui/memo';
import { pieceSet } from '../settings';
import { HAND_ROLES, moveSquares, parsePosition, type Color } from '../shogi/position';
import { makeSquareName } from 'shogiops/util';
import { BODY, EDGE, LOOKS, marks, WOOD } from './pieces';

interface Props {
  sfen: string;
  lastUsi?: string;
  orientation?: Color;
  label?: string;
}

const CELL = 100;

/** The width of a piece in hand with its count. */
const handWidth = (n: number): number => (n > 9 ? 156 : n > 1 ? 124 : 100);

function Piece({ role, isWhite, isDown, x, y, scale = 1 }: { role: string; isWhite: boolean; isDown: boolean; x: number; y: number; scale?: number }) {
  const look = LOOKS[role];
  return (
    <g transform={`translate(${x} ${y})scale(${scale})${isDown ? 'rotate(180 50 50)' : ''}`}>
      <g transform={`translate(50 95)scale(${look.scale})translate(-50 -95)`}>
        <path d={BODY} fill={WOOD[0]} stroke={EDGE} stroke-width="2.5" stroke-linejoin="round" />
        {marks(role, pieceSet.value, isWhite).map((f, i) => (
          <path key={i} d={f.path} fill={f.color} transform={`translate(${f.x} ${f.y})scale(${f.scale})`} />
        ))}
      </g>
    </g>
  );
}

export const MiniBoard = memo(function MiniBoard({ sfen, lastUsi, orientation = 'sente', label }: Props) {
  const pos = parsePosition(sfen);
  if (!pos) return null;
  const last = new Set<string>(lastUsi ? moveSquares(lastUsi) : []);
  const isFlipped = orientation === 'gote';
  const place = (key: string): [number, number] => {
    const file = Number(key[0]);
    const rank = key.charCodeAt(1) - 96;
    return isFlipped ? [(file - 1) * CELL, (9 - rank) * CELL] : [(9 - file) * CELL, (rank - 1) * CELL];
  };
  const lines = [];
  for (let i = 0; i <= 9; i++) lines.push(`M0 ${i * CELL}H900M${i * CELL} 0V900`);
  return (
    <svg class="mini-board" viewBox="-10 -120 920 1140" role="img" aria-label={label ?? sfen}>
      <rect x="-10" y="-10" width="920" height="920" rx="10" class="wood" />
      {[...last].map(key => {
        const [x, y] = place(key);
        return <rect key={key} class="last" x={x} y={y} width={CELL} height={CELL} />;
      })}
      <path class="grid" d={lines.join('')} />
      {[...pos.board].map(([square, piece]) => {
        const [x, y] = place(makeSquareName(square));
        const isWhite = piece.color === 'gote';
        return <Piece key={square} role={piece.role} isWhite={isWhite} isDown={isWhite !== isFlipped} x={x} y={y} />;
      })}
      {(['gote', 'sente'] as const).map(color => {
        const isWhite = color === 'gote';
        const isTop = isWhite !== isFlipped;
        const held = HAND_ROLES.flatMap(role => {
          const n = pos.hands.color(color).get(role);
          return n ? [[role, n] as const] : [];
        });
        let x = isTop ? 0 : 900 - held.reduce((sum, [, n]) => sum + handWidth(n), 0);
        return held.map(([role, n]) => {
          const left = x;
          x += handWidth(n);
          const y = isTop ? -112 : 918;
          return (
            <g key={color + role}>
              <Piece role={role} isWhite={isWhite} isDown={isTop} x={left} y={y} scale={0.95} />
              {n > 1 && (
                <text class="count" x={left + 90} y={y + 94}>
                  {n}
                </text>
              )}
            </g>
          );
        });
      })}
    </svg>
  );
});
