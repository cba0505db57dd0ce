// The pieces: a pentagon, a character and, in the Western set, a diagram of the piece's moves. The same
// outlines are used by the board (CSS images), small boards (SVG) and image files (canvas).
import table from './outlines.json';
import type { PieceSet } from '../settings';

const outlines = table as Record<string, string>;

/** The pentagon, in a 100 × 100 view box. */
export const BODY = 'M50 5 75.5 15.5 87 95H13L24.5 15.500Z';

interface Look {
  kanji: string;
  letter: string;
  /** Relative size; less valuable pieces are smaller. */
  scale: number;
  promoted?: boolean;
  /** Directions as [dx, dy], forward is -1; a slide repeats its step. */
  steps?: readonly (readonly [number, number])[];
  slides?: readonly (readonly [number, number])[];
}

const UP = [0, -1] as const;
const ORTHOGONAL = [UP, [1, 0], [0, 1], [-1, 0]] as const;
const DIAGONAL = [[-1, -1], [1, -1], [1, 1], [-1, 1]] as const;
const GOLD = [UP, [-1, -1], [1, -1], [-1, 0], [1, 0], [0, 1]] as const;

export const LOOKS: Record<string, Look> = {
  king: { kanji: '玉', letter: 'K', scale: 1, steps: [...ORTHOGONAL, ...DIAGONAL] },
  rook: { kanji: '飛', letter: 'R', scale: 0.98, slides: ORTHOGONAL },
  bishop: { kanji: '角', letter: 'B', scale: 0.98, slides: DIAGONAL },
  gold: { kanji: '金', letter: 'G', scale: 0.94, steps: GOLD },
  silver: { kanji: '銀', letter: 'S', scale: 0.94, steps: [UP, ...DIAGONAL] },
  knight: { kanji: '桂', letter: 'N', scale: 0.9, steps: [[-1, -2], [1, -2]] },
  lance: { kanji: '香', letter: 'L', scale: 0.88, slides: [UP] },
  pawn: { kanji: '歩', letter: 'P', scale: 0.84, steps: [UP] },
  dragon: { kanji: '龍', letter: 'R', scale: 0.98, promoted: true, slides: ORTHOGONAL, steps: DIAGONAL },
  horse: { kanji: '馬', letter: 'B', scale: 0.98, promoted: true, slides: DIAGONAL, steps: ORTHOGONAL },
  promotedsilver: { kanji: '全', letter: 'S', scale: 0.94, promoted: true, steps: GOLD },
  promotedknight: { kanji: '圭', letter: 'N', scale: 0.9, promoted: true, steps: GOLD },
  promotedlance: { kanji: '杏', letter: 'L', scale: 0.88, promoted: true, steps: GOLD },
  tokin: { kanji: 'と', letter: 'P', scale: 0.84, promoted: true, steps: GOLD },
};

export const INK = '#1f150a';
export const RED = '#b3261b';
export const WOOD = ['#fbe3b1', '#eec587'] as const;
export const EDGE = '#7a5427';

/** A filled path, translated and scaled within the view box. */
export interface Fill {
  path: string;
  x: number;
  y: number;
  scale: number;
  color: string;
}

/** The markings of a piece. White's king is 王, as in most sets. */
export function marks(role: string, set: PieceSet, isWhite: boolean): Fill[] {
  const look = LOOKS[role];
  const color = look.promoted ? RED : INK;
  if (set === 'kanji') {
    const character = role === 'king' && isWhite ? '王' : look.kanji;
    return [{ path: outlines[character], x: 50, y: 57, scale: role === 'tokin' ? 0.62 : 0.6, color }];
  }
  const fills: Fill[] = [{ path: outlines[look.letter], x: look.promoted ? 46 : 50, y: 63, scale: 0.5, color }];
  if (look.promoted) fills.push({ path: outlines['+'], x: 70, y: 48, scale: 0.28, color });
  return [...fills, ...moveDiagram(look, color)];
}

/** A small diagram of the moves above the letter: dots are steps, bars are slides. */
function moveDiagram(look: Look, color: string): Fill[] {
  const [x, y, gap] = [50, 29, 8];
  const dot = (dx: number, dy: number): Fill => ({ path: 'M-2.4 0a2.4 2.4 0 1 0 4.8 0 2.4 2.4 0 1 0-4.8 0Z', x: x + dx * gap, y: y + dy * gap, scale: 1, color });
  const bar = ([dx, dy]: readonly [number, number]): Fill => {
    const n = Math.hypot(dx, dy);
    const [ux, uy] = [dx / n, dy / n];
    const [px, py] = [-uy * 1.3, ux * 1.3];
    const [a, b] = [3.6, 12.5];
    const p = (t: number, s: number) => `${(ux * t + px * s).toFixed(1)} ${(uy * t + py * s).toFixed(1)}`;
    return { path: `M${p(a, 1)}L${p(b, 1)}L${p(b, -1)}L${p(a, -1)}Z`, x, y, scale: 1, color };
  };
  const centre: Fill = { path: 'M-1.9-1.900H1.900V1.900H-1.900Z', x, y, scale: 1, color: '#9a7340' };
  const knight = look.letter === 'N' && !look.promoted;
  return [centre, ...(look.slides ?? []).map(bar), ...(look.steps ?? []).map(([dx, dy]) => dot(dx, knight ? dy * 0.85 : dy))];
}

/** A piece as an SVG document. */
export function pieceSvg(role: string, set: PieceSet, isWhite: boolean, isDown: boolean): string {
  const { scale } = LOOKS[role];
  const inner = marks(role, set, isWhite)
    .map(f => `<path d="${f.path}" fill="${f.color}" transform="translate(${f.x} ${f.y})scale(${f.scale})"/>`)
    .join('');
  const turn = isDown ? ' transform="rotate(180 50 50)"' : '';
  const fit = `translate(50 95)scale(${scale})translate(-50 -95)`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><defs><linearGradient id="w" x2=".3" y2="1">` +
    `<stop stop-color="${WOOD[0]}"/><stop offset="1" stop-color="${WOOD[1]}"/></linearGradient></defs><g${turn}>` +
    `<g transform="${fit}"><path d="${BODY}" transform="translate(1.5 2)" fill="#000" opacity=".22"/>` +
    `<path d="${BODY}" fill="url(#w)" stroke="${EDGE}" stroke-width="1.6" stroke-linejoin="round"/>${inner}</g></g></svg>`
  );
}

let installed: PieceSet | undefined;
const sheet = typeof CSSStyleSheet === 'undefined' ? undefined : new CSSStyleSheet();

/** Styles shogiground's pieces with a constructed style sheet of data URLs. */
export function installPieces(set: PieceSet): void {
  if (!sheet || installed === set) return;
  if (!installed) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  installed = set;
  const rules = Object.keys(LOOKS).flatMap(role =>
    (['sente', 'gote'] as const).flatMap(color =>
      (['sente', 'gote'] as const).map(below => {
        const svg = pieceSvg(role, set, color === 'gote', color !== below);
        const image = `url("data:image/svg+xml,${encodeURIComponent(svg)}")`;
        return `.orientation-${below} piece.${color}.${role}{background-image:${image}}`;
      }),
    ),
  );
  sheet.replaceSync(rules.join('\n'));
}
