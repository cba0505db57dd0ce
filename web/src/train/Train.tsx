// The training screen: live learning curves of runs, and training loops.
import { game, node, orientation, play } from '../analyse/state';
import { Controls } from '../analyse/Moves';
import { Board } from '../board/Board';
import { apiUrl } from '../http';
import { ago, count, has, t, word, type Key } from '../i18n';
import { Checkpoints } from '../network/Checkpoints';
import { href, route } from '../router';
import { Empty, Missing, Panel, Progress } from '../ui/parts';
import { Curves, fractionRange } from '../ui/plot';
import type { RunInfo } from '../protocol';
import { Loop } from './Loops';
import { loops, number, runs, useLog, usePolling, type Entry } from './data';

const GROUPS: readonly { title: 'curves.loss' | 'curves.policyLoss' | 'curves.valueLoss' | 'curves.accuracy' | 'curves.rate' | 'curves.speed' | 'curves.gradient'; keys: RegExp; percent?: boolean }[] = [
  { title: 'curves.loss', keys: /^loss(_before|_after)?$/ },
  { title: 'curves.policyLoss', keys: /^policy_loss$/ },
  { title: 'curves.valueLoss', keys: /^value(_result|_score)?_loss$/ },
  { title: 'curves.accuracy', keys: /accuracy|top_?\d+$|agree/, percent: true },
  { title: 'curves.rate', keys: /^rate$/ },
  { title: 'curves.speed', keys: /^samples_per_s$/ },
  { title: 'curves.gradient', keys: /^gradient_norm$/ },
];

interface CurveSet {
  x: number[];
  curves: { name: string; values: (number | null)[] }[];
}

/** Commands that write training runs and loops; the files of games and settings are examples. */
const COMMANDS = ['komadori quickstart', 'komadori train resnet5x64 --data games.hcpe3', 'komadori loop run loop.toml'];

/** The display name of a logged metric. */
const metric = (key: string): string => (has(`metric.${key}`) ? t(`metric.${key}` as Key) : key.replaceAll('_', ' '));

/** The losses of an epoch of a linear evaluation, minus their lower bounds, by the names that networks' logs have. */
function linearLosses(losses: unknown): Record<string, number> {
  const found: Record<string, number> = {};
  if (typeof losses !== 'object' || losses === null) return found;
  const of = losses as Record<string, unknown>;
  for (const [name, key] of [['result', 'value_result_loss'], ['teacher', 'value_score_loss']] as const) {
    const loss = number(of[name]);
    if (loss !== null) found[key] = loss - (number(of[`${name}_floor`]) ?? 0);
  }
  return found;
}

/** Normalises logs of linear evaluations, which count iterations, epochs or chunks instead of steps. */
function withStep(e: Entry): Entry[] {
  const step = number(e.iteration) ?? number(e.epoch) ?? number(e.chunk);
  if (e.kind !== undefined || step === null) return [e];
  const heldOut = e.held_out as { loss?: unknown; agreement?: unknown } | null | undefined; // of KPP
  const test = e.test ?? heldOut?.loss;
  if (typeof test !== 'object') return [{ ...e, kind: 'train', step }];
  const { agreement = heldOut?.agreement, ...others } = e;
  return [
    { ...others, kind: 'train', step, ...linearLosses(e.train ?? e.loss) },
    { kind: 'test', step, agreement, ...linearLosses(test) },
  ];
}

const MAX_POINTS = 1_500;

/** Curves of the logged metrics that match a pattern, by step; training and test share the axis. */
export function curvesOf(entries: readonly Entry[], pattern: RegExp): CurveSet {
  const kinds = ['train', 'test'] as const;
  const wanted = new Map<string, (number | null)[]>();
  let chosen = entries.flatMap(withStep).filter(e => kinds.includes(e.kind as 'train') && number(e.step) !== null);
  const every = Math.ceil(chosen.length / MAX_POINTS);
  if (every > 1) chosen = chosen.filter((e, i) => e.kind === 'test' || i % every === 0);
  const steps = [...new Set(chosen.map(e => e.step as number))].sort((a, b) => a - b);
  const index = new Map(steps.map((s, i) => [s, i]));
  for (const e of chosen)
    for (const [key, raw] of Object.entries(e)) {
      const value = Array.isArray(raw) ? raw.at(-1) : raw;
      if (!pattern.test(key) || number(value) === null) continue;
      const name = t(e.kind === 'test' ? 'curves.test' : 'curves.train', { name: metric(key) });
      let values = wanted.get(name);
      if (!values) wanted.set(name, (values = Array(steps.length).fill(null)));
      values[index.get(e.step as number)!] = value as number;
    }
  return { x: steps, curves: [...wanted].map(([name, values]) => ({ name, values })) };
}

/** Facts on a line, which breaks only between them. */
function Facts({ of }: { of: readonly (string | null | undefined)[] }) {
  return (
    <small class="joined">
      {of.filter(Boolean).map((fact, i) => (
        <span key={i}>{fact}</span>
      ))}
    </small>
  );
}

const stepText = (step: number, steps: number | null): string => t('step.n', { n: steps ? `${step} / ${steps}` : step });

function RunList({ list, current }: { list: readonly RunInfo[]; current: string }) {
  return (
    <ol class="list">
      {list.map(r => (
        <li key={r.name}>
          <a href={href('train', r.name)} aria-current={r.name === current ? 'page' : undefined}>
            <b>{r.title || r.name}</b> {r.is_running && <em class="live">{t('running')}</em>}
            <Facts of={[r.net, stepText(r.step, r.steps), ago(r.updated)]} />
          </a>
        </li>
      ))}
    </ol>
  );
}

function LoopList({ current }: { current: string }) {
  return (
    <ol class="list">
      {loops.value.map(l => (
        <li key={l.name}>
          <a href={href('train', 'loop', l.name)} aria-current={l.name === current ? 'page' : undefined}>
            <b>{l.title}</b> {l.is_running && <em class="live">{t('running')}</em>}
            <Facts of={[word('learner', l.learner), t('loop.generations', { n: l.rounds.length, total: l.planned ?? '?' }), ago(l.updated)]} />
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
        <span>{stepText(number(last?.step) ?? run.step, run.steps)}</span>
        {run.has_report && (
          <a href={apiUrl(`runs/${encodeURIComponent(run.name)}/report/index.html`)} target="_blank" rel="noopener">
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
              <Curves labelX={t('step')} label={t(g.title)} x={x} curves={curves} range={g.percent ? fractionRange : undefined} format={g.percent ? (v, more = 0) => `${(100 * v).toFixed(1 + more)}%` : (v, more = 0) => (Math.abs(v) < 1000 ? v.toPrecision(3 + more) : count(v))} />
            </section>
          ) : null;
        })}
      </div>
      {!entries.length && !error && <p class="empty">{t('loading')}</p>}
      <Panel name="wouldPlay" title={t('checkpoints.wouldPlay')}>
        <div class="would-play">
          <div>
            <Board sfen={at.sfen} initialSfen={game.value.initialSfen} orientation={orientation.value} lastUsi={at.usi} movable="both" onMove={play} />
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
                  <dt>
                    <code>{key}</code>
                  </dt>
                  <dd>{typeof value === 'number' ? value.toLocaleString('en') : String(value)}</dd>
                </div>
              ))}
          </dl>
        </Panel>
      )}
    </div>
  );
}

export function Train() {
  usePolling(runs, loops);
  const [, name = '', loopName = ''] = route.value;
  // Runs of a loop are linked from its generations instead.
  const listed = runs.value.filter(r => r.name === name || !loops.value.some(l => r.name.startsWith(`${l.name}/`)));
  const wantsLoop = name === 'loop' && loopName !== '';
  const loop = wantsLoop ? loops.value.find(l => l.name === loopName) : name || listed.length ? undefined : loops.value[0];
  const run = wantsLoop || loop ? undefined : name ? runs.value.find(r => r.name === name) : listed[0];
  if (!listed.length && !loops.value.length && runs.isLoaded.value && loops.isLoaded.value)
    return (
      <main class="screen column">
        <h1 class="unseen">{t('nav.train')}</h1>
        <section class="card">
          <h2>{t('runs')}</h2>
          <Missing name={wantsLoop ? loopName : name} found={false} lists={[runs, loops]} />
          <Empty text={t('runs.none')} commands={COMMANDS} />
        </section>
      </main>
    );
  return (
    <main class="screen two-panes">
      <h1 class="unseen">{t('nav.train')}</h1>
      <aside class="card">
        {runs.error.value && <p class="problem">{runs.error.value}</p>}
        {listed.length > 0 && (
          <>
            <h2>{t('runs')}</h2>
            <RunList list={listed} current={run?.name ?? ''} />
          </>
        )}
        {loops.value.length > 0 && (
          <>
            <h2>{t('loops')}</h2>
            <LoopList current={loop?.name ?? ''} />
          </>
        )}
      </aside>
      <div class="pane">
        <Missing name={wantsLoop ? loopName : name} found={run ?? loop} lists={[runs, loops]} />
        {run && <Run key={run.name} run={run} />}
        {loop && <Loop key={loop.name} loop={loop} />}
      </div>
    </main>
  );
}
