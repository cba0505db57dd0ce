// Summarises policy and search in sentences.
import type { Candidate, NetworkAnswer } from '../protocol';
import { percent, t, type Key } from '../i18n';
import { language } from '../settings';

export interface Summary {
  /** A headline: whether policy and search agree. */
  head: string;
  parts: string[];
}

/** Summarises a position. `name` formats a move; candidates are sorted by visits. */
export function summarise(network: NetworkAnswer | undefined, candidates: readonly Candidate[], winRate: number | undefined, visits: number, name: (usi: string) => string): Summary | undefined {
  const top = network?.policy[0];
  if (!network || !top) return undefined;
  const parts = [t('words.policy', { move: name(top.move), p: percent(top.p), value: percent(network.value) })];
  const second = network.policy[1];
  if (second && top.p < 0.35) parts.push(t('words.open', { move: name(second.move), p: percent(second.p), n: network.policy.filter(m => m.p >= 0.05).length }));
  else if (top.p > 0.85) parts.push(t('words.clear'));
  const best = candidates.find(c => c.visits > 0);
  if (!best || winRate === undefined || visits < 2) return { head: t('words.noSearch'), parts };
  const share = percent(best.visits / visits);
  const shift = winRate - network.value;
  if (Math.abs(shift) >= 0.05) parts.push(t(shift > 0 ? 'words.better' : 'words.worse', { n: Math.round(100 * Math.abs(shift)), value: percent(winRate) }));
  else parts.push(t('words.same', { value: percent(winRate) }));
  if (best.move === top.move) return { head: t('words.agree', { move: name(best.move) }), parts: [...parts, t('words.agreed', { share, visits })] };
  const topCandidate = candidates.find(c => c.move === top.move);
  const prior = network.policy.find(m => m.move === best.move)?.p ?? best.prior;
  parts.push(t('words.found', { move: name(best.move), p: percent(prior, prior < 0.01 ? 1 : 0), share, q: best.value === null ? '–' : percent(best.value, 1) }));
  if (topCandidate && topCandidate.value !== null && best.value !== null && topCandidate.visits)
    parts.push(t('words.refuted', { move: name(top.move), q: percent(topCandidate.value, 1), visits: topCandidate.visits }));
  return { head: t('words.disagree', { policy: name(top.move), search: name(best.move) }), parts };
}

const SIDE = '(?<side>own|opponent)';
const PIECE = '(?<piece>\\+?[PLNSGBRK])';

/** Patterns of the server's names of planes, which are English. */
const PLANES: readonly (readonly [RegExp, Key])[] = [
  [new RegExp(`^${SIDE} pieces ${PIECE}$`), 'plane.pieces'],
  [new RegExp(`^${SIDE} attacks ${PIECE}$`), 'plane.attacks'],
  [new RegExp(`^${SIDE} attack count (?<n>.+)$`), 'plane.attackCount'],
  [new RegExp(`^${SIDE} hand ${PIECE} (?<n>.+)$`), 'plane.hand'],
  [new RegExp(`^${SIDE} king in zone$`), 'plane.kingInZone'],
  [new RegExp(`^${SIDE} pieces lacking in zone (?<n>.+)$`), 'plane.piecesLacking'],
  [new RegExp(`^${SIDE} points lacking (?<n>.+)$`), 'plane.pointsLacking'],
  [/^plies played (?<n>.+)$/, 'plane.plies'],
  [/^square (?<n>.+)$/, 'plane.square'],
  [/^Black to move$/, 'plane.blackToMove'],
  [/^in check$/, 'plane.inCheck'],
];

const ROLES: Record<string, Key> = {
  P: 'role.pawn', L: 'role.lance', N: 'role.knight', S: 'role.silver', G: 'role.gold', B: 'role.bishop', R: 'role.rook', K: 'role.king',
  '+P': 'role.tokin', '+L': 'role.promotedlance', '+N': 'role.promotedknight', '+S': 'role.promotedsilver', '+B': 'role.horse', '+R': 'role.dragon',
};

/** The display name of an input plane. */
export function planeName(name: string): string {
  for (const [pattern, key] of PLANES) {
    const found = name.match(pattern);
    if (!found) continue;
    const { side, piece = '', n = '' } = found.groups ?? {};
    return t(key, { n, side: side ? t(`plane.${side}` as Key) : '', piece: language.value === 'ja' && piece ? t(ROLES[piece]) : piece });
  }
  return name;
}
