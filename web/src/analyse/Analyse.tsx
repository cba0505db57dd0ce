// The analysis screen.
import { computed, effect, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Board } from '../board/Board';
import { t } from '../i18n';
import { arrows, showEvalBar, showThreats } from '../settings';
import { GameTree } from '../shogi/tree';
import { screen } from '../router';
import { Typed } from '../ui/Typed';
import { drawNow } from '../ui/draw';
import { isShared } from '../ui/media';
import { Button, Menu, Panel, Segments } from '../ui/parts';
import { lineArrows, origin } from './arrows';
import { EvalBar } from './EvalBar';
import { GameTabs, HeadersDialog, PlayerName } from './Games';
import { Graph } from './Graph';
import { Lines } from './Lines';
import { Mistakes, StudyBar } from './Mistakes';
import { CommentBox, Controls, MoveList } from './Moves';
import { OpenDialog } from './Open';
import { Openings } from './Openings';
import { Retry } from './Retry';
import { keepGame } from './keep';
import { exercise, isAtExercise, retry } from './retry';
import { copyText, gifProgress, recordText, saveGif, savePng, saveRecord } from './save';
import { SetupDialog } from './Setup';
import { addGames, game, heat, hidesEngine, isBlind, line, node, orientation, play, positionText, preview, searched, shownLines, threats } from './state';
import { saveReport } from './report';
import { study } from './study';

type DialogName = 'open' | 'setup' | 'headers';
export const dialog = signal<DialogName | undefined>(undefined);

function GameMenu() {
  return (
    <div class="toolbar" role="toolbar" aria-label={t('game')}>
      <Button icon="open" label={t('open')} isWide keys="Control+o" onClick={() => (dialog.value = 'open')} />
      <Button icon="edit" label={t('setup')} isWide onClick={() => (dialog.value = 'setup')} />
      <Menu
        icon="save"
        label={t('save')}
        isWide
        items={[
          { label: t('save.kif'), icon: 'save', keys: 'Ctrl+S', onClick: () => void saveRecord('kif') },
          { label: t('save.csa'), icon: 'save', onClick: () => void saveRecord('csa') },
          { label: t('save.ki2'), icon: 'save', onClick: () => void saveRecord('ki2') },
          { label: t('save.jkf'), icon: 'save', onClick: () => void saveRecord('jkf') },
          { label: t('save.usi'), icon: 'save', onClick: () => void saveRecord('usi') },
          'line',
          { label: t('copy.kif'), keys: 'Ctrl+C', onClick: () => void recordText('kif').then(copyText) },
          { label: t('copy.sfen'), onClick: () => void copyText(node.value.sfen) },
          { label: t('copy.usi'), onClick: () => void copyText(`position ${positionText(node.value)}`) },
          'line',
          { label: t('save.png'), onClick: () => void savePng() },
          { label: t('save.gif'), disabled: gifProgress.value !== undefined, onClick: () => void saveGif() },
          { label: t('save.report'), onClick: () => void saveReport() },
          { label: t('print'), icon: 'print', onClick: () => print() },
          'line',
          { label: t('library.keep'), icon: 'plus', onClick: () => void keepGame() },
        ]}
      />
      <Menu
        icon="more"
        label={t('more')}
        items={[
          { label: t('new'), icon: 'plus', onClick: () => addGames([new GameTree()]) },
          { label: t('headers'), icon: 'edit', onClick: () => (dialog.value = 'headers') },
          { label: t(showEvalBar.value ? 'evalBar.hide' : 'evalBar.show'), onClick: () => (showEvalBar.value = !showEvalBar.value) },
          { label: t(isBlind.value ? 'blind.off' : 'blind.on'), icon: 'eye', keys: 'z', onClick: () => (isBlind.value = !isBlind.value) },
        ]}
      />
      {gifProgress.value !== undefined && <progress value={gifProgress.value} aria-label="GIF" />}
    </div>
  );
}

/** The board with player names and evaluation bar, shared by the analysis and network screens. */
export function Stage() {
  const at = node.value;
  // On the network screen, no arrows of the alpha-beta analysis of the game.
  const lines = screen() === 'network' ? (searched.value?.lines ?? []) : shownLines.value;
  const first = hidesEngine.value ? '' : lines.slice(0, arrows.value).map(l => l.pv[0] ?? '').join(' ');
  const threat = showThreats.value && threats.value?.available && !hidesEngine.value ? (threats.value.lines[0]?.pv[0] ?? '') : '';
  const hinted = retry.value?.isHinted && retry.value.phase === 'looking' && isAtExercise.value ? (exercise.value!.parent!.score!.pv[0] ?? '') : '';
  const shapes = useMemo(
    () => (hinted ? origin(at.sfen, hinted) : lineArrows(at.sfen, first.split(' ').filter(Boolean), threat || undefined)),
    [at.sfen, first, threat, hinted],
  );
  const isFlipped = orientation.value === 'gote';
  return (
    <div class={`stage ${showEvalBar.value ? '' : 'no-eval'}`}>
      {showEvalBar.value && <EvalBar />}
      <div class="names">
        <PlayerName side={isFlipped ? 'sente' : 'gote'} />
        <PlayerName side={isFlipped ? 'gote' : 'sente'} />
      </div>
      <Board sfen={at.sfen} initialSfen={game.value.initialSfen} orientation={orientation.value} lastUsi={at.usi} movable="both" onMove={play} shapes={shapes} heat={heat.value} class={preview.value ? 'previewing' : ''} />
    </div>
  );
}

export function Dialogs() {
  const close = () => (dialog.value = undefined);
  switch (dialog.value) {
    case 'open':
      return <OpenDialog onClose={close} />;
    case 'setup':
      return <SetupDialog onClose={close} />;
    case 'headers':
      return <HeadersDialog onClose={close} />;
    default:
      return null;
  }
}

/** The selected tab of the shared side column. */
const tab = signal<'moves' | 'mistakes'>('moves');

const isRunning = computed(() => study.value?.state === 'running');

// Show the mistakes when a study starts; its progress doesn't take the moves away again.
effect(() => {
  if (isRunning.value) tab.value = 'mistakes';
});

const isRetrying = computed(() => !!retry.value);
let wasRetrying = false;

// Show the moves during exercises, since an answer may be typed below them.
effect(() => {
  if (isRetrying.value || wasRetrying) tab.value = isRetrying.value ? 'moves' : 'mistakes';
  wasRetrying = isRetrying.value;
});

/** Focuses a field below the moves, which another tab may hide. */
export function writeIn(field: 'comment' | 'typed-move'): void {
  const find = () => document.getElementById(field);
  if (!find()) drawNow(() => (tab.value = 'moves')); // before the next key
  find()?.focus();
}

function SharedColumn() {
  const hasMoves = line.value.length > 1;
  return (
    <>
      {hasMoves && <Graph />}
      {hasMoves && (
        <div class="side-tabs">
          <Segments label={t('game')} value={tab.value} options={[['moves', t('moves')], ['mistakes', t('mistakes')]]} onChange={v => (tab.value = v)} />
          <StudyBar />
        </div>
      )}
      {hasMoves && tab.value === 'mistakes' ? (
        <section class="moves">
          <div class="side-mistakes">
            <Mistakes />
          </div>
          <Controls />
        </section>
      ) : (
        <Moves />
      )}
    </>
  );
}

function Moves() {
  return (
    <section class="moves">
      <MoveList />
      <Typed onMove={play} sfen={node.value.sfen} lastUsi={node.value.usi} />
      <CommentBox />
      <Controls />
    </section>
  );
}

export function Analyse() {
  return (
    <main class="screen analyse">
      <h1 class="unseen">{t('nav.analyse')}</h1>
      <Stage />
      <div class="side">
        <GameMenu />
        <GameTabs />
        {retry.value ? <Retry /> : <Lines />}
        {!(isShared.value && tab.value === 'mistakes' && line.value.length > 1) && <Openings />}
        {isShared.value ? <SharedColumn /> : <Moves />}
      </div>
      {!isShared.value && (
        <div class="under">
          <Graph />
          <Panel name="mistakes" title={t('mistakes')}>
            <Mistakes />
          </Panel>
        </div>
      )}
      <Dialogs />
    </main>
  );
}
