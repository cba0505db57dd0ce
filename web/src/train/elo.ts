// Formats ratings, results and game conditions.
import { t } from '../i18n';
import type { MatchInfo, Terms } from '../protocol';

/** Formats the conditions of games: time control and limits. */
export function termsText(terms: Terms): string {
  const s = (ms: number) => t('terms.seconds', { n: +(ms / 1000).toFixed(2) });
  const parts = [];
  if (terms.main_ms || terms.byoyomi_ms || terms.increment_ms) {
    parts.push([s(terms.main_ms), terms.byoyomi_ms ? t('terms.byoyomi', { time: s(terms.byoyomi_ms) }) : '', terms.increment_ms ? t('terms.increment', { time: s(terms.increment_ms) }) : ''].filter(Boolean).join(' + '));
  }
  if (terms.nodes) parts.push(t('terms.perMove', { limit: t('level.nodes', { n: terms.nodes.toLocaleString('en') }) }));
  if (terms.depth) parts.push(t('terms.depth', { n: terms.depth }));
  if (terms.movetime_ms) parts.push(t('terms.perMove', { limit: s(terms.movetime_ms) }));
  if (terms.default_nodes) parts.push(t('terms.default', { n: terms.default_nodes.toLocaleString('en') }));
  if (terms.max_plies) parts.push(t('terms.maxPlies', { n: terms.max_plies }));
  return parts.join(t('list.comma'));
}

/** Formats a number with its sign: +12, −3, 0. */
export const signed = (value: number): string => {
  const whole = Math.round(value);
  return whole > 0 ? `+${whole}` : whole < 0 ? `−${-whole}` : '0';
};

export const eloText = (value: number | null, error: number | null): string =>
  value === null ? '–' : `${signed(value)}${error === null ? '' : ` ±${error.toFixed(0)}`}`;

/** A match's Elo; its bound if one side won every game. */
export function matchEloText({ elo, elo_error, elo_low, elo_high }: Pick<MatchInfo, 'elo' | 'elo_error' | 'elo_low' | 'elo_high'>): string {
  if (elo === null && elo_low !== null) return `> ${signed(elo_low)} (95 %)`;
  if (elo === null && elo_high !== null) return `< ${signed(elo_high)} (95 %)`;
  return eloText(elo, elo_error);
}

interface Result {
  wins: number;
  draws: number;
  losses: number;
}

export const resultText = ({ wins, draws, losses }: Result): string => `+${wins} =${draws} −${losses}`;

/** Points per game; undefined without games. */
export const scoreOf = ({ wins, draws, losses }: Result): number | undefined => {
  const games = wins + draws + losses;
  return games ? (wins + draws / 2) / games : undefined;
};
