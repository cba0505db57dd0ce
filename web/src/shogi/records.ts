// Reading and writing of records with tsshogi (ShogiHome's library), which supports KIF, KI2, CSA, USI,
// SFEN and JKF with variations, comments and times; shogiops, used for the rules, supports neither KI2
// nor JKF nor variations. Loaded when the first record is opened or saved.
import {
  detectRecordFormat,
  exportCSA,
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
  Move,
  Position as RecordPosition,
  Record as GameRecord,
  RecordFormatType,
  RecordMetadataKey as Key,
  SpecialMoveType,
  type ImmutableNode,
} from 'tsshogi';
import { t } from '../i18n';
import { START } from './position';
import { GameTree, type Headers, type Node } from './tree';

export type Format = 'kif' | 'ki2' | 'csa' | 'usi' | 'sfen' | 'jkf';

/** Decodes a record: UTF-8 or Shift-JIS, detected from its bytes. */
export function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('shift_jis').decode(bytes);
  }
}

export class RecordError extends Error {}

/** Parses the games of a text in any format. Raises RecordError with a one-line message. */
export function readGames(text: string, name = ''): GameTree[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (!trimmed) throw new RecordError('empty');
  if (trimmed.includes('\0')) throw new RecordError(t('open.noRecord')); // not a text
  const games = pieces(spelledOut(trimmed)).map(part => {
    const record = readOne(part);
    if (record instanceof Error) throw new RecordError(record.message);
    const game = fromRecord(record);
    // The readers of KIF, KI2 and CSA skip what they don't know.
    if (isNothing(game) && !NAMES_START.test(part)) throw new RecordError(t('open.noRecord'));
    return game;
  });
  games.forEach((game, i) => (game.name = games.length > 1 ? `${name} (${i + 1})` : name));
  return games;
}

/** Moves alone, as USI writes them. */
const BARE_MOVES = /^([1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])(\s+|$)/;
/** A position in an address, such as those of lishogi's boards: spaces are underscores. */
const IN_ADDRESS = /^https?:\/\/\S*?\/((?:[1-9a-zA-Z+]+\/){8}[1-9a-zA-Z+]+)[_ ]([bw])[_ ]([-0-9a-zA-Z]+)/;

/** What people paste that no format begins with. */
function spelledOut(text: string): string {
  if (BARE_MOVES.test(text)) return `position startpos moves ${text}`;
  const address = /^https?:\/\/\S+$/.test(text) && IN_ADDRESS.exec(decodeURI(text));
  return address ? `sfen ${address.slice(1).join(' ')} 1` : text;
}

/** CSA files may contain several games separated by `/`; USI files one per line. */
function pieces(text: string): string[] {
  const format = detectRecordFormat(text);
  if (format === RecordFormatType.CSA) return text.split(/^\/\s*$/m).filter(part => part.trim());
  if (format === RecordFormatType.USI || format === RecordFormatType.SFEN) return text.split(/\r?\n/).filter(l => l.trim());
  return [text];
}

/** A record may consist of its starting position. */
const NAMES_START = /startpos|lnsgkgsnl|^手合割|^PI|^P1|^手数/m;

const isNothing = (game: GameTree): boolean =>
  game.initialSfen === START && !game.root.children.length && !game.ending && !Object.values(game.headers).some(Boolean);

function readOne(text: string): GameRecord | Error {
  switch (detectRecordFormat(text)) {
    case RecordFormatType.KIF:
      return importKIF(text);
    case RecordFormatType.KI2:
      return importKI2(text);
    case RecordFormatType.CSA:
      return importCSA(text);
    case RecordFormatType.JKF:
      return importJKFString(text);
    case RecordFormatType.SFEN: {
      const position = RecordPosition.newBySFEN(text.replace(/^(position\s+)?sfen\s+/, ''));
      return position ? new GameRecord(position) : new Error(text.slice(0, 60));
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

function fromRecord(record: GameRecord): GameTree {
  const game = new GameTree(record.initialPosition.getSFEN(1));
  game.headers.black = getBlackPlayerName(record.metadata);
  game.headers.white = getWhitePlayerName(record.metadata);
  for (const [name, key] of HEADERS) {
    const value = record.metadata.getStandardMetadata(key) ?? (name === 'date' ? record.metadata.getStandardMetadata(Key.DATE) : undefined);
    if (value) game.headers[name] = value;
  }
  game.root.comment = record.first.comment.trimEnd();
  copy(record.first.next, game.root, game, true);
  return game;
}

/** Copies a move and all that follows; siblings hang on `branch`. The line itself is a loop, so that
 * a long game doesn't need a deep stack. */
function copy(first: ImmutableNode | null, parent: Node, game: GameTree, isMain: boolean): void {
  const waiting: [ImmutableNode, Node, boolean][] = first ? [[first, parent, isMain]] : [];
  for (let item = waiting.shift(); item; item = waiting.shift()) {
    const [start, above, main] = item;
    for (let sibling: ImmutableNode | null = start; sibling; sibling = sibling.branch) {
      const { move } = sibling;
      const onMain = main && sibling === start;
      if (!(move instanceof Move)) {
        if (onMain) game.ending = formatSpecialMove(move);
        if (sibling.comment) above.comment = [above.comment, sibling.comment.trimEnd()].filter(Boolean).join('\n');
        continue;
      }
      const node = game.add(above, move.usi);
      if (!node) continue;
      node.comment = sibling.comment.trimEnd();
      if (sibling.elapsedMs) node.timeMs = sibling.elapsedMs;
      if (sibling.next) waiting.push([sibling.next, node, onMain]);
    }
  }
}

const ENDINGS: Record<string, SpecialMoveType> = Object.fromEntries(
  Object.values(SpecialMoveType).map(type => [formatSpecialMove(type), type]),
);

/** The record of a game with all variations. `comment` returns the comment after each move. */
function toRecord(game: GameTree, comment: (node: Node) => string): GameRecord {
  const record = new GameRecord(RecordPosition.newBySFEN(game.initialSfen) ?? undefined);
  const { headers } = game;
  if (headers.black) record.metadata.setStandardMetadata(Key.BLACK_NAME, headers.black);
  if (headers.white) record.metadata.setStandardMetadata(Key.WHITE_NAME, headers.white);
  for (const [name, key] of HEADERS) if (headers[name]) record.metadata.setStandardMetadata(key, headers[name]!);
  record.first.comment = comment(game.root);
  const waiting: [Node, ImmutableNode][] = [[game.root, record.first]];
  for (let item = waiting.shift(); item; item = waiting.shift()) {
    const [node, at] = item;
    for (const child of node.children) {
      record.gotoNode(at);
      const move = record.position.createMoveByUSI(child.usi);
      if (!move || !record.append(move, { ignoreValidation: true })) continue;
      record.current.comment = comment(child);
      if (child.timeMs) record.current.setElapsedMs(child.timeMs);
      waiting.push([child, record.current]);
    }
  }
  record.resetAllBranchSelection();
  record.goto(Number.MAX_SAFE_INTEGER);
  const ending = ENDINGS[game.ending];
  if (ending && ending !== SpecialMoveType.START) record.append(ending);
  return record;
}

export const ownComment = (node: Node): string => node.comment;

export function writeGame(game: GameTree, format: Format, comment: (node: Node) => string = ownComment): string {
  const record = toRecord(game, comment);
  switch (format) {
    case 'kif':
      return exportKIF(record);
    case 'ki2':
      return exportKI2(record);
    case 'csa':
      return withStart(exportCSA(record), game.headers.date);
    case 'jkf':
      return exportJKFString(record);
    case 'usi':
      return record.getUSI({ startpos: true, allMoves: true }) + '\n';
    case 'sfen':
      return record.sfen + '\n';
  }
}

/** tsshogi writes only the time of $START_TIME. */
const withStart = (text: string, date = ''): string =>
  text.replace(/^\$START_TIME:.*\n/m, /^\d{4}\/\d\d\/\d\d/.test(date) ? `$START_TIME:${date}\n` : '');

/** Moves from a position as CSA writes them, such as +7776FU; up to the first illegal one. */
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
