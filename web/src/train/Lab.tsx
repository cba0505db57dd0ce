// The laboratory screen: static pages, without scripts, in a sandboxed iframe. A frame is printed only as far as it is
// seen, so a copy of the page is printed instead.
import { useRef } from 'preact/hooks';
import { apiUrl } from '../http';
import { t } from '../i18n';
import { href, route } from '../router';
import { shownTheme } from '../settings';
import { Missing } from '../ui/parts';
import { labPages, usePolling } from './data';

export function Lab() {
  usePolling(labPages);
  const name = route.value[1] ?? labPages.value[0]?.name;
  const page = labPages.value.find(p => p.name === name);
  const source = page && apiUrl(`lab/${encodeURIComponent(page.name)}`, { theme: shownTheme.value });
  const paper = useRef<HTMLElement>(null);
  return (
    <main class="screen two-panes">
      <h1 class="unseen">{t('nav.lab')}</h1>
      <aside class="card">
        <h2>{t('nav.lab')}</h2>
        {labPages.error.value && <p class="problem">{labPages.error.value}</p>}
        {labPages.value.length ? (
          <ol class="list">
            {labPages.value.map(p => (
              <li key={p.name}>
                <a href={href('lab', p.name)} aria-current={p === page ? 'page' : undefined}>
                  {p.title}
                  {labPages.value.some(other => other !== p && other.title === p.title) && <small>{p.name}</small>}
                </a>
              </li>
            ))}
          </ol>
        ) : (
          <p class="empty">{t('lab.none')}</p>
        )}
      </aside>
      <Missing name={name} found={page} lists={[labPages]} />
      {page && (
        <>
          <iframe
            class="lab-page"
            title={page.title}
            key={source} // a new frame: the pages of one would be entries of the browser's history
            src={source}
            sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"
            onLoad={e => paper.current?.replaceChildren(...[...(e.currentTarget.contentDocument?.body.childNodes ?? [])].map(part => document.importNode(part, true)))}
          />
          <article class="lab-paper" lang="en" translate={false} ref={paper} />
        </>
      )}
    </main>
  );
}
