// User settings, kept in the browser's local storage.
import { computed, effect, signal, type Signal } from '@preact/signals';
import type { Engine } from './engines';
import type { Notation } from './shogi/notation';

export type Language = 'ja' | 'en';
export type Theme = 'auto' | 'light' | 'dark';
export type PieceSet = 'kanji' | 'western';

const stored: Record<string, unknown> = read();

function read(): Record<string, unknown> {
  try {
    return JSON.parse(localStorage.getItem('komadori') ?? '{}');
  } catch {
    return {};
  }
}

const all: Record<string, Signal<unknown>> = {};

function setting<T>(name: string, initial: T, isValid: (v: unknown) => boolean = v => typeof v === typeof initial): Signal<T> {
  const known = stored[name];
  const s = signal<T>(known !== undefined && isValid(known) ? (known as T) : initial);
  all[name] = s as Signal<unknown>;
  return s;
}

const oneOf =
  (...values: unknown[]) =>
  (v: unknown) =>
    values.includes(v);

const browserLanguage: Language = typeof navigator !== 'undefined' && /^ja/.test(navigator.language) ? 'ja' : 'en';

export const language = setting<Language>('language', browserLanguage, oneOf('ja', 'en'));
export const theme = setting<Theme>('theme', 'auto', oneOf('auto', 'light', 'dark'));
export const pieceSet = setting<PieceSet>('pieces', 'kanji', oneOf('kanji', 'western'));
/** `auto`: depends on the language. */
export const notationChoice = setting<Notation | 'auto'>('notation', 'auto', oneOf('auto', 'japanese', 'western', 'usi'));
export const arrows = setting('arrows', 3, oneOf(0, 1, 2, 3));
export const multipv = setting('multipv', 3, v => Number.isInteger(v) && (v as number) >= 1 && (v as number) <= 10);
export const showThreats = setting('threats', false);
export const isSoundOn = setting('sound', true);
export const showEvalBar = setting('evalBar', true);
export const modelId = setting('model', '');
/** The engine of the analysis screen; empty: the server's default. */
export const engine = setting<Engine | ''>('engine', '', oneOf('', 'alphabeta', 'model'));
/** Per move of a game: playouts of a network's search, nodes of the alpha-beta search. */
export const studyNodes = setting('studyNodes', 800);
export const studyAlphaBetaNodes = setting('studyAlphaBetaNodes', 200_000);
export const openPanels = setting<Record<string, boolean>>('panels', {}, v => typeof v === 'object' && v !== null);

export const notation = (): Notation =>
  notationChoice.value === 'auto' ? (language.value === 'ja' ? 'japanese' : 'western') : notationChoice.value;

const dark = signal(typeof matchMedia !== 'undefined' && matchMedia('(prefers-color-scheme: dark)').matches);

/** The effective theme: `auto` resolved by the system's preference. */
export const shownTheme = computed<'light' | 'dark'>(() => (theme.value === 'auto' ? (dark.value ? 'dark' : 'light') : theme.value));

export function persistSettings(): void {
  effect(() => {
    const values = Object.fromEntries(Object.entries(all).map(([name, s]) => [name, s.value]));
    try {
      localStorage.setItem('komadori', JSON.stringify(values));
    } catch {
      // Storage may fail in private windows; settings then last until the page is closed.
    }
  });
  effect(() => {
    const root = document.documentElement;
    root.lang = language.value;
    root.dataset.theme = shownTheme.value;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', e => (dark.value = e.matches));
}
