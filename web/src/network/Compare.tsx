// Compares two networks on the current position.
import { signal } from '@preact/signals';
import { play } from '../analyse/state';
import { percent, t } from '../i18n';
import { models } from '../models';
import { Choice } from '../ui/parts';
import { useNetwork } from './ask';
import { useMoveName } from './Network';

const first = signal('');
const second = signal('');

export function Compare() {
  const all = models.value;
  const a = first.value || all[0]?.id || '';
  const b = second.value || all[1]?.id || a;
  const [left, right] = [useNetwork(a), useNetwork(b)];
  const name = useMoveName();
  if (all.length < 2) return <p class="empty">{t('compare.none')}</p>;
  const options = all.map(m => [m.id, m.name] as const);
  const p = (answer: typeof left.answer, move: string) => answer?.policy.find(m => m.move === move)?.p ?? 0;
  const moves = [...new Set([...(left.answer?.policy.slice(0, 8) ?? []), ...(right.answer?.policy.slice(0, 8) ?? [])].map(m => m.move))];
  moves.sort((m, n) => p(left.answer, n) + p(right.answer, n) - p(left.answer, m) - p(right.answer, m));
  const distance = left.answer && right.answer ? left.answer.policy.reduce((sum, m) => sum + Math.abs(m.p - p(right.answer, m.move)), 0) / 2 : undefined;
  return (
    <div class="compare">
      <div class="row">
        <Choice label="A" value={a} options={options} onChange={v => (first.value = v)} />
        <Choice label="B" value={b} options={options} onChange={v => (second.value = v)} />
      </div>
      {left.error && <p class="problem">{left.error}</p>}
      {right.error && <p class="problem">{right.error}</p>}
      {left.answer && right.answer && (
        <>
          <p>
            {t('compare.value', { a: percent(left.answer.value, 1), b: percent(right.answer.value, 1) })} {t('compare.distance', { n: Math.round(100 * (distance ?? 0)) })}
          </p>
          <table class="table pairs">
            <thead>
              <tr>
                <th scope="col" class="n">
                  A
                </th>
                <th scope="col">{t('move')}</th>
                <th scope="col">B</th>
              </tr>
            </thead>
            <tbody>
              {moves.slice(0, 12).map(m => (
                <tr key={m}>
                  <td class="n">
                    <i class="bar prior to-left" style={{ width: `${100 * p(left.answer, m)}%` }} />
                    {percent(p(left.answer, m), 1)}
                  </td>
                  <th scope="row">
                    <button type="button" class="move-link" onClick={() => play(m)}>
                      {name(m)}
                    </button>
                  </th>
                  <td>
                    <i class="bar value" style={{ width: `${100 * p(right.answer, m)}%` }} />
                    {percent(p(right.answer, m), 1)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}
