import { language } from '../settings';
import { en } from './en';
import { ja } from './ja';

export type Key = keyof typeof en;

const tables: Record<'en' | 'ja', Record<Key, string>> = { en, ja };

/** Translates a key and fills in `{name}` placeholders. If `n` is 1, the variant `key.one` is used where
 * there is one. */
export function t(key: Key, values?: Record<string, string | number>): string {
  const one = `${key}.one`;
  const text = tables[language.value][values?.n === 1 && has(one) ? one : key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '')) : text;
}

export const has = (key: string): key is Key => key in en;

/** Translates an identifier sent by the server (a reason, an outcome, a stage), if known. */
export function word(group: string, name: string): string {
  const key = `${group}.${name}`;
  return has(key) ? t(key) : name;
}

/** Translates a server error or a connection failure. */
export function explain(problem: { message: string; code?: string }): string {
  const key = `error.${problem.code ?? ''}`;
  if (has(key)) return t(key, { detail: problem.message });
  return problem instanceof TypeError ? t('error.connection') : problem.message;
}

export const percent = (rate: number, digits = 0): string => `${(100 * rate).toFixed(digits)}%`;

/** The parts of a whole in percent, rounded so that they add up to 100. */
export function shares(counts: readonly number[]): string[] {
  const all = counts.reduce((sum, n) => sum + n, 0);
  if (!all) return counts.map(() => percent(0));
  const exact = counts.map(n => (100 * n) / all);
  const whole = exact.map(Math.floor);
  const byRest = exact.map((_, i) => i).sort((a, b) => exact[b] - whole[b] - (exact[a] - whole[a]));
  const missing = 100 - whole.reduce((sum, n) => sum + n, 0);
  for (const i of byRest.slice(0, missing)) whole[i]++;
  return whole.map(n => `${n}%`);
}

/** Rounds to a decimal, or to none from 100 on. */
const short = (n: number): string => (n < 99.95 ? n.toFixed(1).replace('.0', '') : n.toFixed(0));

export function count(n: number): string {
  if (n < 10_000) return String(n);
  if (language.value === 'ja') return n >= 99_995_000 ? `${short(n / 1e8)}億` : `${short(n / 1e4)}万`;
  return n >= 999_500 ? `${short(n / 1e6)}M` : `${short(n / 1e3)}k`;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Formats the age of a Unix time in seconds: 2 min. ago. */
export function ago(then: number, now = Date.now() / 1000): string {
  const seconds = Math.max(0, now - then);
  const words = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto', style: 'short' });
  for (const [unit, length] of UNITS) if (seconds >= length) return words.format(-Math.floor(seconds / length), unit);
  return words.format(-Math.floor(seconds), 'second');
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}
