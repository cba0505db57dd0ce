// Matches and ladders: tables, and every game with its board.
import { useEffect, useState } from 'preact/hooks';
import { addGames } from '../analyse/state';
import { MiniBoard } from '../board/MiniBoard';
import { get } from '../http';
import { percent, t, word } from '../i18n';
import type { MatchGame, MatchInfo } from '../protocol';
import { href, open, route } from '../router';
import { START } from '../shogi/position';
import { GameTree } from '../shogi/tree';
import { Button } from '../ui/parts';
import { matches, useFresh } from './data';

/** A game of a match with the scores that the players gave, from the mover's view. */
export function treeOf(game: { sfen: string; moves: readonly string[]; black: string; white: string; scores_cp?: readonly (number | null)[]; times_ms?: readonly (number | null)[] }): GameTree {
  const tree = new GameTree(game.sfen === 'startpos' || !game.sfen ? START : game.sfen.replace(/^sfen /, ''));
  tree.headers = { black: game.black, white: game.white };
  tree.addLine(tree.root, game.moves);
  tree
    .mainLine()
    .slice(1)
    .forEach((n, i) => {
      const cp = game.scores_cp?.[i];
      const ms = game.times_ms?.[i];
      if (ms) n.timeMs = ms;
      // The score is the mover's, of the position before the move.
      if (cp !== null && cp !== undefined && n.parent) n.parent.score ??= { winRate: 1 / (1 + Math.exp(-cp / 600)), cp, pv: [n.usi], nodes: 0 };
    });
  return tree;
}

const PAGE = 24;

function Games({ match }: { match: MatchInfo }) {
  const [offset, setOffset] = useState(0);
  const [games, setGames] = useState<MatchGame[]>([]);
  const [error, setError] = useState('');
  useEffect(() => {
    get<MatchGame[]>(`matches/${encodeURIComponent(match.name)}/games`, { offset, limit: PAGE }).then(setGames, (e: Error) => setError(e.message));
  }, [match.name, offset, match.games]);
  if (error) return <p class="problem">{error}</p>;
  return (
    <>
      <ol class="board-grid">
        {games.map(g => {
          const tree = treeOf(g);
          const end = tree.mainLine().at(-1)!;
          return (
            <li key={g.index}>
              <button
                type="button"
                class="board-card"
                onClick={() => {
                  addGames([tree]);
                  open('analyse');
                }}
              >
                <MiniBoard sfen={end.sfen} lastUsi={end.usi} label={`${g.black} – ${g.white}`} />
                <span class={g.winner === 'black' ? 'won' : ''}>▲ {g.black}</span>
                <span class={g.winner === 'white' ? 'won' : ''}>△ {g.white}</span>
                <small>
                  {t(`winner.${g.winner}`)} · {word('reason', g.reason)} · {t('plies.n', { n: g.moves.length })}
                </small>
              </button>
            </li>
          );
        })}
      </ol>
      <div class="row pager">
        <Button icon="back" label={t('page.previous')} disabled={!offset} onClick={() => setOffset(Math.max(0, offset - PAGE))} />
        <span>
          {match.games ? `${offset + 1}–${Math.min(offset + PAGE, match.games)} / ${match.games}` : '0'}
        </span>
        <Button icon="forward" label={t('page.next')} disabled={offset + PAGE >= match.games} onClick={() => setOffset(offset + PAGE)} />
      </div>
    </>
  );
}

const elo = (value: number | null, error: number | null) => (value === null ? '–' : `${value >= 0 ? '+' : ''}${value.toFixed(0)}${error === null ? '' : ` ±${error.toFixed(0)}`}`);

function MatchTable({ current }: { current?: string }) {
  return (
    <div class="table-wrap">
      <table class="table">
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
              {t('games')}
            </th>
          </tr>
        </thead>
        <tbody>
          {matches.value.map(m => (
            <tr key={m.name} class={m.name === current ? 'current' : ''}>
              <th scope="row">
                <a href={href('matches', m.name)}>{m.players.join(' – ') || m.name}</a> {m.is_running && <em class="live">{t('running')}</em>}
                <br />
                <small>{m.conditions}</small>
              </th>
              <td class="n">
                +{m.wins} ={m.draws} −{m.losses}
              </td>
              <td class="n">{elo(m.elo, m.elo_error)}</td>
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

export function Matches() {
  useFresh(matches);
  const name = route.value[1];
  const match = matches.value.find(m => m.name === name);
  const error = matches.error.value;
  return (
    <main class="screen column">
      <h1 class="unseen">{t('nav.matches')}</h1>
      {error && <p class="problem">{error}</p>}
      {match && (
        <section class="card">
          <header class="run-head">
            <a class="button wide" href={href('matches')}>
              ‹ {t('matches.all')}
            </a>
            <h2>{match.players.join(' – ')}</h2>
            <span>
              +{match.wins} ={match.draws} −{match.losses} · Elo {elo(match.elo, match.elo_error)}
            </span>
          </header>
          <Games match={match} />
        </section>
      )}
      {!match && (
        <section class="card">
          <h2>{t('matches')}</h2>
          {matches.value.length ? <MatchTable current={name} /> : <p class="empty">{t('matches.none')}</p>}
        </section>
      )}
    </main>
  );
}

