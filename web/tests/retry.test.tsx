// @vitest-environment happy-dom
import { act } from 'preact/test-utils';
import { beforeEach, expect, test, vi } from 'vitest';
import { answer, button, click, mount, sent, serve, WELCOME } from './page';
import { followAddress } from '../src/analyse/address';
import { Notices } from '../src/ui/notices';
import { Analyse } from '../src/analyse/Analyse';
import { Openings } from '../src/analyse/Openings';
import { Retry } from '../src/analyse/Retry';
import { exercise, retry, startRetry, toggleRetry } from '../src/analyse/retry';
import { addGames, game, games, hidesEngine, isSearching, node, openGames, orientation, play, promote, scored } from '../src/analyse/state';
import { startStudy, study } from '../src/analyse/study';
import { listenForKeys } from '../src/keys';
import type { StudyProgress } from '../src/protocol';
import { route } from '../src/router';
import { language } from '../src/settings';
import { GameTree } from '../src/shogi/tree';
import { connection } from '../src/socket';

vi.mock('../src/analyse/Graph', () => ({ Graph: () => null })); // it draws on a canvas

const RUNNING: StudyProgress = { type: 'study', id: 1, study: 's1', state: 'running', message: '', games: [], done: 0, total: 9, left_s: null, found: [], mistakes: [] };

/** Moves 1 and 3 (Black) lose 15 and 25 points, move 2 (White) 8. */
function analysed(): GameTree {
  const tree = new GameTree();
  tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f', '8c8d']);
  const rates = [0.6, 0.55, 0.53, 0.72, 0.28];
  const best = ['2g2f', '8c8d', '6g6f', '8c8d', ''];
  tree.mainLine().forEach((n, i) => (n.score = { winRate: rates[i], pv: best[i] ? [best[i]] : [], nodes: 100, by: 'alphabeta' }));
  return tree;
}

listenForKeys();

beforeEach(() => {
  vi.useRealTimers();
  sent.length = 0;
  language.value = 'en';
  orientation.value = 'sente';
  connection.welcome.value = WELCOME;
  route.value = ['analyse'];
  if (retry.value) toggleRetry();
  openGames([analysed()]);
  scored.value++;
});

const text = (place: HTMLElement) => place.textContent ?? '';

test("a side's mistakes become exercises, during which engine output is hidden", async () => {
  isSearching.value = true;
  startRetry();
  const place = await mount(Retry);
  expect(retry.value!.mistakes.map(n => n.ply)).toEqual([1, 3]);
  expect(node.value.ply).toBe(0);
  expect(hidesEngine.value).toBe(true);
  expect(isSearching.value).toBe(false);
  expect(text(place)).toContain('Black played P-7f and lost 15 points.');
  await act(() => play('2g2f'));
  expect(text(place)).toContain("P-2f is the engine's move");
  expect(hidesEngine.value).toBe(false);
  expect(sent).toEqual([]);
  await click(button(place, 'Next'));
  expect(node.value.ply).toBe(2);
  await click(button(place, 'Show the answer'));
  expect(text(place)).toContain('The answer is P-6f');
  expect(node.value.usi).toBe('6g6f');
  await click(button(place, 'Next'));
  expect(text(place)).toContain('a better move in 1 of 2 positions');
});

test('a move without a score is searched; a wrong one is taken back and removed from the tree', async () => {
  startRetry();
  const place = await mount(Retry);
  await act(() => play('9g9f'));
  expect(text(place)).toContain('Checking P-9f');
  expect(sent.at(-1)).toMatchObject({ type: 'analyse', position: 'startpos moves 9g9f', engine: 'alphabeta', nodes: 200_000 });
  vi.useFakeTimers();
  const result = { type: 'analysis', state: 'done', engine: 'alphabeta', model: '', root_visits: 9, lines: [] };
  await answer('analyse', { ...result, win_rate: 0.5 });
  expect(text(place)).toContain('better than the move of the game but still loses 10 points');
  await act(() => void play('5g5f')); // ignored: the wrong move is still shown
  await act(() => void vi.runAllTimers());
  expect(node.value).toBe(game.value.root);
  expect(game.value.root.children.map(n => n.usi)).toEqual(['7g7f']);
  await act(() => play('7g7f'));
  expect(text(place)).toContain('P-7f is the move of the game');
  await act(() => void vi.runAllTimers());
  await act(() => play('5g5f'));
  await answer('analyse', { ...result, win_rate: 0.42 });
  expect(text(place)).toContain('P-5f is only 2 points below P-2f');
  expect(game.value.root.children.map(n => n.usi)).toEqual(['7g7f', '5g5f']); // stays as a variation
});

test('a hint names the piece; sides can be switched; opening another game ends the exercises', async () => {
  startRetry('gote');
  const place = await mount(Retry);
  expect(retry.value!.mistakes.map(n => n.ply)).toEqual([2]);
  expect(orientation.value).toBe('gote');
  await click(button(place, 'Hint'));
  expect(text(place)).toContain('The pawn moves');
  await click(button(place, '▲ 2'));
  expect(exercise.value!.ply).toBe(1);
  await act(() => play('9g9f'));
  await act(() => openGames([new GameTree()]));
  expect(retry.value).toBeUndefined();
  expect(sent.at(-1)).toMatchObject({ type: 'stop' });
});

test('the URL follows the library game and the move', async () => {
  const stored = { summary: { game: 13, black: 'a', white: 'b', started: '', title: '', end: '', is_studied: false }, sfen: 'startpos', moves: ['7g7f', '3c3d', '2g2f'], times_ms: [], scores_cp: [], comments: {}, analysis: [], texts: {}, variations: [], headers: {}, result: null, record: '' };
  serve({ 'api/games/13': stored });
  openGames([new GameTree()]);
  const end = followAddress();
  route.value = ['analyse', '13', '2'];
  await vi.waitFor(() => expect(node.value.usi).toBe('3c3d'));
  expect(games.value).toHaveLength(1);
  await vi.waitFor(() => expect(location.hash).toBe('#/analyse/13/2'));
  const steps = history.length;
  play('8g8f'); // a variation: the URL keeps the main-line ply
  await new Promise(done => setTimeout(done, 300));
  expect(location.hash).toBe('#/analyse/13/2');
  route.value = ['analyse', '', '1'];
  await vi.waitFor(() => expect(location.hash).toBe('#/analyse/13/1'));
  expect(node.value.usi).toBe('7g7f');
  route.value = ['analyse', '13', '99'];
  expect(node.value.usi).toBe('2g2f');
  expect(history.length).toBe(steps);
  end();
});

test('of a game that is open twice, as before and after it ended, the URL means the one on the board', async () => {
  const [before, after] = [['7g7f'], ['7g7f', '3c3d', '2g2f']].map(moves => {
    const tree = new GameTree();
    tree.number = 13;
    tree.addLine(tree.root, moves);
    return tree;
  });
  openGames([before!]);
  addGames([after!]);
  const end = followAddress();
  route.value = ['play'];
  route.value = ['analyse', '13', '3'];
  await vi.waitFor(() => expect(node.value.ply).toBe(3));
  expect(game.value).toBe(after);
  end();
});

test('the analysis of a stored game names its copy in the library', async () => {
  const tree = new GameTree();
  tree.addLine(tree.root, ['7g7f']);
  tree.stored = { game: 5, version: 'v', content: '' };
  openGames([tree]);
  await startStudy([tree, new GameTree()]);
  const { games: asked } = sent.findLast(message => message.type === 'study') as unknown as { games: { game?: number }[] };
  expect(asked.map(one => one.game)).toEqual([5, undefined]);
});

test('the opening explorer lists moves with results; a click plays one', async () => {
  openGames([new GameTree()]);
  serve({ 'api/openings': { games: 4, moves: [{ move: '7g7f', games: 3, black: 2, white: 1, draws: 0 }, { move: '2g2f', games: 1, black: 0, white: 0, draws: 0 }] } });
  const place = await mount(Openings);
  await vi.waitFor(() => expect(place.querySelectorAll('tbody tr')).toHaveLength(2));
  const row = place.querySelector('tbody tr')!;
  expect(row.textContent).toContain('P-7f3 75.0%');
  expect(row.querySelector('.results')!.getAttribute('aria-label')).toBe('Black 67%, draws 0%, White 33%');
  await click(row.querySelector('button'));
  expect(node.value.usi).toBe('7g7f');
});

test('a variation that becomes the main line during an analysis gets no scores of the other line', async () => {
  const tree = new GameTree();
  tree.addLine(tree.root, ['7g7f', '3c3d', '2g2f']);
  openGames([tree]);
  await startStudy([tree]);
  const analysed = tree.mainLine();
  promote(tree.addLine(analysed[1]!, ['8c8d', '2g2f']));
  const found = [0, 1, 2, 3].map(ply => ({ game: 7, ply, turn: 'black', win_rate: 0.5 + ply / 10, black_win_rate: 0.5, visits: 9, declares: false, lines: [] }));
  await answer('study', { type: 'study', study: 's1', state: 'done', message: '', games: [{ game: 7, plies: 3, done: 4 }], done: 4, total: 4, left_s: 0, found, mistakes: [] });
  expect(analysed.map(at => at.score?.winRate)).toEqual([0.5, 0.6, 0.7, 0.8]);
  expect(tree.mainLine().map(at => at.score?.winRate)).toEqual([0.5, 0.6, undefined, undefined]);
});

test('a running study leaves the tab that the user has chosen', async () => {
  const place = await mount(Analyse);
  const chosen = () => [...place.querySelectorAll('.side-tabs [role=radio]')].find(r => r.getAttribute('aria-checked') === 'true')?.textContent;
  const progress = (done: number) => act(() => void (study.value = { ...RUNNING, done }));
  await progress(1);
  expect(chosen()).toBe('Mistakes');
  await act(() => startRetry());
  expect(chosen()).toBe('Moves');
  await progress(2);
  expect(chosen()).toBe('Moves');
  study.value = undefined;
});

test.each([
  ['/', 'typed-move'],
  ['m', 'typed-move'],
  ['c', 'comment'],
])('the key %s shows and selects its field, also after an analysis has shown the mistakes', async (key, field) => {
  const place = await mount(Analyse);
  await act(() => void (study.value = RUNNING));
  study.value = undefined;
  expect(place.querySelector(`#${field}`)).toBeNull();
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  expect(document.activeElement?.id).toBe(field); // before the next key
});

test('an address of no game says so, without asking the server for it', async () => {
  const asked = vi.fn();
  vi.stubGlobal('fetch', asked);
  openGames([new GameTree()]);
  const place = await mount(Notices);
  const end = followAddress();
  for (const name of ['abc', '-1', '1e3', '9'.repeat(40)]) {
    await act(() => void (route.value = ['analyse', name]));
    expect(text(place)).toContain(`#/analyse/${name}`);
  }
  // Another test's board may still ask for the openings of its position.
  expect(asked.mock.calls.map(String).filter(address => !address.startsWith('api/openings'))).toEqual([]);
  end();
});
