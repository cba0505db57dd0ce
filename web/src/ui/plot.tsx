// Helpers for uPlot: theme colours, resizing, and a line chart component.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { shownTheme } from '../settings';

/** Reads a colour from a CSS custom property. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

export const CURVE_COLORS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];

export function observeSize(el: HTMLElement, onSize: (width: number, height: number) => void): () => void {
  let [w, h] = [el.clientWidth, el.clientHeight];
  const observer = new ResizeObserver(() => {
    if (el.clientWidth === w && el.clientHeight === h) return;
    [w, h] = [el.clientWidth, el.clientHeight];
    if (w && h) onSize(w, h);
  });
  observer.observe(el);
  return () => observer.disconnect();
}

interface CurvesProps {
  label: string;
  x: readonly number[];
  curves: readonly { name: string; values: readonly (number | null)[] }[];
  /** `more`: digits to show beyond the usual ones. */
  format?: (v: number, more?: number) => string;
  formatX?: (v: number) => string;
  labelX?: string;
  onPoint?: (index: number) => void;
  height?: number;
  range?: [number, number] | ((least: number | null, most: number | null) => [number | null, number | null]);
}

/** Room right of a chart for half of the last label below it, of 11 pixels: at most 7 per character. */
export const endPadding = (text: string): number => Math.max(10, Math.ceil(3.5 * text.length) + 1);

/** The labels of an axis, with as many digits as tell them apart. */
export function tickLabels(at: readonly number[], format: (v: number, more?: number) => string): string[] {
  let labels: string[] = [];
  for (let more = 0; more <= 4; more++) {
    labels = at.map(v => format(v, more));
    if (new Set(labels).size === labels.length) break;
  }
  return labels;
}

/** Room left of a chart for the longest label of its axis, of 11 pixels: at most 7 per character. */
export const axisWidth = (labels: readonly string[] | null): number => Math.max(52, ...(labels ?? []).map(text => 7 * text.length + 8));

/** The range of an axis of fractions: uPlot's own, which leaves room above and below, within 0 to 1. */
export function fractionRange(least: number | null, most: number | null): [number | null, number | null] {
  if (least === null || most === null) return [null, null];
  const [low, high] = uPlot.rangeNum(least, most, 0.1, true);
  return [Math.min(least, Math.max(0, low!)), Math.max(most, Math.min(1, high!))];
}

/** A line chart over a common x axis; the legend shows the values at the cursor. */
export function Curves({ label, x, curves, format = (v, more = 0) => v.toPrecision(4 + more), formatX = String, labelX = '', onPoint, height = 200, range }: CurvesProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(onPoint);
  latest.current = onPoint;
  const names = curves.map(c => c.name).join('|');
  const look = shownTheme.value;
  const data = [x as number[], ...curves.map(c => c.values as (number | null)[])] as uPlot.AlignedData;

  useEffect(() => {
    const el = place.current!;
    const grid = { stroke: color('--line'), width: 1 };
    const axis = { stroke: color('--faint'), grid, ticks: { show: false }, font: '11px system-ui' };
    const made = new uPlot(
      {
        width: el.clientWidth || 300,
        height,
        padding: [8, endPadding(formatX(Math.max(0, ...x))), 0, 0],
        cursor: { drag: { x: true, y: false }, points: { size: 6 } },
        scales: { x: { time: false }, ...(range ? { y: { range: typeof range === 'function' ? (_: uPlot, least: number, most: number) => range(least, most) : range } } : {}) },
        axes: [
          { ...axis, size: 26, values: (_, at) => at.map(formatX) },
          { ...axis, size: (_, labels) => axisWidth(labels), values: (_, at) => tickLabels(at, format) },
        ],
        series: [
          { label: labelX || 'x', value: (_, v) => (v === null ? '–' : formatX(v)) },
          ...curves.map((c, i) => ({
            label: c.name,
            stroke: color(CURVE_COLORS[i % CURVE_COLORS.length]),
            width: 1.8,
            spanGaps: true,
            points: { show: x.length < 60, size: 5 },
            value: (_: uPlot, v: number | null) => (v === null ? '–' : format(v)),
          })),
        ],
      },
      data,
      el,
    );
    made.over.addEventListener('click', () => {
      const { idx } = made.cursor;
      if (idx !== null && idx !== undefined) latest.current?.(idx);
    });
    plot.current = made;
    const unobserve = observeSize(el, width => made.setSize({ width, height }));
    return () => {
      unobserve();
      made.destroy();
    };
  }, [names, look, height]);

  useEffect(() => {
    plot.current?.setData(data);
  });

  return <div class={`curves ${onPoint ? 'clickable' : ''}`} ref={place} role="img" aria-label={label} style={{ minHeight: `${height + 28}px` }} />;
}
