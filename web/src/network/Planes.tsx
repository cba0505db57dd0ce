// The network's input planes.
import { useState } from 'preact/hooks';
import { heat } from '../analyse/state';
import { t } from '../i18n';
import type { Plane } from '../protocol';
import { memo } from '../ui/memo';
import { usePlanes } from './ask';
import { planeName } from './words';

const PlaneButton = memo(function PlaneButton({ plane, onShow, isShown }: { plane: Plane; onShow: (plane: Plane) => void; isShown: boolean }) {
  return (
    <button type="button" class="plane" aria-pressed={isShown} title={`${plane.input} ${plane.index}: ${planeName(plane.name)}`} onClick={() => onShow(plane)}>
      <svg viewBox="0 0 90 90" aria-hidden="true">
        <rect width="90" height="90" class="plane-back" />
        {plane.squares.map(s => (
          <rect key={s} x={80 - 10 * Math.floor(s / 9)} y={10 * (s % 9)} width="10" height="10" class="plane-set" />
        ))}
        <path d="M0 30H90M0 60H90M30 0V90M60 0V90" class="plane-grid" />
      </svg>
      <span>{planeName(plane.name)}</span>
    </button>
  );
});

export function PlanesView({ model }: { model: string }) {
  const { answer, error, isWaiting } = usePlanes(model, true);
  const [shown, setShown] = useState('');
  const [filter, setFilter] = useState('');
  if (error) return <p class="problem">{error}</p>;
  if (!answer) return <p class="empty">{isWaiting ? t('loading') : ''}</p>;
  const show = (plane: Plane) => {
    const key = `${plane.input}${plane.index}`;
    const isSame = key === shown;
    setShown(isSame ? '' : key);
    const squares = new Set(plane.squares);
    heat.value = isSame ? undefined : Array.from({ length: 81 }, (_, i) => (squares.has(i) ? 1 : 0));
  };
  const wanted = answer.planes.filter(p => planeName(p.name).toLowerCase().includes(filter.toLowerCase()));
  return (
    <div class="planes">
      <p class="hint">{t('planes.hint', { features: answer.features, set: answer.planes.length, total: answer.total })}</p>
      <input aria-label={t('filter')} placeholder={t('filter')} value={filter} onInput={e => setFilter(e.currentTarget.value)} />
      {!wanted.length && <p class="empty">{t('planes.none')}</p>}
      <div class="plane-grid-list">
        {wanted.map(p => (
          <PlaneButton key={`${p.input}${p.index}`} plane={p} onShow={show} isShown={shown === `${p.input}${p.index}`} />
        ))}
      </div>
    </div>
  );
}
