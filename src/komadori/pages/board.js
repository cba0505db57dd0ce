import { fragment, s } from "./dom.js";

// A position as GUIs need it: where pieces stand, without legality. Squares are numbered
// 9 * (file - 1) + (rank - 1), colours are 0 (Black) and 1 (White), as in komadori.rules.

const HAND_ORDER = ["R", "B", "G", "S", "N", "L", "P"];
const CELL_W = 44, CELL_H = 48;

/** The square of `7g`. */
function square(name) {
  return 9 * (Number(name[0]) - 1) + (name.charCodeAt(1) - 97);
}

/** {squares: [81] of null or {kind, color}, hands: [{P: 1}, {}], turn}. */
export function parseSfen(sfen) {
  const [rows, turn, held] = sfen.split(" ");
  const position = { squares: Array(81).fill(null), hands: [{}, {}], turn: turn === "w" ? 1 : 0 };
  rows.split("/").forEach((row, rank) => {
    let file = 9;
    for (const [piece] of row.matchAll(/\+?[A-Za-z]|\d/g)) {
      if (/\d/.test(piece)) {
        file -= Number(piece);
        continue;
      }
      const kind = piece.toUpperCase();
      position.squares[9 * (file - 1) + rank] = { kind, color: kind === piece ? 0 : 1 };
      file -= 1;
    }
  });
  if (held && held !== "-") {
    for (const [, count, letter] of held.matchAll(/(\d*)([A-Za-z])/g)) {
      const kind = letter.toUpperCase();
      position.hands[kind === letter ? 0 : 1][kind] = Number(count || 1);
    }
  }
  return position;
}

/** The position after a legal move in USI. */
export function play(position, usi) {
  const squares = position.squares.slice();
  const hands = position.hands.map((hand) => ({ ...hand }));
  const color = position.turn, to = square(usi.slice(2, 4));
  if (usi[1] === "*") {
    hands[color][usi[0]] -= 1;
    squares[to] = { kind: usi[0], color };
  } else {
    const from = square(usi.slice(0, 2)), taken = squares[to];
    if (taken) {
      const kind = taken.kind.replace("+", "");
      hands[color][kind] = (hands[color][kind] || 0) + 1;
    }
    const { kind } = squares[from];
    squares[from] = null;
    squares[to] = { kind: usi[4] === "+" ? `+${kind}` : kind, color };
  }
  return { squares, hands, turn: 1 - color };
}

/** SFEN of a position, with the number of the next move. */
export function toSfen(position, number) {
  const rows = [];
  for (let rank = 0; rank < 9; rank += 1) {
    let row = "", empty = 0;
    for (let file = 9; file >= 1; file -= 1) {
      const piece = position.squares[9 * (file - 1) + rank];
      if (!piece) {
        empty += 1;
        continue;
      }
      row += (empty || "") + (piece.color ? piece.kind.toLowerCase() : piece.kind);
      empty = 0;
    }
    rows.push(row + (empty || ""));
  }
  const held = [0, 1].map((color) => HAND_ORDER.map((kind) => {
    const count = position.hands[color][kind] || 0;
    const letter = color ? kind.toLowerCase() : kind;
    return count ? (count > 1 ? count : "") + letter : "";
  }).join("")).join("");
  return `${rows.join("/")} ${"bw"[position.turn]} ${held || "-"} ${number}`;
}

/** Defines the pieces and empty boards, once per document: `drawBoard` refers to them. */
export function defineSymbols(assets) {
  if (document.getElementById("kmd-symbols")) return;
  const grids = Object.entries(assets.grids).map(([style, both]) => both.map((grid, i) => `<g id="kmd-grid-${style}-${i}">${grid}</g>`).join("")).join("");
  const holder = fragment("svg", `<defs>${assets.symbols}${grids}</defs>`);
  holder.id = "kmd-symbols";
  holder.setAttribute("width", 0);
  holder.setAttribute("height", 0);
  holder.setAttribute("aria-hidden", "true");
  holder.style.position = "absolute";
  document.body.prepend(holder);
}

function symbol(kind, color, style) {
  const king = kind === "K" && color === 1 && style === "kanji" ? "w" : "";
  return `#kmd-${style}-${kind.replace("+", "x")}${king}`;
}

/** The centre of a square in the picture. */
function center(index, flipped) {
  const file = Math.floor(index / 9), rank = index % 9;
  const column = flipped ? file : 8 - file, row = flipped ? 8 - rank : rank;
  return [(column + 0.5) * CELL_W, (row + 0.5) * CELL_H];
}

function handPlaces(position, color, flipped) {
  const below = (color === 0) !== flipped, y = below ? 468 : -47;
  const kinds = HAND_ORDER.filter((kind) => position.hands[color][kind]);
  return kinds.map((kind, index) => {
    const offset = 62 + index * 50;
    return { kind, count: position.hands[color][kind], x: below ? offset : 396 - offset, y, below };
  });
}

function arrow([x0, y0], [x1, y1], name) {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const ux = (x1 - x0) / length, uy = (y1 - y0) / length, half = name === "played" ? 3.2 : 4.6;
  const head = 2.4 * half + 5, bx = x1 - ux * head, by = y1 - uy * head;
  const at = (x, y, side) => `${(x - uy * side).toFixed(1)},${(y + ux * side).toFixed(1)}`;
  const points = [at(x0, y0, half * 0.7), at(bx, by, half), at(bx, by, half * 2.3), at(x1, y1, 0),
    at(bx, by, -half * 2.3), at(bx, by, -half), at(x0, y0, -half * 0.7)];
  return s("polygon", { class: `arrow ${name}`, points: points.join(" ") });
}

/**
 * A picture of a position.
 * options: style "kanji" or "western"; flipped; last: the USI move that led here;
 * arrows: [[usi, "played" | "best"]]; label for screen readers.
 */
export function drawBoard(position, { style, flipped = false, last = null, arrows = [], label = "" }) {
  const view = s("svg", { class: "board", viewBox: "-9 -72 434 566", role: "img", "aria-label": label });
  view.append(s("use", { href: `#kmd-grid-${style}-${flipped ? 1 : 0}` }));
  const mark = (index, name) => {
    const [x, y] = center(index, flipped);
    view.append(s("rect", { class: name, x: x - CELL_W / 2, y: y - CELL_H / 2, width: CELL_W, height: CELL_H }));
  };
  if (last) {
    mark(square(last.slice(2, 4)), "last");
    if (last[1] !== "*") mark(square(last.slice(0, 2)), "from");
  }
  position.squares.forEach((piece, index) => {
    if (!piece) return;
    const [x, y] = center(index, flipped), turned = (piece.color === 0) === flipped;
    view.append(s("use", { href: symbol(piece.kind, piece.color, style), transform: `translate(${x},${y})${turned ? " rotate(180)" : ""}` }));
  });
  for (const color of [0, 1]) {
    const below = (color === 0) !== flipped, y = below ? 446 : -70;
    view.append(s("rect", { class: "stand", x: -7, y, width: 428, height: 44, rx: 4 }));
    const x = below ? 18 : 396, points = "0,-12 9,-8 12.5,12 -12.5,12 -9,-8";
    view.append(s("polygon", { class: `mark${color}${position.turn === color ? " turn" : ""}`, points, transform: `translate(${x},${y + 22})${below ? "" : " rotate(180)"}` }));
    for (const place of handPlaces(position, color, flipped)) {
      view.append(s("use", { href: symbol(place.kind, color, style), transform: `translate(${place.x},${place.y})${below ? "" : " rotate(180)"} scale(0.92)` }));
      if (place.count > 1) {
        view.append(s("text", { class: "count", x: place.x + (below ? 23 : -23), y: place.y + 6 }, String(place.count)));
      }
    }
  }
  for (const [usi, name] of arrows) {
    let from;
    if (usi[1] === "*") {
      const place = handPlaces(position, position.turn, flipped).find((one) => one.kind === usi[0]);
      from = place ? [place.x, place.y] : null;
    } else {
      from = center(square(usi.slice(0, 2)), flipped);
    }
    if (from) view.append(arrow(from, center(square(usi.slice(2, 4)), flipped), name));
  }
  return view;
}
