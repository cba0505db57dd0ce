// The handicaps of komadori.rules, and the names of the sides in handicap games.
import { has, t, type Key } from '../i18n';

export const HANDICAPS: readonly { key: Key; sfen: string }[] = [
  { key: 'handicap.lance', sfen: 'lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.right-lance', sfen: '1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.bishop', sfen: 'lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.rook', sfen: 'lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.rook-lance', sfen: 'lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.two-piece', sfen: 'lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.three-piece', sfen: 'lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.four-piece', sfen: '1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.five-piece', sfen: '2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.left-five-piece', sfen: '1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.six-piece', sfen: '2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.left-seven-piece', sfen: '2sgkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.right-seven-piece', sfen: '3gkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.eight-piece', sfen: '3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
  { key: 'handicap.ten-piece', sfen: '4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1' },
];

const POSITIONS = new Set(HANDICAPS.map(h => h.sfen));

/** Whether a game from this position is a handicap game. */
export const isHandicap = (initialSfen: string): boolean => POSITIONS.has(initialSfen.replace(/^sfen /, ''));

/**
 * Translates a text about a side of a game, or about its result. In Japanese, the sides of a handicap
 * game are called 下手 and 上手.
 */
export function sideText(group: 'color' | 'evalBar' | 'graph' | 'hand' | 'headers' | 'winner', side: string, initialSfen: string): string {
  const key = `${group}.${side === 'sente' ? 'black' : side === 'gote' ? 'white' : side}`;
  return t((isHandicap(initialSfen) && has(`${key}.handicap`) ? `${key}.handicap` : key) as Key);
}
