import { percent, t } from '../i18n';
import { sideText } from '../shogi/handicaps';
import { game, hidesEngine, orientation, senteRate } from './state';

export function EvalBar() {
  const rate = hidesEngine.value ? undefined : senteRate.value;
  const start = game.value.initialSfen;
  const share = rate ?? 0.5;
  const below = orientation.value === 'sente' ? share : 1 - share;
  return (
    <div
      class={`eval-bar ${orientation.value} ${rate === undefined ? 'unknown' : ''}`}
      role="meter"
      aria-label={sideText('evalBar', 'black', start)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * share)}
      aria-valuetext={rate === undefined ? t('unknown') : `${sideText('color', 'black', start)} ${percent(rate)}`}
    >
      <div class="eval-fill" style={{ '--share': below }} />
      <span class="eval-text">{rate === undefined ? '' : Math.round(100 * share)}</span>
    </div>
  );
}
