// Reads and writes game records with tsshogi (ShogiHome's library), which supports KIF, KI2, CSA, USI,
// SFEN and JKF with variations, comments and times; shogiops, used for the rules, supports neither KI2
// nor JKF nor variations. Lazy-loaded when the first record is opened or saved.
import {
  anySpecialMove,
  detectRecordFormat,
  exportBOD,
  exportCSA,
  exportJKF,
  exportJKFString,
  exportKI2,
  exportKIF,
  formatCSAMove,
  formatSpecialMove,
  getBlackPlayerName,
  getWhitePlayerName,
  importCSA,
  importJKFString,
  importKI2,
  importKIF,
  metadataKeyToKakinoki,
  Move,
  Position as RecordPosition,
  Record as GameRecord,
  RecordFormatType,
  RecordMetadataKey as Key,
  SpecialMoveType,
  type ImmutableNode,
} from 'tsshogi';
import { rulingOf } from '../analyse/words';
import { t } from '../i18n';
import { HANDICAPS, isHandicap } from './handicaps';
import { hasTooMany, START } from './position';
import { withScoresOfCsa, withScoresOfKif } from './scores';
import { GameTree, ownComment, type Ending, type Headers, type Node, type Result } from './tree';

export type Format = 'kif' | 'ki2' | 'csa' | 'usi' | 'sfen' | 'jkf';

/** Decodes a record as UTF-16 if it has a byte-order mark, else as UTF-8, or as Shift-JIS if it isn't valid UTF-8. */
export function decode(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes.slice(0, 2));
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('shift_jis').decode(bytes);
  }
}

export class RecordError extends Error {}

/** Parses the games in a text of any format. Throws RecordError with a one-line message; adds one to `skipped` for each
 * variation that can't be read, or has an illegal move and ends there. */
export function readGames(text: string, name = '', skipped: string[] = []): GameTree[] {
  const { games, damage } = readSoundGames(text, name, skipped);
  if (damage) throw damage;
  return games;
}

/** As `readGames`, without the games that can't be read; also returns the error of the first of them. Throws
 * RecordError for a text that is no record. */
export function readSoundGames(text: string, name = '', skipped: string[] = []): { games: GameTree[]; damage?: RecordError } {
  const trimmed = withLineFeeds(text.replace(/^\uFEFF/, '').trim());
  if (!trimmed) throw new RecordError('empty');
  if (trimmed.includes('\0')) throw new RecordError(t('open.noRecord')); // a binary file
  const games: GameTree[] = [];
  let damage: RecordError | undefined;
  const parts = splitGames(normalise(trimmed));
  for (const [i, part] of parts.entries()) {
    try {
      games.push(readPart(part, skipped));
      games.at(-1)!.name = parts.length > 1 ? `${name} (${i + 1})` : name;
    } catch (e) {
      if (!(e instanceof RecordError)) throw e;
      damage ??= e;
    }
  }
  return { games, damage };
}

/** A text whose lines end with a carriage return alone, with line feeds instead. */
const withLineFeeds = (text: string): string => (text.includes('\n') ? text : text.replaceAll('\r', '\n'));

function readPart(text: string, skipped: string[]): GameTree {
  const format = detectRecordFormat(text);
  const isKif = format === RecordFormatType.KIF;
  const part = isKif ? plainMoves(plainStart(text)) : format === RecordFormatType.KI2 ? plainStart(text) : text;
  if (format === RecordFormatType.CSA) checkCsaMoves(part);
  if (isKif) checkKifMoves(part);
  const record = isKif ? readKif(endingMain(part), skipped) : readOne(part, format);
  if (record instanceof Error) throw new RecordError(wordsOf(record, format));
  const game = fromRecord(record, skipped);
  if (hasTooMany(game.initialSfen)) throw new RecordError(t('setup.ERR_TOO_MANY_PIECES'));
  game.readFrom = format;
  if (format === RecordFormatType.CSA) for (const node of game.mainLine().slice(1)) node.comment = withScoresOfKif(node.comment, node);
  // tsshogi's KIF, KI2 and CSA parsers skip lines they don't recognise.
  if (isEmpty(game) && !HAS_START.test(part)) throw new RecordError(t('open.noRecord'));
  return game;
}

/** USI moves without `position`. */
const BARE_MOVES = /^([1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])(\s+|$)/;
/** An SFEN in a URL, with underscores for spaces, such as lishogi's analysis board. */
const SFEN_IN_URL = /^https?:\/\/\S*?\/((?:[1-9a-zA-Z+]+\/){8}[1-9a-zA-Z+]+)[_ ]([bw])[_ ]([-0-9a-zA-Z]+)/;

/** The files above a diagram. */
const FILES = '  ９ ８ ７ ６ ５ ４ ３ ２ １';
const GAP = '[ \\t\\u3000]*';
/** The same in digits of either width: narrow ones would be a move. */
const FILES_LINE = new RegExp(`^${GAP}${[...'987654321'].map(file => `[${file}${String.fromCharCode(0xff10 + Number(file))}]`).join(GAP)}${GAP}$`, 'gm');

/** Rewrites bare moves and URLs as USI and SFEN, and the files above a diagram as tsshogi reads them. */
function normalise(text: string): string {
  if (BARE_MOVES.test(text)) return `position startpos moves ${text}`;
  const sfen = /^https?:\/\/\S+$/.test(text) && SFEN_IN_URL.exec(decodeURI(text));
  return sfen ? `sfen ${sfen.slice(1).join(' ')} 1` : text.replace(FILES_LINE, FILES);
}

/** Splits a text into games: CSA separates them by `/`; USI and SFEN have one per line, JKF too or an array; headers
 * after moves begin one of KIF and KI2, as does `#KIF` after headers or a diagram. */
function splitGames(text: string): string[] {
  if (/^[[{]/.test(text)) return splitJson(text);
  const format = detectRecordFormat(text);
  if (format === RecordFormatType.CSA) return text.split(/^\/\s*$/m).filter(part => part.trim());
  if (format === RecordFormatType.USI || format === RecordFormatType.SFEN) return text.split(/\r?\n/).filter(l => l.trim());
  const games: string[][] = [[]];
  let hasHeaders = false;
  let hasMoves = false;
  for (const line of text.split(/\r?\n/)) {
    const begins = hasMoves ? /^(?!まで|変化)([^\s*#&|+：:▲△☗☖▼▽][^\s*#&|+：:]*：|#\s*(KIF|KI2|-))/ : /^#\s*(KIF|KI2)/;
    if (hasHeaders && begins.test(line)) {
      games.push([]);
      hasHeaders = hasMoves = false;
    }
    hasHeaders ||= /^\s*[^\s*#&]/.test(line);
    hasMoves ||= /^(\s*\d+\s+\S|[▲△☗☖▼▽]|まで)/.test(line);
    games.at(-1)!.push(line);
  }
  return games.filter(lines => games.length === 1 || lines.some(line => /^[^#\s]/.test(line))).map(lines => lines.join('\n'));
}

function splitJson(text: string): string[] {
  const lines = text.split(/\r?\n/).filter(line => line.trim());
  for (const part of [[text], lines]) {
    try {
      return part.flatMap(json => JSON.parse(json) as unknown).map(game => JSON.stringify(game));
    } catch {
      // Not one value: perhaps one on each line.
    }
  }
  return [text];
}

/** Matches a record that states its starting position: valid without any moves. */
const HAS_START = /startpos|lnsgkgsnl|"preset"|^手合割|^PI|^P1|^手数/m;

/** Whether a game was read from KIF or KI2. */
export const isKif = ({ readFrom }: GameTree): boolean => readFrom === RecordFormatType.KIF || readFrom === RecordFormatType.KI2;

const isEmpty = (game: GameTree): boolean =>
  game.initialSfen === START && !game.root.children.length && !game.ending && !Object.values(game.headers).some(Boolean);

/** The error in the page's language: tsshogi's messages are English, some with the text of an exception. */
function wordsOf(error: Error, format: RecordFormatType): string {
  const what = /^invalid [\w ]+: (.+)$/is.exec(error.message)?.[1].replace(/\s+/g, ' ').trim().slice(0, 60);
  const name = NAMES[format] ?? 'USI';
  return what ? t('open.invalidPart', { format: name, part: what }) : t('open.invalid', { format: name });
}

const NAMES: Partial<Record<RecordFormatType, string>> = {
  [RecordFormatType.KIF]: 'KIF',
  [RecordFormatType.KI2]: 'KI2',
  [RecordFormatType.CSA]: 'CSA',
  [RecordFormatType.SFEN]: 'SFEN',
  [RecordFormatType.JKF]: 'JKF',
};

/** Throws RecordError for a line that begins like a move of CSA and isn't one: tsshogi skips it, and would
 * lose the rest of the game without a word. */
function checkCsaMoves(text: string): void {
  let ply = 0;
  for (const line of text.split(/[\r\n]+/)) {
    if (/^['N$%]/.test(line)) continue;
    for (const statement of line.split(',').filter(part => /^[+-]./.test(part))) {
      ply += 1;
      if (!/^[+-]\d{4}[A-Z]{2}\s*$/.test(statement)) throw new RecordError(t('open.illegalMove', { ply }));
    }
  }
}

/** The beginning of a move of KIF, behind its number. */
const IS_MOVE = /^(同|[1-9１-９][1-9１-９一二三四五六七八九])/;

/** Throws RecordError for a numbered line of KIF that is no move although moves follow: tsshogi takes it for the end
 * of the game, and would lose them without a word. */
function checkKifMoves(text: string): void {
  let end = 0; // the number of a line that is no move
  for (const line of text.split(/[\r\n]+/)) {
    if (/^変化[：:]/.test(line)) end = 0;
    const [, number, rest] = /^\s*(\d+)\s+(\S.*)$/.exec(line) ?? [];
    if (!number) continue;
    if (end) throw new RecordError(t('open.illegalMove', { ply: end }));
    if (!IS_MOVE.test(rest!)) end = Number(number);
  }
}

const WIDE = '０１２３４５６７８９';
const KANJI = '〇一二三四五六七八九';

/** A move's number and square. */
const NUMBERED = /^[ \t\u3000]*(\d+)[ \t\u3000]+[▲△▼▽☗☖]?(?:同[ \u3000]*|([1-9１-９])([1-9１-９一二三四五六七八九]))(?=[^\d\s])/gm;

/** A move's time, which may have hours and fractions of a second. */
const TIME = /^( *\d+ .*\( *)(?:(\d+):)?(\d+):(\d+)(?:\.\d+)? *(?:\/ *([\d:]*)(?:\.\d+)? *)?\) *$/gm;

/** Writes the numbers, squares and times of moves as tsshogi reads them: it takes other forms for the end of the game, and reads
 * no time with hours, fractions, spaces or without a total. */
const plainMoves = (text: string): string =>
  text
    .replace(NUMBERED, (_, number: string, file: string | undefined, rank: string) => {
      const value = (digit: string) => Math.max(Number(digit) || 0, WIDE.indexOf(digit), KANJI.indexOf(digit));
      return `${number.padStart(4)} ${file ? WIDE[value(file)]! + KANJI[value(rank)]! : '同\u3000'}`;
    })
    .replace(/^( *\d+ \S+)不成(?=\()/gm, '$1')
    .replace(
      TIME,
      (_, start: string, hours: string | undefined, minutes: string, seconds: string, total: string | undefined) =>
        `${start}${60 * Number(hours ?? 0) + Number(minutes)}:${seconds}/${total ?? ''})`,
    );

/** Writes numbers of pieces in the hands of a diagram as tsshogi reads them: it takes digits for one piece. */
const plainHands = (text: string): string =>
  text.replace(/^..の?持駒：.*/gm, line =>
    line.replace(/[0-9０-９]+/g, count => {
      const number = Number(count.replace(/[０-９]/g, digit => String(WIDE.indexOf(digit))));
      if (number < 1 || number > 18) throw new RecordError(t('open.invalidPart', { format: 'KIF', part: line.slice(0, 60) }));
      return (number < 10 ? '' : '十') + (number % 10 ? KANJI[number % 10] : '');
    }),
  );

/** The handicaps that tsshogi takes for an even game, as it does names that it doesn't know. */
const FURTHER_HANDICAPS: readonly (readonly [kif: string, jkf: string, key: string])[] = [
  ['三枚落ち', '3', 'handicap.three-piece'],
  ['五枚落ち', '5', 'handicap.five-piece'],
  ['左五枚落ち', '5_L', 'handicap.left-five-piece'],
  ['左七枚落ち', '7_L', 'handicap.left-seven-piece'],
  ['右七枚落ち', '7_R', 'handicap.right-seven-piece'],
];

/** A record without moves from one of them. */
function furtherHandicap(name: string): GameRecord | undefined {
  const row = FURTHER_HANDICAPS.find(([kif, jkf]) => name === kif || name === jkf);
  const handicap = row && HANDICAPS.find(({ key }) => key === row[2]);
  const position = handicap && RecordPosition.newBySFEN(handicap.sfen);
  return position ? new GameRecord(position) : undefined;
}

/** The names that it knows. */
const USUAL_STARTS = new Set('平手 香落ち 右香落ち 角落ち 飛車落ち 飛香落ち 二枚落ち 四枚落ち 六枚落ち 八枚落ち 十枚落ち その他'.split(' '));

/** Writes the start position as tsshogi reads it. Throws RecordError for the name of a handicap that isn't known. */
function plainStart(text: string): string {
  if (/^\|/m.test(text)) return plainHands(text); // the diagram says it
  return text.replace(/^手合割[：:](.*)/m, (line, value: string) => {
    const name = value.trim();
    if (!name || USUAL_STARTS.has(name)) return line;
    const start = furtherHandicap(name);
    if (!start) throw new RecordError(t('open.unknownHandicap', { name: name.slice(0, 16) }));
    return exportBOD(start, { returnCode: '\n' }).replace(/^手数.*\n?/m, '').trimEnd();
  });
}

/** Writes the preset of JKF as tsshogi reads it: it refuses these handicaps. */
const plainPreset = (text: string): string =>
  text.replace(/"initial"\s*:\s*\{\s*"preset"\s*:\s*"(\w{1,3})"\s*\}/, (initial, name: string) => {
    const start = furtherHandicap(name);
    return start ? `"initial":${JSON.stringify(exportJKF(start).initial)}` : initial;
  });

/** Reads KIF without the variations that can't be read, and those that begin within them. */
function readKif(text: string, skipped: string[]): GameRecord | Error {
  const whole = importKIF(text);
  if (!(whole instanceof Error)) return whole;
  const [main = '', ...variations] = text.split(/^(?=変化[：:])/m);
  let [sound, record] = [main, importKIF(main)];
  let bad = Infinity; // the number of the first move left out
  for (const variation of record instanceof Error ? [] : variations) {
    const number = Number(/\d+/.exec(variation)?.[0]);
    if (number > bad) continue;
    const next = importKIF(sound + variation);
    bad = next instanceof Error ? number : Infinity;
    if (next instanceof Error) skipped.push(wordsOf(next, RecordFormatType.KIF));
    else [sound, record] = [sound + variation, next];
  }
  return record;
}

/** A placeholder for the ending of a main line that has none and variations after its last move. */
const NO_ENDING = '〈続く〉';

const WITHOUT_ENDING = new RegExp(`^( *\\d+ +|まで\\d+手で)${NO_ENDING}.*\\n`, 'gm');

/** Ends a main line that has no ending where variations begin after its last move: tsshogi would take the first of
 * them for its continuation. */
function endingMain(text: string): string {
  const [main, ...variations] = text.split(/^(?=変化[：:])/m);
  const [, number, rest] = [...main!.matchAll(/^\s*(\d+)\s+(\S.*)$/gm)].at(-1) ?? [];
  const after = Number(number) + 1;
  if (!number || !IS_MOVE.test(rest!) || /^まで/m.test(main!) || !variations.some(v => Number(/\d+/.exec(v)?.[0]) === after)) return text;
  return [`${main!.trimEnd()}\n${after} ${NO_ENDING}\n\n`, ...variations].join('');
}

/** Swaps the sides of illegal actions: a record names the side that acted, tsshogi expects the one that wins. */
const namingWinner = (text: string): string => text.replace(/(^%|"special"\s*:\s*")([+-])(?=ILLEGAL_ACTION)/gm, (_, before, side) => before + (side === '+' ? '-' : '+'));

/** Makes the event of a CSA record, which tsshogi takes for a title, the one that pages show. */
function withEvent(record: GameRecord | Error): GameRecord | Error {
  const event = record instanceof Error ? undefined : record.metadata.getStandardMetadata(Key.TITLE);
  if (event && !(record instanceof Error)) {
    record.metadata.setStandardMetadata(Key.TOURNAMENT, event);
    record.metadata.setStandardMetadata(Key.TITLE, '');
  }
  return record;
}

function readOne(text: string, format: RecordFormatType): GameRecord | Error {
  switch (format) {
    case RecordFormatType.KI2:
      return importKI2(text);
    case RecordFormatType.CSA:
      return withEvent(importCSA(namingWinner(text.replace(/[\u2028\u2029]/g, ' ')))); // tsshogi would skip the line
    case RecordFormatType.JKF:
      return importJKFString(namingWinner(plainPreset(text)));
    case RecordFormatType.SFEN: {
      const position = RecordPosition.newBySFEN(text.replace(/^(position\s+)?sfen\s+/, ''));
      return position ? new GameRecord(position) : new Error(`Invalid SFEN: ${text}`);
    }
    default:
      return GameRecord.newByUSI(text);
  }
}

const HEADERS: readonly (readonly [keyof Headers, Key])[] = [
  ['event', Key.TOURNAMENT],
  ['date', Key.START_DATETIME],
  ['place', Key.PLACE],
  ['timeControl', Key.TIME_LIMIT],
];

/** Names of the sides, in games with and without handicap. */
const SIDES: readonly Key[] = [Key.BLACK_NAME, Key.WHITE_NAME, Key.SHITATE_NAME, Key.UWATE_NAME];

/** Keeps the headers that pages don't show. */
function keepFurther({ metadata }: GameRecord, game: GameTree): void {
  const known = new Set([...SIDES, ...HEADERS.map(([, key]) => key)]);
  if (!metadata.getStandardMetadata(Key.START_DATETIME)) game.further.standard.set(Key.START_DATETIME, ''); // DATE is the date
  for (const key of metadata.standardMetadataKeys)
    if (!known.has(key)) game.further.standard.set(key, metadata.getStandardMetadata(key) ?? '');
  for (const key of metadata.customMetadataKeys) game.further.custom.set(key, metadata.getCustomMetadata(key) ?? '');
}

function fromRecord(record: GameRecord, skipped: string[]): GameTree {
  const game = new GameTree(record.initialPosition.getSFEN(1));
  game.headers.black = getBlackPlayerName(record.metadata);
  game.headers.white = getWhitePlayerName(record.metadata);
  for (const [name, key] of HEADERS) {
    const value = record.metadata.getStandardMetadata(key) ?? (name === 'date' ? record.metadata.getStandardMetadata(Key.DATE) : undefined);
    if (value) game.headers[name] = value;
  }
  keepFurther(record, game);
  game.root.comment = record.first.comment.trimEnd();
  if (record.first.bookmark) game.root.bookmark = record.first.bookmark;
  copy(record.first.next, game.root, game, skipped);
  return game;
}

const INTERRUPTED = formatSpecialMove(SpecialMoveType.INTERRUPT);

const OUTCOMES: Record<string, Result['winner']> = { 先手の勝ち: 'black', 後手の勝ち: 'white', 引き分け: 'draw' };

/** The result in a comment at an interruption in JKF, such as 結果：時間切れにより先手の勝ち. */
function ruledBy(comment: string): Result | undefined {
  const [, ruling, outcome] = /^結果：(?:(.+)により)?(先手の勝ち|後手の勝ち|引き分け)$/.exec(comment.trim()) ?? [];
  const end = ruling ? Object.keys(RULINGS).find(name => RULINGS[name]![0] === ruling) : 'adjudication';
  return outcome && end ? { winner: OUTCOMES[outcome]!, end } : undefined;
}

/** Copies a move, its siblings (linked by `branch`) and all their descendants. Iterative, since a long
 * game would overflow the stack. */
function copy(first: ImmutableNode | null, parent: Node, game: GameTree, skipped: string[]): void {
  const queue: [ImmutableNode, Node, boolean][] = first ? [[first, parent, true]] : [];
  for (let item = queue.shift(); item; item = queue.shift()) {
    const [start, above, main] = item;
    for (let sibling: ImmutableNode | null = start; sibling; sibling = sibling.branch) {
      const { move } = sibling;
      const onMain = main && sibling === start;
      if (!(move instanceof Move)) {
        const text = formatSpecialMove(move).replace(NO_ENDING, '').replace(/\+$/, ''); // KIF's mark of variations
        if (IS_MOVE.test(text) && onMain) throw new RecordError(t('open.illegalMove', { ply: above.ply + 1 }));
        // Names of CSA without a word, such as MATTA, are no words of KIF.
        above.ending = { text: /^[+-]?[A-Z_]+$/.test(text) ? INTERRUPTED : text, timeMs: sibling.elapsedMs || undefined, isFirst: sibling === start };
        const ruled = ruledBy(sibling.comment);
        if (ruled && onMain) game.result = ruled;
        else if (sibling.comment) above.comment = [above.comment, sibling.comment.trimEnd()].filter(Boolean).join('\n');
        continue;
      }
      const node = game.add(above, move.usi);
      if (!node) {
        const reason = t('open.illegalMove', { ply: above.ply + 1 });
        if (onMain) throw new RecordError(reason);
        skipped.push(reason);
        continue;
      }
      node.comment = sibling.comment.trimEnd();
      if (sibling.elapsedMs) node.timeMs = sibling.elapsedMs;
      if (sibling.bookmark) node.bookmark = sibling.bookmark;
      if (sibling.next) queue.push([sibling.next, node, onMain]);
    }
  }
}

const ENDINGS: Record<string, SpecialMoveType> = Object.fromEntries(
  Object.values(SpecialMoveType).map(type => [formatSpecialMove(type), type]),
);

/** Converts a game with all variations. `comment` returns the comment of each node. */
function toRecord(game: GameTree, commentOf: (node: Node) => string, format: Format): GameRecord {
  const comment = (node: Node) => (format === 'csa' ? withScoresOfCsa(commentOf(node), node) : commentOf(node));
  const record = new GameRecord(RecordPosition.newBySFEN(game.initialSfen) ?? undefined);
  const { further } = game;
  const oneLine = (value: string) => (format === 'jkf' ? value : value.replace(/\s*[\r\n]+\s*/g, ' '));
  const headers = Object.fromEntries(Object.entries(game.headers).map(([name, value]) => [name, value && oneLine(value)])) as Headers;
  const [black, white] = isHandicap(game.initialSfen) ? [Key.SHITATE_NAME, Key.UWATE_NAME] : [Key.BLACK_NAME, Key.WHITE_NAME];
  if (headers.black) record.metadata.setStandardMetadata(black, headers.black);
  if (headers.white) record.metadata.setStandardMetadata(white, headers.white);
  const hasDate = further.standard.get(Key.START_DATETIME) === '' && headers.date === further.standard.get(Key.DATE);
  for (const [name, key] of HEADERS) if (headers[name] && !(name === 'date' && hasDate)) record.metadata.setStandardMetadata(key, headers[name]!);
  for (const [key, value] of further.standard) if (value) record.metadata.setStandardMetadata(key as Key, oneLine(value));
  const nameOf = (key: string) => (format === 'kif' || format === 'ki2' ? key.replace(/[\s*#&|+：:▲△☗☖▼▽]/g, '_').slice(0, 30) : key);
  for (const [key, value] of further.custom) record.metadata.setCustomMetadata(nameOf(key), oneLine(value));
  record.first.comment = comment(game.root);
  if (game.root.bookmark) record.first.bookmark = game.root.bookmark;
  const queue: [Node, ImmutableNode][] = [[game.root, record.first]];
  for (let item = queue.shift(); item; item = queue.shift()) {
    const [node, at] = item;
    if (node.ending?.isFirst) appendEnding(record, at, node.ending, format);
    // These formats have the main line alone, which ends here.
    if (node.ending?.isFirst && (format === 'csa' || format === 'usi' || format === 'sfen')) continue;
    for (const child of node.children) {
      record.gotoNode(at);
      const move = record.position.createMoveByUSI(child.usi);
      if (!move || !record.append(move, { ignoreValidation: true })) continue;
      record.current.comment = comment(child);
      if (child.timeMs) record.current.setElapsedMs(child.timeMs);
      if (child.bookmark) record.current.bookmark = child.bookmark;
      queue.push([child, record.current]);
    }
    if (node.ending && !node.ending.isFirst) appendEnding(record, at, node.ending, format);
  }
  record.resetAllBranchSelection();
  record.goto(Number.MAX_SAFE_INTEGER);
  return record;
}

/** Endings without a name in CSA and JKF, with the closest that has one. */
const NAMED: Partial<Record<SpecialMoveType, SpecialMoveType>> = {
  [SpecialMoveType.TRY]: SpecialMoveType.ENTERING_OF_KING,
  [SpecialMoveType.WIN_BY_DEFAULT]: SpecialMoveType.INTERRUPT,
  [SpecialMoveType.LOSE_BY_DEFAULT]: SpecialMoveType.INTERRUPT,
  [SpecialMoveType.DRAW]: SpecialMoveType.INTERRUPT,
};

/** The endings that tsshogi writes as 持将棋 in KIF and KI2. */
const AS_IMPASSE: ReadonlySet<string> = new Set([SpecialMoveType.MAX_MOVES, SpecialMoveType.DRAW].map(type => formatSpecialMove(type)));

function appendEnding(record: GameRecord, at: ImmutableNode, { text, timeMs }: Ending, format: Format): void {
  const type = ENDINGS[text];
  if (type === SpecialMoveType.START || format === 'usi' || format === 'sfen' || (!text && format === 'csa')) return;
  const isWord = (format === 'kif' || format === 'ki2') && (!type || AS_IMPASSE.has(text));
  record.gotoNode(at);
  record.append(isWord ? anySpecialMove(text || NO_ENDING) : format === 'csa' || format === 'jkf' ? (NAMED[type] ?? type ?? SpecialMoveType.INTERRUPT) : type);
  if (timeMs) record.current.setElapsedMs(timeMs);
}

export function writeGame(game: GameTree, format: Format, comment: (node: Node) => string = ownComment): string {
  return withResult(writeMoves(game, format, comment), format, game);
}

function writeMoves(game: GameTree, format: Format, comment: (node: Node) => string): string {
  const record = toRecord(game, comment, format);
  switch (format) {
    case 'kif':
      return withSidesOf(game, withoutEmptyTimesOfKif(exportKIF(record)).replace(WITHOUT_ENDING, ''));
    case 'ki2':
      return withSidesOf(game, exportKI2(record).replace(WITHOUT_ENDING, ''));
    case 'csa':
      return withHeadersOfCsa(withoutEmptyTimesOfCsa(exportCSA(record, hasFractions(game) ? { v3: { milliseconds: true } } : {})), record);
    case 'jkf':
      return withoutEmptyTimesOfJkf(exportJKFString(record), headersOf(record));
    case 'usi':
      return record.getUSI({ startpos: true, allMoves: true }) + '\n';
    case 'sfen':
      return record.sfen + '\n';
  }
}

/** Names the winner of a handicap game 下手 or 上手, as the players; tsshogi writes 先手 and 後手. */
const withSidesOf = ({ initialSfen }: GameTree, text: string): string =>
  isHandicap(initialSfen) ? text.replace(/^まで\d+手で[先後]手/gm, said => said.replace('先', '下').replace('後', '上')) : text;

/** Whether a time isn't in whole seconds, for which CSA needs its version 3. */
const hasFractions = (game: GameTree): boolean => game.mainLine().some(({ timeMs = 0, ending }) => timeMs % 1000 || (ending?.timeMs ?? 0) % 1000);

const RULINGS: Record<string, readonly [kif: string, csa: string]> = {
  perpetual_check: ['連続王手の千日手', 'oute_sennichite'],
  time_up: ['時間切れ', 'time up'],
  time: ['時間切れ', 'time up'],
  max_moves: ['最大手数', 'max_moves'],
  illegal_move: ['反則', 'illegal move'],
  false_declaration: ['反則', 'illegal move'],
  declaration: ['入玉', 'kachi'],
  interrupted: ['裁定', 'chudan'],
};

/** Adds a result that the ending doesn't tell, as the package writes it. */
function withResult(text: string, format: Format, game: GameTree): string {
  const { headers, initialSfen } = game;
  const result = game.result ?? (format === 'csa' || format === 'jkf' ? rulingOf(game.ending, game.mainLine().at(-1)!.sfen) : undefined);
  if (!result || result.winner === 'none') return text;
  const { winner, end } = result;
  const [kif, csa] = RULINGS[end] ?? ['裁定', 'adjudication'];
  if (format === 'csa') {
    const told = (name: string | undefined, own: string) => `${(name ?? '').replace(/:/g, '')} ${winner === 'draw' ? 'draw' : winner === own ? 'win' : 'lose'}`;
    return `${text}'summary:${csa}:${told(headers.black, 'black')}:${told(headers.white, 'white')}\n`;
  }
  const said = `結果：${kif === '裁定' ? '' : `${kif}により`}${Object.keys(OUTCOMES).find(outcome => OUTCOMES[outcome] === winner)!}`;
  if (format === 'jkf') {
    const record = JSON.parse(text) as { moves: { special?: string; comments?: string[] }[] };
    const last = record.moves.at(-1)!;
    if (last.special) last.comments = [...(last.comments ?? []), said];
    return JSON.stringify(record);
  }
  if (format !== 'kif' && format !== 'ki2') return text;
  const side = (isHandicap(initialSfen) ? ['下手', '上手'] : ['先手', '後手'])[winner === 'black' ? 0 : 1];
  const how = winner === 'draw' ? '裁定引分' : kif === '反則' || kif === '入玉' ? `${side}の${kif}勝ち` : `${kif}により${side}の勝ち`;
  const [main, ...others] = text.split(/^(?=変化：)/m);
  const moves = main!.trimEnd().replace(/\nまで[^\n]*$/, '');
  return [`${moves}\nまで${game.mainLine().length - 1}手で${how}\n${others.length ? '\n' : ''}`, ...others].join('');
}

// These remove the times of lines in which no move has one: tsshogi writes 0:00 for them.

const withoutEmptyTimesOfKif = (text: string): string =>
  text
    .split(/^(?=変化：)/m)
    .map(line => (/^ *\d+ .*\((?! *0:00\/)[\d: ]+\/[\d:]+\)\+?$/m.test(line) ? line : line.replace(/^( *\d+ +)(.*?) *\( *0:00\/[\d:]+\)(\+?)$/gm, (_, number: string, move: string, mark: string) => number + move + (IS_MOVE.test(move) ? mark : ''))))
    .join('');

const withoutEmptyTimesOfCsa = (text: string): string => (/^T[0.]*[1-9]/m.test(text) ? text : text.replace(/^T0\n/gm, ''));

interface JkfMove {
  time?: { now: { h?: number; m: number; s: number } };
  forks?: JkfMove[][];
}

function withoutEmptyTimesOfJkf(text: string, headers: [string, string][]): string {
  const record = JSON.parse(text) as { header: Record<string, string>; moves: JkfMove[] };
  record.header = { ...record.header, ...Object.fromEntries(headers) }; // tsshogi leaves some out
  for (const lines = [record.moves]; lines.length; ) {
    const line = lines.pop()!;
    const isTimed = line.some(({ time }) => time && (time.now.h || time.now.m || time.now.s));
    for (const move of line) {
      if (!isTimed) delete move.time;
      lines.push(...(move.forks ?? []));
    }
  }
  return JSON.stringify(record);
}

/** The headers of a record by their names in KIF, without the players. */
function headersOf({ metadata }: GameRecord): [string, string][] {
  const standard = [...metadata.standardMetadataKeys].filter(key => !SIDES.includes(key)).map((key): [string, string] => [metadataKeyToKakinoki(key), metadata.getStandardMetadata(key) ?? '']);
  const custom = [...metadata.customMetadataKeys].map((key): [string, string] => [key, metadata.getCustomMetadata(key) ?? '']);
  return [...standard, ...custom].map(([name, value]): [string, string] => [name, value.trim()]).filter(([, value]) => value);
}

/** Headers of CSA by their names in KIF, or the package's where KIF has none. */
const CSA_HEADERS: Record<string, string> = {
  棋戦: '$EVENT',
  場所: '$SITE',
  開始日時: '$START_TIME',
  終了日時: '$END_TIME',
  持ち時間: '$TIME_LIMIT',
  戦型: '$OPENING',
  time_control: '$TIME',
  max_moves: '$MAX_MOVES',
};

/** Replaces tsshogi's headers, which are some of the record's, the times of day only, by all. */
function withHeadersOfCsa(text: string, record: GameRecord): string {
  const headers = headersOf(record);
  const control = headers.find(([name]) => name === 'time_control')?.[1];
  const { metadata } = record;
  const lines = headers
    .filter(([name, value]) => name !== '持ち時間' || value !== control) // from $TIME, for pages
    .map(([name, value]) => {
      if (name === 'black_rating') return `'black_rate:${getBlackPlayerName(metadata) ?? ''}:${value}`;
      if (name === 'white_rating') return `'white_rate:${getWhitePlayerName(metadata) ?? ''}:${value}`;
      return `${CSA_HEADERS[name] ?? `$${name.replace(/:/g, '_')}`}:${value}`;
    });
  return text.replace(/^\$.*\n/gm, '').replace(/^(?=P[I1])/m, lines.map(line => `${line}\n`).join(''));
}

/** Formats a line in CSA notation, such as +7776FU, up to its first illegal move. */
export function csaLine(sfen: string, usis: readonly string[]): string[] {
  const position = RecordPosition.newBySFEN(sfen);
  const found: string[] = [];
  for (const usi of position ? usis : []) {
    const move = position!.createMoveByUSI(usi);
    if (!move || !position!.doMove(move)) break;
    found.push(formatCSAMove(move));
  }
  return found;
}
