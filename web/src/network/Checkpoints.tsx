// Policy and value of the position by checkpoint of a run.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { percent, t } from '../i18n';
import { runs } from '../train/data';
import { Choice, Progress } from '../ui/parts';
import { Curves } from '../ui/plot';
import { useCheckpoints } from './ask';
import { useMoveName } from './Network';

export const chosenRun = signal('');
const MAX_CURVES = 5;

export function Checkpoints({ run: fixed }: { run?: string }) {
  const all = runs.value.filter(r => r.checkpoints.length);
  const run = fixed ?? (chosenRun.value || all[0]?.name || '');
  const { found, total, error, isDone } = useCheckpoints(run);
  const name = useMoveName();
  const [at, setAt] = useState<number | undefined>(undefined);
  if (!fixed && !all.length) return <p class="empty">{t('checkpoints.none')}</p>;
  const steps = found.map(c => c.step);
  // Plot the moves with the highest probability in any checkpoint; the last one counts double.
  const weight = new Map<string, number>();
  found.forEach((c, i) => {
    for (const m of c.policy) weight.set(m.move, Math.max(weight.get(m.move) ?? 0, m.p * (i === found.length - 1 ? 2 : 1)));
  });
  const moves = [...weight].sort((a, b) => b[1] - a[1]).slice(0, MAX_CURVES).map(([m]) => m);
  const shown = found[at ?? found.length - 1];
  return (
    <div class="checkpoints">
      {!fixed && <Choice label={t('run')} value={run} options={all.map(r => [r.name, r.title || r.name] as const)} onChange={v => (chosenRun.value = v)} />}
      {error && <p class="problem">{error}</p>}
      {!isDone && !error && <Progress done={found.length} total={total} label={t('loading')} />}
      {found.length > 0 && (
        <>
          <h3>{t('checkpoints.policy')}</h3>
          <Curves
            labelX={t('step')}
            label={t('checkpoints.policy')}
            x={steps}
            curves={moves.map(m => ({ name: name(m), values: found.map(c => 100 * (c.policy.find(p => p.move === m)?.p ?? 0)) }))}
            format={v => `${v.toFixed(0)}%`}
            range={[0, 100]}
            height={170}
            onPoint={setAt}
          />
          <h3>{t('checkpoints.value')}</h3>
          <Curves labelX={t('step')} label={t('checkpoints.value')} x={steps} curves={[{ name: t('winRate'), values: found.map(c => 100 * c.value) }]} format={v => `${v.toFixed(0)}%`} range={[0, 100]} height={130} onPoint={setAt} />
          {shown && (
            <p class="hint">
              {t('checkpoints.at', { step: shown.step, value: percent(shown.value) })} {shown.policy.map(m => `${name(m.move)} ${percent(m.p)}`).join('  ')}
            </p>
          )}
        </>
      )}
    </div>
  );
}
