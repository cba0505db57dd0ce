// A game with variations. Moves are USI; a node has the position after its move as an SFEN.
import { play, START, turnOf, type Color } from './position';

export interface Score {
  /** The side to move's view, of the position after the node's move. */
  winRate: number;
  cp?: number;
  /** Plies to mate, negative if the side to move is mated. */
  mate?: number;
  pv: string[];
  nodes: number;
  /** What found it (`finder`); scores of records have none. */
  by?: string;
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
  timeMs?: number;
  score?: Score;
}

export interface Headers {
  black?: string;
  white?: string;
  event?: string;
  date?: string;
  place?: string;
  timeControl?: string;
}

let nextId = 1;

export class GameTree {
  readonly root: Node;
  headers: Headers = {};
  /** How the main line ended, in the record's wording, such as 投了. */
  ending = '';
  /** Name of the file it came from. */
  name = '';
  /** Its number in the library. */
  number?: number;

  constructor(readonly initialSfen = START) {
    this.root = { id: nextId++, usi: '', ply: 0, sfen: initialSfen, children: [], comment: '' };
  }

  /** The child after a move, created if necessary; undefined if the move is illegal. */
  add(at: Node, usi: string): Node | undefined {
    const known = at.children.find(c => c.usi === usi);
    if (known) return known;
    const sfen = play(at.sfen, usi);
    if (!sfen) return undefined;
    const node: Node = { id: nextId++, usi, parent: at, ply: at.ply + 1, sfen, children: [], comment: '' };
    at.children.push(node);
    return node;
  }

  /** Follows moves from a node, adding missing ones; returns the last legal node. */
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

  /** Makes a variation the first of its siblings, up to the root. */
  promote(node: Node): void {
    for (let n = node; n.parent; n = n.parent) {
      const siblings = n.parent.children;
      siblings.splice(siblings.indexOf(n), 1);
      siblings.unshift(n);
    }
  }

  /** From the root to the end of the first children. */
  mainLine(): Node[] {
    return lineThrough(this.root);
  }

  find(id: number): Node | undefined {
    const waiting = [this.root];
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      if (node.id === id) return node;
      waiting.push(...node.children);
    }
    return undefined;
  }

  *nodes(): Generator<Node> {
    const waiting = [this.root];
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      yield node;
      waiting.push(...node.children);
    }
  }
}

/** The line through a node: from the root, then by first children to the end. */
export function lineThrough(node: Node): Node[] {
  const line = pathTo(node);
  for (let n = node.children[0]; n; n = n.children[0]) line.push(n);
  return line;
}

/** From the root to a node, both included. */
export function pathTo(node: Node): Node[] {
  const path: Node[] = [];
  for (let n: Node | undefined = node; n; n = n.parent) path.unshift(n);
  return path;
}

export const movesTo = (node: Node): string[] => pathTo(node).slice(1).map(n => n.usi);

/** Black's (sente's) win rate at a node; undefined without a search. */
export function blackWinRate(node: Node): number | undefined {
  const s = node.score;
  return s && (turnOf(node.sfen) === 'sente' ? s.winRate : 1 - s.winRate);
}

export const moverOf = (node: Node): Color => (turnOf(node.sfen) === 'sente' ? 'gote' : 'sente');

/** Whether a position has occurred four times on the path to a node: sennichite. */
export function repetitions(node: Node): number {
  const key = (n: Node) => n.sfen.split(' ').slice(0, 3).join(' ');
  const here = key(node);
  return pathTo(node).filter(n => key(n) === here).length;
}
