// The mistakes of a game, with the better moves.
import { useState } from 'preact/hooks';
import { MiniBoard } from '../board/MiniBoard';
import { count, duration, percent, t, type Key } from '../i18n';
import { analysisEngine } from '../engines';
import { notation, studyAlphaBetaNodes, studyNodes } from '../settings';
import { gradeOf, GRADES, lossOf, MARKS, type Grade } from '../shogi/grades';
import { sideText } from '../shogi/handicaps';
import { lineOf } from '../shogi/notation';
import { moverOf, type Node } from '../shogi/tree';
import { isShared } from '../ui/media';
import { Button, Choice, Progress } from '../ui/parts';
import { game, gameMistakes, go, line, node, orientation, playLine, scored, toMistake } from './state';
import { exercisesOf, retry, startRetry } from './retry';
import { isStudying, startStudy, stopStudy, study } from './study';
import { lineText, nodeText, scoreText } from './words';

/** Selects the search limit per move: playouts for a network, nodes for alpha-beta. */
function SearchLimit() {
  const isAlphaBeta = analysisEngine.value === 'alphabeta';
  const limit = isAlphaBeta ? studyAlphaBetaNodes : studyNodes;
  const sizes = isAlphaBeta ? [20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000] : [100, 400, 800, 2000, 5000, 20000];
  return (
    <Choice
      isHidden={isShared.value}
      label={t(isAlphaBeta ? 'study.alphaBetaNodes' : 'study.nodes')}
      value={limit.value}
      options={[...new Set([...sizes, limit.value])].sort((a, b) => a - b).map(n => [n, count(n)] as const)}
      onChange={n => (limit.value = n)}
    />
  );
}

export function StudyBar() {
  const running = study.value;
  const hasMoves = line.value.length > 1;
  if (running && running.state === 'running')
    return (
      <div class="study-bar" role="status">
        <Progress done={running.done} total={running.total} label={t('study.progress')} />
        <span>
          {running.done} / {running.total}
          {running.left_s !== null && ` · ${t('timeLeft', { time: duration(running.left_s) })}`}
        </span>
        <Button icon="stop" label={t('stop')} isWide onClick={stopStudy} />
      </div>
    );
  return (
    <div class="study-bar">
      <Button icon="chart" label={t('study.start')} isWide class="primary" disabled={!hasMoves} onClick={() => void startStudy([game.value])} />
      <SearchLimit />
    </div>
  );
}

export function Summary() {
  void scored.value;
  const nodes = line.value.slice(1);
  const rows = (['sente', 'gote'] as const).map(side => {
    const own = nodes.filter(n => moverOf(n) === side);
    const losses = own.map(lossOf).filter(l => l !== undefined);
    const compared = own.filter(n => lossOf(n) !== undefined && n.parent?.score?.pv.length); // records may have scores without lines
    const same = compared.filter(n => n.parent!.score!.pv[0] === n.usi).length;
    const counts = new Map<Grade, number>();
    for (const l of losses) {
      const grade = gradeOf(l);
      if (grade) counts.set(grade, (counts.get(grade) ?? 0) + 1);
    }
    return { side, n: losses.length, compared: compared.length, same, mean: losses.length ? losses.reduce((a, b) => a + b, 0) / losses.length : 0, counts };
  });
  if (!rows.some(r => r.n)) return null;
  const { black, white } = game.value.headers;
  return (
    <table class="summary">
      <thead>
        <tr>
          <th scope="col">
            <span class="unseen">{t('player')}</span>
          </th>
          {[...GRADES].reverse().map(([, grade]) => (
            <th key={grade} scope="col" class={grade}>
              {t(`grade.${grade}` as Key)}
            </th>
          ))}
          <th scope="col">{t('meanLoss')}</th>
          <th scope="col">{t('agreement')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(r => (
          <tr key={r.side}>
            <th scope="row">
              {r.side === 'sente' ? '▲' : '△'} {(r.side === 'sente' ? black : white) || sideText('color', r.side, game.value.initialSfen)}
            </th>
            {[...GRADES].reverse().map(([, grade]) => (
              <td key={grade}>{r.counts.get(grade) ?? 0}</td>
            ))}
            <td>{percent(r.mean, 1)}</td>
            <td>{r.compared ? percent(r.same / r.compared) : '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A small board with a line to step through. */
function Stepper({ title, start, usis, lastUsi, kind }: { title: string; start: string; usis: readonly string[]; lastUsi?: string; kind: 'good' | 'bad' }) {
  const [at, setAt] = useState(1);
  const moves = lineOf(start, usis, notation(), lastUsi);
  const shown = moves[Math.min(at, moves.length) - 1];
  return (
    <figure class={`stepper ${kind}`}>
      <figcaption>{title}</figcaption>
      <MiniBoard sfen={shown?.sfen ?? start} lastUsi={shown?.usi ?? lastUsi} orientation={orientation.value} />
      <div class="stepper-moves">
        {moves.slice(0, 12).map((m, i) => (
          <button key={i} type="button" class={i + 1 === at ? 'current' : ''} onClick={() => setAt(i + 1)}>
            {m.text}
          </button>
        ))}
      </div>
    </figure>
  );
}

/** Explains what a move lost and which was better; empty without a loss or without scores. */
export function insteadText(at: Node): string {
  const before = at.parent;
  const loss = lossOf(at);
  if (!before?.score || !at.score || loss === undefined || loss < 0.005 || !before.score.pv.length) return '';
  const isMissedMate = before.score.mate !== undefined && before.score.mate > 0;
  return t(isMissedMate ? 'instead.mate' : 'instead.words', {
    move: nodeText(at),
    side: sideText('color', moverOf(at), game.value.initialSfen),
    loss: Math.round(100 * loss),
    before: percent(before.score.winRate),
    after: percent(1 - at.score.winRate),
    best: lineText(before.sfen, before.score.pv, 1, before.usi),
    mate: scoreText(null, before.score.mate),
  });
}

/** The played and the better move: an explanation and two boards. */
export function Instead({ at }: { at: Node }) {
  void scored.value;
  const before = at.parent;
  const text = insteadText(at);
  if (!text || !before?.score || !at.score) return null;
  const grade = gradeOf(lossOf(at)!);
  return (
    <section class="instead" aria-label={t('instead')}>
      <p>
        {grade && (
          <strong class={grade}>
            {t(`grade.${grade}` as Key)} {MARKS[grade]}
          </strong>
        )}{' '}
        {text}
      </p>
      <div class="steppers">
        <Stepper kind="bad" key={`p${at.id}`} title={t('instead.played')} start={before.sfen} usis={[at.usi, ...at.score.pv]} lastUsi={before.usi} />
        <Stepper kind="good" key={`b${at.id}`} title={t('instead.better')} start={before.sfen} usis={before.score.pv} lastUsi={before.usi} />
      </div>
      <Button icon="plus" isWide label={t('instead.add')} onClick={() => playLine(before, before.score!.pv.slice(0, 8))} />
    </section>
  );
}

export function Mistakes() {
  const found = gameMistakes.value;
  const at = node.value;
  const moves = line.value.slice(1);
  const isAnalysed = study.value?.state === 'done' || (moves.length > 0 && moves.every(n => lossOf(n) !== undefined));
  return (
    <div class="mistakes">
      {!isShared.value && <StudyBar />}
      <Summary />
      {!retry.value && found.length > 0 && (
        <>
          <div class="mistake-list" role="group" aria-label={t('mistakes')}>
            {found.map(n => {
              const loss = lossOf(n)!;
              const grade = gradeOf(loss)!;
              return (
                <button key={n.id} type="button" class={`mistake ${grade} ${n === at ? 'current' : ''}`} aria-current={n === at} onClick={() => go(n)}>
                  <b>{n.ply}</b> {nodeText(n)} <em>−{Math.round(100 * loss)}</em>
                </button>
              );
            })}
          </div>
          <div class="row">
            {(exercisesOf('sente').length > 0 || exercisesOf('gote').length > 0) && <Button icon="bulb" isWide class="primary" label={t('retry')} keys="r" onClick={() => startRetry()} />}
            {(lossOf(at) ?? 0) < 0.05 && <Button icon="forward" isWide label={t('mistake.next')} keys="." onClick={() => toMistake(1)} />}
          </div>
        </>
      )}
      {!found.length && isAnalysed && !isStudying() && <p class="empty">{t('mistakes.none')}</p>}
      {!retry.value && <Instead at={at} />}
    </div>
  );
}
