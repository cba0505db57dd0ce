// Keyboard shortcuts: lishogi's, and those of ShogiHome that browsers don't reserve.
import { signal } from '@preact/signals';
import { copyText, recordText, saveRecord } from './analyse/save';
import { toggleMate } from './analyse/mate';
import * as analysis from './analyse/state';
import { dialog, writeIn } from './analyse/Analyse';
import * as exercises from './analyse/retry';
import { t, type Key } from './i18n';
import { open, screen } from './router';
import { arrows, showEvalBar, showThreats } from './settings';
import { Dialog, keyName } from './ui/parts';

export const isHelpOpen = signal(false);

interface Binding {
  /** KeyboardEvent.key with the prefixes Ctrl+ (also Command), Alt+ and Shift+. */
  keys: readonly string[];
  text: Key;
  run: () => void;
}

const onBoard = (): boolean => screen() === 'analyse' || screen() === 'network';

const ANALYSIS: readonly Binding[] = [
  { keys: ['ArrowLeft', 'j'], text: 'go.back', run: analysis.back },
  { keys: ['ArrowRight', 'k'], text: 'go.forward', run: analysis.forward },
  { keys: ['ArrowUp', 'Home', '0'], text: 'go.start', run: analysis.toStart },
  { keys: ['ArrowDown', 'End', '$'], text: 'go.end', run: analysis.toEnd },
  { keys: ['Shift+ArrowLeft', 'Shift+J'], text: 'go.leaveVariation', run: analysis.leaveVariation },
  { keys: ['Shift+ArrowRight', 'Shift+K'], text: 'go.enterVariation', run: analysis.enterVariation },
  { keys: ['Shift+ArrowUp'], text: 'go.previousVariation', run: () => analysis.toSibling(-1) },
  { keys: ['Shift+ArrowDown'], text: 'go.nextVariation', run: () => analysis.toSibling(1) },
  { keys: ['.', 'Shift+N'], text: 'mistake.next', run: () => (exercises.retry.value ? exercises.nextExercise() : analysis.toMistake(1)) },
  { keys: [',', 'Shift+P'], text: 'mistake.previous', run: () => (exercises.retry.value ? exercises.previousExercise() : analysis.toMistake(-1)) },
  { keys: ['l', 'Ctrl+e'], text: 'key.search', run: () => (analysis.isSearching.value = !analysis.isSearching.value) },
  {
    keys: [' '],
    text: 'key.best',
    run: () => {
      if (exercises.retry.value) {
        exercises.showAnswer();
        return;
      }
      const best = analysis.shownLines.value[0]?.pv[0];
      if (best) analysis.play(best);
      else analysis.isSearching.value = true;
    },
  },
  { keys: ['r'], text: 'retry', run: exercises.toggleRetry },
  { keys: ['i'], text: 'retry.hint', run: exercises.giveHint },
  { keys: ['x'], text: 'threats', run: () => (showThreats.value = !showThreats.value) },
  { keys: ['t'], text: 'mate', run: toggleMate },
  { keys: ['a'], text: 'key.arrows', run: () => (arrows.value = arrows.value ? 0 : 3) },
  { keys: ['z'], text: 'key.blind', run: () => (analysis.isBlind.value = !analysis.isBlind.value) },
  { keys: ['v'], text: 'key.evalBar', run: () => (showEvalBar.value = !showEvalBar.value) },
  { keys: ['f'], text: 'flip', run: () => (analysis.orientation.value = analysis.orientation.value === 'sente' ? 'gote' : 'sente') },
  { keys: ['c'], text: 'comment.write', run: () => writeIn('comment') },
  { keys: ['m', '/'], text: 'typed', run: () => writeIn('typed-move') },
  { keys: ['Delete'], text: 'move.delete', run: () => analysis.remove(analysis.node.value) },
  { keys: ['Ctrl+o'], text: 'open', run: () => (dialog.value = 'open') },
  { keys: ['Ctrl+s'], text: 'save.kif', run: () => void saveRecord('kif') },
  { keys: ['Ctrl+c'], text: 'copy.kif', run: () => void recordText('kif').then(copyText) },
];

const EVERYWHERE: readonly Binding[] = [
  { keys: ['?', 'h', 'F1'], text: 'help.keys', run: () => (isHelpOpen.value = !isHelpOpen.value) },
  { keys: ['Alt+1'], text: 'nav.analyse', run: () => open('analyse') },
  { keys: ['Alt+2'], text: 'nav.network', run: () => open('network') },
  { keys: ['Alt+3'], text: 'nav.play', run: () => open('play') },
  { keys: ['Alt+4'], text: 'nav.library', run: () => open('library') },
  { keys: ['Alt+5'], text: 'nav.train', run: () => open('train') },
  { keys: ['Alt+6'], text: 'nav.matches', run: () => open('matches') },
  { keys: ['Alt+7'], text: 'nav.lab', run: () => open('lab') },
];

/** Keys that also work in a text field, where the browser would save or open a page of its own. */
const WHILE_WRITING: readonly string[] = ['Ctrl+o', 'Ctrl+s'];

function nameOf(e: KeyboardEvent): string {
  const isLetterOrArrow = /^[A-Za-z]$|^Arrow/.test(e.key);
  const shift = e.shiftKey && isLetterOrArrow ? 'Shift+' : '';
  const key = shift && e.key.length === 1 ? e.key.toUpperCase() : e.key;
  return `${e.ctrlKey || e.metaKey ? 'Ctrl+' : ''}${e.altKey ? 'Alt+' : ''}${shift}${key}`;
}

export function listenForKeys(): void {
  addEventListener('keydown', e => {
    const target = e.target as HTMLElement;
    if (e.key === 'Escape' && target.closest('input, textarea') && !target.closest('dialog')) target.blur(); // back to the shortcuts
    const name = nameOf(e);
    if (target.closest('input, textarea, select') && !WHILE_WRITING.includes(name)) return;
    if (document.querySelector('dialog[open]') && !(isHelpOpen.value && e.key === '?')) return;
    if (name === 'Ctrl+c' && String(getSelection())) return;
    // Space and Enter still activate focused buttons and links.
    if ((e.key === ' ' || e.key === 'Enter') && target.closest('button, a, summary')) return;
    const found = [...EVERYWHERE, ...(onBoard() ? ANALYSIS : [])].find(b => b.keys.includes(name));
    if (!found) return;
    e.preventDefault();
    found.run();
  });
}

const shown = (key: string): string => key.split('+').map(k => (k === ' ' ? 'Space' : keyName(k) || '+')).join(' + ');

export function KeyHelp() {
  if (!isHelpOpen.value) return null;
  const table = (title: Key, bindings: readonly { keys: readonly string[]; text: Key }[]) => (
    <section>
      <h3>{t(title)}</h3>
      <dl class="keys">
        {bindings.map(b => (
          <div key={b.text}>
            <dt>
              {b.keys.map(k => (
                <kbd key={k}>{shown(k)}</kbd>
              ))}
            </dt>
            <dd>{t(b.text)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
  return (
    <Dialog title={t('help.keys')} onClose={() => (isHelpOpen.value = false)} class="help">
      {table('nav.analyse', ANALYSIS)}
      {table('help.everywhere', EVERYWHERE)}
      {table('help.board', [
        { keys: ['←', '→', '↑', '↓'], text: 'help.board.move' },
        { keys: ['Enter'], text: 'help.board.enter' },
        { keys: ['p', 'l', 'n', 's', 'g', 'b', 'r'], text: 'help.board.drop' },
        { keys: ['=', 'Esc'], text: 'help.board.promote' },
        { keys: ['Ctrl+V'], text: 'help.paste' },
      ])}
    </Dialog>
  );
}
