// Words for why the server's parsers left out a part of a record: their messages are English.
import { t } from '../i18n';

const MOVE = /\bply (\d+): (?:(\S+) is not legal\b|\w+ move '([^']*)'|(.*)).*; the moves before it are kept$/s;
const LINE = /\bnot a (KIF|KI2|CSA) (?:line|statement): ["'](.*)["'](?:; the (?:moves before it are|rest of the game is) kept)?$/s;
const VARIATION = /\ba variation after (\d+) moves?: /;

/** Translates the reasons that readers meet most; others stay as they are, without their byte. */
export function reasonText(reason: string): string {
  const variation = VARIATION.exec(reason);
  if (variation) return t('open.badVariation', { n: variation[1]! });
  const [, format, part] = LINE.exec(reason) ?? [];
  if (format) return t('open.invalidPart', { format, part: part! });
  const [, n, illegal, unread, other] = MOVE.exec(reason) ?? [];
  if (n && other === undefined) return t('open.cutAtMove', { n, move: illegal ?? unread ?? '' });
  return n ? t('open.cutAt', { n }) : reason.replace(/^byte \d+: /, '');
}
