// The report of an analysed game: the same HTML page that `komadori analyse` writes.
import { explain, t } from '../i18n';
import { get } from '../http';
import { language } from '../settings';
import { notify } from '../ui/notices';
import { download, fileName } from './save';
import { game } from './state';

/** Saves the report, a single HTML file made by the server. */
export async function saveReport(): Promise<void> {
  const number = game.value.analysed;
  if (number === undefined) {
    notify(t('report.needsStudy'), 'bad');
    return;
  }
  try {
    const html = await get<string>(`games/${number}/report.html`, { lang: language.value });
    download(fileName('html'), html, 'text/html;charset=utf-8');
  } catch (e) {
    notify(explain(e as Error), 'bad');
  }
}
