// The print layout of a game: players, graph, mistakes with diagrams, moves.
import { MiniBoard } from '../board/MiniBoard';
import { percent, t, type Key } from '../i18n';
import { screen } from '../router';
import { gradeOf, lossOf, MARKS } from '../shogi/grades';
import { play } from '../shogi/position';
import { blackWinRate, type Node } from '../shogi/tree';
import { drawNow } from '../ui/draw';
import { isPrinting } from '../ui/media';
import { titleOf } from './Games';
import { insteadText, Summary } from './Mistakes';
import { game, gameMistakes, line, orientation } from './state';
import { endingText, lineText, nodeText } from './words';

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [720, 130, 34, 16];

function PaperGraph({ nodes }: { nodes: readonly Node[] }) {
  const x = (i: number) => LEFT + (i / Math.max(1, nodes.length - 1)) * (WIDTH - LEFT);
  const y = (rate: number) => (1 - rate) * (HEIGHT - BOTTOM - 4) + 2;
  const known = nodes.flatMap((n, i) => {
    const rate = blackWinRate(n);
    return rate === undefined ? [] : [{ i, rate, isMistake: (lossOf(n) ?? 0) >= 0.05 }];
  });
  if (known.length < 2) return null;
  const step = [5, 10, 20, 50, 100].find(s => nodes.length / s <= 14) ?? 200;
  return (
    <svg class="paper-graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t('graph')}>
      {[0, 0.25, 0.5, 0.75, 1].map(rate => (
        <g key={rate}>
          <line x1={LEFT} x2={WIDTH} y1={y(rate)} y2={y(rate)} class={rate === 0.5 ? 'middle' : ''} />
          <text x={LEFT - 4} y={y(rate) + 3} text-anchor="end">
            {percent(rate)}
          </text>
        </g>
      ))}
      {nodes.map((n, i) =>
        i && n.ply % step === 0 ? (
          <text key={i} x={x(i)} y={HEIGHT - 3} text-anchor="middle">
            {n.ply}
          </text>
        ) : null,
      )}
      <polyline points={known.map(p => `${x(p.i)},${y(p.rate)}`).join(' ')} />
      {known.map(p => p.isMistake && <circle key={p.i} cx={x(p.i)} cy={y(p.rate)} r="3" />)}
    </svg>
  );
}

/** A mistake: the explanation, and diagrams after the move played and after the better one. */
function PaperMistake({ at }: { at: Node }) {
  const before = at.parent!;
  const best = before.score!.pv;
  const board = (title: Key, usis: readonly string[], sfen: string, lastUsi: string) => (
    <figure>
      <MiniBoard sfen={sfen} lastUsi={lastUsi} orientation={orientation.value} />
      <figcaption>
        {t(title)}: {lineText(before.sfen, usis, 6, before.usi)}
      </figcaption>
    </figure>
  );
  const better = play(before.sfen, best[0]);
  return (
    <section class="paper-mistake">
      <h3>
        {at.ply} {nodeText(at)} {MARKS[gradeOf(lossOf(at)!)!]}
      </h3>
      <p>{insteadText(at)}</p>
      <div>
        {board('instead.played', [at.usi, ...at.score!.pv], at.sfen, at.usi)}
        {better && board('instead.better', best, better, best[0])}
      </div>
    </section>
  );
}

export function Paper() {
  const tree = game.value;
  const nodes = line.value;
  const { event, date, place, timeControl } = tree.headers;
  const mistakes = gameMistakes.value.filter(n => insteadText(n));
  return (
    <article class="paper">
      <h1>{titleOf(tree)}</h1>
      <p>{[event, date, place, timeControl, t('plies.n', { n: nodes.length - 1 }), endingText(tree.ending, nodes.at(-1)!.sfen, tree.initialSfen, tree.result)].filter(Boolean).join(' · ')}</p>
      <PaperGraph nodes={nodes} />
      <Summary />
      {mistakes.length > 0 && <h2>{t('mistakes')}</h2>}
      <div class="paper-mistakes">
        {mistakes.map(n => (
          <PaperMistake key={n.id} at={n} />
        ))}
      </div>
      <h2>{t('moves')}</h2>
      {tree.root.comment && <p class="paper-comment">{tree.root.comment}</p>}
      <ol class="paper-moves">
        {nodes.slice(1).map(n => {
          const rate = blackWinRate(n);
          const grade = gradeOf(lossOf(n) ?? 0);
          return (
            <li key={n.id}>
              <span>
                <i>{n.ply}</i> {nodeText(n)} {grade && MARKS[grade]}
              </span>
              <b>{rate === undefined ? '' : percent(rate)}</b>
              {n.comment && <em>{n.comment}</em>}
            </li>
          );
        })}
      </ol>
    </article>
  );
}

/** Switches to the print layout whenever the page is printed, by the browser's command too. Returns a
 * cleanup function. */
export function listenForPrinting(): () => void {
  const draw = (is: boolean) => {
    if (is && screen() !== 'analyse' && screen() !== 'network') return;
    drawNow(() => (isPrinting.value = is)); // the browser doesn't wait
  };
  const before = () => draw(true);
  const after = () => draw(false);
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  return () => {
    removeEventListener('beforeprint', before);
    removeEventListener('afterprint', after);
  };
}
