// A grid of final positions; a click opens the game on the analysis screen.
import { useEffect, useState } from 'preact/hooks';
import { applyResult } from '../analyse/recorded';
import { addGames } from '../analyse/state';
import { MiniBoard } from '../board/MiniBoard';
import { get } from '../http';
import { explain, t, word } from '../i18n';
import type { MatchGame } from '../protocol';
import { open } from '../router';
import { sideText } from '../shogi/handicaps';
import { treeOf } from '../shogi/played';
import { Button } from '../ui/parts';

const PAGE = 24;

interface Props {
  /** API path. */
  path: string;
  query?: Record<string, string>;
  total: number;
}

export function Boards({ path, query = {}, total }: Props) {
  const [offset, setOffset] = useState(0);
  const [games, setGames] = useState<MatchGame[]>();
  const [error, setError] = useState('');
  const key = JSON.stringify([path, query]);
  useEffect(() => setOffset(0), [key]);
  useEffect(() => {
    let isCancelled = false;
    get<MatchGame[]>(path, { ...query, offset, limit: PAGE }).then(
      found => !isCancelled && (setGames(found), setError('')),
      (e: Error) => !isCancelled && setError(explain(e)),
    );
    return () => {
      isCancelled = true;
    };
  }, [key, offset, total]);
  if (error) return <p class="problem">{error}</p>;
  if (!games) return <p class="empty">{t('loading')}</p>;
  return (
    <>
      <ol class="board-grid">
        {games.map(g => {
          const tree = treeOf(g);
          applyResult(tree, { winner: g.winner, end: g.reason });
          const end = tree.mainLine().at(-1)!;
          return (
            <li key={`${g.index} ${g.black} ${g.white}`}>
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
                  {sideText('winner', g.winner, g.sfen)} · {word('reason', g.reason)} · {t('plies.n', { n: g.moves.length })}
                </small>
              </button>
            </li>
          );
        })}
      </ol>
      {total > PAGE && (
        <div class="row pager">
          <Button icon="back" label={t('page.previous')} disabled={!offset} onClick={() => setOffset(Math.max(0, offset - PAGE))} />
          <span>
            {offset + 1}–{Math.min(offset + PAGE, total)} / {total}
          </span>
          <Button icon="forward" label={t('page.next')} disabled={offset + PAGE >= total} onClick={() => setOffset(offset + PAGE)} />
        </div>
      )}
    </>
  );
}
