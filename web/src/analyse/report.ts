// The report of an analysed game: the page that `komadori analyse` makes.
import { explain, t } from '../i18n';
import { get } from '../http';
import { language } from '../settings';
import { tell } from '../ui/notices';
import { download, fileName } from './save';
import { game } from './state';
import { statuses } from './study';

/** The server's single-file page of an analysed game. */
export async function saveReport(): Promise<void> {
  const number = statuses.value.get(game.value)?.number;
  if (number === undefined) {
    tell(t('report.needsStudy'), 'bad');
    return;
  }
  try {
    const html = await get<string>(`games/${number}/report.html`, { lang: language.value });
    download(fileName('html'), html, 'text/html;charset=utf-8');
  } catch (e) {
    tell(explain(e as Error), 'bad');
  }
}
