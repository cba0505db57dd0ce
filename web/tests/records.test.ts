import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { csaLine, decode, readGames, readSoundGames, writeGame, type Format } from '../src/shogi/records';
import { ja } from '../src/i18n/ja';
import { HANDICAPS } from '../src/shogi/handicaps';
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

  test.each(HANDICAPS)('KIF and KI2 of $key', ({ key, sfen }) => {
    // The names that komadori.rules writes.
    const name = ja[key];
    for (const move of ['   1 ５二玉(51)', '△５二玉']) {
      const [game] = readGames(`手合割：${name}　\n下手：A\n上手：B\n${move}\n`);
      expect(game).toMatchObject({ initialSfen: sfen, headers: { black: 'A', white: 'B' } });
      expect(usis(game)).toEqual(['5a5b']);
      expect(readGames(writeGame(game, 'kif'))[0].initialSfen).toBe(sfen);
    }
  });

  test.each([['3', 'three-piece'], ['5', 'five-piece'], ['5_L', 'left-five-piece'], ['7_L', 'left-seven-piece'], ['7_R', 'right-seven-piece']])(
    'JKF of preset %s with a variation',
    (preset, name) => {
      const move = (x: number) => ({ move: { from: { x: 5, y: 1 }, to: { x, y: 2 }, color: 1, piece: 'OU' } });
      const moves = [{}, { ...move(5), forks: [[move(4)]] }];
      const [game] = readGames(JSON.stringify({ header: {}, initial: { preset }, moves }));
      expect(game.initialSfen).toBe(HANDICAPS.find(({ key }) => key === `handicap.${name}`)!.sfen);
      expect(game.root.children.map(n => n.usi)).toEqual(['5a5b', '5a4b']);
    },
  );

  test.each(['   1 ７六歩(77)', '   1 ５二玉(51)', ''])('an unknown handicap is no even game: %j', move => {
    expect(() => readGames(`手合割：トンボ\n先手：A\n${move}\n`)).toThrow('トンボ');
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

  test.each<[string, string, string]>([
    ['角落ち', '投了', '上手の勝ち'],
    ['角落ち', '反則負け', '下手の反則負け'],
    ['平手', '投了', '後手の勝ち'],
  ])('KI2 names the winner by the handicap: %s, %s', (handicap, ending, said) => {
    const moves = handicap === '平手' ? '   1 ７六歩(77)\n   2 ３四歩(33)\n   3' : '   1 ８四歩(83)\n   2';
    const [game] = readGames(`手合割：${handicap}\n手数----指手---------消費時間--\n${moves} ${ending}\n`);
    const text = writeGame(game, 'ki2');
    expect(text).toContain(`手で${said}\n`);
    expect(readGames(text)[0].ending).toBe(ending);
    expect(usis(readGames(text)[0])).toEqual(usis(game));
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
    ['csa', 'interrupted', "'summary:chudan:a lose:b win"],
    ['kif', 'unknown', 'まで1手で裁定により後手の勝ち'],
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

  test.each(['game.csa', 'game.kif', 'game.ki2'])('%s with lines that end with a carriage return alone', name => {
    const text = readFileSync(join(import.meta.dirname, 'games', name), 'utf8').replace(/\r?\n/g, '\r');
    const [game] = readGames(text);
    expect(usis(game)).toEqual(expected);
    expect(game.headers.white).toBe('海底');
  });

  test.each(['十七', '17', '１７'])('a hand of %s pawns', count => {
    const empty = '| ・ ・ ・ ・ ・ ・ ・ ・ ・|';
    const rows = ['| ・ ・ ・ ・v玉 ・ ・ ・ ・|一', ...[...'二三四五六七八'].map(rank => empty + rank), '| ・ ・ ・ ・ 玉 ・ ・ ・ ・|九'];
    const diagram = [`後手の持駒：角　歩${count}　`, '  ９ ８ ７ ６ ５ ４ ３ ２ １', '+-+', ...rows, '+-+', '先手の持駒：なし', '先手番', ''];
    for (const move of ['   1 ５八玉(59)\n', '▲５八玉\n']) {
      const [game] = readGames(diagram.join('\n') + move);
      expect(game.initialSfen).toContain(' b b17p ');
      expect(usis(game)).toEqual(['5i5h']);
    }
    expect(() => readGames(diagram.join('\n').replace(count, '99'))).toThrow('持駒：角　歩99');
  });

  test.each(['  ９ ８ ７ ６ ５ ４ ３ ２ １', '  9 8 7 6 5 4 3 2 1', '   9  8  7  6  5  4  3  2  1 ', ''])('a diagram below the files %j', files => {
    const empty = '| ・ ・ ・ ・ ・ ・ ・ ・ ・|';
    const rows = ['| ・ ・ ・ ・v玉 ・ ・ ・ ・|一', ...[...'二三四五六七八'].map(rank => empty + rank), '| ・ ・ ・ ・ 玉 ・ ・ ・ ・|九'];
    const diagram = ['後手の持駒：なし', ...(files ? [files] : []), '+-+', ...rows, '+-+', '先手の持駒：金', '先手番', ''].join('\n');
    for (const move of ['   1 ５八玉(59)\n', '▲５八玉\n', '']) {
      const games = readGames(diagram + move);
      expect(games.map(game => game.initialSfen)).toEqual(['4k4/9/9/9/9/9/9/9/4K4 b G 1']);
      expect(usis(games[0])).toEqual(move ? ['5i5h'] : []);
    }
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
    expect(writeGame(game, 'csa')).toContain('\n$START_TIME:令和八年\n');
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

test('a remark behind the moves of KIF is no game', () => {
  expect(readGames(kifOf('   1 ７六歩(77)\n   2 投了\n# ---- x ----\n\n'))).toHaveLength(1);
  expect(() => readGames('# ---- x ----\n')).toThrow('no record');
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

const csaOf = (rows: string, head = '') => `V2.2\n${head}PI\n+\n${rows}`;
const kifOf = (rows: string, head = '') => `${head}手合割：平手\n手数----指手---------消費時間--\n${rows}`;
test.each(['0:12/00:00:12', '0:12.5/00:00:12.5', '0:12.5', '00:12 / 00:00:12', '0:12/', ' 0:12'])('a time of %j is read', time => {
  const [game] = readGames(kifOf(`   1 ７六歩(77)   (${time})\n   2 ３四歩(33)\n`));
  expect(game!.mainLine()[1]!.timeMs).toBe(12_000);
});

test.each(['1:20:10/01:20:10', ' 1:20:10 / 1:20:10', '01:20:10', '80:10/01:20:10'])('a time with hours, %j, is read', time => {
  const [game] = readGames(kifOf(`   1 ７六歩(77)   (${time})\n   2 ３四歩(33)\n`));
  expect(game!.mainLine()[1]!.timeMs).toBe(4_810_000);
});

const jkfOf = (header: object, ...comments: string[]) => ({ header, moves: [{}, { move: { color: 0, from: { x: 7, y: 7 }, to: { x: 7, y: 6 }, piece: 'FU' }, comments }, { special: 'CHUDAN' }] });

test.each([
  ['* 30', '*評価値=30'],
  ['* 31111 -3334FU', '*評価値=31111\n*読み筋=△３四歩(33)'],
  ['* -32000 -3334FU +8822UM -3122GI +0055KA', '*評価値=-32000\n*読み筋=△３四歩(33)▲２二角成(88)△２二銀(31)▲５五角打'],
  ['text\n* 12 -3334FU\n\nmore', 'text\n*評価値=12\n*読み筋=△３四歩(33)\n\nmore'],
])('a player\'s score and line in CSA are those of KIF: %j', (inCsa, inKif) => {
  const starred = (text: string, star: string) => text.split('\n').map(row => `${star}${row}\n`).join('');
  const csa = csaOf(`+7776FU\n${starred(inCsa, "'*")}%CHUDAN\n`);
  const kif = kifOf(`   1 ７六歩(77)\n${starred(inKif, '*')}   2 中断\n`);
  const jkf = JSON.stringify(jkfOf({}, ...inKif.split('\n')));
  for (const text of inKif.includes('\n\n') ? [kif, jkf] : [csa, kif, jkf]) { // tsshogi leaves out empty lines of CSA
    const [game] = readGames(text);
    expect(writeGame(game, 'csa')).toContain(starred(inCsa, "'*"));
    expect(writeGame(game, 'kif')).toContain(starred(inKif, '*'));
    expect(writeGame(game, 'ki2')).toContain(starred(inKif, '*'));
    expect(JSON.parse(writeGame(game, 'jkf')).moves[1].comments).toEqual(inKif.split('\n'));
  }
});

test.each([
  ['*評価値=+詰3', '* 30000\n*評価値=+詰3'],
  ['*評価値=-詰12\n*読み筋=△３四歩(33)', '* -30000 -3334FU\n*評価値=-詰12'],
  ['*評価値=-詰', '* -30000'],
  ['*評価値=75\n#評価値=-30', '* 75\n#評価値=-30'],
  ['*評価値=5\n*読み筋=△３四歩(33)▲９九歩(98)', '* 5\n*読み筋=△３四歩(33)▲９九歩(98)'],
  ['#評価値=20\n#読み筋=△３四歩', '#評価値=20\n#読み筋=△３四歩'],
])("a player's score of KIF in CSA: %j", (inKif, inCsa) => {
  const game = new GameTree();
  game.addLine(game.root, ['7g7f']).comment = inKif;
  expect(writeGame(game, 'csa')).toContain(inCsa.split('\n').map(row => `'*${row}\n`).join(''));
  if (/詰\d/.test(inKif)) expect(readGames(writeGame(game, 'csa'))[0].mainLine()[1].comment.split('\n').sort()).toEqual(inKif.split('\n').sort());
});

test('a line of KIF may begin with 同; CSA has an analysis once; comments before the first move have no score', () => {
  const game = new GameTree();
  game.root.comment = '*評価値=1';
  game.addLine(game.root, ['7g7f', '3c3d', '8h2b+']).comment = '*評価値=9\n*読み筋=△同　銀(31)';
  expect(writeGame(game, 'csa')).toContain("+8822UM\n'** 9 -3122GI\n");
  expect(writeGame(game, 'csa')).toContain("'**評価値=1\n");
  const csa = csaOf("'** 30 +7776FU\n+7776FU\n'*#評価値=20\n'*#読み筋=△３四歩(33)\n'** 20 -3334FU\n'** 8 junk tail\n");
  expect(readGames(csa)[0].mainLine().map(node => node.comment)).toEqual(['* 30 +7776FU', '#評価値=20\n#読み筋=△３四歩(33)\n*評価値=8\njunk tail']);
});

test.each(['2024-05-03', '2024-05-03T10:00:00+09:00', '2024/5/3', '2024/05/03 10', '令和六年五月三日', '2024/05/03(金) 10:00'])('the date %s stays as it is', date => {
  for (const text of [csaOf('+7776FU\n', `$START_TIME:${date}\n`), kifOf('   1 ７六歩(77)\n', `開始日時：${date}\n`), JSON.stringify(jkfOf({ 開始日時: date }))]) {
    const [game] = readGames(text);
    expect(writeGame(game, 'csa')).toContain(`\n$START_TIME:${date}\n`);
    expect(writeGame(game, 'kif')).toContain(`開始日時：${date}\n`);
    expect(JSON.parse(writeGame(game, 'jkf')).header).toEqual({ 開始日時: date });
  }
});

test.each(['対局日：2024/05/03\n', '開始日時：2024/05/03\n対局日：2024/05/03\n', '対局日：2024/05/03\n開始日時：2024/05/03 10:00\n'])('%j keeps its names', dates => {
  const [game] = readGames(kifOf('   1 ７六歩(77)\n', dates));
  expect(writeGame(game, 'kif').split('手合割')[0]!.split('\n').sort()).toEqual(dates.split('\n').sort());
  game.headers.date = '2025/01/01';
  expect(writeGame(game, 'kif')).toContain('開始日時：2025/01/01\n');
});

test.each([
  ['7六歩(77)', '3四歩(33)', '2二角成(88)', '同 銀(31)'],
  ['76歩(77)', '３4歩(33)', '▲２二角成(88)', '同銀(31)'],
  ['☗７六歩(77)', '☖３四歩(33)', '☗２二角不成(88)', '☖同　銀(31)'],
])('moves of KIF in other forms: %s, %s, %s, %s', (...moves) => {
  for (const space of [' ', '\t', '　']) {
    const [game] = readGames(kifOf(moves.map((move, i) => `${i + 1}${space}${move}\n`).join('') + '5 投了\n'));
    expect(usis(game)).toEqual(['7g7f', '3c3d', moves[2]!.includes('不成') ? '8h2b' : '8h2b+', '3a2b']);
    expect(game.ending).toBe('投了');
  }
});

test('several games of JKF, and one without moves', () => {
  const games = ['A', 'B'].map(name => jkfOf({ 先手: name }, name, '', 'x'));
  for (const text of [JSON.stringify(games), JSON.stringify(games, undefined, 2), games.map(game => JSON.stringify(game)).join('\n')])
    expect(readGames(text).map(game => [game.headers.black, game.mainLine()[1].comment, game.ending])).toEqual([['A', 'A\n\nx', '中断'], ['B', 'B\n\nx', '中断']]);
  expect(readGames(writeGame(new GameTree(), 'jkf'))).toHaveLength(1);
});

test('CSA keeps fractions of seconds and the time before the end', () => {
  const text = csaOf('+7776FU\nT1.234\n-3334FU\nT0\n%TORYO\nT0.75\n');
  expect(writeGame(readGames(text)[0], 'csa')).toBe(`'CSA encoding=UTF-8\n${text.replace('V2.2', 'V3.0')}`);
});

test.each(['perpetual_check', 'time_up', 'max_moves', 'illegal_move', 'declaration', 'adjudication'])('JKF keeps the result %s', end => {
  const [game] = readGames(ended('中断'));
  game.result = { winner: 'black', end };
  expect(readGames(writeGame(game, 'jkf'))[0].result).toEqual(game.result);
});

test.each<Format>(['kif', 'ki2', 'csa', 'jkf'])('line breaks in headers and names leave a record of %s whole', format => {
  const [game] = readGames(JSON.stringify(jkfOf({ 先手: 'A\nB', 棋戦: 'K\r\n手合割：香落ち', 備考: 'a\nb', 記録: 'c\n%TORYO' })));
  const [again] = readGames(writeGame(game, format));
  const values = (tree: GameTree) => [tree.headers.black, tree.headers.event, tree.further.standard.get('note') ?? tree.further.custom.get('備考'), tree.further.custom.get('記録')];
  expect(values(again)).toEqual(format === 'jkf' ? values(game) : ['A B', 'K 手合割：香落ち', 'a b', 'c %TORYO']);
});

test.each([
  kifOf('   1 ７六歩(77)\n*a：b\n   2 投了\nまで1手で後手の勝ち\n\n変化：1手\n   1 ２六歩(27)\n\n', '先手：A\n') + kifOf('   1 ９六歩(97)\n', '先手：B\n'),
  '#KI2 version=2.0\n先手：A\n\n▲７六歩\n*a：b\nまで1手で中断\n\n変化：1手\n▲２六歩\n\n#KI2 version=2.0\n先手：B\n▲９六歩\n',
])('several games of KIF and KI2 with variations: %j', text => {
  const games = readGames(text, 'x');
  expect(games.map(game => [game.headers.black, ...usis(game), game.root.children.length])).toEqual([['A', '7g7f', 2], ['B', '9g9f', 1]]);
  expect(games.map(game => game.name)).toEqual(['x (1)', 'x (2)']);
});

test.each([
  ['KIF', '手数----指手---------消費時間--\n\n'],
  ['KI2', ''],
])('positions of %s without a move are games of their own', (format, below) => {
  const diagram = (hand: string) =>
    `後手の持駒：なし\n  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n${['| ・ ・ ・ ・ ・ ・ ・ ・v玉|', ...Array<string>(8).fill('| ・ ・ ・ ・ ・ ・ ・ ・ ・|')].map((rank, i) => rank + '一二三四五六七八九'[i]).join('\n')}\n+---------------------------+\n先手の持駒：${hand}\n先手番\n`;
  const text = ['金', '銀二', ''].map(hand => `#${format} version=2.0 encoding=UTF-8\n${hand ? diagram(hand) : '手合割：平手\n'}${below}`).join('');
  expect(readGames(text).map(game => game.initialSfen.split(' ')[2])).toEqual(['G', '2S', '-']);
});

test.each([
  ['２八歩(27)', 'illegal move at ply 3', ['8c8d']],
  ['９九歩(98)', 'not valid KIF: 3 ９九歩(98)', []],
])('a variation with the illegal move %s is told, and the others are kept', (move, reason, kept) => {
  const skipped: string[] = [];
  const variations = `\n変化：2手\n   2 ８四歩(83)\n   3 ${move}\n   4 ３四歩(33)\n\n変化：4手\n   4 ４四歩(43)\n\n変化：1手\n   1 ２六歩(27)\n`;
  const [game] = readGames(kifOf(`   1 ７六歩(77)\n   2 ３四歩(33)\n   3 投了\n${variations}`), '', skipped);
  expect(skipped).toEqual([reason]);
  expect([...game.nodes()].map(node => node.usi).sort()).toEqual(['', '2g2f', '3c3d', '7g7f', ...kept]);
});

test('of several scores in CSA the last in the form of floodgate is the first in KIF, with its line', () => {
  const csa = csaOf("+7776FU\n'*a\n'**評価値=30\n'**読み筋=△８四歩(83)\n'** 5\n'** -101 -3334FU\n%CHUDAN\n");
  const rows = ['a', '*評価値=-101', '*読み筋=△３四歩(33)', '*評価値=30', '*読み筋=△８四歩(83)', '*評価値=5'];
  const [game] = readGames(csa);
  expect(game.mainLine()[1].comment).toBe(rows.join('\n'));
  const saved = writeGame(game, 'csa');
  expect(saved).toContain("+7776FU\n'*a\n'** -101 -3334FU\n'**評価値=30\n'**読み筋=△８四歩(83)\n'**評価値=5\n");
  expect(readGames(saved)[0].mainLine()[1].comment).toBe(rows.join('\n'));
  game.mainLine()[1].comment = '*評価値=1\n*評価値=2\n*読み筋=△８四歩(83)';
  expect(writeGame(game, 'csa')).toContain("'** 1\n'**評価値=2\n'**読み筋=△８四歩(83)\n");
});

test.each<Format>(['kif', 'ki2', 'csa', 'jkf'])('%s keeps comments and headers with 〈続く〉 and with line separators', format => {
  const game = new GameTree();
  game.addLine(game.root, ['7g7f']);
  game.addLine(game.root, ['7g7f', '3c3d']).comment = '次回へ〈続く〉';
  game.root.comment = 'a\u2028b';
  game.headers.event = '〈続く〉';
  const [again] = readGames(writeGame(game, format));
  expect([again.headers.event, ...again.mainLine().map(node => node.comment.replace(/\s/g, ' '))]).toEqual(['〈続く〉', 'a b', '', '次回へ〈続く〉']);
});

test('games beside a damaged one are read', () => {
  const [sound, damaged, last] = ['７六歩(77)\n   2 投了\n\n変化：1手\n   1 ２六歩(27)', '１一歩(19)\n   2 ３四歩(33)', '９六歩(97)'].map((moves, i) => kifOf(`   1 ${moves}\n`, `先手：${i}\n`));
  const { games, damage } = readSoundGames(`${sound}${damaged}${last}`, 'x');
  expect(games.map(game => [game.name, game.headers.black, ...game.root.children.map(node => node.usi)])).toEqual([['x (1)', '0', '7g7f', '2g2f'], ['x (3)', '2', '9g9f']]);
  expect(damage?.message).toBe('illegal move at ply 1');
});

test.each<Format>(['kif', 'ki2', 'jkf'])('an ending with variations beside it stays one in %s, also without times', format => {
  const game = new GameTree();
  game.addLine(game.root, ['7g7f', '3c3d']);
  game.ending = '投了';
  game.addLine(game.root, ['7g7f', '3c3d', '2g2f']);
  game.addLine(game.root, ['2g2f']);
  const saved = writeGame(game, format);
  if (format === 'kif') expect(saved).toContain('   1 ７六歩(77)+\n   2 ３四歩(33)\n   3 投了\n');
  for (const text of [saved, saved.replace('投了\n', '投了+\n')]) {
    const [again] = readGames(text);
    expect([again.ending, ...[...again.nodes()].map(node => node.usi).sort()]).toEqual(['投了', '', '2g2f', '2g2f', '3c3d', '7g7f']);
  }
});

test('a position with more pieces than a set is refused, as when it is saved', () => {
  const pawns = 'sfen 4k4/9/9/9/9/9/9/9/4K4 b ';
  expect(readGames(`${pawns}18P 1`)).toHaveLength(1);
  for (const text of [`${pawns}20P 1`, `position ${pawns}19P 1 moves 5i5h`]) expect(() => readGames(text)).toThrow('more pieces of a kind');
});
