// How fast and how steady the page is, measured in headless Chromium against a running server:
// node tools/measure.mjs http://127.0.0.1:8624 games.usi
// First paint; updates per second and long tasks during ten seconds of analysis; the heap while the
// search follows through the games, once and once more.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [base, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
await context.addInitScript(() => {
  localStorage.setItem('komadori', JSON.stringify({ language: 'ja', multipv: 5 }));
});
const page = await context.newPage();
const client = await context.newCDPSession(page);
await client.send('Performance.enable');

async function paint() {
  await page.goto(`${base}/`);
  await page.waitForSelector('sg-pieces piece');
  return page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN);
}
const paints = [];
for (let i = 0; i < 5; i++) paints.push(await paint());
console.log(`first contentful paint: ${paints.map(p => p.toFixed(0)).join(', ')} ms (the first with an empty cache)`);

/** Tasks of the page's main thread while something runs: wall time and the processor's own time,
 * which other programs on the machine don't lengthen. */
async function traced(run) {
  const events = [];
  const collect = e => events.push(...e.value);
  client.on('Tracing.dataCollected', collect);
  await client.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'] } });
  const result = await run();
  await Promise.all([new Promise(resolve => client.once('Tracing.tracingComplete', resolve)), client.send('Tracing.end')]);
  client.off('Tracing.dataCollected', collect);
  const names = events.filter(e => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map(e => `${e.pid}:${e.tid}`);
  const tasks = events.filter(e => e.ph === 'X' && /RunTask$/.test(e.name) && names.includes(`${e.pid}:${e.tid}`));
  const own = tasks.map(e => (e.tdur ?? e.dur) / 1000);
  const wall = tasks.map(e => e.dur / 1000);
  const long = times => times.filter(t => t > 50);
  const most = times => (times.length ? Math.max(...times).toFixed(0) : '0');
  console.log(`  main thread: ${own.reduce((a, b) => a + b, 0).toFixed(0)} ms of processor time; tasks over 50 ms: ${long(own).length} by processor time (longest ${most(own)} ms), ${long(wall).length} by the clock (longest ${most(wall)} ms)`);
  return result;
}

await page.getByRole('switch').first().click();
await page.waitForSelector('.line-rate');
await page.waitForTimeout(1_000);
const updates = await traced(() =>
  page.evaluate(
    () =>
      new Promise(resolve => {
        let updates = 0;
        const observer = new MutationObserver(() => updates++);
        observer.observe(document.querySelector('.numbers'), { characterData: true, childList: true, subtree: true });
        setTimeout(() => {
          observer.disconnect();
          resolve(updates);
        }, 10_000);
      }),
  ),
);
console.log(`analysis, 5 lines, 10 s: ${(updates / 10).toFixed(1)} updates/s`);

const heap = async () => {
  await client.send('HeapProfiler.collectGarbage');
  const { metrics } = await client.send('Performance.getMetrics');
  const value = name => metrics.find(m => m.name === name).value;
  return { mb: value('JSHeapUsedSize') / 2 ** 20, nodes: value('Nodes'), listeners: value('JSEventListeners') };
};
// Games without a common position are walked through, then once more.
const games = readFileSync(file, 'utf8').trim();
const count = games.split('\n').length;
await page.evaluate(text => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
}, games);
await page.waitForSelector(`.game-tabs li:nth-child(${count})`);
const PLIES = games.split('\n')[0].split(' ').length - 3;
const WARM_GAMES = 3;
async function walk(game) {
  await page.locator(`.game-tabs li:nth-child(${game + 1}) button`).first().click();
  await page.evaluate(() => document.activeElement.blur());
  for (let ply = 0; ply < PLIES; ply++) {
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(25);
  }
}
const seen = [];
for (let visited = 0; visited < 2 * count; visited++) {
  await (visited === WARM_GAMES ? traced(() => walk(visited)) : walk(visited % count));
  seen.push({ visited: PLIES * (visited + 1), ...(await heap()) });
}
for (const { visited, mb, nodes, listeners } of seen.filter((_, i) => i % 3 === 0 || i === seen.length - 1))
  console.log(`${visited} positions visited: ${mb.toFixed(2)} MB of heap, ${nodes} nodes, ${listeners} listeners`);

/** The slope of the line through points, by least squares. */
function slope(points) {
  const mean = axis => points.reduce((sum, p) => sum + p[axis], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  return points.reduce((sum, p) => sum + (p[0] - x) * (p[1] - y), 0) / points.reduce((sum, p) => sum + (p[0] - x) ** 2, 0);
}
/** Of what is visited for the first time the page keeps the score and its line, for the graph, the
 * list of moves and the report. */
const passes = [
  ['first visited', seen.slice(WARM_GAMES - 1, count), 2],
  ['visited again', seen.slice(count - 1), 0.5],
];
for (const [name, marks, limit] of passes) {
  const growth = slope(marks.map(s => [s.visited, 1024 * s.mb]));
  console.log(
    `heap of the page over ${marks.at(-1).visited - marks[0].visited} positions ${name}: ${growth >= 0 ? '+' : ''}${growth.toFixed(2)} kB per position ` +
      `(limit ${limit}): ${growth <= limit ? 'holds' : 'GROWS'}; ${marks.at(-1).nodes - marks[0].nodes} DOM nodes more`,
  );
}
await browser.close();
