// The graph of win rate or score; a click goes to the move.
import { useEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import uPlot from 'uplot';
import { t } from '../i18n';
import { shownTheme } from '../settings';
import { lossOf } from '../shogi/grades';
import { sideText } from '../shogi/handicaps';
import { turnOf } from '../shogi/position';
import { blackWinRate, type Node } from '../shogi/tree';
import { Segments } from '../ui/parts';
import { game, go, line, node, scored, toMistake, gameMistakes } from './state';
import { color, observeSize } from '../ui/plot';

type Kind = 'rate' | 'score';
const kind = signal<Kind>('rate');
const MAX_CP = 2_000;

function scoreOf(at: Node): number | null {
  const s = at.score;
  if (!s) return null;
  const cp = s.mate !== undefined ? Math.sign(s.mate) * MAX_CP : (s.cp ?? null);
  if (cp === null) return null;
  const clipped = Math.max(-MAX_CP, Math.min(MAX_CP, cp));
  return turnOf(at.sfen) === 'sente' ? clipped : -clipped;
}

/** Data for uPlot: plies, Black's win rate in percent (or score), and the same for mistakes only. */
export function graphData(nodes: readonly Node[], which: Kind): [number[], (number | null)[], (number | null)[]] {
  const values = nodes.map(n => {
    if (which === 'score') return scoreOf(n);
    const rate = blackWinRate(n);
    return rate === undefined ? null : 100 * rate;
  });
  const marks = values.map((v, i) => ((lossOf(nodes[i]) ?? 0) >= 0.05 ? v : null));
  return [nodes.map(n => n.ply), values, marks];
}

function options(which: Kind, width: number, height: number): uPlot.Options {
  const middle = which === 'rate' ? 50 : 0;
  const grid = { stroke: color('--line'), width: 1 };
  return {
    width,
    height,
    padding: [8, 12, 0, 0], // half of a ply of three digits
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false },
      y: { range: which === 'rate' ? [0, 100] : [-MAX_CP, MAX_CP] },
    },
    axes: [
      { stroke: color('--faint'), grid, ticks: { show: false }, size: 24, font: '11px system-ui', space: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200] },
      {
        stroke: color('--faint'),
        grid,
        ticks: { show: false },
        size: 40,
        font: '11px system-ui',
        splits: () => (which === 'rate' ? [0, 25, 50, 75, 100] : [-2000, -1000, 0, 1000, 2000]),
        values: (_, at) => at.map(v => (which === 'rate' ? `${v}%` : String(v))),
      },
    ],
    series: [
      {},
      {
        stroke: color('--accent'),
        width: 2,
        spanGaps: true,
        points: { show: false },
        fillTo: middle,
        fill: color('--accent-soft'),
      },
      {
        stroke: 'transparent',
        paths: () => null,
        points: {
          show: true,
          size: 8,
          stroke: 'transparent',
          fill: color('--bad'),
        },
      },
    ],
    hooks: {
      draw: [
        u => {
          const { ctx, bbox } = u;
          const dpr = devicePixelRatio;
          const y = u.valToPos(middle, 'y', true);
          ctx.save();
          ctx.strokeStyle = color('--faint');
          ctx.lineWidth = dpr;
          ctx.beginPath();
          ctx.moveTo(bbox.left, y);
          ctx.lineTo(bbox.left + bbox.width, y);
          ctx.stroke();
          const x = u.valToPos(node.peek().ply, 'x', true);
          ctx.strokeStyle = color('--ink');
          ctx.setLineDash([4 * dpr, 3 * dpr]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        },
      ],
    },
  };
}

export function Graph() {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const nodes = line.value;
  const which = kind.value;
  void scored.value;
  const look = shownTheme.value;
  const current = node.value;

  useEffect(() => {
    const el = place.current!;
    const make = () => {
      plot.current?.destroy();
      const made = new uPlot(options(which, el.clientWidth || 300, el.clientHeight || 150), graphData(line.peek(), which), el);
      made.over.addEventListener('click', () => {
        const index = made.cursor.idx;
        if (index !== null && index !== undefined) go(line.peek()[index]);
      });
      plot.current = made;
    };
    make();
    const unobserve = observeSize(el, (width, height) => plot.current?.setSize({ width, height }));
    return () => {
      unobserve();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [which, look]);

  useEffect(() => {
    plot.current?.setData(graphData(nodes, which));
  });

  const count = gameMistakes.value.length;
  const isJudged = nodes.some((n, i) => i > 0 && n.score && nodes[i - 1]!.score);
  return (
    <section class="graph" aria-label={t('graph')}>
      <header>
        <Segments label={t('graph')} value={which} options={[['rate', t('winRate')], ['score', t('score')]]} onChange={v => (kind.value = v)} />
        <span class="graph-hint">{sideText('graph', 'black', game.value.initialSfen)}</span>
        <span class="mistake-nav">
          <button type="button" class="button wide" disabled={!count} onClick={() => toMistake(-1)} aria-label={t('mistake.previous')} title={t('withKey', { what: t('mistake.previous'), key: ',' })}>
            ‹
          </button>
          <span>{isJudged ? t('mistakes.n', { n: count }) : t('mistakes')}</span>
          <button type="button" class="button wide" disabled={!count} onClick={() => toMistake(1)} aria-label={t('mistake.next')} title={t('withKey', { what: t('mistake.next'), key: '.' })}>
            ›
          </button>
        </span>
      </header>
      <div class="graph-place" ref={place} role="img" aria-label={`${t('graph')}: ${nodes.length - 1} ${t('plies')}`} data-ply={current.ply} />
    </section>
  );
}
