// Display names of players and levels.
import { has, t } from '../i18n';
import type { Level, PlayerInfo } from '../protocol';

/** A player's display name: translated for known kinds, else the server's. */
export function playerName(p: PlayerInfo): string {
  const key = `player.${p.kind}`;
  return has(key) ? t(key, { name: p.name }) : p.name;
}

export function levelName(l: Level, kind: string): string {
  const elo = l.elo === null ? '' : `Elo ${Math.round(l.elo)}${l.elo_error ? ` ±${Math.round(l.elo_error)}` : ''}`;
  return [kind === 'ladder' ? l.label : strength(l, kind), elo].filter(Boolean).join(' · ');
}

function strength(l: Level, kind: string): string {
  if (kind === 'policy') return l.temperature ? t('level.drawn', { t: l.temperature }) : t('level.likeliest');
  if (l.playouts === null) return t('level.clock');
  const n = l.playouts.toLocaleString('en');
  const effort = t(kind === 'model' ? 'level.playouts' : 'level.nodes', { n });
  return l.temperature > 0 ? `${effort} · ${t('level.varied')}` : effort;
}

/** A name for the game's record: player and strength. */
export function seatName(p: PlayerInfo, level: Level | undefined): string {
  if (p.kind === 'ladder') return level?.label ?? p.name;
  const name = playerName(p);
  return level && !(p.kind === 'policy' && !level.temperature) ? `${name}, ${strength(level, p.kind)}` : name;
}

const ORDER = ['model', 'ladder', 'other', 'policy', 'one-ply'] as const;

/** Groups players by kind, with a heading for each group. */
export function byKind(players: readonly PlayerInfo[]): [string, PlayerInfo[]][] {
  const kindOf = (p: PlayerInfo) => ((ORDER as readonly string[]).includes(p.kind) ? p.kind : 'other');
  return ORDER.map(kind => [t(`players.${kind}`), players.filter(p => kindOf(p) === kind)] as [string, PlayerInfo[]]).filter(([, all]) => all.length > 0);
}
