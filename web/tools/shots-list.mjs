const RECORD = new URL('../tests/games/game.kif', import.meta.url).pathname;

const search = async page => {
  await page.getByRole('switch').first().click();
  await page.waitForSelector('.line-rate', { timeout: 15_000 });
  await page.waitForTimeout(2_500);
};

const studied = async (page, { openRecord }) => {
  await openRecord(RECORD);
  await page.getByRole('button', { name: /Analyse the game|棋譜を解析/ }).click();
  await page.waitForSelector('.study-bar .button.primary', { timeout: 240_000 });
  await page.keyboard.press('.');
  await page.waitForTimeout(500);
};

const searchedGame = async (page, tools) => {
  await tools.openRecord(RECORD);
  await page.keyboard.press('ArrowDown');
  for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowLeft');
  await search(page);
};

export const SHOTS = {
  'analyse-en': { run: searchedGame },
  'analyse-ja-dark': { language: 'ja', theme: 'dark', run: searchedGame },
  'analyse-wide-ja': { size: 'wide', language: 'ja', settings: { studyAlphaBetaNodes: 20_000 }, run: studied },
  'analyse-portrait-ja': { size: 'portrait', language: 'ja', run: searchedGame },
  'analyse-portrait-en-dark': { size: 'portrait', theme: 'dark', settings: { pieces: 'western' }, run: searchedGame, full: true },
  'analyse-landscape-en': { size: 'landscape', run: searchedGame },
  'analyse-western': { settings: { pieces: 'western' }, run: searchedGame },
};

const inside = async (page, tools) => {
  await tools.openRecord(RECORD);
  await page.keyboard.press('ArrowDown');
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowLeft');
  await page.evaluate(() => (location.hash = '#/network'));
  await page.waitForSelector('.candidates');
  await page.locator('.inside-bar .search-toggle').click();
  await page.waitForTimeout(4_000);
};

const insideAll = async (page, tools) => {
  await inside(page, tools);
  for (const name of ['tree', 'checkpoints', 'compare', 'planes', 'attention']) await page.locator(`[data-panel=${name}] h2 button`).click();
  await page.waitForTimeout(5_000);
};

const playing = async page => {
  await page.evaluate(() => (location.hash = '#/play'));
  await page.waitForSelector('.strength');
  await page.getByRole('radio', { name: /Byoyomi|秒読み/ }).click();
  await page.locator('.new-game .primary').click();
  await page.waitForSelector('.seat');
  await page.locator('#typed-move').fill('7g7f');
  await page.keyboard.press('Enter');
  await page.waitForTimeout(4_000);
};

Object.assign(SHOTS, {
  'network-en': { run: inside },
  'network-ja-dark': { language: 'ja', theme: 'dark', run: insideAll, full: true },
  'network-wide': { size: 'wide', run: insideAll, full: true },
  'network-portrait': { size: 'portrait', language: 'ja', run: inside, full: true },
  'play-new-en': { hash: '#/play' },
  'play-new-ja-portrait': { hash: '#/play', size: 'portrait', language: 'ja', theme: 'dark' },
  'play-game-ja': { language: 'ja', run: playing },
  'play-game-portrait': { size: 'portrait', run: playing },
  'play-game-landscape': { size: 'landscape', language: 'ja', theme: 'dark', run: playing },
  'library-en': { hash: '#/library' },
  'train-ja': { hash: '#/train', language: 'ja', run: page => page.waitForTimeout(5_000), full: true },
  'train-portrait': { hash: '#/train', size: 'portrait', run: page => page.waitForTimeout(3_000) },
  'matches-en-dark': { hash: '#/matches', theme: 'dark', run: page => page.waitForTimeout(1_000) },
  'matches-ja': { hash: '#/matches', language: 'ja', run: page => page.waitForTimeout(1_000) },
  'ladder-en': { hash: '#/matches/ladder/strength.db', run: page => page.waitForTimeout(2_000), full: true },
  'ladder-portrait-ja-dark': { hash: '#/matches/ladder/strength.db', size: 'portrait', language: 'ja', theme: 'dark', run: page => page.waitForTimeout(2_000) },
  'loop-en': { hash: '#/train/loop/scratch', run: page => page.waitForTimeout(2_000), full: true },
  'play-new-elo-ja': { hash: '#/play', language: 'ja', run: async page => (await page.waitForSelector('.strength option', { state: 'attached' }), page.locator('.strength select').selectOption('ladder:strength.db')) },
  'lab-en': { hash: '#/lab', run: page => page.waitForTimeout(2_000) },
  'setup-ja': { language: 'ja', run: async page => page.getByRole('button', { name: /局面編集/ }).click() },
  'open-en': { run: async page => page.getByRole('button', { name: /^Open/ }).click() },
  'help-ja-dark': { language: 'ja', theme: 'dark', run: page => page.keyboard.press('?') },
  'settings-en': { run: async page => page.getByRole('button', { name: 'Settings' }).last().click() },
});
