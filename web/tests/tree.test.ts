import { describe, expect, test } from 'vitest';
import { applyRecorded, type Recorded } from '../src/analyse/recorded';
import { gradeOf, lossOf, mistakes } from '../src/shogi/grades';
import { applyHeaders, keptHeaders, treeOf } from '../src/shogi/played';
import { isReadable, legalMoves, parsePosition, passed, play, positionKey, promotion, sfenIn, sfenProblem, START } from '../src/shogi/position';
import { blackWinRate, GameTree, lineThrough, movesTo, repetitions, type Node } from '../src/shogi/tree';

const score = (winRate: number, pv: string[] = []) => ({ winRate, pv, nodes: 100 });

describe('positions', () => {
  test('the starting position has 30 legal moves', () => expect(legalMoves(parsePosition(START)!)).toHaveLength(30));

  test('legal moves are played, illegal ones are not', () => {
    expect(play(START, '7g7f')).toContain(' w - 2');
    expect(play(START, '7g7e')).toBeUndefined();
    expect(play(START, 'P*5e')).toBeUndefined();
  });

  test('mate by a pawn drop is illegal', () => {
    const pos = parsePosition('8k/9/6+R1N/9/9/9/9/9/K8 b P 1')!;
    const other = parsePosition('7lk/7p1/7GN/9/9/9/9/9/K8 b P 1')!;
    expect(legalMoves(pos)).toContain('P*1b');
    expect(legalMoves(other)).not.toContain('P*1b');
  });

  test('promotion is optional or forced', () => {
    const pos = parsePosition('4k4/P8/9/2B6/9/9/9/9/4K4 b - 1')!;
    expect(promotion(pos, '9b', '9a')).toEqual({ can: true, must: true });
    expect(promotion(pos, '7d', '6c')).toEqual({ can: true, must: false });
    expect(promotion(pos, '7d', '6e')).toEqual({ can: false, must: false });
  });

  test('passing changes only the side to move', () => {
    expect(passed(START)).toBe(START.replace(' b - 1', ' w - 2'));
    expect(positionKey(passed(passed(START)))).toBe(positionKey(START));
  });

  test('invalid positions have an error code', () => {
    expect(sfenProblem(START)).toBeUndefined();
    expect(sfenProblem('9/9/9/9/9/9/9/9/9 b - 1')).toBe('ERR_EMPTY');
    expect(sfenProblem('4k4/4R4/9/9/9/9/9/9/4K4 b - 1')).toBe('ERR_OPPOSITE_CHECK');
    expect(sfenProblem('<script>')).toBeDefined();
    expect(sfenProblem('4k4/9/9/9/9/9/9/+P8/4K4 b 17P 1')).toBeUndefined();
    expect(sfenProblem('4k4/9/9/9/9/9/9/+P8/4K4 b 18P 1')).toBe('ERR_TOO_MANY_PIECES');
    expect(sfenProblem('4k4/9/gg7/9/9/9/9/9/4K4 b 2Gg 1')).toBe('ERR_TOO_MANY_PIECES');
  });

  test("an SFEN is found behind USI's words; text that is none is not readable", () => {
    const sfen = '4k4/9/4P4/9/9/9/9/9/4K4 b G 1';
    for (const text of [sfen, `sfen ${sfen}`, ` position  sfen ${sfen}\n`]) expect(sfenIn(text)).toBe(sfen);
    for (const text of ['startpos', 'position startpos']) expect(sfenIn(text)).toBe(START);
    expect(isReadable('4k4/4R4/9/9/9/9/9/9/4K4 b - 1')).toBe(true); // shown, to be corrected
    for (const text of ['', 'x', `${sfen} moves`.replace(' b ', ' x '), '4k4/9/9/9/9/9/9/9/4K4 b 3Z 1', '4k4/9/9/9/9/9/9/9/4K4 b P2 1', '4k4/9/9/9/9/9/9/9/4K+ b - 1', 'startpos moves 7g7f']) expect(isReadable(text)).toBe(false);
  });
});

describe('game tree', () => {
  function tree(): [GameTree, Node] {
    const game = new GameTree();
    return [game, game.addLine(game.root, ['7g7f', '3c3d', '2g2f'])];
  }

  test('playing a move twice creates one node', () => {
    const [game, end] = tree();
    expect(game.addLine(game.root, ['7g7f', '3c3d', '2g2f'])).toBe(end);
    expect([...game.nodes()]).toHaveLength(4);
  });

  test('a move after the end of the game is a variation until it is promoted', () => {
    const [game, end] = tree();
    game.ending = '投了';
    const further = game.addLine(end, ['8c8d', '2f2e']);
    expect([game.mainLine().at(-1), game.ending]).toEqual([end, '投了']);
    expect(lineThrough(end.children[0]).at(-1)).toBe(further);
    game.promote(further);
    expect([game.mainLine().at(-1), game.ending]).toEqual([further, '']);
  });

  test('a variation is promoted and removed', () => {
    const [game, end] = tree();
    const other = game.addLine(game.root, ['7g7f', '8c8d']);
    game.promote(other);
    expect(game.mainLine().map(n => n.usi)).toEqual(['', '7g7f', '8c8d']);
    game.remove(other);
    expect(game.mainLine().at(-1)).toBe(end);
  });

  test('a line runs through a node to its end', () => {
    const [game] = tree();
    const other = game.addLine(game.root, ['7g7f', '8c8d', '2g2f', '8d8e']);
    expect(lineThrough(other.parent!).map(n => n.usi)).toEqual(['', '7g7f', '8c8d', '2g2f', '8d8e']);
    expect(movesTo(other)).toEqual(['7g7f', '8c8d', '2g2f', '8d8e']);
  });

  test('an illegal move ends a line', () => {
    const [game] = tree();
    expect(game.addLine(game.root, ['7g7f', '7g7f', '3c3d']).ply).toBe(1);
  });

  test('repetitions are counted', () => {
    const game = new GameTree();
    const round = ['2h3h', '8b7b', '3h2h', '7b8b'];
    const end = game.addLine(game.root, [...round, ...round, ...round]);
    expect(repetitions(end)).toBe(4);
    expect(repetitions(end.parent!)).toBe(3);
  });
});

describe('mistakes', () => {
  test('are graded at 5, 10, 20 and 50 points', () => {
    expect([0.049, 0.05, 0.1, 0.2, 0.5].map(gradeOf)).toEqual([undefined, 'inaccuracy', 'mistake', 'blunder', 'disaster']);
  });

  test('are measured by what the mover lost', () => {
    const game = new GameTree();
    const [, first, second] = lineThrough(game.addLine(game.root, ['7g7f', '3c3d']));
    game.root.score = score(0.6, ['2g2f']);
    first.score = score(0.55, ['8c8d']);
    second.score = score(0.48);
    expect(lossOf(first)).toBeCloseTo(0.15);
    expect(lossOf(second)).toBeCloseTo(0.03);
    expect(mistakes(game.mainLine())).toEqual([first]);
    expect(blackWinRate(first)).toBeCloseTo(0.45);
  });

  test("the engine's best move is never a mistake", () => {
    const game = new GameTree();
    const first = game.add(game.root, '7g7f')!;
    game.root.score = score(0.7, ['7g7f']);
    first.score = score(0.6);
    expect(lossOf(first)).toBe(0);
  });
});

test("a server game's scores are assigned to the positions before the moves", () => {
  const tree = treeOf({ sfen: 'startpos', moves: ['7g7f', '3c3d'], black: 'a', white: 'b', scores_cp: [600, null], win_rates: [0.731, null] });
  expect(tree.root.score).toMatchObject({ cp: 600, winRate: 0.731, pv: ['7g7f'] });
  expect(tree.root.children[0]!.score).toBeUndefined();
});

test('headers that the server has read are kept, those that pages do not show too', () => {
  const tree = treeOf({ sfen: 'startpos', moves: [], black: 'a', white: 'b' });
  applyHeaders(tree, { event: '名人戦', site: '東京', time_limit: '各5時間', opening: '矢倉', 備考: 'x', black: 'a' });
  expect(tree.headers).toEqual({ black: 'a', white: 'b', event: '名人戦', place: '東京', timeControl: '各5時間' });
  expect([...tree.further.standard, ...tree.further.custom]).toEqual([['strategy', '矢倉'], ['備考', 'x']]);
});

test('headers are kept by the names by which the server told them', () => {
  const told = { event: 'A', start_time: '2024/05/06', site: 'B', time_limit: '9h', end_time: '2024/05/07', opening: 'C', 備考: 'D' };
  const tree = new GameTree(START);
  applyHeaders(tree, { black: 'x', ...told });
  expect(keptHeaders(tree)).toEqual(told);
  for (let i = 0; i < 200; i++) tree.further.custom.set(`k${i}`, 'v');
  expect(Object.keys(keptHeaders(tree))).toHaveLength(100);
});

test('the analyses of variations are scores, not text', () => {
  const tree = new GameTree();
  const second = tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f']).parent!;
  const last = tree.addLine(second, ['6g6f', '8c8d']);
  const other = tree.add(last.parent!, '4c4d')!;
  last.comment = '#評価値=80\n振り飛車';
  other.comment = '#評価値=-40';
  const at = (ply: number, win_rate: number) => ({ game: 0, ply, turn: 'black', win_rate, black_win_rate: win_rate, visits: 1, declares: false, lines: [] });
  const variation = { parent: 0, ply: 2, moves: ['6g6f', '8c8d'], analysis: [at(2, 0.6)], texts: { 2: '振り飛車' } };
  const nested = { parent: 1, ply: 1, moves: ['4c4d'], analysis: [at(1, 0.4)], texts: { 1: '' } };
  const unknown = { parent: 1, ply: 1, moves: ['9c9d', '9g9f'], analysis: [at(1, 0.1)], texts: { 2: '?' } };
  const game = { moves: ['7g7f', '3c3d', '2g2f'], headers: {}, comments: {}, analysis: [], texts: {}, variations: [variation, nested, unknown] };
  applyRecorded(tree, game as unknown as Recorded);
  expect([last.comment, last.recorded, last.score!.winRate]).toEqual(['振り飛車', '#評価値=80', 0.6]);
  expect([other.comment, other.recorded, other.score!.winRate]).toEqual(['', '#評価値=-40', 0.4]);
});
