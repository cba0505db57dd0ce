// Ladders: ratings, cross table and games.
import { useState } from 'preact/hooks';
import { percent, t } from '../i18n';
import type { LadderInfo, LadderPairing } from '../protocol';
import { href } from '../router';
import { Choice } from '../ui/parts';
import { Boards } from './Boards';
import { eloText, resultText, scoreOf, signed, termsText } from './elo';

/** Maps ratings to percent of the ladder's rating range, error bars included. */
export function scaleOf(ladder: LadderInfo): (elo: number) => number {
  const low = Math.min(...ladder.players.map(p => p.elo - p.elo_error));
  const high = Math.max(...ladder.players.map(p => p.elo + p.elo_error));
  const width = Math.max(high - low, 1);
  return elo => (100 * (elo - low)) / width;
}

/** The number of games and their conditions, if those of all games are the same. */
const gamesText = ({ games, terms }: LadderInfo): string => [t('games.n', { n: games }), ...(terms ? [termsText(terms)] : [])].join(' · ');

function Standings({ ladder }: { ladder: LadderInfo }) {
  const at = scaleOf(ladder);
  return (
    <div class="table-wrap" role="region" tabIndex={0} aria-label={t('ladder')}>
      <table class="table ladder">
        <thead>
          <tr>
            <th scope="col" class="n">
              {t('ladder.rank')}
            </th>
            <th scope="col">{t('player')}</th>
            <th scope="col" class="n">
              Elo
            </th>
            <th scope="col" class="interval-head">
              <span class="unseen">{t('ladder.interval')}</span>
            </th>
            <th scope="col" class="n">
              {t('match.result')}
            </th>
            <th scope="col" class="n">
              {t('ladder.score')}
            </th>
          </tr>
        </thead>
        <tbody>
          {ladder.players.map((p, i) => (
            <tr key={p.name}>
              <td class="n">{i + 1}</td>
              <th scope="row">
                {p.name} {p.is_anchor && <em class="tag">{t('ladder.anchor')}</em>}
                {(p.note || p.spec) !== p.name && (
                  <>
                    <br />
                    <small>{p.note || p.spec}</small>
                  </>
                )}
              </th>
              <td class="n">{eloText(p.elo, p.is_anchor ? null : p.elo_error)}</td>
              <td>
                <span class="interval" aria-hidden="true">
                  <i style={{ left: `${at(p.elo - p.elo_error)}%`, width: `${at(p.elo + p.elo_error) - at(p.elo - p.elo_error)}%` }} />
                  <b style={{ left: `${at(p.elo)}%` }} />
                </span>
              </td>
              <td class="n">{resultText(p)}</td>
              <td class="n">{p.games ? percent(scoreOf(p)!) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The results of all pairings, from the view of either player. */
export function crossTable(pairings: readonly LadderPairing[]): Map<string, LadderPairing> {
  const found = new Map<string, LadderPairing>();
  for (const p of pairings) {
    found.set(JSON.stringify([p.player, p.against]), p);
    found.set(JSON.stringify([p.against, p.player]), { player: p.against, against: p.player, wins: p.losses, draws: p.draws, losses: p.wins });
  }
  return found;
}

function Cross({ ladder, onPair }: { ladder: LadderInfo; onPair: (player: string, against: string) => void }) {
  const found = crossTable(ladder.pairings);
  return (
    <div class="table-wrap" role="region" tabIndex={0} aria-label={t('ladder.cross')}>
      <table class="table cross">
        <thead>
          <tr>
            <th scope="col">{t('player')}</th>
            {ladder.players.map((p, i) => (
              <th key={p.name} scope="col" class="n" title={p.name}>
                <span aria-hidden="true">{i + 1}</span>
                <span class="unseen">{p.name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ladder.players.map((p, i) => (
            <tr key={p.name}>
              <th scope="row">
                {i + 1} {p.name}
              </th>
              {ladder.players.map(other => {
                const one = found.get(JSON.stringify([p.name, other.name]));
                const score = one && scoreOf(one);
                return (
                  <td key={other.name} class={`n ${p === other ? 'self' : ''}`} style={score === undefined ? undefined : { '--share': score }}>
                    {one && score !== undefined && (
                      <button type="button" class="move-link" title={`${p.name} – ${other.name}: ${resultText(one)}`} onClick={() => onPair(p.name, other.name)}>
                        {percent(score)}
                      </button>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function LadderPage({ ladder }: { ladder: LadderInfo }) {
  const [[player, against], setPair] = useState(['', '']);
  const names = [['', t('ladder.everybody')] as const, ...ladder.players.map(p => [p.name, p.name] as const)];
  const total = player
    ? ladder.pairings.filter(p => [p.player, p.against].includes(player) && (!against || [p.player, p.against].includes(against))).reduce((n, p) => n + p.wins + p.draws + p.losses, 0)
    : ladder.games;
  return (
    <>
      <section class="card">
        <header class="run-head">
          <a class="button wide" href={href('matches')}>
            ‹ {t('matches.all')}
          </a>
          <h2>
            {t('ladder')}: {ladder.title} {ladder.is_running && <em class="live">{t('running')}</em>}
          </h2>
        </header>
        <p class="note">
          {gamesText(ladder)} · {t('ladder.firstMove', { elo: signed(ladder.first_move_elo) })} · {t('ladder.draws', { p: percent(ladder.draw_fraction, 1) })}
        </p>
        <Standings ladder={ladder} />
        <h3>{t('ladder.cross')}</h3>
        <p class="note">{t('ladder.cross.hint')}</p>
        <Cross
          ladder={ladder}
          onPair={(a, b) => {
            setPair([a, b]);
            document.getElementById('ladder-games')?.scrollIntoView({ block: 'start' });
          }}
        />
      </section>
      <section class="card" id="ladder-games">
        <h2>{t('games')}</h2>
        <div class="row">
          <Choice label={t('player')} value={player} options={names} onChange={name => setPair([name, name === against ? '' : against])} />
          {player && <Choice label={t('ladder.against')} value={against} options={names.filter(([name]) => name !== player)} onChange={name => setPair([player, name])} />}
        </div>
        <Boards path={`ladders/${encodeURIComponent(ladder.name)}/games`} query={{ player, against: player && against }} total={total} />
      </section>
    </>
  );
}

export function LadderList({ ladders }: { ladders: readonly LadderInfo[] }) {
  return (
    <section class="card">
      <h2>{t('ladders')}</h2>
      <ul class="list ladder-list">
        {ladders.map(l => (
          <li key={l.name}>
            <a href={href('matches', 'ladder', l.name)}>
              <b>{l.title}</b> {l.is_running && <em class="live">{t('running')}</em>}
              <small>
                {gamesText(l)}
              </small>
              <ol class="podium">
                {l.players.slice(0, 3).map(p => (
                  <li key={p.name}>
                    {p.name} <b>{eloText(p.elo, p.is_anchor ? null : p.elo_error)}</b>
                  </li>
                ))}
              </ol>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
