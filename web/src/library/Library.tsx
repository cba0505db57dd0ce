// The library screen: played, imported, saved and analysed games.
import { useEffect, useRef, useState } from 'preact/hooks';
import { node, positionText } from '../analyse/state';
import { EXTENSIONS } from '../analyse/Open';
import { apiUrl, get, send } from '../http';
import { explain, t, word } from '../i18n';
import type { GameList, GameSummary, ReadGames } from '../protocol';
import { open } from '../router';
import { sideText } from '../shogi/handicaps';
import { reasonText } from '../shogi/reasons';
import { shortDateOf } from './load';
import { query } from './query';
import { notify } from '../ui/notices';
import { Button, Choice, Switch } from '../ui/parts';

const PAGE = 50;

const show = (number: number): void => open('analyse', number);

function GameRow({ g, onRemoved }: { g: GameSummary; onRemoved: () => void }) {
  const [black, white] = [g.black || '?', g.white || '?'];
  return (
    <tr class="link" onClick={e => !(e.target as HTMLElement).closest('button, a') && show(g.game)}>
      <th scope="row">
        <button type="button" class="move-link" onClick={() => show(g.game)}>
          <span class={g.winner === 'black' ? 'won' : ''}>▲ {black}</span> <span class={g.winner === 'white' ? 'won' : ''}>△ {white}</span>
        </button>
        {g.title && <small> {g.title}</small>}
      </th>
      <td>
        {sideText('winner', g.winner, g.sfen)}
        {g.end && <small> {word('reason', g.end)}</small>}
      </td>
      <td class="n">{t('plies.n', { n: g.plies })}</td>
      <td>{shortDateOf(g.started)}</td>
      <td>
        <small>
          {t(`source.${g.source}`)}
          {g.is_studied ? ` · ${t('library.studied')}` : ''}
        </small>
      </td>
      <td class="n actions">
        <a class="button" href={apiUrl(`games/${g.game}/record`, { format: 'kif', studied: g.is_studied ? 'true' : undefined })} download aria-label={`${t('save.kif')}: ${black} – ${white}`}>
          KIF
        </a>
        <Button
          icon="trash"
          label={`${t('delete')}: ${black} – ${white}`}
          onClick={async () => {
            if (!confirm(t('library.confirmDelete'))) return;
            await send('DELETE', `games/${g.game}`).catch((e: Error) => notify(explain(e), 'bad'));
            onRemoved();
          }}
        />
      </td>
    </tr>
  );
}

export function Library() {
  const [list, setList] = useState<GameList>();
  const [error, setError] = useState('');
  const [offset, setOffset] = useState(0);
  const [revision, setRevision] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const filters = query.value;
  const position = filters.here ? positionText(node.value) : undefined;
  const set = (change: Partial<typeof filters>) => {
    setOffset(0);
    query.value = { ...filters, ...change };
  };
  useEffect(() => {
    const { q, player, winner, source } = filters;
    let isCancelled = false;
    const timer = setTimeout(() => {
      get<GameList>('games', { q, player, winner, source, position, offset, limit: PAGE }).then(
        found => {
          if (isCancelled) return;
          // After the last game of the last page was deleted.
          if (offset && !found.games.length) setOffset(PAGE * Math.max(0, Math.ceil(found.total / PAGE) - 1));
          else (setList(found), setError(''));
        },
        (e: Error) => !isCancelled && setError(explain(e)),
      );
    }, 150);
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [filters, offset, revision, position]);

  const importFiles = async (files: File[]) => {
    for (const file of files) {
      try {
        const read = await send<ReadGames>('POST', `records?name=${encodeURIComponent(file.name)}&keep=true`, file);
        if (!read.games.length) throw new Error(read.skipped.length ? reasonText(read.skipped[0]!) : t('open.noRecord'));
        const added = read.games.filter(game => game.is_new).length;
        const known = read.games.length - added;
        if (added) notify(t('library.imported', { n: added, name: file.name }));
        if (known) notify(t('library.known', { n: known, name: file.name }));
        for (const line of read.skipped.slice(0, 3)) notify(t('open.skipped', { name: file.name, reason: reasonText(line) }), 'bad');
      } catch (e) {
        notify(t('open.failed', { name: file.name, reason: explain(e as Error) }), 'bad');
      }
    }
    setRevision(n => n + 1);
  };

  return (
    <main class="screen column">
      <h1 class="unseen">{t('nav.library')}</h1>
      <section class="card">
        <div class="row library-bar" role="search">
          <input type="search" aria-label={t('library.search')} placeholder={t('library.search')} value={filters.q} onInput={e => set({ q: e.currentTarget.value })} />
          <input aria-label={t('player')} placeholder={t('player')} value={filters.player} onInput={e => set({ player: e.currentTarget.value })} />
          <Choice isHidden label={t('library.winner')} value={filters.winner} options={[['', t('library.anyResult')], ['black', t('winner.black')], ['white', t('winner.white')], ['draw', t('winner.draw')]]} onChange={winner => set({ winner })} />
          <Choice
            isHidden
            label={t('library.source')}
            value={filters.source}
            options={[['', t('library.anySource')], ['played', t('source.played')], ['imported', t('source.imported')], ['saved', t('source.saved')], ['studied', t('source.studied')]]}
            onChange={source => set({ source })}
          />
          <Switch label={t('library.here')} checked={filters.here} onChange={here => set({ here })} />
          <input ref={input} type="file" class="unseen" tabIndex={-1} multiple accept={EXTENSIONS} aria-label={t('library.import')} onChange={e => void importFiles([...(e.currentTarget.files ?? [])])} />
          <Button icon="open" isWide label={t('library.import')} onClick={() => input.current?.click()} />
        </div>
        {error && <p class="problem">{error}</p>}
        {list?.games.length ? (
          <div class="table-wrap" role="region" tabIndex={0} aria-label={t('nav.library')}>
            <table class="table library">
              <thead>
                <tr>
                  <th scope="col">{t('library.players')}</th>
                  <th scope="col">{t('library.winner')}</th>
                  <th scope="col" class="n">
                    <span class="unseen">{t('plies')}</span>
                  </th>
                  <th scope="col">{t('headers.date')}</th>
                  <th scope="col">{t('library.source')}</th>
                  <th scope="col">
                    <span class="unseen">{t('more')}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {list.games.map(g => (
                  <GameRow key={g.game} g={g} onRemoved={() => setRevision(n => n + 1)} />
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          !error && <p class="empty">{t(list ? 'library.none' : 'loading')}</p>
        )}
        {list && list.total > PAGE && (
          <div class="row pager">
            <Button icon="back" label={t('page.previous')} disabled={!offset} onClick={() => setOffset(Math.max(0, offset - PAGE))} />
            <span>
              {offset + 1}–{Math.min(offset + PAGE, list.total)} / {list.total}
            </span>
            <Button icon="forward" label={t('page.next')} disabled={offset + PAGE >= list.total} onClick={() => setOffset(offset + PAGE)} />
          </div>
        )}
      </section>
    </main>
  );
}
