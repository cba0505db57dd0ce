// Routing by the URL fragment.
import { signal } from '@preact/signals';

export const SCREENS = ['analyse', 'network', 'play', 'library', 'train', 'matches', 'lab'] as const;
export type Screen = (typeof SCREENS)[number];

/** Parses the fragment; `#60` is short for move 60 of the open game. */
function read(): string[] {
  const path = location.hash.replace(/^#\/?/, '');
  return /^\d+$/.test(path) ? ['analyse', '', path] : path.split('/').map(decoded);
}

/** Decodes a part of an address; one that isn't well-formed, as in a link cut inside `%E3`, stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<string[]>(read());
/** The fragment that `route` was read from or `replace` wrote. */
let handled = location.hash;

export const screen = (): Screen => {
  const [name] = route.value;
  return (SCREENS as readonly string[]).includes(name) ? (name as Screen) : 'analyse';
};

export const href = (...parts: (string | number)[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;

export function open(...parts: (string | number)[]): void {
  location.hash = href(...parts);
}

/**
 * Replaces the URL without adding a history entry or triggering `hashchange`. Does nothing while the
 * event of a navigation is pending: it would find the replaced URL instead of the new one.
 */
export function replace(...parts: (string | number)[]): void {
  const target = href(...parts);
  if (location.hash === target || location.hash !== handled) return;
  history.replaceState(history.state, '', target);
  handled = target;
}

addEventListener('hashchange', () => {
  handled = location.hash;
  route.value = read();
});
