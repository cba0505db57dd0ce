// Routing by the URL fragment.
import { signal } from '@preact/signals';

export const SCREENS = ['analyse', 'network', 'play', 'library', 'train', 'matches', 'lab'] as const;
export type Screen = (typeof SCREENS)[number];

const read = (): string[] => location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);

export const route = signal<string[]>(read());

export const screen = (): Screen => {
  const [name] = route.value;
  return (SCREENS as readonly string[]).includes(name) ? (name as Screen) : 'analyse';
};

export const href = (...parts: (string | number)[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;

export function open(...parts: (string | number)[]): void {
  location.hash = href(...parts);
}

addEventListener('hashchange', () => (route.value = read()));
