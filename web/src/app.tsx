// The application shell: header, current screen, settings, notifications.
import type { ComponentType } from 'preact';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Analyse } from './analyse/Analyse';
import { listenForRecords } from './analyse/Open';
import { listenForPrinting, Paper } from './analyse/Paper';
import { followAddress } from './analyse/address';
import { followPosition } from './analyse/state';
import { t, type Key } from './i18n';
import { isHelpOpen, KeyHelp } from './keys';
import { href, screen, SCREENS, type Screen } from './router';
import { arrows, isSoundOn, language, notationChoice, pieceSet, theme, type Language, type PieceSet, type Theme } from './settings';
import { connection } from './socket';
import { EngineChoice } from './ui/EngineChoice';
import { isPrinting } from './ui/media';
import { Notices } from './ui/notices';
import { Button, Choice, Dialog, Segments, Switch } from './ui/parts';
import type { Notation } from './shogi/notation';

const isSettingsOpen = signal(false);

/** Screens other than the analysis are lazy-loaded. */
const LAZY: Partial<Record<Screen, () => Promise<ComponentType>>> = {
  network: () => import('./network/Network').then(m => m.Network),
  play: () => import('./play/Play').then(m => m.Play),
  library: () => import('./library/Library').then(m => m.Library),
  train: () => import('./train/Train').then(m => m.Train),
  matches: () => import('./train/Matches').then(m => m.Matches),
  lab: () => import('./train/Lab').then(m => m.Lab),
};

const loaded: Partial<Record<Screen, ComponentType>> = { analyse: Analyse };

function CurrentScreen({ name }: { name: Screen }) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (loaded[name]) return;
    void LAZY[name]!().then(component => {
      loaded[name] = component;
      redraw(n => n + 1);
    });
  }, [name]);
  const Component = loaded[name];
  return Component ? <Component /> : <main class="screen" aria-busy="true" />;
}

function SettingsDialog() {
  return (
    <Dialog title={t('settings')} onClose={() => (isSettingsOpen.value = false)}>
      <div class="settings">
        <Segments<Language> isLabelled label="Language / 言語" value={language.value} options={[['ja', '日本語'], ['en', 'English']]} onChange={v => (language.value = v)} />
        <Segments<Theme> isLabelled label={t('theme')} value={theme.value} options={[['auto', t('theme.auto')], ['light', t('theme.light')], ['dark', t('theme.dark')]]} onChange={v => (theme.value = v)} />
        <Segments<PieceSet> isLabelled label={t('pieces')} value={pieceSet.value} options={[['kanji', t('pieces.kanji')], ['western', t('pieces.western')]]} onChange={v => (pieceSet.value = v)} />
        <Segments<Notation | 'auto'>
          isLabelled
          label={t('notation')}
          value={notationChoice.value}
          options={[['auto', t('notation.auto')], ['japanese', '▲７六歩'], ['western', 'P-7f'], ['usi', '7g7f']]}
          onChange={v => (notationChoice.value = v)}
        />
        <Choice label={t('arrows')} value={arrows.value} options={[0, 1, 2, 3].map(n => [n, n ? String(n) : t('off')] as const)} onChange={n => (arrows.value = n)} />
        <EngineChoice />
        <Switch label={t('sound')} checked={isSoundOn.value} onChange={on => (isSoundOn.value = on)} />
      </div>
      <p class="credits">{t('credits')}</p>
    </Dialog>
  );
}

/** Moves the keyboard focus to the content, so that Tab continues there. */
function skipToContent(): void {
  const main = document.querySelector<HTMLElement>('main');
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
}

function Header() {
  const current = screen();
  const status = connection.status.value;
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen the links scroll.
  // Not scrollIntoView: in some browsers Tab would then start from the scrolled link, past "Skip to content".
  useEffect(() => {
    const bar = nav.current?.getBoundingClientRect();
    const link = nav.current?.querySelector('[aria-current]')?.getBoundingClientRect();
    if (bar && link) nav.current!.scrollLeft += Math.min(0, link.left - bar.left) + Math.max(0, link.right - bar.right);
  }, [current, language.value]);
  return (
    <header class="app-header">
      <a class="skip" href="#content" onClick={e => (e.preventDefault(), skipToContent())}>
        {t('skip')}
      </a>
      <a class="brand" href={href('analyse')} aria-label="komadori">
        <img src="./icon.svg" alt="" width="26" height="26" />
        <span>komadori</span>
      </a>
      <nav ref={nav} aria-label={t('screens')}>
        {SCREENS.map(name => (
          <a key={name} href={href(name)} aria-current={name === current ? 'page' : undefined}>
            {t(`nav.${name}` as Key)}
          </a>
        ))}
      </nav>
      <span class={`status ${status}`} role="status" title={t(`status.${status}`)}>
        <i aria-hidden="true" />
        <span class={status === 'open' ? 'unseen' : ''}>{t(`status.${status}`)}</span>
      </span>
      <button type="button" class="button language" aria-label="Language / 言語" onClick={() => (language.value = language.value === 'ja' ? 'en' : 'ja')}>
        {language.value === 'ja' ? 'EN' : '日本語'}
      </button>
      <Button icon="help" label={t('help.keys')} keys="?" onClick={() => (isHelpOpen.value = true)} />
      <Button icon="gear" label={t('settings')} onClick={() => (isSettingsOpen.value = true)} />
    </header>
  );
}

export function App() {
  useEffect(() => listenForRecords(), []);
  useEffect(() => listenForPrinting(), []);
  useEffect(() => followAddress(), []);
  const current = screen();
  // A game opened from the end of a long list begins with its board.
  useLayoutEffect(() => scrollTo(0, 0), [current]);
  const needsSearch = current === 'analyse' || current === 'network';
  useEffect(() => (needsSearch ? followPosition() : undefined), [needsSearch]);
  return (
    <>
      <Header />
      {connection.isOutdated && <p class="outdated">{t('outdated')}</p>}
      <CurrentScreen name={current} />
      <KeyHelp />
      {isSettingsOpen.value && <SettingsDialog />}
      <Notices />
      {isPrinting.value && <Paper />}
    </>
  );
}
