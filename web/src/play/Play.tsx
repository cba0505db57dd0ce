// The play screen: games against an engine or between two.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { lineArrows } from '../analyse/arrows';
import { applyResult } from '../analyse/recorded';
import { addGames, orientation as analysisOrientation, toEnd } from '../analyse/state';
import { playedScoreText, scoreText } from '../analyse/words';
import { Board } from '../board/Board';
import { count, t, word } from '../i18n';
import { loadGame } from '../library/load';
import type { GameState } from '../protocol';
import { notation } from '../settings';
import { sideText } from '../shogi/handicaps';
import { lastSquare, lineOf, moveText } from '../shogi/notation';
import { parsePosition, turnOf } from '../shogi/position';
import { open } from '../router';
import { connection } from '../socket';
import { treeOf } from '../shogi/played';
import { memo } from '../ui/memo';
import { Button } from '../ui/parts';
import { tick } from '../ui/sound';
import { Typed } from '../ui/Typed';
import { NewGame } from './NewGame';
import { act, askHint, current, hints, human, isAsking, join, lookedAt, mayMove, mayTakeBack, move, orientation, positions, rejoin, shown, timeLeft } from './state';

function clockText(ms: number): string {
  const s = Math.ceil(ms / 1000);
  if (ms < 10_000) return (ms / 1000).toFixed(1);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}

function Seat({ game, side }: { game: GameState; side: 'black' | 'white' }) {
  const [now, setNow] = useState(performance.now());
  const isRunning = game.clock?.running === side && game.phase === 'playing';
  useEffect(() => {
    setNow(performance.now());
    if (!isRunning) return;
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, [isRunning, game]);
  const left = timeLeft(game, side, now);
  const second = isRunning && game[side].kind === 'human' && left && left.ms > 0 ? Math.ceil(left.ms / 1000) : 0;
  useEffect(() => {
    if (second && second <= 10) tick(second);
  }, [second]);
  const isTurn = game.turn === side && game.phase === 'playing';
  return (
    <div class={`seat ${isTurn ? 'turn' : ''} ${left && left.ms < 10_000 && isRunning ? 'hurry' : ''}`}>
      <span class="seat-mark" aria-hidden="true">
        {side === 'black' ? '▲' : '△'}
      </span>
      <span class="seat-name">{game[side].name || sideText('color', side, game.sfen)}</span>
      {game.thinking === side && <span class="thinking" role="img" aria-label={t('play.thinking')} />}
      {left && (
        <span class="clock" role="timer">
          {left.isByoyomi && <small>{t('play.byoyomi')}</small>} {clockText(left.ms)}
        </span>
      )}
    </div>
  );
}

const Moves = memo(function Moves({ game, at, style }: { game: GameState; at: number | undefined; style: string }) {
  const all = positions.value;
  void style;
  const texts = all.slice(1).map((p, i) => {
    const pos = parsePosition(all[i].sfen);
    return pos ? moveText(pos, p.usi, notation(), lastSquare(all[i].usi)) : p.usi;
  });
  const now = at ?? all.length - 1;
  return (
    <ol class="play-moves" aria-label={t('moves')}>
      {texts.map((text, i) => (
        <li key={i}>
          <button type="button" class={i + 1 === now ? 'current' : ''} aria-current={i + 1 === now ? 'step' : undefined} onClick={() => (lookedAt.value = i + 2 === all.length ? undefined : i + 1)}>
            <span class="ply">{i + 1}</span>
            {text}
            {game.scores_cp[i] !== null && game.scores_cp[i] !== undefined && game.phase === 'over' && <small>{playedScoreText(game.scores_cp[i])}</small>}
          </button>
        </li>
      ))}
    </ol>
  );
});

function Result({ game }: { game: GameState }) {
  const { result } = game;
  if (!result) return null;
  const side = human.value;
  const isMine = side === 'sente' ? result.winner === 'black' : side === 'gote' ? result.winner === 'white' : undefined;
  return (
    <p class={`result ${isMine === undefined || result.winner === 'draw' ? '' : isMine ? 'won' : 'lost'}`} role="status">
      <strong>{sideText('winner', result.winner, game.sfen)}</strong> {word('reason', result.reason)}
      {result.detail && <small> {result.detail}</small>}
    </p>
  );
}

function Notes({ game }: { game: GameState }) {
  const thought = game.last_thought;
  const isWatching = human.value === undefined || game.phase === 'over';
  // The engine's line starts from the position before its last move.
  const at = thought ? positions.value.length - (game.turn === thought.color ? 3 : 2) : -1;
  const before = positions.value[at];
  return (
    <div class="play-notes" aria-live="polite">
      {game.is_check && game.phase === 'playing' && <p class="check-note">{t('play.check')}</p>}
      {game.occurrences >= 2 && <p>{t('play.occurrences', { n: game.occurrences })}</p>}
      {game.can_declare && game.phase === 'playing' && <p>{t('play.canDeclare')}</p>}
      {isWatching && thought && before && (thought.pv.length > 0 || thought.score_cp !== null || thought.mate_plies !== null) && (
        <p class="thought">
          {thought.color === 'black' ? '▲' : '△'} {scoreText(thought.score_cp, thought.mate_plies)} {thought.nodes ? `· ${count(thought.nodes)} ${t(game[thought.color].counts)} · ` : ''}
          <span>
            {lineOf(before.sfen, thought.pv.slice(0, 8), notation(), before.usi)
              .map(m => m.text)
              .join(' ')}
          </span>
        </p>
      )}
      {hints.value.length > 0 && mayMove.value && (
        <p>
          {t('play.hint')}:{' '}
          {hints.value.slice(0, 3).map(l => (
            <button key={l.multipv} type="button" class="move-link" onClick={() => l.pv[0] && move(l.pv[0])}>
              {lineOf(shown.value.sfen, l.pv.slice(0, 1), notation(), shown.value.usi)[0]?.text} {Math.round(100 * l.win_rate)}%
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

function Table({ game, onNew }: { game: GameState; onNew: () => void }) {
  const at = shown.value;
  const side = human.value;
  const last = positions.value.length - 1;
  // The engine's move doesn't withdraw a confirmation that was asked for while it was thinking, nor does the
  // server's answer to one's own move; one's own move does.
  const isOwnTurn = side === 'both' || turnOf(positions.value[last].sfen) === side;
  const question = `${game.game} ${isOwnTurn ? last : last + 1}`;
  const [asked, ask] = useState('');
  const isSure = asked === question;
  if (asked && !isSure) ask('');
  // The button that started the game is gone: the keyboard continues on the board.
  useEffect(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>('.board-cursor')?.focus({ preventScroll: true });
  }, [game.game]);
  const ply = Math.min(lookedAt.value ?? last, last);
  const look = (to: number) => (lookedAt.value = to >= last ? undefined : Math.max(0, to));
  const firstHints = (mayMove.value ? hints.value : []).slice(0, 3).map(l => l.pv[0] ?? '').join(' ');
  const shapes = useMemo(() => lineArrows(at.sfen, firstHints.split(' ').filter(Boolean)), [at.sfen, firstHints]);
  const top = orientation.value === 'sente' ? 'white' : 'black';
  const bottom = top === 'white' ? 'black' : 'white';
  const isOver = game.phase === 'over';
  return (
    <>
      <div class="stage no-eval">
        <Seat game={game} side={top} />
        <Board sfen={at.sfen} initialSfen={game.sfen} orientation={orientation.value} lastUsi={at.usi} movable={mayMove.value ? 'both' : undefined} onMove={move} shapes={shapes} />
        <Seat game={game} side={bottom} />
      </div>
      <div class="side">
        <Result game={game} />
        <div class="toolbar" role="toolbar" aria-label={t('game')}>
          {!isOver && side && (
            <>
              <Button icon="undo" isWide label={t('play.takeBack')} disabled={!mayTakeBack.value} onClick={() => act('take_back')} />
              <Button icon="bulb" isWide label={t('play.hint')} disabled={!mayMove.value || isAsking.value} onClick={() => void askHint()} />
              {game.can_declare && mayMove.value && <Button icon="flag" isWide class="primary" label={t('play.declare')} onClick={() => act('declare')} />}
              <Button icon="flag" isWide label={t(isSure ? 'play.resignSure' : 'play.resign')} class={isSure ? 'primary' : ''} onClick={() => (isSure ? act('resign') : ask(question))} />
            </>
          )}
          {!isOver && game.phase === 'playing' && <Button icon="stop" isWide label={t('play.pause')} onClick={() => act('pause')} />}
          {!isOver && game.phase === 'paused' && <Button icon="play" isWide class="primary" label={t('play.resume')} onClick={() => act('resume')} />}
          {!isOver && !side && <Button icon="close" isWide label={t('play.end')} onClick={() => act('stop')} />}
          {isOver && (
            <>
              <Button icon="plus" isWide class="primary" label={t('play.new')} onClick={onNew} />
              <Button
                icon="chart"
                isWide
                label={t('play.analyse')}
                onClick={() => void analyse(game)}
              />
            </>
          )}
        </div>
        <Notes game={game} />
        <section class="moves">
          <Moves game={game} at={lookedAt.value} style={notation()} />
          {side && <Typed sfen={at.sfen} lastUsi={at.usi} onMove={move} disabled={!mayMove.value} />}
          <div class="controls" role="toolbar" aria-label={t('moves')}>
            <Button icon="first" label={t('go.start')} disabled={!ply} onClick={() => look(0)} />
            <Button icon="back" label={t('go.back')} disabled={!ply} onClick={() => look(ply - 1)} />
            <Button icon="forward" label={t('go.forward')} disabled={ply >= last} onClick={() => look(ply + 1)} />
            <Button icon="last" label={t('go.end')} disabled={ply >= last} onClick={() => look(last)} />
            <Button icon="flip" label={t('flip')} onClick={() => (orientation.value = orientation.value === 'sente' ? 'gote' : 'sente')} />
          </div>
        </section>
      </div>
    </>
  );
}

/** Opens a game that is over, seen from the same side: as the library has it, or as it was played if it couldn't be
 * saved. */
async function analyse(game: GameState): Promise<void> {
  let tree = await loadGame(game.game).catch(() => undefined);
  if (tree?.mainLine().length !== game.moves.length + 1) {
    tree = treeOf({ ...game, black: game.black.name, white: game.white.name });
    applyResult(tree, { winner: game.result?.winner, end: game.result?.reason });
  }
  addGames([tree]);
  analysisOrientation.value = orientation.value; // exercises are about the side at the bottom
  toEnd();
  open('analyse');
}

export function Play() {
  const [isNew, setNew] = useState(false);
  const game = current.value;
  const welcome = connection.welcome.value;
  const epoch = connection.epoch.value;
  // Rejoin a game of this session, or of this tab before a reload or in a lost session.
  useEffect(() => {
    const running = welcome?.games.at(-1);
    if (running !== undefined && current.peek()?.game !== running) join(running);
    else if (epoch) rejoin();
  }, [epoch]);
  return (
    <main class="screen analyse play">
      <h1 class="unseen">{t('nav.play')}</h1>
      {game && !isNew ? <Table game={game} onNew={() => setNew(true)} /> : <NewGame onStart={() => setNew(false)} onBack={game ? () => setNew(false) : undefined} />}
    </main>
  );
}
