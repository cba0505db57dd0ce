// The engine lines: hovering a move previews its position, a click plays the line up to it.
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { MiniBoard } from '../board/MiniBoard';
import { count, duration, percent, t, word } from '../i18n';
import { chosenModel } from '../models';
import type { Line, MateFound } from '../protocol';
import { searchEngine } from '../engines';
import { arrows, multipv, notation, showThreats } from '../settings';
import { sideText } from '../shogi/handicaps';
import { lineOf, type LineMove } from '../shogi/notation';
import { passed, turnOf } from '../shogi/position';
import { connection } from '../socket';
import { memo } from '../ui/memo';
import { EngineChoice } from '../ui/EngineChoice';
import { Button, Choice, Icon } from '../ui/parts';
import { mateSearch, toggleMate } from './mate';
import { game, hidesEngine, isSearching, node, orientation, playLine, preview, searched, shownLines, threats } from './state';
import { mateText, scoreText } from './words';

const MAX_MOVES = 30;

interface RowProps {
  line: Line;
  /** The value in the last column. */
  end: 'depth' | 'visits';
  sfen: string;
  lastUsi: string;
  notationName: string;
  /** Plays a prefix of the line; without it, moves can't be clicked. */
  onPlay?: (usis: string[]) => void;
  isThreat?: boolean;
}

function sameLine(a: Line, b: Line): boolean {
  return a.win_rate === b.win_rate && a.visits === b.visits && a.pv.join() === b.pv.join();
}

const moveLists = new WeakMap<Line, LineMove[]>();

function movesOf(line: Line, sfen: string, lastUsi: string): LineMove[] {
  let found = moveLists.get(line);
  if (!found) moveLists.set(line, (found = lineOf(sfen, line.pv.slice(0, MAX_MOVES), notation(), lastUsi)));
  return found;
}

const Row = memo(function Row({ line, end, sfen, lastUsi, onPlay, isThreat }: RowProps) {
  const moves = movesOf(line, sfen, lastUsi);
  const usis = moves.map(m => m.usi);
  const score = scoreText(line.score_cp, line.mate_plies);
  // Scores of a game analysis have no depth.
  const last = line.depth ? end : 'visits';
  return (
    <li class={isThreat ? 'line threat' : 'line'}>
      <span class="line-rate" title={t('winRate')}>
        <i aria-hidden="true">{(turnOf(sfen) === 'sente') ? '▲' : '△'}</i>
        {percent(line.win_rate, 1)}
      </span>
      <span class="line-score" title={t('score')}>
        {score}
      </span>
      <span class="line-moves">
        {moves.map((move, i) => (
          <button
            key={i}
            type="button"
            tabIndex={i ? -1 : 0}
            class={i ? '' : 'first'}
            aria-disabled={!onPlay}
            onClick={() => onPlay?.(usis.slice(0, i + 1))}
            onPointerEnter={e => e.pointerType === 'mouse' && (preview.value = move)}
            onPointerLeave={() => (preview.value = undefined)}
            onFocus={e => e.currentTarget.matches(':focus-visible') && (preview.value = move)}
            onBlur={() => (preview.value = undefined)}
          >
            {move.text}
          </button>
        ))}
      </span>
      <span class="line-visits" title={t(last === 'visits' && end === 'depth' ? 'nodes' : last)}>
        {line[last] > 0 && count(line[last])}
      </span>
    </li>
  );
});

/** Reuses the objects of unchanged lines, so that `memo` skips their rows. */
let previousLines: Line[] = [];
function stableLines(lines: Line[]): Line[] {
  previousLines = lines.map(line => previousLines.find(k => sameLine(k, line)) ?? line);
  return previousLines;
}

function Preview() {
  const shown = preview.value;
  const box = useRef<HTMLDivElement>(null);
  const [isBeside, setBeside] = useState(false);
  // Below the lines if it fits there, otherwise beside them.
  useLayoutEffect(() => {
    const lines = box.current?.parentElement?.getBoundingClientRect();
    if (lines) setBeside(lines.bottom + box.current!.offsetHeight + 8 > innerHeight);
  }, [shown]);
  if (!shown) return null;
  return (
    <div ref={box} class={isBeside ? 'preview beside' : 'preview'} aria-hidden="true">
      <MiniBoard sfen={shown.sfen} lastUsi={shown.usi} orientation={orientation.value} />
    </div>
  );
}

export function SearchToggle() {
  const problem = searchEngine.value === 'model' && connection.welcome.value?.problem;
  const isOn = isSearching.value;
  return (
    <button
      type="button"
      class="search-toggle"
      role="switch"
      aria-checked={isOn}
      disabled={!!problem}
      title={t('withKey', { what: t('search'), key: 'L' })}
      onClick={() => (isSearching.value = !isOn)}
    >
      <Icon name={isOn ? 'stop' : 'play'} />
      <span>{t(isOn ? 'search.stop' : 'search.start')}</span>
    </button>
  );
}

export function Lines() {
  const [isOpen, setOpen] = useState(false);
  const at = node.value;
  const found = searched.value;
  const lines = stableLines(shownLines.value);
  const best = lines[0];
  const isAlphaBeta = searchEngine.value === 'alphabeta';
  const { problem: noNetwork, default_model: model } = connection.welcome.value ?? {};
  const problem = !isAlphaBeta && noNetwork;
  const end = isAlphaBeta ? 'depth' : 'visits';
  const style = notation();
  const onPlay = useCallback((usis: string[]) => playLine(at, usis), [at]);
  const threatened = showThreats.value ? threats.value : undefined;
  const black = best && (turnOf(at.sfen) === 'sente' ? best.win_rate : 1 - best.win_rate);
  return (
    <section class="lines" aria-label={t('lines')}>
      <header>
        <div class="search-bar">
          <SearchToggle />
          <span class="big-rate" aria-live="off">
            {!hidesEngine.value && black !== undefined ? percent(black, 1) : '—'}
            <small>{sideText('color', 'black', game.value.initialSfen)}</small>
          </span>
          <span class="numbers">
            {found ? (
              <>
                {isAlphaBeta && (
                  <span>
                    {t('depth')} <b>{found.depth}</b>/{found.seldepth}
                  </span>
                )}
                <span>
                  <b>{count(found.root_visits)}</b> {t(isAlphaBeta ? 'nodes' : 'playouts')}
                </span>
                <span>{t('perSecond', { n: count(found.nps) })}</span>
                <span>{duration(found.time_ms / 1000)}</span>
              </>
            ) : (
              <span class="model-name">{isAlphaBeta ? t('player.alphabeta') : (chosenModel.value ?? model)?.name}</span>
            )}
          </span>
          <Button icon="threat" label={t('threats')} keys="x" pressed={showThreats.value} onClick={() => (showThreats.value = !showThreats.value)} />
          <Button icon="mate" label={t('mate')} keys="t" pressed={!!mateSearch.value} onClick={toggleMate} />
          <Button icon="gear" label={t('search.settings')} pressed={isOpen} onClick={() => setOpen(!isOpen)} />
        </div>
      </header>
      {isOpen && (
        <div class="line-settings">
          <Choice label={t('multipv')} value={multipv.value} options={[1, 2, 3, 4, 5, 6, 8, 10].map(n => [n, String(n)] as const)} onChange={n => (multipv.value = n)} />
          <SearchChoices />
        </div>
      )}
      {problem && <p class="problem">{t('noNetwork')}</p>}
      {found?.outcome && <p class="outcome">{word('outcome', found.outcome)}</p>}
      {!hidesEngine.value && (
        <ol class="line-list">
          {lines.map(line => (
            <Row key={line.multipv} line={line} end={end} sfen={at.sfen} lastUsi={at.usi} notationName={style} onPlay={onPlay} />
          ))}
          {!lines.length && isSearching.value && !found?.outcome && <li class="line waiting">{t('search.begins')}</li>}
          {!lines.length && !isSearching.value && !problem && <li class="line waiting">{t('search.hint')}</li>}
        </ol>
      )}
      {threatened && (
        <div class="threat-box">
          <h3>{t('threats')}</h3>
          {threatened.available ? (
            <ol class="line-list">
              {threatened.lines.map(line => (
                <Row key={line.multipv} line={line} end={end} sfen={passed(at.sfen)} lastUsi="" notationName={style} isThreat />
              ))}
            </ol>
          ) : (
            <p>{word('threats', threatened.reason)}</p>
          )}
        </div>
      )}
      <MateBox />
      <Preview />
    </section>
  );
}

/** Converts a mate to an engine line. */
function mateLine(found: MateFound): Line {
  return { multipv: 1, win_rate: 1, score_cp: null, mate_plies: found.moves.length, visits: found.nodes, depth: found.moves.length, pv: found.moves };
}

function MateBox() {
  const search = mateSearch.value;
  if (!search || hidesEngine.value) return null;
  const { at, own, threat, isRunning } = search;
  const style = notation();
  return (
    <div class="threat-box mate-box" aria-live="polite">
      <h3>{t('mate')}</h3>
      {own && <p>{mateText('own', own)}</p>}
      {own?.status === 'mate' && (
        <ol class="line-list">
          <Row line={mateLine(own)} end="visits" sfen={at.sfen} lastUsi={at.usi} notationName={style} onPlay={usis => playLine(at, usis)} />
        </ol>
      )}
      {threat && <p>{mateText('threat', threat)}</p>}
      {threat?.status === 'mate' && (
        <ol class="line-list">
          <Row line={mateLine(threat)} end="visits" sfen={passed(at.sfen)} lastUsi="" notationName={style} isThreat />
        </ol>
      )}
      {isRunning && <p>{t('mate.running')}</p>}
    </div>
  );
}

function SearchChoices() {
  return (
    <>
      <Choice label={t('arrows')} value={arrows.value} options={[0, 1, 2, 3].map(n => [n, n ? String(n) : t('off')] as const)} onChange={n => (arrows.value = n)} />
      <EngineChoice />
    </>
  );
}
