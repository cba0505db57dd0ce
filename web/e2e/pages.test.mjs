// What a hand does on the pages, in headless Chromium against a running server, whose address is in
// KOMADORI_URL; tests/web/test_browser.py looks at every screen.
// Run by tests/web/test_pages.py, which starts the server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';

const url = process.env.KOMADORI_URL;
const game = name => readFileSync(new URL(`../tests/games/${name}`, import.meta.url));
// Long, for machines that do much else at the same time.
const TIMEOUT = Number(process.env.KOMADORI_TIMEOUT ?? 60_000);

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
});
after(() => browser.close());

/** A page with settings, and everything that went wrong on it. */
async function open({ language = 'en', theme = 'light', hash = '', size = { viewport: { width: 1440, height: 900 } }, ...settings } = {}) {
  const context = await browser.newContext({ ...size, colorScheme: theme, acceptDownloads: true });
  await context.addInitScript(s => localStorage.getItem('komadori') ?? localStorage.setItem('komadori', s), JSON.stringify({ language, theme, ...settings }));
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  const errors = [];
  page.on('pageerror', e => errors.push(e.message));
  page.on('console', m => m.type() === 'error' && errors.push(m.text()));
  await page.goto(`${url}/${hash}`);
  await page.waitForSelector('main:not([aria-busy])');
  await page.waitForSelector('.status.open');
  return { page, errors, close: () => context.close() };
}

async function drop(page, name, bytes) {
  const data = await page.evaluateHandle(
    ([content, file]) => {
      const d = new DataTransfer();
      d.items.add(new File([new Uint8Array(content)], file));
      return d;
    },
    [[...bytes], name],
  );
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
}

async function paste(page, text) {
  await page.evaluate(t => {
    const data = new DataTransfer();
    data.setData('text/plain', t);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  }, text);
}

const moves = page => page.locator('.move .san').allTextContents();
/** Waits until so many moves are made and the board, which follows a frame later, shows them. */
async function madeMoves(page, n) {
  await page.waitForFunction(count => document.querySelectorAll('.move').length === count + 1, n);
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
}

const squareOf = async (page, key) => {
  const box = await page.locator('.board-place').first().boundingBox();
  const [file, rank] = [Number(key[0]), key.charCodeAt(1) - 97];
  return { x: box.x + ((9 - file + 0.5) * box.width) / 9, y: box.y + ((rank + 0.5) * box.height) / 9 };
};
async function clickMove(page, from, to) {
  for (const key of [from, to]) {
    const { x, y } = await squareOf(page, key);
    await page.mouse.click(x, y);
  }
}

describe('analysis', () => {
  test('pieces move by click, by drag, by typing; promotion is asked; drops come from the hand', async () => {
    const { page, errors, close } = await open();
    await clickMove(page, '7g', '7f');
    await madeMoves(page, 1);
    await page.locator('#typed-move').fill('P-3d');
    await page.keyboard.press('Enter');
    await madeMoves(page, 2);
    const [a, b] = [await squareOf(page, '8h'), await squareOf(page, '2b')];
    await page.mouse.move(a.x, a.y);
    await page.mouse.down();
    await page.mouse.move((a.x + b.x) / 2, (a.y + b.y) / 2, { steps: 3 });
    await page.mouse.move(b.x, b.y, { steps: 3 });
    await page.mouse.up();
    await page.locator('sg-promotion-choices piece.horse').click();
    await madeMoves(page, 3);
    await page.locator('#typed-move').fill('3a2b');
    await page.keyboard.press('Enter');
    await madeMoves(page, 4);
    await page.locator('.hand-place.bottom piece.bishop').click();
    const to = await squareOf(page, '4e');
    await page.mouse.click(to.x, to.y);
    await madeMoves(page, 5);
    assert.deepEqual(await moves(page), ['Start', 'P-7f', 'P-3d', 'Bx2b+', 'Sx2b', 'B*4e']);
    assert.deepEqual(errors, []);
    await close();
  });

  test('by keyboard alone: the cursor on the board, going back, a variation, its end', async () => {
    const { page, errors, close } = await open({ language: 'ja' });
    await page.locator('.board-cursor').focus();
    // From 5e to 7g, taken, to 7f.
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowDown', 'ArrowDown', 'Enter', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    await page.waitForFunction(() => document.querySelectorAll('.move').length === 2);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('m');
    await page.keyboard.type('26歩');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.variation .inline.current');
    assert.match(await page.locator('.variation').textContent(), /▲２六歩/);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Delete');
    await page.waitForFunction(() => !document.querySelector('.variation'));
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('dialog[open]'));
    assert.deepEqual(errors, []);
    await close();
  });

  test('records open in every format, by drop and by paste; several make a list', async () => {
    const { page, errors, close } = await open({ language: 'ja' });
    const names = ['game.csa', 'game-sjis.kif', 'game.ki2', 'game.jkf', 'game.usi'];
    for (const [before, name] of names.entries()) {
      await drop(page, name, game(name));
      // A single game has no tab.
      await page.waitForFunction((n) => document.querySelectorAll('.game-tabs li').length === n, before && before + 1);
      await page.waitForFunction(() => document.querySelectorAll('.move').length === 104);
    }
    await paste(page, '4k4/9/9/9/9/9/9/9/4K4 b 2r 1');
    await page.waitForFunction(() => document.querySelectorAll('.move').length === 1);
    await drop(page, 'broken.kif', new TextEncoder().encode('手数----指手---------消費時間--\n   1 ９九歩(98)\n'));
    await paste(page, 'no record at all');
    await page.waitForSelector('.notice.bad');
    assert.deepEqual(errors, []);
    await close();
  });

  test('names and comments are text and nothing else', async () => {
    const { page, errors, close } = await open();
    const bad = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
    await paste(page, `先手：${bad}\n後手：${bad}\n手合割：平手\n手数----指手---------消費時間--\n*${bad}\n   1 ７六歩(77)\n*${bad}\n`);
    await page.waitForSelector('.move-list .comment');
    assert.ok((await page.locator('.move-list').textContent()).includes(bad));
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.deepEqual(errors, []);
    await close();
  });

  test('the search shows lines; a click on any of their moves plays up to it; threats', async () => {
    const { page, errors, close } = await open({ multipv: 2 });
    await page.keyboard.press('l');
    await page.waitForFunction(() => document.querySelectorAll('.line-list .line-moves').length === 2);
    await page.waitForFunction(() => document.querySelectorAll('.line:first-child .line-moves button').length >= 2);
    await page.locator('.line:first-child .line-moves button').nth(0).hover();
    await page.waitForSelector('.preview .mini-board');
    await page.locator('.line:first-child .line-moves button').nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll('.move').length === 3);
    await page.waitForFunction(() => document.querySelector('.sg-shapes g.best'));
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('a');
    await page.waitForFunction(() => !document.querySelector('.sg-shapes g.best'));
    await page.keyboard.press('l');
    await page.waitForSelector('.search-toggle[aria-checked=false]');
    await page.keyboard.press('x');
    await page.waitForSelector('.threat-box .line-moves');
    assert.deepEqual(errors, []);
    await close();
  });

  test('a whole game is analysed, its mistakes told, saved with the analysis, reported', async () => {
    const { page, errors, close } = await open({ studyAlphaBetaNodes: 20_000 });
    await paste(page, 'position startpos moves 7g7f 3c3d 8h2b+ 8b2b B*4e 5a6b 4e3d 2b3b');
    await page.locator('.study-bar .primary').click();
    await page.waitForSelector('.mistake-list button');
    await page.waitForSelector('.study-bar .primary');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('.');
    await page.waitForSelector('.instead .stepper.good');
    assert.match(await page.locator('.instead > p').textContent(), /points/);
    await page.getByRole('radio', { name: 'Moves' }).click();
    assert.equal(await page.locator('.move .rate').count(), 9);
    const save = async item => {
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: item }).click()]);
      return readFileSync(await download.path());
    };
    const kif = (await save(/^KIF with/)).toString();
    assert.match(kif, /\*#評価値=/);
    assert.match(kif, /\*#読み筋=▲|\*#読み筋=△/);
    assert.match((await save(/^CSA/)).toString(), /'\*? ?/);
    assert.deepEqual([...(await save(/PNG/)).subarray(1, 4)].map(c => String.fromCharCode(c)).join(''), 'PNG');
    assert.equal((await save(/GIF/)).subarray(0, 6).toString(), 'GIF89a');
    assert.match((await save(/HTML/)).toString(), /<html/i);
    assert.deepEqual(errors, []);
    await close();
  });

  test('a position is set up', async () => {
    const { page, errors, close } = await open();
    await page.getByRole('button', { name: 'Set up' }).click();
    const field = page.locator('dialog input.mono');
    for (const text of ['position startpos moves 7g7f', '4k4/9/4P4/9/9/9/9/9/4K4 x G 1']) {
      await field.fill(text);
      await page.keyboard.press('Tab');
      await page.waitForSelector('dialog .problem');
      assert.equal(await field.inputValue(), text); // what was typed stays, to be corrected
    }
    await field.fill('position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1');
    await page.keyboard.press('Tab');
    await page.waitForFunction(() => !document.querySelector('dialog .problem'));
    assert.equal(await field.inputValue(), '4k4/9/4P4/9/9/9/9/9/4K4 b G 1');
    await page.getByRole('button', { name: 'Use this position' }).click();
    await page.waitForFunction(() => document.querySelectorAll('main sg-pieces piece').length === 3);
    assert.deepEqual(errors, []);
    await close();
  });
});

test('inside the network: words, candidates, heat, tree, planes', async () => {
  const { page, errors, close } = await open({ hash: '#/network', language: 'ja' });
  await page.waitForSelector('.words-head');
  await page.waitForSelector('sq[data-heat]');
  await page.locator('.inside-bar .search-toggle').click();
  await page.waitForFunction(() => /%/.test(document.querySelector('.candidates td:nth-child(5)')?.textContent ?? ''));
  await page.locator('[data-panel=tree] h2 button').click();
  await page.locator('.tree-moves button').first().click();
  await page.waitForFunction(() => document.querySelectorAll('.crumbs button').length === 2);
  await page.locator('[data-panel=planes] h2 button').click();
  await page.waitForSelector('.plane');
  await page.locator('[data-panel=words] h2 button').click();
  await page.waitForFunction(() => !document.querySelector('.words'));
  assert.deepEqual(errors, []);
  await close();
});

test('a game is played, a move taken back, a hint asked, resigned, kept, found again', async () => {
  const { page, errors, close } = await open({ hash: '#/play', language: 'en' });
  await page.waitForSelector('.strength option', { state: 'attached' });
  await page.getByText('Custom values').click();
  await page.locator('.strength input[type=number]').first().fill('12');
  await page.getByRole('radio', { name: 'Fischer' }).click();
  await page.locator('.new-game .primary').click();
  await page.waitForSelector('.clock');
  assert.match(await page.locator('.seat-name').first().textContent(), /, 12 playouts$/);
  await clickMove(page, '7g', '7f');
  await page.waitForFunction(() => document.querySelectorAll('.play-moves li').length === 2);
  await page.getByRole('button', { name: 'Hint' }).click();
  await page.waitForSelector('.play-notes .move-link');
  await page.getByRole('button', { name: 'Take back' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.play-moves li').length === 0);
  await clickMove(page, '2g', '2f');
  await page.waitForFunction(() => document.querySelectorAll('.play-moves li').length === 2);
  await page.getByRole('button', { name: 'Resign' }).click();
  await page.getByRole('button', { name: 'Really resign?' }).click();
  await page.waitForSelector('.result.lost');
  await page.evaluate(() => (location.hash = '#/library'));
  await page.locator('.library tbody tr').first().locator('.move-link').click();
  await page.waitForFunction(() => document.querySelectorAll('.move').length === 3);
  assert.deepEqual(errors, []);
  await close();
});

test('two engines play while one looks on; the game goes to the analysis', async () => {
  const { page, errors, close } = await open({ hash: '#/play' });
  await page.waitForSelector('.strength option', { state: 'attached' });
  await page.getByRole('radio', { name: 'Watch engines' }).click();
  for (const n of [0, 1]) await page.locator('.strength select').nth(n).selectOption('random');
  await page.getByLabel('Starting position').selectOption({ label: 'Six pieces' });
  await page.locator('.new-game .primary').click();
  await page.waitForFunction(() => document.querySelectorAll('.play-moves li').length >= 2);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'End the game' }).click();
  await page.waitForSelector('.result');
  assert.match(await page.locator('.result').textContent(), /No result interrupted/);
  await page.getByRole('button', { name: 'Analyse the game' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.move').length >= 3);
  assert.deepEqual(errors, []);
  await close();
});

test('the library takes files in, finds them by name, result and position, and gives them back', async () => {
  const { page, errors, close } = await open({ hash: '#/library' });
  const files = ['game-sjis.kif', 'game.csa'].map(name => ({ name, mimeType: 'application/octet-stream', buffer: game(name) }));
  await page.locator('.library-bar input[type=file]').setInputFiles(files);
  const rows = page.locator('.library tbody tr');
  await page.waitForFunction(() => /broaden/.test(document.querySelector('.library tbody')?.textContent ?? ''));
  await page.locator('.library-bar input[type=search]').fill('海底');
  await page.waitForFunction(() => [...document.querySelectorAll('.library tbody tr')].every(r => r.textContent.includes('海底')));
  const found = await rows.count();
  assert.ok(found >= 1);
  await rows.first().locator('.move-link').click();
  await page.waitForFunction(() => document.querySelectorAll('.move').length === 104);
  await page.keyboard.press('End');
  await page.evaluate(() => (location.hash = '#/library'));
  await page.getByText('Contains the position on the board').click();
  await page.waitForFunction(n => document.querySelectorAll('.library tbody tr').length === n, found);
  const [download] = await Promise.all([page.waitForEvent('download'), rows.first().getByRole('link', { name: /KIF/ }).click()]);
  assert.match(readFileSync(await download.path()).toString(), /手数----指手/);
  assert.deepEqual(errors, []);
  await close();
});

test('several games are analysed one after the other', async () => {
  const { page, errors, close } = await open({ studyAlphaBetaNodes: 20_000 });
  for (const text of ['position startpos moves 7g7f 3c3d', 'position startpos moves 2g2f 8c8d']) await paste(page, text);
  await page.waitForFunction(() => document.querySelectorAll('.game-tabs li').length === 2);
  await page.getByRole('button', { name: 'Analyse all' }).click();
  await page.waitForFunction(() => [...document.querySelectorAll('.game-tabs li small')].every(s => /mistakes/.test(s.textContent)));
  for (const n of [0, 1]) {
    await page.locator('.game-tabs li button').nth(n).click();
    await page.getByRole('radio', { name: 'Moves' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.move .rate').length === 3);
  }
  assert.deepEqual(errors, []);
  await close();
});
