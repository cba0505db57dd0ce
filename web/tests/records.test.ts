import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { csaLine, decode, readGames, writeGame, type Format } from '../src/shogi/records';
import { START } from '../src/shogi/position';
import { GameTree } from '../src/shogi/tree';

function read(name: string): GameTree[] {
  const bytes = readFileSync(join(import.meta.dirname, 'games', name));
  return readGames(decode(new Uint8Array(bytes).buffer), name);
}

const usis = (game: GameTree) => game.mainLine().slice(1).map(n => n.usi);
const ended = (word: string) => `手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)   ( 0:01/00:00:01)\n   2 ${word}   ( 0:05/00:00:05)\n`;
const expected = usis(read('game.csa')[0]);

describe('records', () => {
  test('CSA', () => {
    const [game] = read('game.csa');
    expect(expected).toHaveLength(103);
    expect(game.headers).toMatchObject({ black: 'broaden', white: '海底' });
    expect(game.mainLine()[2].timeMs).toBe(14_000);
  });

  test.each(['game.kif', 'game-sjis.kif', 'game.ki2', 'game.jkf', 'game.usi'])('%s has the same moves', name => {
    expect(usis(read(name)[0])).toEqual(expected);
  });

  test.each([['utf-16le', [0xff, 0xfe]], ['utf-16be', [0xfe, 0xff]]] as const)('%s with a byte-order mark', (encoding, mark) => {
    const text = readFileSync(join(import.meta.dirname, 'games', 'game.csa'), 'utf8');
    const bytes = Buffer.from(text, 'utf16le');
    const data = new Uint8Array([...mark, ...(encoding === 'utf-16be' ? bytes.swap16() : bytes)]);
    expect(usis(readGames(decode(data.buffer))[0])).toEqual(expected);
  });

  test('variations and comments, in Shift-JIS too', () => {
    const [game] = read('game-sjis.kif');
    expect(game.mainLine()[8].comment).toBe('序盤のコメント');
    expect(game.mainLine()[10].children.map(n => n.usi)).toEqual([expected[10]]);
    expect(game.mainLine()[11].children.length + game.mainLine()[10].children.length).toBeGreaterThanOrEqual(2);
    expect(game.headers.white).toBe('海底');
    expect(game.ending).toBe('投了');
  });

  test.each<Format>(['kif', 'csa', 'jkf', 'ki2', 'usi'])('%s round trip', format => {
    const [game] = read('game.kif');
    const again = readGames(writeGame(game, format))[0];
    expect(usis(again)).toEqual(expected);
  });

  test('KIF round trip of variations, comments and headers', () => {
    const game = new GameTree();
    game.addLine(game.root, ['7g7f', '3c3d', '2g2f']);
    game.addLine(game.root, ['7g7f', '8c8d', '2g2f', '8d8e']);
    game.addLine(game.root, ['2g2f']);
    game.headers = { black: '<img src=x onerror=alert(1)>', white: '後手' };
    game.root.children[0].comment = '一行目\n二行目';
    const again = readGames(writeGame(game, 'kif'))[0];
    expect([...again.nodes()].map(n => n.usi).sort()).toEqual([...game.nodes()].map(n => n.usi).sort());
    expect(again.root.children[0].comment).toBe('一行目\n二行目');
    expect(again.headers.black).toBe('<img src=x onerror=alert(1)>');
  });

  test('KIF keeps what pages do not show: further headers, bookmarks, the time of the resignation', () => {
    const lines = [
      ...['開始日時：2024/05/03 10:00:00', '終了日時：2024/05/03 11:12:00', '戦型：二歩突っ切り', '備考：公開対局', '立会人：佐藤'],
      ...['下手：田中', '上手：山田', '手合割：二枚落ち', '手数----指手---------消費時間--'],
      ...['   1 ９四歩(93)   ( 0:01/00:00:01)', '&しおり', '   2 ７六歩(77)   ( 0:02/00:00:02)', '   3 投了         ( 0:05/00:00:06)'],
    ];
    const written = writeGame(readGames(lines.join('\n'))[0], 'kif').split(/\r?\n/);
    for (const line of lines) expect(written).toContain(line);
    expect(written.filter(line => /田中|山田/.test(line))).toHaveLength(2);
  });

  const timed = [
    ...['手合割：平手', '手数----指手---------消費時間--'],
    ...['   1 ７六歩(77)   ( 0:03/00:00:03)', '   2 ３四歩(33)   ( 0:00/00:00:00)+', '   3 投了         ( 0:05/00:00:08)+'],
    ...['', '変化：3手', '   3 ２六歩(27)', '   4 ８四歩(83)+', '   5 中断', ''],
    ...['変化：4手', '   4 投了', '', '変化：2手', '   2 ８四歩(83)   ( 0:02/00:00:02)', '   3 中断         ( 0:00/00:00:03)', ''],
  ].join('\n');

  test.each<Format>(['kif', 'jkf'])('%s keeps the game where it ended, the endings of variations, and lines without times', format => {
    const [game] = readGames(timed);
    expect([usis(game), game.ending]).toEqual([['7g7f', '3c3d'], '投了']);
    const again = readGames(writeGame(game, format))[0];
    expect(writeGame(again, 'kif')).toBe(timed);
    expect([usis(again), again.ending]).toEqual([['7g7f', '3c3d'], '投了']);
  });

  test('CSA has no times where no move has one', () => {
    expect(writeGame(readGames('position startpos moves 7g7f 3c3d')[0], 'csa')).not.toMatch(/^T/m);
    expect(writeGame(readGames(timed)[0], 'csa')).toContain('\n+7776FU\nT3\n-3334FU\nT0\n%TORYO\nT5\n');
  });


  test.each(['封じ手', '裁定引分', '時間切れ', '入玉宣言', '最大手数', '引き分け', '反則'])('KIF keeps the ending %s; CSA and JKF have one', word => {
    const [game] = readGames(ended(word));
    expect(game.ending).toBe(word);
    expect(writeGame(game, 'kif')).toContain(`   2 ${word}`);
    expect(writeGame(game, 'kif')).toMatch(/ 0:05\/00:00:05/);
    expect(writeGame(game, 'csa')).toMatch(/\n%[A-Z_]+\nT5\n/);
    expect(writeGame(game, 'jkf')).toContain('"special"');
    expect(writeGame(game, 'ki2')).toContain(`まで1手で${word}`);
  });

  test.each<[string, string]>([['+', '反則負け'], ['-', '反則勝ち']])('an illegal action of %s loses', (side, ending) => {
    const csa = `PI\n+\n+7776FU\n-3334FU\n%${side}ILLEGAL_ACTION\n`; // Black is to move
    const [game] = readGames(csa);
    expect(game.ending).toBe(ending);
    expect(readGames(writeGame(game, 'csa'))[0].ending).toBe(ending);
    expect(readGames(writeGame(game, 'jkf'))[0].ending).toBe(ending);
    expect(readGames(JSON.stringify({ header: {}, moves: [{}, { special: `${side}ILLEGAL_ACTION` }] }))[0].ending).toBe(ending);
  });

  test('an ending of CSA without a word in KIF is an interruption', () => {
    expect(readGames('PI\n+\n+7776FU\n%MATTA\n')[0].ending).toBe('中断');
  });

  test.each<[Format, string, string]>([
    ['kif', 'perpetual_check', 'まで1手で連続王手の千日手により後手の勝ち'],
    ['ki2', 'adjudication', 'まで1手で裁定により後手の勝ち'],
    ['kif', 'false_declaration', 'まで1手で後手の反則勝ち'],
    ['csa', 'time', "'summary:time up:a lose:b win"],
    ['jkf', 'adjudication', '"comments":["結果：後手の勝ち"]'],
  ])('%s states a result that the ending does not: %s', (format, end, line) => {
    const [game] = readGames(`${ended('中断')}\n変化：1手\n   1 ２六歩(27)\n`);
    game.headers = { black: 'a', white: 'b' };
    game.result = { winner: 'white', end };
    const text = writeGame(game, format);
    expect(text).toContain(line);
    expect(text.match(/まで|summary|結果/g)).toHaveLength(1);
    expect(usis(readGames(text)[0])).toEqual(['7g7f']);
    if (format === 'jkf') expect(readGames(text)[0]).toMatchObject({ result: { winner: 'white', end: 'adjudication' } });
  });

  test('the event of a CSA record is one in other formats', () => {
    const [game] = readGames('$EVENT:名人戦\nPI\n+\n+7776FU\n%TORYO\n');
    expect(game.headers.event).toBe('名人戦');
    expect(writeGame(game, 'kif')).toContain('棋戦：名人戦');
    expect(writeGame(game, 'csa').match(/名人戦/g)).toHaveLength(1);
  });

  test('positions, handicaps, several games', () => {
    const sfen = '4k4/9/9/9/9/9/9/9/4K4 w 2r 7';
    expect(readGames(sfen)[0].initialSfen).toContain('4k4/9/9/9/9/9/9/9/4K4 w 2r');
    expect(readGames(`position startpos moves 7g7f\nposition startpos moves 2g2f 8c8d`)).toHaveLength(2);
    const two = readFileSync(join(import.meta.dirname, 'games/game.csa'), 'utf8');
    expect(readGames(`${two}\n/\n${two}`)).toHaveLength(2);
    expect(readGames(writeGame(new GameTree('lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1'), 'kif'))[0].initialSfen).toContain(' w - ');
    expect(readGames('position startpos')[0].initialSfen).toContain(START.slice(0, 57));
  });

  test('bare moves and the URL of a position', () => {
    expect(usis(readGames('7g7f 3c3d 8h2b+')[0])).toEqual(['7g7f', '3c3d', '8h2b+']);
    expect(readGames('https://lishogi.org/analysis/4k4/9/4P4/9/9/9/9/9/4K4_b_G_1')[0].initialSfen).toContain('4k4/9/4P4/9/9/9/9/9/4K4 b G');
  });

  test.each(['hello world', '手合割：平手\u0000', '\uFFFDPNG\r\n\u0000\u0001IHDR', '   # a note\n', 'https://example.org/game/12'])('%j is rejected', text => {
    expect(() => readGames(text)).toThrow('no record and no position');
  });

  test.each(['手合割：平手\n', 'PI\n+\n', '投了\n先手：佐藤\n'])('%j is a game without moves', text => {
    expect(readGames(text)[0].root.children).toEqual([]);
  });

  test('CSA has the date of the game; lines are formatted in CSA notation', () => {
    const [game] = read('game.kif');
    game.headers.date = '2018/05/03 11:13:54';
    expect(writeGame(game, 'csa')).toContain('\n$START_TIME:2018/05/03 11:13:54\n');
    game.headers.date = '令和八年';
    expect(writeGame(game, 'csa')).not.toContain('$START_TIME');
    expect(csaLine(START, ['7g7f', '3c3d', '8h2b+', '3a2b', 'B*5e', '1a9i'])).toEqual(['+7776FU', '-3334FU', '+8822UM', '-3122GI', '+0055KA']);
  });

  test.each(['', '   ', '\uFEFF', '手数----指手---------消費時間--\n   1 ９九歩(98)'])('%j is empty or rejected with a one-line message', text => {
    try {
      for (const game of readGames(text)) expect(game.root.children).toEqual([]);
    } catch (e) {
      expect((e as Error).message).not.toContain('\n');
    }
  });

  test.each([
    ['{"a":1}', 'not a valid JKF record'],
    ['position startpos moves 7g7f 7g7f', 'not valid USI: 7g7f'],
    ['sfen 9/9/9 b - 1', /^not valid (SFEN|USI): /],
  ])('%s is an error in our words, not those of an exception', (text, message) => {
    expect(() => readGames(text)).toThrow(message);
    expect(() => readGames(text)).not.toThrow(/Error|failed|undefined/);
  });

  test('a move line of CSA that is none is an error, not the end of the game', () => {
    const moves = (third: string) => `V2.2\nN+[red]-x,+y\nPI\n+\n'+comment\n+7776FU,T1\n-3334FU\n${third}\n%TORYO\n`;
    expect(usis(readGames(moves('+2726FU'))[0])).toEqual(['7g7f', '3c3d', '2g2f']);
    for (const third of ['+XXXX', '+2726', '+27２6FU', '+2726FUx'])
      expect(() => readGames(moves(third))).toThrow('illegal move at ply 3');
  });

  test('a move line of KIF that is none is an error if moves follow, otherwise the end of the game', () => {
    const head = '手合割：平手\n先手：A\n手数----指手---------消費時間--\n   1 ７六歩(77) ( 0:01/)\n';
    const tail = '   3 ２六歩(27)\n   4 投了\n\n変化：2手\n   2 ８四歩(83)\n   3 同　歩(77)\n';
    expect(usis(readGames(`${head}   2 ３四歩(33)\n${tail.replace('同　歩(77)', '２六歩(27)')}`)[0])).toEqual(['7g7f', '3c3d', '2g2f']);
    for (const second of ['ほげ', 'XXXX', '3d', '中断']) expect(() => readGames(`${head}   2 ${second}\n${tail}`)).toThrow('illegal move at ply 2');
    for (const end of ['中断', '謎の終わり']) expect(usis(readGames(`${head}   2 ${end}\n`)[0])).toEqual(['7g7f']);
  });
});

test('a main line without an ending stays before variations that begin after it', () => {
  const kif = '手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n\n変化：3手\n   3 ２六歩(27)\n';
  const [game] = readGames(kif);
  expect([usis(game), game.ending]).toEqual([['7g7f', '3c3d'], '']);
  expect(usis(readGames(writeGame(game, 'kif'))[0])).toEqual(['7g7f', '3c3d']);
  expect(writeGame(game, 'kif')).not.toContain('   3 〈');
  expect(writeGame(game, 'csa')).not.toMatch(/2726FU|%/);
  expect(writeGame(game, 'usi')).not.toContain('2g2f');
  const again = readGames(writeGame(game, 'jkf'))[0];
  expect(usis(again)).toEqual(['7g7f', '3c3d']);
  expect(again.mainLine()[2].children).toHaveLength(1);
});

test('CSA and JKF have all headers of KIF', () => {
  const names = ['開始日時：2024/05/03', '終了日時：2024/05/03 11:00', '持ち時間：各5時間', '備考：公開', '記録係：X'];
  const [game] = readGames([...names, '手合割：平手', '手数----', '   1 ７六歩(77)', ''].join('\n'));
  const csa = writeGame(game, 'csa');
  for (const line of ['$START_TIME:2024/05/03', '$END_TIME:2024/05/03 11:00', '$TIME_LIMIT:各5時間', '$備考:公開', '$記録係:X']) expect(csa).toContain(`\n${line}\n`);
  expect(JSON.parse(writeGame(game, 'jkf')).header).toMatchObject({ 持ち時間: '各5時間', 備考: '公開', 記録係: 'X' });
});

test.each([['不戦勝', 'win', '先手'], ['不戦敗', 'lose', '後手'], ['引き分け', 'draw', '']])('CSA and JKF tell who won by %s', (word, outcome, winner) => {
  const [game] = readGames(`手合割：平手\n手数----\n   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ${word}\n`);
  expect(writeGame(game, 'csa')).toContain(`'summary:adjudication: ${outcome}:`);
  expect(writeGame(game, 'jkf')).toContain(winner ? `結果：${winner}の勝ち` : '結果：引き分け');
});

test.each<Format>(['usi', 'sfen'])('%s holds the moves of a game with any ending', format => {
  expect(writeGame(readGames(ended('裁定引分'))[0], format)).toBeTruthy();
});
