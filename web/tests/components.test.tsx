// @vitest-environment happy-dom
import { h } from 'preact';
import { act } from 'preact/test-utils';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { answer, button, click, mount, sent, serve, WELCOME } from './page';
import { GameTabs } from '../src/analyse/Games';
import { Lines } from '../src/analyse/Lines';
import { Mistakes, Summary } from '../src/analyse/Mistakes';
import { CommentBox, MoveList } from '../src/analyse/Moves';
import { readFiles } from '../src/analyse/Open';
import { keepGame } from '../src/analyse/keep';
import { Paper } from '../src/analyse/Paper';
import { keptResult } from '../src/analyse/recorded';
import { saveReport } from '../src/analyse/report';
import { analysedComment, saveRecord } from '../src/analyse/save';
import { addGames, edited, followPosition, game, games, hasUnsaved, isSearching, node, noteScore, openGames, orientation as analysisOrientation, play, preview, remove, scored } from '../src/analyse/state';
import { playedScoreText, scoreText, statesResult } from '../src/analyse/words';
import { analysisEngine, engineFields } from '../src/engines';
import { Library } from '../src/library/Library';
import { loadGame, shortDateOf } from '../src/library/load';
import { models } from '../src/models';
import { AttentionView } from '../src/network/Attention';
import { TreeView } from '../src/network/Tree';
import { NewGame } from '../src/play/NewGame';
import { Play } from '../src/play/Play';
import { orientation, receivedAt, timeLeft } from '../src/play/state';
import type { Analysis, GameState, LadderInfo, LoopInfo, Players } from '../src/protocol';
import { route } from '../src/router';
import { engine, language, modelId } from '../src/settings';
import { connection } from '../src/socket';
import { sideText } from '../src/shogi/handicaps';
import { treeOf } from '../src/shogi/played';
import { START } from '../src/shogi/position';
import { csaLine, writeGame } from '../src/shogi/records';
import { GameTree, ownComment } from '../src/shogi/tree';
import { matchEloText, termsText } from '../src/train/elo';
import { crossTable, LadderList, LadderPage, scaleOf } from '../src/train/Ladders';
import { Loop, seriesOf } from '../src/train/Loops';
import { stepOf } from '../src/train/EloChart';
import { axisWidth, fractionRange, tickLabels } from '../src/ui/plot';
import { Lab } from '../src/train/Lab';
import { Matches } from '../src/train/Matches';
import { curvesOf, Train } from '../src/train/Train';
import { EngineChoice } from '../src/ui/EngineChoice';
import { Notices } from '../src/ui/notices';
import { Segments } from '../src/ui/parts';

beforeEach(() => {
  sent.length = 0;
  language.value = 'en';
  isSearching.value = false;
  connection.welcome.value = WELCOME;
  openGames([new GameTree()]);
});

const found = (position: string): Partial<Analysis> => ({
  type: 'analysis',
  state: 'running',
  position,
  turn: 'black',
  lines: [{ multipv: 1, win_rate: 0.6, score_cp: 240, mate_plies: null, visits: 1200, depth: 9, pv: ['7g7f', '3c3d', '2g2f'] }],
  candidates: [],
  nodes: 1500,
  nps: 900,
  time_ms: 1600,
  root_visits: 1500,
  win_rate: 0.6,
  outcome: '',
  depth: 9,
  seldepth: 14,
  engine: 'alphabeta',
  model: '',
});

describe('analysis', () => {
  test('mate search: first for the side to move, then for a threat; cleared in another position', async () => {
    const place = await mount(Lines);
    const result = { type: 'mate', position: 'startpos', nodes: 40, time_ms: 1, is_shortest: true };
    await click(button(place, 'Mate search'));
    expect(sent.at(-1)).toMatchObject({ type: 'mate', position: 'startpos' });
    await answer('mate', { ...result, after_pass: false, status: 'none', moves: [] });
    await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ type: 'mate', after_pass: true }));
    expect(place.textContent).toContain('has no mate by checks');
    await answer('mate', { ...result, after_pass: true, status: 'mate', moves: ['3c3d'] });
    await vi.waitFor(() => expect(place.textContent).toContain('threatens mate in 1 (tsumero)'));
    expect(place.querySelector('.mate-box .line')!.textContent).toContain('P-3d');
    const game = new GameTree();
    game.addLine(game.root, ['7g7f']);
    await act(() => openGames([game]));
    expect(place.querySelector('.mate-box')).toBeNull();
  });

  test('a search starts; its line is shown, previewed on hover and played up to the clicked move', async () => {
    const end = followPosition();
    const place = await mount(Lines);
    expect(place.textContent).toContain('Start the search');
    await click(button(place, 'Search'));
    expect(sent.at(-1)).toMatchObject({ type: 'analyse', position: 'startpos', multipv: 3 });
    await answer('analyse', found('startpos'));
    await act(() => new Promise(done => setTimeout(done, 50)));
    expect(place.querySelector('.line-rate')?.textContent).toBe('▲60.0%');
    expect([...place.querySelectorAll('.line-moves button')].map(b => b.textContent)).toEqual(['P-7f', 'P-3d', 'P-2f']);
    const second = place.querySelectorAll('.line-moves button')[1];
    await act(() => void second.dispatchEvent(new PointerEvent('pointerenter', { pointerType: 'mouse' })));
    expect(preview.value?.usi).toBe('3c3d');
    await click(second);
    expect(node.value.ply).toBe(2);
    expect(sent.at(-1)).toMatchObject({ type: 'analyse', position: 'startpos moves 7g7f 3c3d' });
    end();
  });

  test('an error ends the search', async () => {
    const end = followPosition();
    isSearching.value = true;
    await answer('analyse', { type: 'error', code: 'no_engine', message: 'x' });
    expect(isSearching.value).toBe(false);
    end();
  });

  test('the move list shows variations; a click goes to a move', async () => {
    const tree = new GameTree();
    tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f']);
    tree.addLine(tree.root.children[0], ['8c8d']);
    tree.root.children[0].comment = 'the most played';
    openGames([tree]);
    const place = await mount(MoveList);
    expect(place.textContent).toContain('the most played');
    const move = [...place.querySelectorAll('button')].find(b => b.textContent?.includes('P-8d'));
    await click(move);
    expect(node.value.usi).toBe('8c8d');
  });

  test('the move list shows the comment of a variation as it is written', async () => {
    const tree = new GameTree();
    tree.addLine(tree.root, ['7g7f', '3c3d']);
    const variation = tree.addLine(tree.root.children[0], ['8c8d']);
    openGames([tree]);
    node.value = variation;
    const place = await mount(() => [h(MoveList, {}), h(CommentBox, {})]);
    const box = place.querySelector('textarea')!;
    for (const text of ['a quiet', 'a quiet move']) {
      await act(() => {
        box.value = text;
        box.dispatchEvent(new Event('input', { bubbles: true }));
      });
      expect(place.querySelector('.inline-comment')?.textContent).toBe(text);
    }
  });

  test('mistakes are graded by the loss of win rate and explained with the better move', async () => {
    const tree = new GameTree();
    tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f']);
    const line = tree.mainLine();
    [0.5, 0.5, 0.5, 0.75].forEach((winRate, i) => (line[i].score = { winRate, cp: 0, pv: i === 2 ? ['6g6f', '8c8d'] : [], nodes: 100 }));
    openGames([tree]);
    scored.value++;
    const place = await mount(Mistakes);
    const listed = place.querySelector('.mistake-list button')!;
    expect(listed.className).toContain('blunder');
    expect(listed.textContent).toContain('−25');
    await click(listed);
    expect(place.querySelector('.instead p')?.textContent).toContain("Black's win rate fell from 50% to 25%. P-6f was better.");
    expect(place.querySelectorAll('.stepper svg')).toHaveLength(2);
  });

  test('an analysed game without mistakes is told as one, also in another session', async () => {
    const tree = new GameTree();
    tree.addLine(tree.root, ['7g7f', '3c3d']);
    const line = tree.mainLine();
    const none = 'No move lost 5 points of win rate or more.';
    openGames([tree]);
    line.slice(0, 2).forEach(n => (n.score = { winRate: 0.5, cp: 0, pv: [], nodes: 100 }));
    scored.value++;
    const place = await mount(Mistakes);
    expect(place.textContent).not.toContain(none);
    line[2].score = { winRate: 0.5, cp: 0, pv: [], nodes: 100 };
    await act(() => void scored.value++);
    expect(place.textContent).toContain(none);
  });

  test('the explanation of a mistake follows the score of a running search', async () => {
    const tree = new GameTree();
    tree.addLine(tree.root, ['7g7f']);
    const [before, at] = tree.mainLine();
    before.score = { winRate: 0.5, cp: 0, pv: ['2g2f'], nodes: 100 };
    openGames([tree]);
    node.value = at;
    const place = await mount(Mistakes);
    const search = (winRate: number, nodes: number) =>
      act(() => {
        noteScore(at, { multipv: 1, win_rate: winRate, score_cp: 0, mate_plies: null, visits: nodes, depth: 1, pv: ['3c3d'] }, winRate, nodes, 'alphabeta');
        scored.value++;
      });
    const text = () => place.querySelector('.instead p')?.textContent;
    await search(0.54, 100);
    expect(text()).toContain("Black's win rate fell from 50% to 46%");
    await search(0.52, 200);
    expect(text()).toContain("Black's win rate fell from 50% to 48%");
    await search(0.5, 300);
    expect(text()).toBeUndefined();
  });
});

const players: Players = {
  players: [
    { id: 'model:default', name: 'net', kind: 'model', takes_playouts: true, takes_temperature: true, levels: [{ label: 'a', playouts: 50, temperature: 0, elo: null, elo_error: null }] },
    {
      id: 'ladder:s.db',
      name: 's',
      kind: 'ladder',
      takes_playouts: false,
      takes_temperature: false,
      levels: [
        { label: 'weak', playouts: null, temperature: 0, elo: 0, elo_error: 0 },
        { label: 'strong', playouts: 800, temperature: 0, elo: 812.4, elo_error: 33 },
      ],
    },
  ],
  handicaps: [
    { name: 'even', kif: '平手', position: START },
    { name: 'two-piece', kif: '二枚落ち', position: 'sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  ],
};

test('starts a handicap game against a ladder player with byoyomi', async () => {
  serve({ 'api/players': players });
  const place = await mount(NewGame, { onStart: vi.fn() });
  const [who, start] = place.querySelectorAll('select');
  expect([...who.querySelectorAll('optgroup')].map(g => g.label)).toEqual(['Networks with search', 'By Elo']);
  await act(() => {
    who.value = 'ladder:s.db';
    who.dispatchEvent(new Event('change', { bubbles: true }));
  });
  const slider = place.querySelector<HTMLInputElement>('input[type=range]')!;
  await act(() => {
    slider.value = '1';
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  });
  expect(slider.getAttribute('aria-valuetext')).toBe('strong · Elo 812 ±33');
  await act(() => {
    start.selectedIndex = 1;
    start.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await click(button(place, 'Byoyomi'));
  await click(button(place, 'Start'));
  expect(sent.at(-1)).toMatchObject({
    type: 'game_start',
    black: { kind: 'human' },
    white: { kind: 'engine', player: 'ladder:s.db', elo: 812.4, name: 'strong' },
    position: players.handicaps[1].position,
    clock: { main_ms: 600_000, byoyomi_ms: 30_000, increment_ms: 0 },
  });
});

test('the tree of a search is not shown in another position', async () => {
  connection.epoch.value = 1;
  connection.status.value = 'open';
  const place = await mount(TreeView);
  const walk = { type: 'tree', path: [], found: true, turn: 'black', visits: 1500, value: 0.52, network_value: 0.54, proof: 'none', proof_plies: 0, moves: [{ move: '7g7f', prior: 0.4, visits: 900, value: 0.52, proof: 'none', proof_plies: 0 }], total_moves: 30 };
  const answered = async (sfen: string) => {
    sent.length = 0;
    await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ type: 'tree', path: [] }));
    await answer('tree', { ...walk, sfen });
    await act(() => new Promise(done => setTimeout(done, 0)));
  };
  await answered(START);
  expect(place.querySelector('.tree-moves')?.textContent).toContain('P-7f');
  const game = new GameTree();
  const moved = game.addLine(game.root, ['7g7f']);
  await act(() => {
    openGames([game]);
    node.value = moved;
  });
  await answered(START);
  expect(place.querySelector('.tree-moves')).toBeNull();
  expect(place.textContent).toContain('has not visited this position');
  connection.epoch.value = 0;
  connection.status.value = 'connecting';
});

test('before the first search the tree says so, without an error', async () => {
  connection.epoch.value = 1;
  connection.status.value = 'open';
  const texts = [];
  for (const code of ['not_possible', 'failed']) {
    sent.length = 0;
    const place = await mount(TreeView);
    await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ type: 'tree', path: [] }));
    await answer('tree', { type: 'error', code, message: 'there is no tree' });
    await act(() => new Promise(done => setTimeout(done, 0)));
    texts.push(place.textContent);
  }
  expect(texts[0]).toContain('has not visited this position');
  expect(texts[0]).not.toContain('there is no tree');
  expect(texts[1]).toContain('there is no tree');
  connection.epoch.value = 0;
  connection.status.value = 'connecting';
});

test('the engine choice offers alpha-beta and every network', async () => {
  serve({ 'api/models': [{ id: 'default', name: 'net', kind: 'file', is_default: true }] });
  connection.welcome.value = WELCOME;
  await models.load();
  const place = await mount(EngineChoice);
  const select = place.querySelector('select')!;
  expect([...select.options].map(o => o.text)).toEqual(['Alpha-beta with NNUE', 'Network: net']);
  expect(select.value).toBe('alphabeta');
  await act(() => {
    select.selectedIndex = 1;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  });
  expect(engineFields(analysisEngine.value)).toEqual({ engine: 'model', model: 'default' });
  engine.value = '';
  modelId.value = '';
});

test("another network's attention starts with its first layer and the mean of its heads", async () => {
  const named = (id: string) => ({ id, name: id, kind: 'folder', is_default: false, has_attention: true });
  serve({ 'api/models': [named('deep'), named('shallow')] });
  await models.load();
  connection.epoch.value = 1;
  connection.status.value = 'open';
  const place = await mount(AttentionView);
  const weights = Array.from({ length: 81 }, () => Array<number>(81).fill(1 / 81));
  const choose = (choice: number, option: number) =>
    act(() => {
      const select = place.querySelectorAll('select')[choice];
      select.selectedIndex = option;
      select.dispatchEvent(new Event('change', { bubbles: true }));
    });
  const asked = (fields: object) => vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ type: 'attention', ...fields }));
  await asked({ model: 'deep', layer: 0, head: null });
  await answer('attention', { type: 'attention', model: 'deep', turn: 'black', layer: 0, layers: 3, head: null, heads: 4, weights, hands: [] });
  await act(() => new Promise(done => setTimeout(done, 0)));
  await choose(1, 2);
  await choose(2, 4);
  await asked({ model: 'deep', layer: 2, head: 3 });
  await choose(0, 1);
  await asked({ model: 'shallow', layer: 0, head: null });
  connection.epoch.value = 0;
  connection.status.value = 'connecting';
});

test('a score is replaced by one with more nodes or of another engine', () => {
  const { root } = new GameTree();
  const line = (pv: string[]) => ({ multipv: 1, win_rate: 0.5, score_cp: 1, mate_plies: null, visits: 1, depth: 1, pv });
  noteScore(root, line(['7g7f']), 0.6, 200_000, 'alphabeta');
  noteScore(root, line(['2g2f']), 0.5, 1000, 'alphabeta');
  expect(root.score).toMatchObject({ winRate: 0.6, pv: ['7g7f'] });
  noteScore(root, line(['2g2f']), 0.5, 800, 'default');
  expect(root.score).toMatchObject({ winRate: 0.5, by: 'default' });
});

test('only moves with a known best move count as top moves or not', async () => {
  const tree = new GameTree();
  tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f']);
  tree.mainLine().forEach((n, i) => (n.score = { winRate: 0.5, pv: i ? [] : ['7g7f'], nodes: 100 }));
  openGames([tree]);
  scored.value++;
  const place = await mount(Summary);
  expect([...place.querySelectorAll('tbody td:last-child')].map(e => e.textContent)).toEqual(['100%', '–']);
});

test('a custom strength is sent with the game', async () => {
  serve({ 'api/players': players });
  const place = await mount(NewGame, { onStart: vi.fn() });
  const who = place.querySelector('select')!;
  await act(() => {
    who.value = 'model:default';
    who.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await act(() => place.querySelector<HTMLInputElement>('.strength input[type=checkbox]')!.click());
  const [playouts, temperature] = place.querySelectorAll<HTMLInputElement>('.strength input[type=number]');
  expect(playouts.value).toBe('50');
  expect(temperature.value).toBe('0');
  await click(button(place, 'Start'));
  expect(sent.at(-1)).toMatchObject({ white: { player: 'model:default', playouts: 50, temperature: 0, name: 'net, 50 playouts' } });
});

test('byoyomi starts when the main time is used up and resumes within a period', () => {
  const at = receivedAt.value;
  const clock = (black_ms: number) => ({ black_ms, white_ms: 0, byoyomi_ms: 30_000, increment_ms: 0, running: 'black', in_byoyomi: [] });
  const left = (black_ms: number, ms: number, side: 'black' | 'white' = 'black') => timeLeft({ phase: 'playing', clock: clock(black_ms) } as never, side, at + ms);
  expect(left(5_000, 1_000)).toEqual({ ms: 4_000, isByoyomi: false });
  expect(left(5_000, 7_000)).toEqual({ ms: 28_000, isByoyomi: true });
  expect(left(-4_000, 1_000)).toEqual({ ms: 25_000, isByoyomi: true });
  expect(left(5_000, 1_000, 'white')).toEqual({ ms: 30_000, isByoyomi: true });
});

test('a game shows players, clocks, actions and the result', async () => {
  serve({ 'api/players': players });
  const { start } = await import('../src/play/state');
  start({ type: 'game_start', black: { kind: 'human', name: 'me' }, white: { kind: 'engine', player: 'model:default' } });
  const state = {
    game: 3,
    black: { kind: 'human', name: 'me' },
    white: { kind: 'engine', name: 'net' },
    sfen: 'startpos',
    moves: ['7g7f', '3c3d'],
    turn: 'black',
    phase: 'playing',
    thinking: null,
    clock: { black_ms: 61_000, white_ms: 5_500, byoyomi_ms: 0, increment_ms: 0, running: null, in_byoyomi: [] },
    times_ms: [1, 1],
    scores_cp: [null, null],
    result: null,
    can_declare: false,
    is_check: false,
    occurrences: 3,
    last_thought: null,
  };
  await answer('game_start', { type: 'game', game: state });
  const place = await mount(Play);
  expect([...place.querySelectorAll('.clock')].map(c => c.textContent?.trim())).toEqual(['5.5', '1:01']);
  expect(place.textContent).toContain('This position has occurred 3 times');
  const again = await mount(Play); // the same session: the game continues
  expect(again.querySelector('.result')).toBeNull();
  await act(() => void connection.epoch.value++); // a new session: the game may still be there
  expect(sent.at(-1)).toMatchObject({ type: 'game_join', game: 3 });
  await answer('game_join', { type: 'game', game: state });
  expect(again.querySelector('.result')).toBeNull();
  await act(() => void connection.epoch.value++); // a restarted server
  await answer('game_join', { type: 'error', code: 'unknown_name', message: 'no game 3' });
  expect(again.querySelector('.result')?.textContent).toContain('No result interrupted');
  await answer('game_start', { type: 'game', game: state });
  await click(button(again, 'Resign'));
  await click(button(again, 'Really resign?'));
  expect(sent.at(-1)).toMatchObject({ type: 'game_action', game: 3, action: 'resign' });
  await answer('game_start', { type: 'game', game: { ...state, phase: 'over', result: { winner: 'white', reason: 'resignation', detail: '' } } });
  expect(again.querySelector('.result.lost')?.textContent).toContain('White won by resignation');
  await click(button(again, 'Analyse the game')); // the library lacks it
  await vi.waitFor(() => expect([game.value.mainLine().length, game.value.ending, game.value.headers.white]).toEqual([3, '投了', 'net']));
  const summary = { game: 3, black: 'me', white: 'net', title: '', source: 'played', winner: 'white', end: 'time', plies: 2, started: '2026-05-03T10:11:12', is_studied: false, sfen: START };
  serve({ 'api/games/3': { summary, sfen: START, moves: state.moves, times_ms: [], scores_cp: [], win_rates: [], comments: {}, headers: {}, analysis: [], texts: {}, variations: [], result: null, record: '' } });
  await click(button(again, 'Analyse the game'));
  await vi.waitFor(() => expect([game.value.number, game.value.headers.date]).toEqual([3, '2026/05/03 10:11:12']));
  for (const side of ['gote', 'sente']) {
    if (orientation.value !== side) await click(button(again, 'Flip the board'));
    await click(button(again, 'Analyse the game'));
    await vi.waitFor(() => expect(analysisOrientation.value).toBe(side));
  }
});

test.each([
  [START, 'black', 0, false],
  [START, 'black', 1, true],
  [START, 'white', 1, false],
  [START, 'white', 2, true],
  ['lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1', 'black', 1, false],
  ['lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1', 'white', 1, true],
])('a move can be taken back once the user has made one (%s, %s, %i)', async (sfen, side, plies, isPossible) => {
  const { current, mayTakeBack } = await import('../src/play/state');
  const seat = (color: string) => ({ kind: color === side ? 'human' : 'engine', name: color, counts: 'nodes' });
  current.value = { ...({} as GameState), sfen, phase: 'playing', black: seat('black'), white: seat('white'), moves: Array<string>(plies).fill('') } as GameState;
  expect(mayTakeBack.value).toBe(isPossible);
  current.value = { ...current.value, phase: 'paused' };
  expect(mayTakeBack.value).toBe(false);
  current.value = undefined;
});

test('a reloaded page rejoins its game; one that the server has closed is forgotten', async () => {
  serve({ 'api/players': players });
  const { current } = await import('../src/play/state');
  current.value = undefined;
  sessionStorage.setItem('komadori.game', '7');
  const place = await mount(Play);
  await act(() => void connection.epoch.value++); // the first connection
  expect(sent.at(-1)).toMatchObject({ type: 'game_join', game: 7 });
  await answer('game_join', { type: 'error', code: 'unknown_name', message: 'no game 7' });
  expect(sessionStorage.getItem('komadori.game')).toBeNull();
  expect(place.querySelector('.new-game')).not.toBeNull();
});

test('the sides of a handicap game have their Japanese names', () => {
  const twoPieces = 'lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1';
  language.value = 'ja';
  expect(['sente', 'white'].map(side => sideText('color', side, `sfen ${twoPieces}`))).toEqual(['下手', '上手']);
  expect(['sente', 'white'].map(side => sideText('color', side, START))).toEqual(['先手', '後手']);
  expect(sideText('winner', 'draw', twoPieces)).toBe('引き分け');
  language.value = 'en';
  expect(sideText('winner', 'white', twoPieces)).toBe('White won');
});

test('the end of a handicap game names its sides', async () => {
  language.value = 'ja';
  const tree = new GameTree('lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1');
  tree.ending = '投了';
  tree.result = { winner: 'white', end: 'resign' };
  openGames([tree]);
  expect((await mount(MoveList)).querySelector('.ending')?.textContent).toBe('上手勝ち · 投了');
});

test('the printed game has its comments, also the one before the first move', async () => {
  openGames(await readFiles([new File(['手合割：平手\n*序文\n   1 ７六歩(77)\n*角道\n'], 'a.kif')]));
  expect((await mount(Paper)).textContent).toMatch(/序文.*角道/);
});

test('the printed report is that of the game, whatever variation is on the board', async () => {
  const { listenForPrinting } = await import('../src/analyse/Paper');
  const stop = listenForPrinting();
  openGames(await readFiles([new File(['手合割：平手\n   1 ７六歩(77)\n   2 投了\n\n変化：1手\n   1 ２六歩(27)\n'], 'a.kif')]));
  node.value = game.value.root.children[1];
  dispatchEvent(new Event('beforeprint'));
  const printed = (await mount(Paper)).querySelector('.paper-moves')!.textContent;
  dispatchEvent(new Event('afterprint'));
  stop();
  expect(printed).toContain('P-7f');
  expect(printed).not.toContain('P-2f');
});

test('saved KIF and KI2 files name their encoding and read back as the same game', async () => {
  const tree = new GameTree();
  tree.name = 'mine';
  tree.addLine(tree.root, ['7g7f', '3c3d']);
  openGames([tree]);
  const blobs: Blob[] = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation(blob => (blobs.push(blob as Blob), 'blob:x'));
  await saveRecord('kif');
  await saveRecord('ki2');
  const [kif, ki2] = await Promise.all(blobs.map(blob => blob.text()));
  expect(kif.split('\n')[0]).toBe('#KIF version=2.0 encoding=UTF-8');
  expect(ki2.split('\n')[0]).toBe('#KI2 version=2.0 encoding=UTF-8');
  const reads = await readFiles([new File([kif], 'mine.kif'), new File([ki2], 'mine.ki2')]);
  for (const read of reads) expect(read.mainLine().slice(1).map(n => n.usi)).toEqual(['7g7f', '3c3d']);
  openGames([reads[0]]);
  await saveRecord('kif');
  expect(await blobs[2].text()).toBe(kif);
  vi.restoreAllMocks();
});

test('a file that leaves out a part of the game says so, and the game stays unsaved', async () => {
  const text = '手合割：平手\n   1 ７六歩(77)\n';
  const withVariation = `${text}   2 ３四歩(33)\n\n変化：2手\n   2 ８四歩(83)\n`;
  const cases = [
    [withVariation, 'csa', 'CSA has no variations: the file holds the main line only'],
    [withVariation, 'usi', 'USI has no variations: the file holds the main line only'],
    [withVariation, 'ki2', ''],
    ['手合割：平手\n   1 ７六歩(77)   ( 0:05/00:00:05)\n', 'ki2', 'KI2 has no times: the file leaves them out'],
    ['手合割：平手\n   1 ７六歩(77)   ( 0:05/00:00:05)\n', 'csa', ''],
    [`${text}*角道\n`, 'usi', 'USI has moves only: the file holds the main line without names, times, comments and result'],
    [`${text}*角道\n`, 'csa', ''],
    [text, 'usi', ''],
  ] as const;
  vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:x');
  for (const [record, format, told] of cases) {
    openGames(await readFiles([new File([record], 'a.kif')]));
    edited();
    const notices = await mount(Notices);
    await act(() => notices.querySelectorAll<HTMLElement>('.notice').forEach(n => n.click()));
    expect(hasUnsaved()).toBe(true);
    await act(() => saveRecord(format));
    expect(hasUnsaved()).toBe(!!told);
    expect(notices.querySelector('.notice.bad')?.textContent ?? '').toBe(told);
    await act(() => saveRecord('kif'));
    expect(hasUnsaved()).toBe(false);
  }
  vi.restoreAllMocks();
});

test('a game with changes is closed only after a question, and not replaced', async () => {
  openGames([new GameTree()]);
  game.value.root.comment = 'mine';
  edited();
  addGames([new GameTree()]);
  expect(games.value.length).toBe(2);
  const tabs = await mount(GameTabs);
  const close = (index: number) => act(() => tabs.querySelectorAll<HTMLElement>('li > .button')[index].click());
  const asked = vi.fn(() => false);
  vi.stubGlobal('confirm', asked);
  await close(0);
  expect(games.value[0].root.comment).toBe('mine');
  asked.mockReturnValue(true);
  await close(0);
  expect(games.value.length).toBe(1);
  expect(asked).toHaveBeenCalledTimes(2);
  await act(() => openGames([new GameTree(), new GameTree()]));
  await close(1); // without changes
  expect(games.value.length).toBe(1);
  expect(asked).toHaveBeenCalledTimes(2);
  vi.unstubAllGlobals();
});

test('moves are deleted with those after them and comments only after a question', () => {
  const tree = new GameTree();
  const [first, second] = [tree.add(tree.root, '7g7f')!, tree.addLine(tree.root, ['7g7f', '3c3d'])];
  openGames([tree]);
  const asked = vi.fn(() => false);
  vi.stubGlobal('confirm', asked);
  remove(first);
  second.comment = 'mine';
  remove(second);
  expect([...tree.nodes()].length).toBe(3);
  expect(asked).toHaveBeenCalledTimes(2);
  asked.mockReturnValue(true);
  remove(second);
  remove(first); // nothing follows it
  expect([...tree.nodes()].length).toBe(1);
  expect(asked).toHaveBeenCalledTimes(3);
  vi.unstubAllGlobals();
});

test('the report of a game that was analysed before', async () => {
  const summary = { game: 7, black: '', white: '', title: '', source: 'saved', winner: 'none', end: '', plies: 1, started: '', is_studied: true, sfen: START };
  const stored = { summary, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], win_rates: [], comments: {}, headers: {}, analysis: [], texts: {}, variations: [], result: null, record: '' };
  const blobs: Blob[] = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation(blob => (blobs.push(blob as Blob), 'blob:x'));
  const pages = { 'api/games/7': stored, 'api/games/7/report.html': 'the page' };
  for (const [study, reports] of [[{ model: 'alphabeta', found: [] }, 1], [undefined, 0]] as const) {
    blobs.length = 0;
    serve({ ...pages, 'api/games/7/study': study });
    openGames([await loadGame(7)]);
    await saveReport();
    expect(blobs.length).toBe(reports);
  }
  vi.restoreAllMocks();
});

test('the report of a game that differs from the one in the library says so', async () => {
  const summary = { game: 7, black: 'A', white: 'B', title: '', source: 'saved', winner: 'none', end: '', plies: 1, started: '', is_studied: true, sfen: START };
  const record = '手合割：平手\n先手：A\n後手：B\n   1 ７六歩(77)\n*two\n*lines \n';
  const stored = { summary, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], win_rates: [], comments: { 1: 'two\nlines' }, headers: {}, analysis: [], texts: {}, variations: [], result: null, record };
  vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:x');
  serve({ 'api/games/7': stored, 'api/games/7/report.html': 'the page', 'api/games/7/study': { model: 'alphabeta', found: [] } });
  const notices = await mount(Notices);
  const told = async () => {
    await act(() => notices.querySelectorAll<HTMLElement>('.notice').forEach(n => n.click()));
    await act(saveReport);
    return notices.textContent ?? '';
  };
  const tree = await loadGame(7);
  openGames([tree]);
  expect(await told()).not.toContain('The report');
  for (const change of [() => (tree.root.comment = 'new'), () => (tree.headers.white = 'C'), () => tree.addLine(tree.root, ['7g7f', '3c3d'])]) {
    openGames([await loadGame(7)]);
    expect(await told()).not.toContain('The report');
    openGames([tree]);
    change();
    expect(await told()).toContain('The report shows the game as stored in the library');
    tree.root.comment = '';
    tree.headers.white = 'B';
  }
  vi.restoreAllMocks();
});

describe('saving to the library', () => {
  const summary = { game: 7, black: 'A', white: 'B', title: '', source: 'imported', winner: 'none', end: '', plies: 1, started: '', is_studied: false, sfen: START };
  const stored = { summary, version: 'v1', sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], win_rates: [], comments: {}, headers: {}, analysis: [], texts: {}, variations: [], result: null, record: '' };
  let versions: Record<number, string> = {};
  let asked: string[] = [];

  beforeEach(() => {
    versions = { 7: 'v1' };
    asked = [];
    vi.stubGlobal('fetch', async (address: string, init?: RequestInit) => {
      const method = init?.method ?? 'GET';
      const [, number = '', known] = /games(?:\/(\d+)(?:\?version=(.*))?|\?studied=\d+)?$/.exec(address)!;
      asked.push(`${method} ${number || (/studied=\d+/.exec(address) ?? '')}`.trim());
      const answer = (status: number, body: object) => new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
      if (method === 'POST') {
        const game = 8 + asked.filter(a => a.startsWith('POST')).length;
        return answer(201, { game, version: (versions[game] = 'v1') });
      }
      const version = versions[Number(number)];
      if (!version) return answer(404, { code: 'unknown_name', detail: '' });
      if (method === 'GET') return answer(200, { ...stored, version });
      if (known !== version) return answer(409, { code: 'changed', detail: '' });
      return answer(200, { game: Number(number), version: (versions[Number(number)] += '+') });
    });
  });

  const save = async (place: HTMLElement) => {
    asked.length = 0;
    await act(() => keepGame());
    return [asked.join(', '), [...place.querySelectorAll('.notice')].at(-1)?.textContent];
  };

  test('a game from the library is changed in place, once', async () => {
    const place = await mount(Notices);
    openGames([await loadGame(7)]);
    expect(await save(place)).toEqual(['GET 7', 'Already saved in the library']);
    play('7g7f');
    play('8c8d');
    expect(await save(place)).toEqual(['PUT 7', 'Saved to the library']);
    expect(await save(place)).toEqual(['GET 7', 'Already saved in the library']);
    game.value.root.comment = 'x';
    expect(await save(place)).toEqual(['PUT 7', 'Saved to the library']);
  });

  test('the title is the event, as of imported games, else the name of the file', async () => {
    await mount(Notices);
    const titles: string[] = [];
    const answered = fetch;
    vi.stubGlobal('fetch', (address: string, init?: RequestInit) => {
      if (init?.body) titles.push((JSON.parse(init.body as string) as { title: string }).title);
      return answered(address, init);
    });
    play('2g2f');
    for (const [name, event] of [['a.kif', ''], ['a.kif', '町道場杯'], ['𠮷'.repeat(250), '']]) {
      game.value.name = name;
      game.value.headers.event = event;
      await act(() => keepGame());
    }
    expect(titles).toEqual(['a.kif', '町道場杯', '𠮷'.repeat(200)]);
  });

  test('a new game is added once, also by two clicks', async () => {
    const place = await mount(Notices);
    play('2g2f');
    await act(async () => void (await Promise.all([keepGame(), keepGame()])));
    expect(asked).toEqual(['POST', 'GET 9']);
    play('3c3d');
    expect(await save(place)).toEqual(['PUT 9', 'Saved to the library']);
  });

  test('an analysed game is the one that its analysis stored, whatever the players are called now', async () => {
    const place = await mount(Notices);
    play('7g7f');
    game.value.analysed = 5;
    game.value.headers.black = 'Aoi';
    expect(await save(place)).toEqual(['POST studied=5', 'Saved to the library']);
    expect(await save(place)).toEqual(['GET 9', 'Already saved in the library']);
  });

  test.each([true, false])('a game that was changed or deleted elsewhere is added anew (edited: %s)', async isEdited => {
    const place = await mount(Notices);
    openGames([await loadGame(7)]);
    const edit = () => isEdited && (play('7g7f'), play('8c8d'));
    versions[7] = 'another';
    edit();
    expect(await save(place)).toEqual([`${isEdited ? 'PUT' : 'GET'} 7, POST`, 'Saved to the library as a new game: the stored one has been changed since it was opened or saved here']);
    expect(game.value.number).toBe(9);
    expect(await save(place)).toEqual(['GET 9', 'Already saved in the library']);
    delete versions[9];
    if (isEdited) play('2g2f');
    expect(await save(place)).toEqual([`${isEdited ? 'PUT' : 'GET'} 9, POST`, 'Saved to the library as a new game: the stored one was deleted']);
  });

  test('a stored record that the page cannot read is not replaced', async () => {
    stored.record = 'no record';
    openGames([await loadGame(7)]);
    stored.record = '';
    const place = await mount(Notices);
    expect(await save(place)).toEqual(['POST', 'Saved to the library']);
  });
});

test('arrow keys move through a group of options', async () => {
  const chosen: string[] = [];
  const place = await mount(Segments, { label: 'x', value: 'a', options: [['a', 'A'], ['b', 'B'], ['c', 'C']] as const, onChange: (v: string) => chosen.push(v) });
  const radios = [...place.querySelectorAll<HTMLElement>('[role=radio]')];
  expect(radios.map(r => r.tabIndex)).toEqual([0, -1, -1]);
  const press = (key: string) => radios[0].dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  press('ArrowRight');
  press('ArrowLeft');
  expect(chosen).toEqual(['b', 'c']);
  expect(document.activeElement).toBe(radios[2]);
});

test('of a record with an illegal move, the moves before it are opened', async () => {
  serve({ 'api/records': { format: 'kif', skipped: ['line 7: not legal'], games: [{ black: 'A', white: 'B', headers: { site: 'Tokyo' }, sfen: START, moves: ['7g7f', '3c3d'], times_ms: [null, null], scores_cp: [null, null], comments: { 1: 'good' }, analysis: [], texts: {}, variations: [], winner: 'none', end: '', game: null }] } });
  const kif = '手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ５五角(11)\n';
  const [game, ...rest] = await readFiles([new File([kif], 'bad.kif')]);
  expect(rest).toEqual([]);
  expect(game.mainLine().slice(1).map(n => n.usi)).toEqual(['7g7f', '3c3d']);
  expect(game.mainLine()[1].comment).toBe('good');
  expect(game.headers).toMatchObject({ black: 'A', place: 'Tokyo' });
  const place = await mount(Notices);
  expect(place.textContent).toContain('Skipped in bad.kif: line 7: not legal');
  serve({}); // the server finds no game in it either
  expect(await readFiles([new File([kif], 'bad.kif')])).toEqual([]);
});

const HAND_EDITED: [string, string, object, string][] = [
  ['moves', '手合割：平手\n１ ７六歩(77)\n２ ３四歩(33)\n', {}, ''],
  ['a player', '先手 ：A\n手合割：平手\n   1 ７六歩(77)\n   2 ３四歩(33)\n', { black: 'A' }, '先手：A\n'],
  ['a header', '備考：a\n備考：b\n手合割：平手\n   1 ７六歩(77)\n   2 ３四歩(33)\n', { headers: { 備考: 'a / b' } }, '備考：a / b\n'],
  ['a comment', '手合割：平手\n   1 ７六歩(77)\n   2 ３四歩(33)\n  *好手\n', { comments: { 2: '好手' } }, ''],
];

test.each(HAND_EDITED)('%s of KIF that tsshogi passes over are those of the server', async (_, kif, found, header) => {
  const whole = `${header}手合割：平手\n   1 ７六歩(77)\n   2 ３四歩(33)\n${'comments' in found ? '*好手\n' : ''}   3 中断\n\n変化：2手\n   2 ８四歩(83)\n`;
  const game = { black: '', white: '', headers: {}, sfen: START, moves: ['7g7f', '3c3d'], times_ms: [1000, null], scores_cp: [], comments: {}, analysis: [], texts: {}, variations: [], winner: 'none', end: '', game: null, ...found };
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    asked.push(address);
    return new Response(JSON.stringify({ format: 'kif', skipped: [], games: [{ ...game, kif: address.includes('as_kif=true') ? whole : '' }] }), { headers: { 'content-type': 'application/json' } });
  });
  const [read] = await readFiles([new File([kif], 'a.kif')]);
  expect(asked).toHaveLength(2);
  const line = read.mainLine();
  expect(line.slice(1).map(n => n.usi)).toEqual(['7g7f', '3c3d']);
  expect(line[1].children.map(n => n.usi)).toEqual(['3c3d', '8c8d']); // a variation of the whole text
  expect(line[1].timeMs).toBe(1000);
  expect(writeGame(read, 'kif')).toContain(header);
  expect(line[2].comment).toBe('comments' in found ? '好手' : '');
  asked.length = 0;
  await readFiles([new File([whole], 'a.kif')]); // nothing lacks
  expect(asked).toHaveLength(1);
});

test('a stored record of KIF edited by hand is read whole, and else as the stored moves', async () => {
  const summary = { game: 7, black: 'A', white: '', title: '', source: 'imported', winner: 'none', end: '', plies: 2, started: '', is_studied: false, sfen: START };
  const stored = { summary, sfen: START, moves: ['7g7f', '3c3d'], times_ms: [], scores_cp: [], win_rates: [], comments: { 1: '好手' }, headers: {}, analysis: [], texts: {}, variations: [], result: null, version: 'v', record: '先手 ：A\n手合割：平手\n１ ７六歩(77)\n *好手\n２ ３四歩(33)\n' };
  for (const whole of ['先手：A\n手合割：平手\n   1 ７六歩(77)\n*好手\n   2 ３四歩(33)\n\n変化：2手\n   2 ８四歩(83)\n', undefined]) {
    serve({ 'api/games/7': stored, 'api/games/7/record': whole });
    const tree = await loadGame(7);
    const line = tree.mainLine();
    expect(line.slice(1).map(n => n.usi)).toEqual(['7g7f', '3c3d']);
    expect(line[1].comment).toBe('好手');
    expect(tree.headers.black).toBe('A');
    expect(line[1].children).toHaveLength(whole ? 2 : 1);
  }
});

test('what the server passes over in a record that tsshogi reads is told', async () => {
  const kif = '手合割：平手\n   1 ７六歩(77)\n   2 ３四歩(33)\n２六歩(27)\n';
  const game = { black: '', white: '', headers: {}, sfen: START, moves: ['7g7f', '3c3d'], times_ms: [], scores_cp: [], comments: {}, analysis: [], texts: {}, variations: [], winner: 'none', end: '', game: null, kif: '' };
  serve({ 'api/records': { format: 'kif', skipped: ['a move without a number'], games: [game] } });
  const [read] = await readFiles([new File([kif], 'a.kif')]);
  expect(read.mainLine()).toHaveLength(3);
  const place = await mount(Notices);
  expect(place.textContent).toContain('Skipped in a.kif: a move without a number');
});

test('a file without a game is an error that says why, not an import', async () => {
  serve({ 'api/games': { games: [], total: 0 }, 'api/records': { format: 'kif', games: [], skipped: ["byte 0: line 1: not a KIF line: 'junk'"] } });
  const place = await mount(() => h('div', null, h(Library, {}), h(Notices, {})));
  const input = place.querySelector<HTMLInputElement>('input[type=file]')!;
  Object.defineProperty(input, 'files', { value: [new File(['junk'], 'junk.kif')] });
  await act(() => void input.dispatchEvent(new Event('change', { bubbles: true })));
  await vi.waitFor(() => expect([...place.querySelectorAll('.notice.bad')].at(-1)?.textContent).toBe("junk.kif can't be read: not valid KIF: junk"));
  expect(place.textContent).not.toContain('imported from junk.kif');
});

test('the library lists games and filters them by the search text', async () => {
  const asked: string[] = [];
  serve({});
  vi.stubGlobal('fetch', async (address: string) => {
    asked.push(address);
    const games = [{ game: 1, black: '佐藤', white: '鈴木', source: 'imported', winner: 'black', end: 'resignation', plies: 95, started: '2026-05-01T10:00', is_studied: true, title: '', sfen: START }];
    return new Response(JSON.stringify({ games, total: 1 }), { headers: { 'content-type': 'application/json' } });
  });
  const place = await mount(Library);
  expect(place.textContent).toContain('Loading');
  await act(() => new Promise(done => setTimeout(done, 250)));
  expect(place.querySelector('tbody tr')?.textContent).toContain('▲ 佐藤');
  await act(() => {
    const input = place.querySelector<HTMLInputElement>('input[type=search]')!;
    input.value = '佐藤';
    input.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await act(() => new Promise(done => setTimeout(done, 250)));
  expect(decodeURIComponent(asked.at(-1)!)).toContain('q=佐藤');
});

const ladder: LadderInfo = {
  name: 's.db',
  title: 's',
  terms: { main_ms: 0, byoyomi_ms: 0, increment_ms: 0, nodes: 1000, depth: null, movetime_ms: null, default_nodes: null, max_plies: 320 },
  games: 10,
  players: [
    { name: 'A', spec: 'alphabeta', note: '', elo: 100, elo_error: 50, is_anchor: false, games: 10, wins: 7, draws: 0, losses: 3 },
    { name: 'B', spec: 'random', note: '', elo: 0, elo_error: 0, is_anchor: true, games: 10, wins: 3, draws: 0, losses: 7 },
  ],
  pairings: [{ player: 'A', against: 'B', wins: 7, draws: 0, losses: 3 }],
  first_move_elo: 12,
  draw_fraction: 0.01,
  is_running: false,
  updated: 0,
};

test('conditions without a limit name the default effort', () => {
  const terms = { ...ladder.terms!, nodes: null, default_nodes: 100 };
  expect(termsText(terms)).toBe('100 nodes per move unless a player sets a limit, draw after 320 plies');
  language.value = 'ja';
  expect(termsText(terms)).toContain('1手あたり 100 ノード');
});

test('a ladder whose games had several conditions states none', async () => {
  serve({ 'api/ladders/s.db/games': [] });
  for (const terms of [ladder.terms, null]) {
    const shown = [await mount(LadderPage, { ladder: { ...ladder, terms } }), await mount(LadderList, { ladders: [{ ...ladder, terms }] })];
    for (const place of shown) {
      expect(place.textContent).toContain('10 games');
      expect(place.textContent!.includes('nodes per move')).toBe(terms !== null);
    }
  }
});

test('a ladder shows standings; a cell of its cross table selects the games', async () => {
  serve({ 'api/ladders/s.db/games': [{ index: 0, black: 'A', white: 'B', sfen: 'startpos', moves: ['7g7f'], scores_cp: [20], times_ms: [1], opening_plies: 0, winner: 'black', reason: 'resignation' }] });
  const place = await mount(LadderPage, { ladder });
  const rows = [...place.querySelectorAll('.ladder tbody tr')].map(r => r.textContent);
  expect(rows[0]).toContain('+100 ±50');
  expect(rows[1]).toContain('fixed');
  expect(place.textContent).toContain('1,000 nodes per move, draw after 320 plies');
  expect([...place.querySelectorAll('.cross .move-link')].map(b => b.textContent)).toEqual(['70%', '30%']);
  await click(place.querySelectorAll('.cross .move-link')[1]);
  expect([...place.querySelectorAll('select')].map(s => s.value)).toEqual(['B', 'A']);
  expect(place.querySelectorAll('.board-card')).toHaveLength(1);
  await click(place.querySelector('.board-card')!);
  expect(game.value.ending).toBe('投了');
  const at = scaleOf(ladder);
  expect([at(0), at(150)]).toEqual([0, 100]);
  expect(crossTable(ladder.pairings).get('["B","A"]')).toMatchObject({ wins: 3, losses: 7 });
});

const round = (number: number, change: object): LoopInfo['rounds'][number] => ({
  number, state: 'done', stage: null, games: 100, positions: 9000, played_by: number - 1, verdict: 'promoted', against: number - 1, wins: 0, draws: 0, losses: 0, elo: null, elo_error: null, rating: null, rating_error: null, references: [], run: null, match: null, ...change,
});

test('a loop shows the Elo chart, verdicts and the current stage', async () => {
  const loop: LoopInfo = {
    name: 'l',
    title: 'l',
    learner: 'network',
    settings: {},
    planned: 5,
    is_running: true,
    updated: Date.now() / 1000 - 120,
    problem: '',
    rounds: [
      round(1, { rating: 80, rating_error: 40, wins: 6, losses: 2, references: [{ name: 'material', wins: 3, draws: 0, losses: 1, elo: 190, place: 1 }], match: 'l/001/match' }),
      round(2, { verdict: 'dropped', rating: 20, rating_error: 60 }),
      round(3, { state: 'running', verdict: '', stage: { name: 'train', done: 120, total: 300 } }),
    ],
  };
  expect(seriesOf(loop).map(s => s.points.length)).toEqual([3, 1]);
  const place = await mount(Loop, { loop });
  expect(place.querySelectorAll('.elo-chart circle')).toHaveLength(4);
  expect(place.querySelectorAll('.elo-chart .dropped')).toHaveLength(1);
  const rows = [...place.querySelectorAll('tbody tr')].map(r => r.textContent);
  expect(rows[0]).toContain('promoted');
  expect(rows[1]).toContain('rejected');
  expect(rows[2]).toContain('training  120 / 300');
  expect(place.textContent).toContain('2 min. ago');
  language.value = 'ja';
  expect((await mount(Loop, { loop })).textContent).toMatch(/ネットワーク · .*学習中/);
  expect([10, 90, 400, 3000].map(stepOf)).toEqual([10, 20, 50, 500]);
});

test('an address that names nothing says so', async () => {
  serve({ 'api/runs': [], 'api/loops': [], 'api/matches': [], 'api/ladders': [], 'api/lab': [] });
  for (const [screen, ...rest] of [[Train, 'train', 'gone'], [Train, 'train', 'loop', 'gone'], [Matches, 'matches', 'gone'], [Matches, 'matches', 'ladder', 'gone'], [Lab, 'lab', 'gone']] as const) {
    route.value = rest as string[];
    expect((await mount(screen)).querySelector('.problem')?.textContent).toBe('gone was not found.');
  }
  route.value = ['matches'];
  expect((await mount(Matches)).querySelector('.problem')).toBeNull();
});

test('without trainings and matches, their screens name commands that write some', async () => {
  serve({ 'api/runs': [], 'api/loops': [], 'api/matches': [], 'api/ladders': [] });
  for (const [screen, command] of [[Train, 'komadori train'], [Matches, 'komadori match']] as const) {
    const place = await mount(screen);
    await act(() => new Promise(done => setTimeout(done, 50)));
    expect([...place.querySelectorAll('.empty code')].map(c => c.textContent).join()).toContain(command);
  }
});

test('curves have translated names, including logs of linear evaluations', () => {
  const named = curvesOf([{ kind: 'train', step: 10, loss: 2 }, { kind: 'test', step: 10, policy_loss: 1.5 }], /loss$/);
  expect(named.curves.map(c => c.name)).toEqual(['Training: loss', 'Test: policy loss']);
  const linear = curvesOf([{ iteration: 1, loss_after: 0.3 }, { iteration: 2, loss_after: 0.2 }], /loss_after/);
  expect(linear).toMatchObject({ x: [1, 2], curves: [{ values: [0.3, 0.2] }] });
  const losses = (result: number) => ({ result, result_floor: 0, teacher: 0.75, teacher_floor: 0.5 });
  const epochs = [{ epoch: 1, train: losses(0.5), test: losses(0.6), agreement: [0.1, 0.4] }];
  expect(curvesOf(epochs, /^value/)).toEqual({
    x: [1],
    curves: [
      { name: 'Training: value loss, result', values: [0.5] },
      { name: 'Training: value loss, score', values: [0.25] },
      { name: 'Test: value loss, result', values: [0.6] },
      { name: 'Test: value loss, score', values: [0.25] },
    ],
  });
  expect(curvesOf(epochs, /agree/).curves).toEqual([{ name: 'Test: agreement', values: [0.4] }]);
  const kpp = [{ epoch: 1, loss: losses(0.5), held_out: { loss: losses(0.6), agreement: [0.1, 0.4] } }];
  expect(curvesOf(kpp, /^value|agree/)).toEqual({ x: [1], curves: [...curvesOf(epochs, /^value/).curves.slice(0, 2), ...curvesOf(epochs, /agree/).curves, ...curvesOf(epochs, /^value/).curves.slice(2)] });
  expect(curvesOf([{ chunk: 3, loss: 0.1 }], /^loss$/).x).toEqual([3]);
});

test.each([
  ['2025/03/05(水) 10:00:00', '2025/03/05(水) 10:00'], // of Kifu for Windows
  ['2025/03/05 9:05:00', '2025/03/05 9:05'],
  ['2025/03/05', '2025/03/05'],
  ['', ''],
  ['令和7年3月5日（水曜日）、午前10時より対局開始', '令和7年3月5日（水曜日）、午前10時より対局…'],
])('the list of games shows the date %s whole', (started, shown) => {
  expect(shortDateOf(started)).toBe(shown);
});

test('the list of games shows dates in the time of this place, as the games do', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Asia/Tokyo';
  try {
    expect(shortDateOf('2026-11-28T18:22:11+00:00')).toBe('2026/11/29 03:22');
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

const ENDS = [
  ['black', 'resign', '投了', 'Black won · by resignation'],
  ['white', 'resignation', '中断', 'White won · by resignation'], // of the side not to move
  ['black', 'mate', '詰み', 'Black won · by checkmate'],
  ['black', 'time', '切れ負け', 'Black won · on time'],
  ['white', 'declaration', '入玉', 'White won · by declaration'],
  ['white', 'illegal_move', '反則勝ち', 'White won · illegal move'],
  ['black', 'false_declaration', '反則負け', 'Black won · illegal move'],
  ['draw', 'sennichite', '千日手', 'fourfold repetition'],
  ['draw', 'max_plies', '最大手数', 'move limit'],
  ['draw', 'impasse', '持将棋', 'impasse'],
  ['draw', 'adjudication', '中断', 'Draw · by adjudication'],
  ['white', 'adjudication', '中断', 'White won · by adjudication'],
  ['black', 'perpetual_check', '中断', 'Black won · perpetual check'],
  ['black', 'engine_failure', '中断', 'Black won · engine failure'],
  ['none', 'interrupted', '中断', 'interrupted'],
  ['black', 'interrupted', '中断', 'Black won · interrupted'], // as shogi-server writes an abnormal end
  ['draw', 'interrupted', '中断', 'Draw · interrupted'],
  ['white', '', '中断', 'White won'], // of a format without ends
  ['draw', '', '中断', 'Draw'],
] as const;

test.each(ENDS)('a game of the library has its end and winner: %s, %s', async (winner, end, ending, shown) => {
  for (const written of !end || end === 'interrupted' ? ['', '   2 中断'] : ['', '   2 中断', '   2 持将棋']) {
    const record = written && `手合割：平手\n   1 ７六歩(77)\n${written}\n`;
    const summary = { game: 7, black: '', white: '', title: '', source: 'saved', winner, end, plies: 1, started: '', is_studied: false, sfen: START };
    serve({ 'api/games/7': { summary, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], win_rates: [], comments: {}, headers: {}, analysis: [], texts: {}, variations: [], result: null, record } });
    const tree = await loadGame(7);
    if (!written) expect(tree.ending).toBe(ending);
    openGames([tree]);
    expect((await mount(MoveList)).querySelector('.ending')?.textContent).toBe(shown);
    const kept = keptResult(tree);
    expect(kept.winner === 'none' ? statesResult(kept.end, tree.mainLine().at(-1)!.sfen, { winner, end }) : kept.winner === winner && kept.end === end).toBe(true);
  }
});

test('the analysis of a record is shown as scores, and its lines are kept for saving', async () => {
  const kif = [
    '手合割：平手', '手数----指手---------消費時間--',
    '   1 ７六歩(77)', '*#評価値=50', '*#読み筋=△３四歩(33)', '*好手', '   2 ３四歩(33)', '**解析 0 候補1 評価値 -詰 読み筋 ▲２六歩(27)', '   3 中断', '',
  ].join('\n');
  const shown = (ply: number, mate: number | null, cp: number | null) => ({
    game: 0, ply, turn: 'white', win_rate: mate ? 0 : 0.48, black_win_rate: 0.5, visits: 9, declares: false,
    lines: [{ multipv: 1, win_rate: 0.48, score_cp: cp, mate_plies: mate, visits: 9, depth: 1, pv: ['3c3d'] }],
  });
  const answer = (text: string) =>
    serve({ 'api/records': { format: 'kif', skipped: [], games: [{ black: '', white: '', headers: {}, sfen: START, moves: ['7g7f', '3c3d'], times_ms: [], scores_cp: [], comments: {}, analysis: [shown(1, null, -50), shown(2, -(1 << 20), null)], texts: { 1: text, 2: '' }, variations: [], winner: 'black', end: 'adjudication', game: null }] } });
  answer('好手');
  const [game] = await readFiles([new File([kif], 'game.kif')]);
  const [, first, second] = game.mainLine();
  expect(first.score).toMatchObject({ winRate: 0.48, cp: -50, pv: ['3c3d'] });
  expect([first.comment, second.comment]).toEqual(['好手', '']);
  expect(ownComment(first).split('\n').sort()).toEqual(['#評価値=50', '#読み筋=△３四歩(33)', '好手'].sort());
  expect(writeGame(game, 'kif', analysedComment)).toContain('**解析 0 候補1 評価値 -詰');
  openGames([game]);
  const place = await mount(MoveList);
  expect(place.textContent).toContain('好手');
  expect(place.textContent).not.toMatch(/評価値|読み筋|解析/);
  expect(place.textContent).toContain('Black won · by adjudication');
  expect(scoreText(null, -(1 << 20))).toBe('gets mated');
  expect([30_000, -30_000, 250, null].map(playedScoreText)).toEqual(['mate', 'gets mated', '+250', '']);
  // Spaces at the end of a line make no second one.
  answer('*解析 0\n好手');
  const spaced = (await readFiles([new File([kif.replace('*好手', '**解析 0 \n*好手　')], 'game.kif')]))[0]!.mainLine()[1]!;
  expect(spaced.comment).toBe('*解析 0\n好手');
  expect(ownComment(spaced).split('\n').filter(row => /解析|好手/.test(row)).map(row => row.trim())).toEqual(['*解析 0', '好手']);
  // A new analysis takes the record's place.
  first.score = { winRate: 0.4, cp: -90, pv: [], nodes: 10, by: 'alphabeta' };
  expect(writeGame(game, 'kif', analysedComment)).toMatch(/#評価値=\+90/);
  expect(writeGame(game, 'kif', analysedComment)).not.toMatch(/#評価値=50/);
});

test("floodgate's lines in CSA comments are scores", async () => {
  serve({ 'api/records': { format: 'csa', skipped: [], games: [{ black: '', white: '', headers: {}, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [50], comments: {}, analysis: [{ game: 0, ply: 1, turn: 'white', win_rate: 0.48, black_win_rate: 0.52, visits: 0, declares: false, lines: [{ multipv: 1, win_rate: 0.48, score_cp: -50, mate_plies: null, visits: 0, depth: 1, pv: ['8c8d'] }] }], texts: { 1: '' }, variations: [], winner: 'none', end: '', game: null }] } });
  const [game] = await readFiles([new File(["V2.2\nPI\n+\n+7776FU\n'** 50 -8384FU\n"], 'game.csa')]);
  const first = game.mainLine()[1];
  expect(first.comment).toBe('');
  expect(first.score?.cp).toBe(-50);
  expect(analysedComment(first)).toBe('*評価値=50\n*読み筋=△８四歩(83)');
});

test('a match that one side won has a bound', () => {
  const none = { elo: null, elo_error: null, elo_low: null, elo_high: null };
  expect(matchEloText({ ...none, elo_low: 139.6 })).toBe('> +140 (95 %)');
  expect(matchEloText({ ...none, elo_high: -139.6 })).toBe('< −140 (95 %)');
  expect(matchEloText({ ...none, elo: 10, elo_error: 5, elo_low: 5, elo_high: 15 })).toBe('+10 ±5');
  expect(matchEloText(none)).toBe('–');
});

test('an axis of fractions stays within 0 to 1, also around one value', () => {
  expect(fractionRange(0.6, 0.6)).toEqual([0, 1]);
  expect(fractionRange(1, 1)).toEqual([0, 1]);
  expect(fractionRange(null, null)).toEqual([null, null]);
  const [low, high] = fractionRange(0.3, 0.4);
  expect(low).toBeLessThan(0.3);
  expect(high).toBeGreaterThan(0.4);
});

test('an axis has room for its longest label', () => {
  expect(axisWidth(['0.00', '0.100'])).toBe(52);
  expect(axisWidth(['0.000200', '0.00'])).toBe(64);
  expect(axisWidth(null)).toBe(52);
});

test('labels of an axis have the digits that tell them apart', () => {
  const format = (v: number, more = 0) => v.toPrecision(3 + more);
  expect(tickLabels([0.69295, 0.693, 0.69305], format)).toEqual(['0.6929', '0.6930', '0.6931']);
  expect(tickLabels([0, 5, 10], format)).toEqual(['0.00', '5.00', '10.0']);
});

test("a player's score is saved once, beside the player's move", () => {
  const tree = treeOf({ sfen: 'startpos', moves: ['7g7f', '3c3d'], black: 'a', white: 'b', scores_cp: [120, 30], win_rates: [0.6, 0.5] });
  const [root, first, second] = tree.mainLine();
  expect([root, first, second].map(n => analysedComment(n!))).toEqual(['', '*評価値=120', '*評価値=-30']);
  expect(writeGame(tree, 'csa', at => analysedComment(at, csaLine))).toContain("+7776FU\n'** 120\n-3334FU\n'** -30\n");
  first!.recorded = '#評価値=120';
  expect([root, first].map(n => analysedComment(n!))).toEqual(['', '#評価値=120']);
});

test('a record of CSA has the headers and the empty lines of comments that the server reads', async () => {
  const headers = { black_rating: '3500.0', JISHOGI: '27', time_limit: '00:05+00', time_control: '300+0+10' };
  serve({ 'api/records': { format: 'csa', skipped: [], games: [{ black: 'A', white: 'B', headers, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], comments: { 1: '一\n\n二' }, analysis: [], texts: {}, variations: [], winner: 'none', end: 'interrupted', game: null }] } });
  const [game] = await readFiles([new File(["V2.2\nN+A\nN-B\n$TIME:300+0+10\nPI\n+\n+7776FU\n'*一\n'*\n'*二\n"], 'game.csa')]);
  const { writeGame } = await import('../src/shogi/records');
  const text = writeGame(game, 'csa');
  for (const line of ["'black_rate:A:3500.0", '$JISHOGI:27', '$TIME_LIMIT:00:05+00', '$TIME:300+0+10', "'*一\n'*\n'*二", '%CHUDAN']) expect(text).toContain(`\n${line}\n`);
});

test('an interruption that only the server reads is kept', async () => {
  serve({ 'api/records': { format: 'usi', skipped: [], games: [{ black: '', white: '', headers: {}, sfen: START, moves: ['7g7f'], times_ms: [], scores_cp: [], comments: {}, analysis: [], texts: {}, variations: [], winner: 'none', end: 'interrupted', game: null }] } });
  const [game] = await readFiles([new File(['startpos moves 7g7f interrupt\n'], 'game.usi')]);
  expect(game.ending).toBe('中断');
});

test('comments of a record keep their order until they are edited; a new analysis replaces the old one alone', async () => {
  const rows = ['前', '#評価値=50', '#読み筋=△３四歩(33)', '*評価値=30', '*読み筋=△３四歩(33)', '*深さ=9', '後'];
  const line = { multipv: 1, win_rate: 0.48, score_cp: -50, mate_plies: null, visits: 0, depth: 1, pv: ['3c3d'] };
  serve({ 'api/records': { format: 'kif', skipped: [], games: [{ black: '', white: '', headers: {}, sfen: START, moves: ['7g7f'], times_ms: [1500], scores_cp: [30], comments: {}, analysis: [{ game: 0, ply: 1, turn: 'white', win_rate: 0.48, black_win_rate: 0.52, visits: 0, declares: false, lines: [line] }], texts: { 1: '前\n後' }, variations: [], winner: 'none', end: '', game: null }] } });
  const [game] = await readFiles([new File([`手合割：平手\n   1 ７六歩(77)\n${rows.map(row => `*${row}\n`).join('')}`], 'game.kif')]);
  const first = game.mainLine()[1];
  expect(first).toMatchObject({ comment: '前\n後', timeMs: 1500 });
  expect(analysedComment(first)).toBe(rows.join('\n'));
  const csa = writeGame(game, 'csa', at => analysedComment(at, csaLine));
  expect(csa).toContain("T1.5\n'*前\n'*#評価値=50\n'*#読み筋=△３四歩(33)\n'** 30 -3334FU\n'**深さ=9\n'*後\n");
  first.comment = '前';
  expect(analysedComment(first)).toBe(['前', ...rows.slice(1, -1)].join('\n'));
  first.score = { winRate: 0.4, cp: 90, pv: ['8c8d'], nodes: 10, by: 'alphabeta' };
  expect(analysedComment(first)).toBe('前\n*評価値=30\n*読み筋=△３四歩(33)\n*深さ=9\n#評価値=-90\n#読み筋=△８四歩');
  game.root.score = { winRate: 0.5, cp: 7, pv: ['7g7f'], nodes: 10, by: 'alphabeta' };
  expect(writeGame(game, 'csa', at => analysedComment(at, csaLine))).toContain("+\n'*#評価値=+7\n'*#読み筋=▲７六歩\n+7776FU\n");
  expect(writeGame(game, 'csa', at => analysedComment(at, csaLine))).toContain("'*前\n'**評価値=30\n'**読み筋=△３四歩(33)\n'**深さ=9\n'** -90 -8384FU\n");
});

test.each([
  ['解析 0 候補1 評価値 57', { score_cp: -57, mate_plies: null }, '* 57 -3334FU'],
  ['#詰み=先手勝ち:3手', { score_cp: null, mate_plies: -3 }, '* 30000 -3334FU'],
])("the analysis %s has floodgate's line in CSA and stays", async (row, score, inCsa) => {
  const tree = new GameTree();
  const first = tree.addLine(tree.root, ['7g7f']);
  first.recorded = row;
  first.score = { winRate: 0, cp: score.score_cp ?? undefined, mate: score.mate_plies ?? undefined, pv: ['3c3d'], nodes: 0 };
  expect(analysedComment(first)).toBe(row);
  expect(writeGame(tree, 'csa', at => analysedComment(at, csaLine))).toContain(`'*${row}\n'*${inCsa}\n`);
});

test('a comment about scores does not take the place of a score', () => {
  const tree = treeOf({ sfen: 'startpos', moves: ['7g7f', '3c3d'], black: 'a', white: 'b', scores_cp: [120, null], win_rates: [0.6, null] });
  const [, first, second] = tree.mainLine();
  first!.comment = '評価値は互角';
  second!.comment = '詰み=なし、解析は後で';
  second!.score = { winRate: 0.5, cp: 30, pv: ['2g2f'], nodes: 0 };
  expect([first, second].map(n => analysedComment(n!))).toEqual(['評価値は互角\n*評価値=120', '詰み=なし、解析は後で\n*評価値=30\n*読み筋=▲２六歩']);
  expect(analysedComment(first!, csaLine)).toBe('評価値は互角\n*評価値=120');
});

test('the sound games of a damaged record keep their variations', async () => {
  const kif = (name: string, moves: string) => `先手：${name}\n手合割：平手\n${moves}\n`;
  const read = (black: string, ...moves: string[]) => ({ black, white: '', headers: { event: 'E' }, sfen: START, moves, times_ms: [], scores_cp: [], comments: { 1: 'c' }, analysis: [], texts: {}, variations: [], winner: 'none', end: '', game: null });
  serve({ 'api/records': { format: 'kif', skipped: ['byte 9: bad'], games: [read('a', '7g7f'), read('b', '7g7f'), read('c', '7g7f', '3c3d')] } });
  const variation = '\n変化：1手\n   1 ２六歩(27)\n&bookmark';
  const text = kif('a', `   1 ７六歩(77)\n   2 投了\n${variation}`) + kif('b', '   1 ７六歩(77)\n   2 ９九歩(98)') + kif('c', `   1 ７六歩(77)\n   2 ３四歩(33)\n${variation}`);
  const games = await readFiles([new File([text], 'x.kif')]);
  expect(games.map(({ name, root }) => [name, root.children.map(node => node.bookmark ?? node.comment)])).toEqual([['x.kif (1)', ['', 'bookmark']], ['x.kif (2)', ['c']], ['x.kif (3)', ['', 'bookmark']]]);
  serve({});
  expect((await readFiles([new File([text], 'x.kif')])).map(({ name }) => name)).toEqual(['x.kif (1)', 'x.kif (3)']);
});
