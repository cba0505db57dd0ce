// The panel of the "learn from your mistakes" exercises, shown in place of the engine lines.
import { t, type Key } from '../i18n';
import { lossOf } from '../shogi/grades';
import { sideText } from '../shogi/handicaps';
import { parsePosition } from '../shogi/position';
import { pathTo, type Node } from '../shogi/tree';
import { parseUsi, isDrop } from 'shogiops/util';
import { Button, Segments } from '../ui/parts';
import { Instead } from './Mistakes';
import { game, node } from './state';
import { backToExercise, endRetry, exercise, exercisesOf, giveHint, isAtExercise, nextExercise, retry, showAnswer, startRetry, type Retry as State } from './retry';
import { lineText, nodeText } from './words';

const points = (loss: number): number => Math.round(100 * loss);

/** Formats a move in the position before the mistake. */
const textOf = (mistake: Node, usi: string): string => lineText(mistake.parent!.sfen, [usi], 1, mistake.parent!.usi);

const bestOf = (mistake: Node): string => mistake.parent!.score!.pv[0];

function Verdict({ now, mistake }: { now: State; mistake: Node }) {
  const best = textOf(mistake, bestOf(mistake));
  if (now.phase === 'shown') return <p>{t('retry.shown', { best })}</p>;
  if (!now.tried) return null;
  const { usi, verdict, loss } = now.tried;
  const move = textOf(mistake, usi);
  if (!verdict) return <p>{t('retry.judging', { move })}</p>;
  const key = verdict === 'good' && points(loss) === 0 ? 'equal' : verdict;
  const isRight = verdict === 'best' || verdict === 'good';
  return <p class={`verdict ${isRight ? 'right' : 'wrong'}`}>{t(`retry.${key}` as Key, { move, best, loss: points(loss) })}</p>;
}

function hintText(mistake: Node): string {
  const move = parseUsi(bestOf(mistake));
  if (!move) return '';
  const role = isDrop(move) ? move.role : parsePosition(mistake.parent!.sfen)?.board.get(move.from)?.role;
  return t(isDrop(move) ? 'retry.hint.drops' : 'retry.hint.moves', { piece: t(`role.${role}` as Key) });
}

function Exercise({ now, mistake }: { now: State; mistake: Node }) {
  const isOpen = now.phase === 'looking' || now.phase === 'judging' || now.phase === 'refuted';
  const isLooking = now.phase === 'looking';
  // The user may step through the game while looking for the answer.
  const isAway = isLooking && !isAtExercise.value;
  return (
    <>
      <p>
        <b>{mistake.ply}.</b> {t('retry.prompt', { side: sideText('color', now.side, game.value.initialSfen), played: nodeText(mistake), loss: points(lossOf(mistake) ?? 0) })}
      </p>
      <div aria-live="polite">
        <Verdict now={now} mistake={mistake} />
        {isLooking && now.isHinted && <p class="hint">{hintText(mistake)}</p>}
      </div>
      <div class="row">
        {isAway && <Button icon="back" isWide class="primary" label={t('retry.back')} onClick={backToExercise} />}
        {isOpen && <Button icon="bulb" isWide label={t('retry.hint')} keys="i" disabled={!isLooking || now.isHinted} onClick={giveHint} />}
        {isOpen && <Button icon="eye" isWide label={t('retry.show')} keys="Space" disabled={!isLooking} onClick={showAnswer} />}
        <Button icon="forward" isWide class={isOpen ? '' : 'primary'} label={t(isOpen ? 'retry.skip' : 'retry.next')} keys="." onClick={nextExercise} />
      </div>
      {!isOpen && pathTo(node.value).includes(mistake.parent!) && <Instead at={mistake} />}
    </>
  );
}

/** Switches sides, if both made mistakes. */
function Sides({ side }: { side: State['side'] }) {
  const counts = (['sente', 'gote'] as const).map(one => [one, exercisesOf(one).length] as const).filter(([, n]) => n > 0);
  if (counts.length < 2) return null;
  return <Segments label={t('player')} value={side} options={counts.map(([one, n]) => [one, `${one === 'sente' ? '▲' : '△'} ${n}`])} onChange={startRetry} />;
}

export function Retry() {
  const now = retry.value;
  const mistake = exercise.value;
  if (!now) return null;
  return (
    <section class="lines retry" aria-label={t('retry')}>
      <header>
        <h2>{t('retry')}</h2>
        <span class="soft">{mistake ? `${now.index + 1} / ${now.mistakes.length}` : ''}</span>
        <span class="grow" />
        <Sides side={now.side} />
        <Button icon="close" label={t('retry.end')} keys="r" onClick={endRetry} />
      </header>
      <div class="retry-body">
        {mistake ? (
          <Exercise now={now} mistake={mistake} />
        ) : (
          <>
            <p>{t('retry.done', { solved: now.solved.size, n: now.mistakes.length })}</p>
            <div class="row">
              <Button icon="undo" isWide label={t('retry.again')} onClick={() => startRetry(now.side)} />
              <Button icon="close" isWide class="primary" label={t('retry.end')} onClick={endRetry} />
            </div>
          </>
        )}
      </div>
    </section>
  );
}
