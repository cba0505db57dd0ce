// Opens records: files, pasted text, drag and drop.
import { useRef, useState } from 'preact/hooks';
import { send } from '../http';
import { explain, t } from '../i18n';
import type { ReadGame, ReadGames } from '../protocol';
import { open, screen, type Screen } from '../router';
import { applyHeaders, treeOf } from '../shogi/played';
import { reasonText } from '../shogi/reasons';
import type { GameTree } from '../shogi/tree';
import { lacks } from '../shogi/whole';
import { notify } from '../ui/notices';
import { Button, Dialog } from '../ui/parts';
import { applyRecorded } from './recorded';
import { addGames } from './state';

const MAX_BYTES = 8 << 20;
export const EXTENSIONS = '.kif,.kifu,.ki2,.ki2u,.csa,.usi,.sfen,.jkf,.json,.txt';

/**
 * Reads the games of a record. The damaged ones, and those of which tsshogi passes over a part, are those of the server's
 * parser: it keeps the moves before an illegal one and reports the line.
 */
async function readRecord(record: Blob, name: string, title = name): Promise<GameTree[]> {
  const { decode, readSoundGames, RecordError } = await import('../shogi/records');
  const skipped: string[] = [];
  let sound: GameTree[] = [];
  let damage: Error | undefined;
  try {
    ({ games: sound, damage } = readSoundGames(decode(await record.arrayBuffer()), title, skipped));
  } catch (e) {
    if (!(e instanceof RecordError)) throw e;
    damage = e;
  }
  const read = await parse(record, name).catch(() => undefined);
  const isKif = read?.format === 'kif' || read?.format === 'ki2';
  if (!damage) {
    const isMore = (read?.games.length ?? 0) > sound.length;
    const isLacking = isKif && (isMore || (read.games.length === sound.length && read.games.some((g, i) => lacks(sound[i]!, g, [g.black, g.white]))));
    const trees = (isLacking && (await readWhole(record, name, read.games.length))) || sound;
    const agrees = read?.games.length === trees.length;
    if (agrees) trees.forEach((tree, i) => applyRecorded(tree, read.games[i]));
    trees.forEach((tree, i) => (tree.name = trees.length > 1 ? `${title} (${i + 1})` : title));
    tellSkipped(title, agrees && !skipped.length ? read.skipped : skipped);
    return trees;
  }
  const games = read?.games.filter(g => g.moves.length) ?? [];
  if (!games.length && !sound.length) throw damage;
  tellSkipped(title, [...(games.length ? read!.skipped : [damage.message]), ...skipped]);
  if (!games.length) return sound;
  const isKnown = (g: ReadGame) => sound.some(tree => isSame(tree, g));
  const whole = isKif && !games.every(isKnown) && (await readWhole(record, name, read!.games.length));
  let next = 0; // the first of the sound games that isn't used
  return games.map((g, i) => {
    const at = sound.findIndex((tree, j) => j >= next && isSame(tree, g));
    const tree = at >= 0 ? sound[at]! : (whole && whole[read!.games.indexOf(g)]) || mainLineOf(g);
    if (at >= 0) next = at + 1;
    tree.name = games.length > 1 ? `${title} (${i + 1})` : title;
    applyRecorded(tree, g);
    return tree;
  });
}

/** The games as the server's parser has read them, with their variations; undefined if KIF can't hold one. */
async function readWhole(record: Blob, name: string, count: number): Promise<GameTree[] | undefined> {
  const { readGames } = await import('../shogi/records');
  try {
    const { games } = await send<ReadGames>('POST', `records?as_kif=true&name=${encodeURIComponent(name)}`, new Blob([record]));
    return games.length === count ? games.map(({ kif }) => readGames(kif)[0]!) : undefined;
  } catch {
    return undefined;
  }
}

function tellSkipped(name: string, reasons: string[]): void {
  for (const reason of reasons.slice(0, 3)) notify(t('open.skipped', { name, reason: reasonText(reason) }), 'bad');
}

const isSame = (tree: GameTree, { black, white, moves }: ReadGame): boolean =>
  (tree.headers.black ?? '') === black && (tree.headers.white ?? '') === white && tree.mainLine().slice(1).map(({ usi }) => usi).join() === moves.join();

function mainLineOf(game: ReadGame): GameTree {
  const tree = treeOf(game);
  applyHeaders(tree, game.headers);
  const line = tree.mainLine();
  for (const [ply, comment] of Object.entries(game.comments)) if (line[Number(ply)]) line[Number(ply)].comment = comment;
  return tree;
}

const parse = (record: Blob, name: string): Promise<ReadGames> => send('POST', `records?name=${encodeURIComponent(name)}`, new Blob([record]));

export async function readFiles(files: Iterable<File>): Promise<GameTree[]> {
  const games: GameTree[] = [];
  for (const file of files) {
    try {
      if (file.size > MAX_BYTES) throw new Error(t('open.tooLarge'));
      games.push(...(await readRecord(file, file.name)));
    } catch (e) {
      notify(t('open.failed', { name: file.name, reason: explain(e as Error) }), 'bad');
    }
  }
  return games;
}

/** The screens with the open game's board. */
const WITH_BOARD: readonly Screen[] = ['analyse', 'network', 'train'];

function show(games: GameTree[]): boolean {
  if (!games.length) return false;
  addGames(games);
  if (!WITH_BOARD.includes(screen())) open('analyse');
  notify(t(games.length === 1 ? 'open.one' : 'open.many', { n: games.length, name: games[0].name }));
  return true;
}

export const openFiles = async (files: Iterable<File>): Promise<boolean> => show(await readFiles(files));

export async function openText(text: string): Promise<boolean> {
  try {
    return show(await readRecord(new Blob([text]), '', t('open.pasted')));
  } catch (e) {
    notify(t('open.failed', { name: t('open.pasted'), reason: explain(e as Error) }), 'bad');
    return false;
  }
}

export function OpenDialog({ onClose }: { onClose: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const closeIf = (done: boolean) => done && onClose();
  return (
    <Dialog title={t('open')} onClose={onClose}>
      <p>{t('open.explain')}</p>
      <input
        ref={input}
        type="file"
        class="unseen"
        tabIndex={-1}
        multiple
        accept={EXTENSIONS}
        aria-label={t('open.file')}
        onChange={async e => closeIf(await openFiles([...(e.currentTarget.files ?? [])]))}
      />
      <Button icon="open" isWide class="primary" label={t('open.file')} onClick={() => input.current?.click()} />
      <label class="field">
        <span>{t('open.paste')}</span>
        <textarea class="mono" rows={8} spellcheck={false} value={text} placeholder={'position startpos moves 7g7f 3c3d\nlnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1'} onInput={e => setText(e.currentTarget.value)} />
      </label>
      <footer>
        <Button label={t('open.text')} isWide class="primary" disabled={!text.trim()} onClick={async () => closeIf(await openText(text))} />
      </footer>
    </Dialog>
  );
}

/** Opens records dropped on the page or pasted outside input fields. Returns a cleanup function. */
export function listenForRecords(): () => void {
  const isField = (e: Event) => (e.target as HTMLElement).closest?.('input, textarea, select, dialog');
  const over = (e: DragEvent) => {
    if (e.dataTransfer?.types.includes('Files') || e.dataTransfer?.types.includes('text/plain')) e.preventDefault();
  };
  const drop = (e: DragEvent) => {
    if (isField(e) || !e.dataTransfer) return;
    e.preventDefault();
    const files = [...e.dataTransfer.files];
    if (files.length) void openFiles(files);
    else void openText(e.dataTransfer.getData('text/plain'));
  };
  const paste = (e: ClipboardEvent) => {
    if (isField(e)) return;
    const files = [...(e.clipboardData?.files ?? [])];
    const text = e.clipboardData?.getData('text/plain');
    if (files.length) void openFiles(files);
    else if (text) void openText(text);
  };
  addEventListener('dragover', over);
  addEventListener('drop', drop);
  addEventListener('paste', paste);
  return () => {
    removeEventListener('dragover', over);
    removeEventListener('drop', drop);
    removeEventListener('paste', paste);
  };
}
