// Pictures of the screens of a running server, to look at:
// node tools/shots.mjs http://127.0.0.1:8624 OUT [name of a shot]...
import { mkdirSync, readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { SHOTS } from './shots-list.mjs';

const [base, out, ...names] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const SIZES = {
  desktop: { viewport: { width: 1440, height: 900 } },
  wide: { viewport: { width: 1920, height: 1080 } },
  portrait: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
  landscape: { viewport: { width: 844, height: 390 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
for (const [name, { size = 'desktop', language = 'en', theme = 'light', settings = {}, hash = '', run, full }] of Object.entries(SHOTS)) {
  if (names.length && !names.some(n => name.startsWith(n))) continue;
  const context = await browser.newContext({ ...SIZES[size], colorScheme: theme, acceptDownloads: true });
  await context.addInitScript(s => localStorage.setItem('komadori', s), JSON.stringify({ language, theme, ...settings }));
  const page = await context.newPage();
  page.on('console', m => ['error', 'warning'].includes(m.type()) && console.log(`${name}: ${m.text()}`));
  page.on('pageerror', e => console.log(`${name}: ${e.stack}`));
  await page.goto(`${base}/${hash}`);
  await page.waitForSelector('main');
  const openRecord = async path => {
    const data = await page.evaluateHandle(([bytes, n]) => {
      const d = new DataTransfer();
      d.items.add(new File([new Uint8Array(bytes)], n));
      return d;
    }, [[...readFileSync(path)], path.split('/').at(-1)]);
    await page.dispatchEvent('body', 'drop', { dataTransfer: data });
    await page.waitForTimeout(600);
  };
  try {
    await run?.(page, { openRecord });
    await page.screenshot({ path: `${out}/${name}.png`, fullPage: !!full });
    console.log(name);
  } catch (e) {
    console.log(`${name}: ${e.message}`);
    await page.screenshot({ path: `${out}/${name}-failed.png` });
  }
  await context.close();
}
await browser.close();
