// Elo by generation of a loop, with error bars.
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../i18n';
import { CURVE_COLORS, observeSize } from '../ui/plot';
import { signed } from './elo';

export interface EloPoint {
  generation: number;
  elo: number;
  error: number;
  /** Drawn filled; true for the points of reference players. */
  isPromoted: boolean;
}

export interface EloSeries {
  name: string;
  points: readonly EloPoint[];
}

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [52, 16, 12, 28, 240];

/** A round step that divides a span into at most eight ticks. */
export function stepOf(span: number): number {
  let step = 10;
  for (let i = 0; span / step > 8; i++) step *= i % 3 === 1 ? 2.5 : 2;
  return step;
}

export function EloChart({ series }: { series: readonly EloSeries[] }) {
  const container = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const el = container.current!;
    setWidth(el.clientWidth || 640);
    return observeSize(el, setWidth);
  }, []);
  const points = series.flatMap(s => s.points);
  const last = Math.max(1, ...points.map(p => p.generation));
  const step = stepOf(Math.max(10, ...points.map(p => p.elo + p.error)) - Math.min(0, ...points.map(p => p.elo - p.error)));
  const low = step * Math.floor(Math.min(0, ...points.map(p => p.elo - p.error)) / step);
  const high = step * Math.ceil(Math.max(10, ...points.map(p => p.elo + p.error)) / step);
  const x = (generation: number) => LEFT + (generation / last) * (width - LEFT - RIGHT);
  const y = (elo: number) => TOP + ((high - elo) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const levels = [];
  for (let elo = low; elo <= high; elo += step) levels.push(elo);
  const every = Math.max(1, Math.ceil(last / (width / 45)));
  return (
    <figure class="elo-chart" ref={container}>
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={t('loop.elo')}>
        {levels.map(elo => (
          <g key={elo}>
            <line class={elo ? 'grid' : 'zero'} x1={LEFT} x2={width - RIGHT} y1={y(elo)} y2={y(elo)} />
            <text x={LEFT - 8} y={y(elo) + 4} text-anchor="end">
              {signed(elo)}
            </text>
          </g>
        ))}
        {Array.from({ length: Math.floor(last / every) + 1 }, (_, i) => i * every).map(g => (
          <text key={g} x={x(g)} y={HEIGHT - 8} text-anchor="middle">
            {g}
          </text>
        ))}
        {series.map((s, i) => (
          <g key={s.name} style={{ color: `var(${CURVE_COLORS[i % CURVE_COLORS.length]})` }}>
            <polyline
              points={s.points
                .filter(p => p.isPromoted)
                .map(p => `${x(p.generation)},${y(p.elo)}`)
                .join(' ')}
            />
            {s.points.map(p => (
              <g key={p.generation} class={p.isPromoted ? 'taken' : 'dropped'}>
                <line class="error" x1={x(p.generation)} x2={x(p.generation)} y1={y(p.elo - p.error)} y2={y(p.elo + p.error)} />
                <circle r="4" cx={x(p.generation)} cy={y(p.elo)}>
                  <title>{`${s.name}, ${t('loop.generation', { n: p.generation })}: ${signed(p.elo)}${p.error ? ` ±${Math.round(p.error)}` : ''}`}</title>
                </circle>
              </g>
            ))}
          </g>
        ))}
      </svg>
      <figcaption>
        {series.map((s, i) => (
          <span key={s.name} style={{ color: `var(${CURVE_COLORS[i % CURVE_COLORS.length]})` }}>
            {s.name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
