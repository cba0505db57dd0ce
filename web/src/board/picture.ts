// Draws diagrams on a canvas, for PNG and GIF.
import { language, pieceSet } from '../settings';
import { HAND_ROLES, moveSquares, parsePosition, type Color } from '../shogi/position';
import { makeSquareName } from 'shogiops/util';
import { BODY, EDGE, LOOKS, marks, WOOD } from './pieces';

const CELL = 60;
const MARGIN = 26;
const HAND = 66;
/** As on the board of the page. */
const RANKS = { ja: '一二三四五六七八九', en: 'abcdefghi' };
export const WIDTH = 9 * CELL + 2 * MARGIN;
export const HEIGHT = 9 * CELL + 2 * MARGIN + 2 * HAND;

export interface Picture {
  sfen: string;
  lastUsi?: string;
  orientation: Color;
  /** Captions above and below the board: player names, the move. */
  top?: string;
  bottom?: string;
}

function drawPiece(ctx: CanvasRenderingContext2D, role: string, isWhite: boolean, isDown: boolean, x: number, y: number, size: number): void {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size / 100, size / 100);
  if (isDown) {
    ctx.translate(100, 100);
    ctx.rotate(Math.PI);
  }
  const { scale } = LOOKS[role];
  ctx.translate(50, 95);
  ctx.scale(scale, scale);
  ctx.translate(-50, -95);
  const body = new Path2D(BODY);
  ctx.fillStyle = WOOD[0];
  ctx.fill(body);
  ctx.strokeStyle = EDGE;
  ctx.lineWidth = 2;
  ctx.lineJoin = 'round';
  ctx.stroke(body);
  for (const mark of marks(role, pieceSet.value, isWhite)) {
    ctx.save();
    ctx.translate(mark.x, mark.y);
    ctx.scale(mark.scale, mark.scale);
    ctx.fillStyle = mark.color;
    ctx.fill(new Path2D(mark.path));
    ctx.restore();
  }
  ctx.restore();
}

export function drawPicture(ctx: CanvasRenderingContext2D, { sfen, lastUsi, orientation, top, bottom }: Picture): void {
  const pos = parsePosition(sfen);
  ctx.fillStyle = '#f6f1e6';
  ctx.fillRect(0, 0, WIDTH, HEIGHT);
  if (!pos) return;
  const isFlipped = orientation === 'gote';
  const y0 = HAND + MARGIN;
  ctx.fillStyle = '#e9bf78';
  ctx.fillRect(MARGIN - 8, y0 - 8, 9 * CELL + 16, 9 * CELL + 16);
  const place = (key: string): [number, number] => {
    const file = Number(key[0]);
    const rank = key.charCodeAt(1) - 96;
    const [col, row] = isFlipped ? [file - 1, 9 - rank] : [9 - file, rank - 1];
    return [MARGIN + col * CELL, y0 + row * CELL];
  };
  ctx.fillStyle = 'rgba(217,98,43,.35)';
  for (const key of lastUsi ? moveSquares(lastUsi) : []) ctx.fillRect(...place(key), CELL, CELL);
  ctx.strokeStyle = '#3c2a12';
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let i = 0; i <= 9; i++) {
    ctx.moveTo(MARGIN + 0.5, y0 + i * CELL + 0.5);
    ctx.lineTo(MARGIN + 9 * CELL + 0.5, y0 + i * CELL + 0.5);
    ctx.moveTo(MARGIN + i * CELL + 0.5, y0 + 0.5);
    ctx.lineTo(MARGIN + i * CELL + 0.5, y0 + 9 * CELL + 0.5);
  }
  ctx.stroke();
  for (const [square, piece] of pos.board) {
    const isWhite = piece.color === 'gote';
    const [x, y] = place(makeSquareName(square));
    drawPiece(ctx, piece.role, isWhite, isWhite !== isFlipped, x + 2, y + 2, CELL - 4);
  }
  ctx.fillStyle = '#3c2a12';
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'center';
  ctx.font = '12px system-ui, sans-serif';
  for (const [i, rank] of [...RANKS[language.value]].entries()) {
    const key = `${i + 1}${String.fromCharCode(97 + i)}`;
    const [x, y] = place(key);
    ctx.fillText(key[0], x + CELL / 2, y0 - 15);
    ctx.fillText(rank, WIDTH - 9, y + CELL / 2);
  }
  ctx.textAlign = 'left';
  ctx.font = '600 15px system-ui, sans-serif';
  for (const color of ['gote', 'sente'] as const) {
    const isWhite = color === 'gote';
    const isTop = isWhite !== isFlipped;
    const y = isTop ? 10 : y0 + 9 * CELL + MARGIN - 8;
    let x = isTop ? MARGIN : WIDTH - MARGIN;
    const held = HAND_ROLES.map(role => [role, pos.hands.color(color).get(role) ?? 0] as const).filter(([, n]) => n);
    if (!isTop) x -= held.length * 58;
    for (const [role, n] of held) {
      drawPiece(ctx, role, isWhite, isTop, x, y, 50);
      ctx.fillStyle = '#3c2a12';
      if (n > 1) ctx.fillText(String(n), x + 47, y + 42);
      x += 58;
    }
    const label = isTop ? top : bottom;
    if (label) {
      ctx.textAlign = isTop ? 'right' : 'left';
      ctx.fillText(label, isTop ? WIDTH - MARGIN : MARGIN, y + 26, WIDTH / 2);
      ctx.textAlign = 'left';
    }
  }
}

function createCanvas(): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const canvas = document.createElement('canvas');
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  return [canvas, canvas.getContext('2d', { willReadFrequently: true })!];
}

export async function boardPng(picture: Picture): Promise<Blob> {
  const [canvas, ctx] = createCanvas();
  drawPicture(ctx, picture);
  return new Promise((resolve, reject) => canvas.toBlob(b => (b ? resolve(b) : reject(new Error('PNG'))), 'image/png'));
}

/** Encodes an animation; yields to the event loop after each frame, so that the page stays responsive. */
export async function boardGif(pictures: readonly Picture[], delayMs: number, onProgress: (done: number) => void): Promise<Blob> {
  const { applyPalette, GIFEncoder, quantize } = await import('gifenc');
  const [, ctx] = createCanvas();
  const encoder = GIFEncoder();
  let palette: number[][] | undefined;
  for (const [i, picture] of pictures.entries()) {
    drawPicture(ctx, picture);
    const { data } = ctx.getImageData(0, 0, WIDTH, HEIGHT);
    palette ??= quantize(data, 64);
    encoder.writeFrame(applyPalette(data, palette), WIDTH, HEIGHT, { palette, delay: i === pictures.length - 1 ? 3 * delayMs : delayMs });
    onProgress(i + 1);
    await new Promise(resolve => setTimeout(resolve));
  }
  encoder.finish();
  return new Blob([encoder.bytes()], { type: 'image/gif' });
}
