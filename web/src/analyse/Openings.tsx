// The opening explorer: moves played from the position in the library's games, with their results.
import { useEffect, useState } from 'preact/hooks';
import { get } from '../http';
import { count, percent, shares, t } from '../i18n';
import { NO_QUERY, query } from '../library/query';
import type { OpeningMove, Openings as Found } from '../protocol';
import { open } from '../router';
import { connection } from '../socket';
import { notation } from '../settings';
import { lineOf } from '../shogi/notation';
import { Button, Panel } from '../ui/parts';
import { node, onGuess, play, preview } from './state';

/** Debounces requests while the user steps through a game. */
const DELAY_MS = 150;

function Results({ move: { black, white, draws } }: { move: OpeningMove }) {
  const known = black + white + draws;
  if (!known) return <span class="results none" />;
  const [blackShare, drawShare, whiteShare] = shares([black, draws, white]);
  const text = t('openings.result', { black: blackShare, draws: drawShare, white: whiteShare });
  return (
    <span class="results" role="img" aria-label={text} title={text}>
      <i class="black" style={{ flexGrow: black }}>
        {black / known >= 0.2 && blackShare}
      </i>
      <i class="draws" style={{ flexGrow: draws }} />
      <i class="white" style={{ flexGrow: white }}>
        {white / known >= 0.2 && whiteShare}
      </i>
    </span>
  );
}

export function Openings() {
  const at = node.value;
  const [found, setFound] = useState<{ sfen: string; openings: Found }>();
  const status = connection.status.value;
  useEffect(() => {
    let isCancelled = false;
    const timer = setTimeout(() => {
      get<Found>('openings', { position: `sfen ${at.sfen}` }).then(
        openings => !isCancelled && setFound({ sfen: at.sfen, openings }),
        () => !isCancelled && setFound(undefined),
      );
    }, DELAY_MS);
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [at.sfen, status]);
  // Keep the previous result until the answer arrives, to avoid layout shifts.
  if (!found?.openings.moves.length || onGuess.value) return null;
  const { sfen, openings } = found;
  const isCurrent = sfen === at.sfen;
  return (
    <Panel
      name="openings"
      title={t('openings')}
      aside={
        <Button
          icon="list"
          label={t('openings.show')}
          onClick={() => {
            query.value = { ...NO_QUERY, here: true };
            open('library');
          }}
        />
      }
    >
      <table class="openings" aria-busy={!isCurrent}>
        <tbody>
          {openings.moves.map(move => {
            const [shown] = lineOf(sfen, [move.move], notation(), isCurrent ? at.usi : undefined);
            return (
              <tr key={move.move}>
                <th scope="row">
                  <button
                    type="button"
                    class="move-link"
                    disabled={!isCurrent}
                    onClick={() => play(move.move)}
                    onPointerEnter={e => e.pointerType === 'mouse' && isCurrent && (preview.value = shown)}
                    onPointerLeave={() => (preview.value = undefined)}
                  >
                    {shown?.text ?? move.move}
                  </button>
                </th>
                <td class="n">
                  {count(move.games)} <small>{percent(move.games / openings.games, 1)}</small>
                </td>
                <td>
                  <Results move={move} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Panel>
  );
}
