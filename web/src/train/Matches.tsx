// The matches screen: matches and ladders.
import { percent, t } from '../i18n';
import type { MatchInfo } from '../protocol';
import { href, route } from '../router';
import { Empty, Missing } from '../ui/parts';
import { Boards } from './Boards';
import { ladders, matches, usePolling } from './data';
import { matchEloText, resultText, termsText } from './elo';
import { LadderList, LadderPage } from './Ladders';

/** Commands that write matches and ladders; players and names are examples. */
const COMMANDS = ['komadori match alphabeta material --out matches/first', 'komadori ladder new strength.db'];

function MatchTable({ current }: { current?: string }) {
  return (
    <div class="table-wrap" role="region" tabIndex={0} aria-label={t('matches')}>
      <table class="table match-table">
        <thead>
          <tr>
            <th scope="col">{t('match')}</th>
            <th scope="col" class="n">
              {t('match.result')}
            </th>
            <th scope="col" class="n">
              Elo
            </th>
            <th scope="col" class="n">
              LOS
            </th>
            <th scope="col" class="n">
              {t('games.count')}
            </th>
          </tr>
        </thead>
        <tbody>
          {matches.value.map(m => (
            <tr key={m.name} class={m.name === current ? 'current' : ''}>
              <th scope="row">
                <a href={href('matches', m.name)}>{m.players.join(' – ') || m.name}</a> {m.is_running && <em class="live">{t('running')}</em>}
                <br />
                <small>
                  {m.name} · {termsText(m.terms)}
                </small>
              </th>
              <td class="n">{resultText(m)}</td>
              <td class="n">{matchEloText(m)}</td>
              <td class="n">{m.los === null ? '–' : percent(m.los, 1)}</td>
              <td class="n">
                {m.games}
                {m.planned ? ` / ${m.planned}` : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MatchPage({ match }: { match: MatchInfo }) {
  return (
    <section class="card">
      <header class="run-head">
        <a class="button wide" href={href('matches')}>
          ‹ {t('matches.all')}
        </a>
        <h2>
          {match.players.join(' – ')} {match.is_running && <em class="live">{t('running')}</em>}
        </h2>
        <span>
          {resultText(match)} · Elo {matchEloText(match)}
        </span>
      </header>
      <p class="note">{termsText(match.terms)}</p>
      <Boards path={`matches/${encodeURIComponent(match.name)}/games`} total={match.games} />
    </section>
  );
}

export function Matches() {
  usePolling(matches, ladders);
  const [, name, more] = route.value;
  const ladder = name === 'ladder' && more ? ladders.value.find(l => l.name === more) : undefined;
  const match = matches.value.find(m => m.name === name);
  const error = matches.error.value || ladders.error.value;
  return (
    <main class="screen column">
      <h1 class="unseen">{t('nav.matches')}</h1>
      {error && <p class="problem">{error}</p>}
      <Missing name={name === 'ladder' && more ? more : name} found={ladder ?? match} lists={[matches, ladders]} />
      {ladder ? (
        <LadderPage key={ladder.name} ladder={ladder} />
      ) : match ? (
        <MatchPage key={match.name} match={match} />
      ) : (
        <>
          {ladders.value.length > 0 && <LadderList ladders={ladders.value} />}
          <section class="card">
            <h2>{t('matches')}</h2>
            {matches.value.length || !matches.isLoaded.value ? <MatchTable current={name} /> : <Empty text={t('matches.none')} commands={COMMANDS} />}
          </section>
        </>
      )}
    </main>
  );
}
