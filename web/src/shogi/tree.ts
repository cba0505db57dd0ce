// A game tree. Moves are in USI; a node holds the position after its move as an SFEN.
import type { RecordFormatType } from 'tsshogi';
import { play, START, turnOf, type Color } from './position';

export interface Score {
  /** From the view of the side to move in the node's position. */
  winRate: number;
  cp?: number;
  /** Plies to mate, negative if the side to move gets mated. */
  mate?: number;
  pv: string[];
  nodes: number;
  /** The engine that found it (`engineId`); undefined for scores stored with the game. */
  by?: string;
  /** Whether it is the player's own, of the move `pv[0]`: records have it beside that move. */
  isPlayers?: boolean;
}

export interface Node {
  readonly id: number;
  /** The move that leads here; empty for the root. */
  readonly usi: string;
  readonly parent?: Node;
  readonly ply: number;
  readonly sfen: string;
  children: Node[];
  comment: string;
  /** The lines of analyses and scores in the record's comment; `comment` is without them. */
  recorded?: string;
  /** The record's whole comment, and `comment` as it was then. */
  asRead?: { whole: string; comment: string };
  timeMs?: number;
  /** The record's bookmark on this move. */
  bookmark?: string;
  ending?: Ending;
  score?: Score;
}

/** How a line ended after a node. */
export interface Ending {
  /** As written in records: 投了, for example. */
  text: string;
  /** The time before a resignation, for example. */
  timeMs?: number;
  /** Whether the node's children are variations of the ending, not the ending one of its first child. */
  isFirst: boolean;
}

export interface Headers {
  black?: string;
  white?: string;
  event?: string;
  date?: string;
  place?: string;
  timeControl?: string;
}

/** How a game ended and who won, in the words of the server. */
export interface Result {
  winner: 'black' | 'white' | 'draw' | 'none';
  end: string;
}

let nextId = 1;

export class GameTree {
  readonly root: Node;
  headers: Headers = {};
  /** The record's further headers, by tsshogi's keys or their own names: for saving. */
  further = { standard: new Map<string, string>(), custom: new Map<string, string>() };
  /** The result where the ending doesn't tell: of an adjudicated game, for example. */
  result?: Result;
  /** The format of the record that it was read from. */
  readFrom?: RecordFormatType;
  /** The name of the file that was opened. */
  name = '';
  /** Its number in the library. */
  number?: number;
  /** The stored game that this page last read or wrote, its version, and the content that would have been saved then. */
  stored?: { game: number; version: string; content: string };
  /** The number of the stored game that has the analysis. */
  analysed?: number;

  constructor(readonly initialSfen = START) {
    this.root = { id: nextId++, usi: '', ply: 0, sfen: initialSfen, children: [], comment: '' };
  }

  /** How the main line ended, as written in records: 投了, for example. */
  get ending(): string {
    return this.mainLine().at(-1)!.ending?.text ?? '';
  }

  set ending(text: string) {
    const last = this.mainLine().at(-1)!;
    last.ending = text ? { ...last.ending, text, isFirst: true } : undefined;
  }

  /** Returns the child for a move, creating it if necessary; undefined if the move is illegal. */
  add(at: Node, usi: string): Node | undefined {
    const known = at.children.find(c => c.usi === usi);
    if (known) return known;
    const sfen = play(at.sfen, usi);
    if (!sfen) return undefined;
    const node: Node = { id: nextId++, usi, parent: at, ply: at.ply + 1, sfen, children: [], comment: '' };
    at.children.push(node);
    return node;
  }

  /** Plays moves from a node, adding missing nodes; returns the node after the last legal move. */
  addLine(at: Node, usis: readonly string[]): Node {
    let node = at;
    for (const usi of usis) {
      const next = this.add(node, usi);
      if (!next) break;
      node = next;
    }
    return node;
  }

  remove(node: Node): void {
    const siblings = node.parent?.children;
    siblings?.splice(siblings.indexOf(node), 1);
  }

  /** Makes the line to a node the main line. */
  promote(node: Node): void {
    for (let n = node; n.parent; n = n.parent) {
      const siblings = n.parent.children;
      siblings.splice(siblings.indexOf(n), 1);
      siblings.unshift(n);
      if (n.parent.ending) n.parent.ending.isFirst = false;
    }
  }

  mainLine(): Node[] {
    return lineThrough(this.root);
  }

  find(id: number): Node | undefined {
    const stack = [this.root];
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.id === id) return node;
      stack.push(...node.children);
    }
    return undefined;
  }

  *nodes(): Generator<Node> {
    const stack = [this.root];
    for (let node = stack.pop(); node; node = stack.pop()) {
      yield node;
      stack.push(...node.children);
    }
  }
}

/** The comment as in the record. */
export const ownComment = ({ comment, recorded, asRead }: Node): string => (asRead?.comment === comment ? asRead.whole : [comment, recorded].filter(Boolean).join('\n'));

/** The child that continues a node's line; undefined where the line ends. */
export const continuation = (node: Node): Node | undefined => (node.ending?.isFirst ? undefined : node.children[0]);

/** A node's children that begin variations. */
export const variations = (node: Node): Node[] => (node.ending?.isFirst ? node.children : node.children.slice(1));

/** The line through a node: from the root to the node, then along first children to the end. */
export function lineThrough(node: Node): Node[] {
  const line = pathTo(node);
  for (let n = continuation(node); n; n = continuation(n)) line.push(n);
  return line;
}

/** The nodes from the root to a node, both included. */
export function pathTo(node: Node): Node[] {
  const path: Node[] = [];
  for (let n: Node | undefined = node; n; n = n.parent) path.unshift(n);
  return path;
}

export const movesTo = (node: Node): string[] => pathTo(node).slice(1).map(n => n.usi);

/** Black's (sente's) win rate at a node; undefined without a score. */
export function blackWinRate(node: Node): number | undefined {
  const s = node.score;
  return s && (turnOf(node.sfen) === 'sente' ? s.winRate : 1 - s.winRate);
}

export const moverOf = (node: Node): Color => (turnOf(node.sfen) === 'sente' ? 'gote' : 'sente');

/** How often a node's position has occurred on the path to it; four is sennichite. */
export function repetitions(node: Node): number {
  const key = (n: Node) => n.sfen.split(' ').slice(0, 3).join(' ');
  const here = key(node);
  return pathTo(node).filter(n => key(n) === here).length;
}
