// The report of an analysed game: the same HTML page that `komadori analyse` writes.
import { explain, t } from '../i18n';
import { get } from '../http';
import { loadGame } from '../library/load';
import { language } from '../settings';
import type { GameTree } from '../shogi/tree';
import { notify } from '../ui/notices';
import { download, fileName } from './save';
import { game } from './state';

/** What a report shows of a game, without white space, which records don't keep all of. */
const contentOf = (tree: GameTree): string =>
  JSON.stringify([tree.headers.black ?? '', tree.headers.white ?? '', ...tree.mainLine().map(({ usi, comment }) => [usi, comment])]).replace(/\s|\\[nrt]/g, '');

/** Saves the report, a single HTML file made by the server. */
export async function saveReport(): Promise<void> {
  const tree = game.value;
  const number = tree.analysed;
  if (number === undefined) {
    notify(t('report.needsStudy'), 'bad');
    return;
  }
  try {
    const html = await get<string>(`games/${number}/report.html`, { lang: language.value });
    download(fileName('html'), html, 'text/html;charset=utf-8');
    if (contentOf(tree) !== contentOf(await loadGame(number))) notify(t('report.differs'), 'bad');
  } catch (e) {
    notify(explain(e as Error), 'bad');
  }
}
