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
  'analyse-wide-ja': { size: 'wide', language: 'ja', settings: { studyNodes: 100 }, run: studied },
  'analyse-portrait-ja': { size: 'portrait', language: 'ja', run: searchedGame },
  'analyse-portrait-en-dark': { size: 'portrait', theme: 'dark', settings: { pieces: 'western' }, run: searchedGame, full: true },
  'analyse-landscape-en': { size: 'landscape', run: searchedGame },
  'analyse-western': { settings: { pieces: 'western' }, run: searchedGame },
};
