// Training loops: Elo by generation, and a table of generations.
import { ago, count, t, word } from '../i18n';
import type { LoopInfo, LoopRound } from '../protocol';
import { href } from '../router';
import { Progress } from '../ui/parts';
import { eloText, resultText } from './elo';
import { EloChart, type EloSeries } from './EloChart';

/** The chart's series: the chain of gating matches, and one for each reference player. */
export function seriesOf(loop: LoopInfo): EloSeries[] {
  const chain = loop.rounds.flatMap(r => (r.rating === null ? [] : [{ generation: r.number, elo: r.rating, error: r.rating_error ?? 0, isPromoted: r.verdict === 'promoted' }]));
  const found: EloSeries[] = chain.length ? [{ name: t('loop.chain'), points: [{ generation: 0, elo: 0, error: 0, isPromoted: true }, ...chain] }] : [];
  const names = [...new Set(loop.rounds.flatMap(r => r.references.map(one => one.name)))];
  for (const name of names) {
    const points = loop.rounds.flatMap(r => {
      const one = r.references.find(other => other.name === name);
      return one && one.elo !== null ? [{ generation: r.number, elo: one.elo, error: 0, isPromoted: true }] : [];
    });
    if (points.length) found.push({ name: t('loop.against', { name }), points });
  }
  return found;
}

function State({ round }: { round: LoopRound }) {
  const { stage } = round;
  if (!stage) return <>{round.verdict ? t(`loop.${round.verdict}`) : t('loop.done')}</>;
  return (
    <>
      {round.state === 'waiting' ? `${t('loop.waiting')}: ` : ''}
      {word('loop.stage', stage.name)}{' '}
      {stage.total ? (
        <>
          <Progress done={stage.done} total={stage.total} label={word('loop.stage', stage.name)} /> {count(stage.done)} / {count(stage.total)}
        </>
      ) : null}
    </>
  );
}

function Row({ loop, round }: { loop: LoopInfo; round: LoopRound }) {
  return (
    <tr>
      <th scope="row" class="n">
        {round.number}
      </th>
      <td>
        <State round={round} />
      </td>
      <td class="n">{round.games === null ? '' : count(round.games)}</td>
      <td class="n">{round.positions === null ? '' : count(round.positions)}</td>
      <td class="n">{round.played_by ?? ''}</td>
      <td class="n">{round.wins + round.draws + round.losses > 0 && (round.match ? <a href={href('matches', round.match)}>{resultText(round)}</a> : resultText(round))}</td>
      <td class="n">{round.rating === null ? '' : eloText(round.rating, round.rating_error)}</td>
      <td>
        {round.references.map(one => (
          <div key={one.name}>
            {one.name} <a href={href('matches', `${loop.name}/${String(round.number).padStart(3, '0')}/reference-${one.place}`)}>{resultText(one)}</a>
          </div>
        ))}
      </td>
      <td>{round.run && <a href={href('train', round.run)}>{t('loop.curves')}</a>}</td>
    </tr>
  );
}

export function Loop({ loop }: { loop: LoopInfo }) {
  const series = seriesOf(loop);
  return (
    <section class="card loop">
      <header class="run-head">
        <h2>
          {t('loop')}: {loop.title}
        </h2>
        {loop.is_running && <em class="live">{t('running')}</em>}
        <span>
          {word('learner', loop.learner)} · {t('loop.generations', { n: loop.rounds.length, total: loop.planned ?? '?' })} · {ago(loop.updated)}
        </span>
      </header>
      {loop.problem && <p class="problem">{loop.problem}</p>}
      {series.length > 0 && (
        <>
          <EloChart series={series} />
          <p class="note">{t('loop.elo.hint')}</p>
        </>
      )}
      {loop.rounds.length > 0 && (
        <div class="table-wrap" role="region" tabIndex={0} aria-label={t('loop')}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col" class="n">
                  {t('loop.round')}
                </th>
                <th scope="col">{t('loop.state')}</th>
                <th scope="col" class="n">
                  {t('games.count')}
                </th>
                <th scope="col" class="n">
                  {t('loop.positions')}
                </th>
                <th scope="col" class="n">
                  {t('loop.by')}
                </th>
                <th scope="col" class="n">
                  {t('match')}
                </th>
                <th scope="col" class="n">
                  Elo
                </th>
                <th scope="col">{t('loop.references')}</th>
                <th scope="col">
                  <span class="unseen">{t('loop.curves')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {loop.rounds.map(r => (
                <Row key={r.number} loop={loop} round={r} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
