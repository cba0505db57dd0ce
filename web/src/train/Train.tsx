// Trainings: their curves as they run, and what a checkpoint would play.
import { node, orientation, play } from '../analyse/state';
import { Controls } from '../analyse/Moves';
import { Board } from '../board/Board';
import { address } from '../http';
import { duration, t } from '../i18n';
import { Checkpoints } from '../network/Checkpoints';
import { href, route } from '../router';
import { Panel, Progress } from '../ui/parts';
import { Curves } from '../ui/plot';
import type { RunInfo } from '../protocol';
import { ago, loops, number, runs, useFresh, useLog, type Entry } from './data';

const GROUPS: readonly { title: 'curves.loss' | 'curves.accuracy' | 'curves.rate' | 'curves.speed'; keys: RegExp; percent?: boolean }[] = [
  { title: 'curves.loss', keys: /(^|_)loss$/ },
  { title: 'curves.accuracy', keys: /accuracy|top_?\d|agree/, percent: true },
  { title: 'curves.rate', keys: /^rate$/ },
  { title: 'curves.speed', keys: /samples_per_s|gradient_norm/ },
];

interface CurveSet {
  x: number[];
  curves: { name: string; values: (number | null)[] }[];
}

const MOST_POINTS = 1_500;

/** Curves of the log's numbers that a pattern names, by step; test and training on one axis. */
export function curvesOf(entries: readonly Entry[], pattern: RegExp): CurveSet {
  const kinds = ['train', 'test'] as const;
  const wanted = new Map<string, (number | null)[]>();
  let chosen = entries.filter(e => kinds.includes(e.kind as 'train') && number(e.step) !== null);
  const every = Math.ceil(chosen.length / MOST_POINTS);
  if (every > 1) chosen = chosen.filter((e, i) => e.kind === 'test' || i % every === 0);
  const steps = [...new Set(chosen.map(e => e.step as number))].sort((a, b) => a - b);
  const index = new Map(steps.map((s, i) => [s, i]));
  for (const e of chosen)
    for (const [key, value] of Object.entries(e)) {
      if (!pattern.test(key) || number(value) === null) continue;
      const name = `${e.kind === 'test' ? t('curves.test') : t('curves.train')} ${key.replaceAll('_', ' ')}`;
      let values = wanted.get(name);
      if (!values) wanted.set(name, (values = Array(steps.length).fill(null)));
      values[index.get(e.step as number)!] = value as number;
    }
  return { x: steps, curves: [...wanted].map(([name, values]) => ({ name, values })) };
}

function RunList({ current }: { current: string }) {
  return (
    <ol class="list">
      {runs.value.map(r => (
        <li key={r.name}>
          <a href={href('train', r.name)} aria-current={r.name === current ? 'page' : undefined}>
            <b>{r.title || r.name}</b>
            <small>
              {r.is_running && <em class="live">{t('running')}</em>} {r.net} · {t('step.n', { n: r.step })}
              {r.steps ? ` / ${r.steps}` : ''} · {t('ago', { time: duration(ago(r.updated)) })}
            </small>
          </a>
        </li>
      ))}
    </ol>
  );
}

function Run({ run }: { run: RunInfo }) {
  const { entries, isRunning, error } = useLog('run', run.name);
  const head = entries.find(e => e.kind === 'run');
  const data = entries.find(e => e.kind === 'data');
  const last = entries.at(-1);
  const at = node.value;
  return (
    <div class="run">
      <header class="run-head">
        <h2>{run.title || run.name}</h2>
        {isRunning && <em class="live">{t('running')}</em>}
        {run.steps && <Progress done={number(last?.step) ?? run.step} total={run.steps} label={run.name} />}
        <span>
          {t('step.n', { n: number(last?.step) ?? run.step })}
          {run.steps ? ` / ${run.steps}` : ''}
        </span>
        {run.has_report && (
          <a href={address(`runs/${encodeURIComponent(run.name)}/report/`)} target="_blank" rel="noopener">
            {t('run.report')}
          </a>
        )}
      </header>
      {error && <p class="problem">{error}</p>}
      <div class="curve-grid">
        {GROUPS.map(g => {
          const { x, curves } = curvesOf(entries, g.keys);
          return curves.length ? (
            <section key={g.title} class="card">
              <h3>{t(g.title)}</h3>
              <Curves labelX={t('step')} label={t(g.title)} x={x} curves={curves} format={g.percent ? v => `${(100 * v).toFixed(1)}%` : v => v.toPrecision(3)} />
            </section>
          ) : null;
        })}
      </div>
      {!entries.length && !error && <p class="empty">{t('loading')}</p>}
      <Panel name="wouldPlay" title={t('checkpoints.wouldPlay')}>
        <div class="would-play">
          <div>
            <Board sfen={at.sfen} orientation={orientation.value} lastUsi={at.usi} movable="both" onMove={play} />
            <Controls />
          </div>
          {run.checkpoints.length ? <Checkpoints run={run.name} /> : <p class="empty">{t('checkpoints.none')}</p>}
        </div>
      </Panel>
      {(head || data) && (
        <Panel name="runFacts" title={t('run.facts')} isOpenAtFirst={false}>
          <dl class="facts">
            {Object.entries({ ...head, ...data })
              .filter(([key]) => key !== 'kind' && key !== 'step')
              .map(([key, value]) => (
                <div key={key}>
                  <dt>{key.replaceAll('_', ' ')}</dt>
                  <dd>{typeof value === 'number' ? value.toLocaleString('en') : String(value)}</dd>
                </div>
              ))}
          </dl>
        </Panel>
      )}
    </div>
  );
}

function Loops() {
  if (!loops.value.length) return null;
  return (
    <Panel name="loops" title={t('loops')}>
      {loops.value.map(l => (
        <section key={l.name} class="loop">
          <h3>
            {l.name} {l.is_running && <em class="live">{t('running')}</em>}
          </h3>
          <div class="table-wrap">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col" class="n">
                    {t('loop.round')}
                  </th>
                  <th scope="col">{t('loop.state')}</th>
                  <th scope="col">{t('loop.facts')}</th>
                </tr>
              </thead>
              <tbody>
                {l.rounds.map(r => (
                  <tr key={r.number}>
                    <td class="n">{r.number}</td>
                    <td>
                      {t(`loop.${r.state}`)} {r.stage}
                    </td>
                    <td>
                      {Object.entries(r.facts)
                        .map(([k, v]) => `${k.replaceAll('_', ' ')} ${typeof v === 'object' ? JSON.stringify(v) : String(v)}`)
                        .join(' · ')}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </Panel>
  );
}

export function Train() {
  useFresh(runs, loops);
  const name = route.value[1] ?? '';
  const run = runs.value.find(r => r.name === name) ?? (name ? undefined : runs.value[0]);
  return (
    <main class="screen two-panes">
      <h1 class="unseen">{t('nav.train')}</h1>
      <aside class="card">
        <h2>{t('runs')}</h2>
        {runs.error.value && <p class="problem">{runs.error.value}</p>}
        {runs.value.length ? <RunList current={run?.name ?? ''} /> : <p class="empty">{t('runs.none')}</p>}
      </aside>
      <div class="pane">
        {run && <Run key={run.name} run={run} />}
        <Loops />
      </div>
    </main>
  );
}
