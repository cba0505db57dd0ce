// Attention weights of a square, for networks with attention layers.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { node } from '../analyse/state';
import { MiniBoard } from '../board/MiniBoard';
import { t } from '../i18n';
import { models } from '../models';
import { notation } from '../settings';
import { squareText } from '../shogi/notation';
import { Choice } from '../ui/parts';
import { useAttention } from './ask';

const chosen = signal('');

/** What is shown of a model; the mean of the heads if `head` is null. */
interface At {
  model: string;
  layer: number;
  head: number | null;
}

const nameOf = (square: number) => squareText(square, notation());

export function AttentionView() {
  const usable = models.value.filter(m => m.has_attention);
  const model = usable.some(m => m.id === chosen.value) ? chosen.value : (usable[0]?.id ?? '');
  // Another network may have fewer layers or heads.
  const [at, setAt] = useState<At>({ model, layer: 0, head: null });
  const { layer, head } = at.model === model ? at : { layer: 0, head: null };
  const [square, setSquare] = useState(40);
  const { answer, error } = useAttention(model, layer, head);
  const row = answer?.weights[square] ?? [];
  const min = Math.min(...row);
  const span = Math.max(1e-9, Math.max(...row) - min);
  const range = (n: number) => Array.from({ length: n }, (_, i) => i);
  return (
    <div class="attention">
      <div class="row">
        <Choice label={t('model')} value={model} options={usable.map(m => [m.id, m.name] as const)} onChange={v => (chosen.value = v)} />
        <Choice label={t('attention.layer')} value={layer} options={range(answer?.layers ?? 1).map(n => [n, String(n + 1)] as const)} onChange={n => setAt({ model, layer: n, head })} />
        <Choice label={t('attention.head')} value={head ?? -1} options={[[-1, t('attention.mean')], ...range(answer?.heads ?? 0).map(n => [n, String(n + 1)] as const)]} onChange={n => setAt({ model, layer, head: n < 0 ? null : n })} />
        <Choice label={t('attention.square')} value={square} options={range(81).map(n => [n, nameOf(n)] as const)} onChange={setSquare} />
      </div>
      {error && <p class="problem">{error}</p>}
      <div class="attention-board">
        <MiniBoard sfen={node.value.sfen} lastUsi={node.value.usi} />
        <svg viewBox="-10 -120 920 1140" class="attention-layer" role="img" aria-label={t('attention.of', { square: nameOf(square) })}>
          {range(81).map(s => {
            const [x, y] = [800 - 100 * Math.floor(s / 9), 100 * (s % 9)];
            return (
              <rect
                key={s}
                x={x}
                y={y}
                width="100"
                height="100"
                class={s === square ? 'looking' : 'looked'}
                style={{ fillOpacity: row.length ? 0.85 * (((row[s] ?? 0) - min) / span) : 0 }}
                onClick={() => setSquare(s)}
              >
                <title>{`${nameOf(s)} ${((row[s] ?? 0) * 100).toFixed(1)}%`}</title>
              </rect>
            );
          })}
        </svg>
      </div>
      {answer && <p class="hint">{t('attention.hint', { square: nameOf(square), hands: ((answer.hands[square] ?? 0) * 100).toFixed(1) })}</p>}
    </div>
  );
}
