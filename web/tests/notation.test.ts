import { describe, expect, test } from 'vitest';
import { lineOf, moveText, parseTyped } from '../src/shogi/notation';
import { parsePosition, START } from '../src/shogi/position';

const pos = (sfen: string) => parsePosition(sfen)!;
const BISHOP_TRADE = ['7g7f', '3c3d', '8h2b+', '3a2b', 'B*4e'];

describe('formatting moves', () => {
  test('Japanese', () => {
    expect(lineOf(START, BISHOP_TRADE, 'japanese').map(m => m.text)).toEqual(['▲７六歩', '△３四歩', '▲２二角成', '△同銀', '▲４五角']);
  });

  test('Western', () => {
    expect(lineOf(START, BISHOP_TRADE, 'western').map(m => m.text)).toEqual(['P-7f', 'P-3d', 'Bx2b+', 'Sx2b', 'B*4e']);
  });

  test('disambiguation of two golds', () => {
    const two = pos('4k4/9/9/9/9/9/9/3G1G3/4K4 b - 1');
    expect(moveText(two, '6h5h', 'japanese')).toBe('▲５八金左');
    expect(moveText(two, '4h5h', 'japanese')).toBe('▲５八金右');
    expect(moveText(two, '6h5h', 'western')).toBe('G6h-5h');
  });

  test('unpromoted moves and resignation', () => {
    const p = pos('4k4/9/4S4/9/9/9/9/9/4K4 b - 1');
    expect(moveText(p, '5c4b', 'japanese')).toBe('▲４二銀不成');
    expect(moveText(p, '5c4b', 'western')).toBe('S-4b=');
    expect(moveText(p, 'resign', 'japanese')).toBe('投了');
  });

  test('a line ends at its first illegal move', () => {
    expect(lineOf(START, ['7g7f', '7g7f'], 'usi')).toHaveLength(1);
    expect(lineOf('nonsense', ['7g7f'], 'usi')).toEqual([]);
  });
});

describe('parsing typed moves', () => {
  test.each([
    ['7g7f', '7g7f'],
    ['P-7f', '7g7f'],
    ['p7f', '7g7f'],
    ['７六歩', '7g7f'],
    ['▲76歩', '7g7f'],
    ['5h6h', undefined],
    ['', undefined],
    ['<b>', undefined],
  ])('%s', (typed, usi) => expect(parseTyped(pos(START), typed)).toBe(usi));

  test('同 refers to the previous move', () => {
    const after = lineOf(START, BISHOP_TRADE.slice(0, 3), 'usi').at(-1)!.sfen;
    expect(parseTyped(pos(after), '同銀', '8h2b+')).toBe('3a2b');
    expect(parseTyped(pos(after), '同飛', '8h2b+')).toBe('8b2b');
  });

  test('an ambiguous move is rejected', () => {
    const two = pos('4k4/9/9/9/9/9/9/3G1G3/4K4 b - 1');
    expect(parseTyped(two, '58金')).toBeUndefined();
    expect(parseTyped(two, '58金右')).toBe('4h5h');
  });
});
