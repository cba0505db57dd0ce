// Saves games to the library: in place if the stored game is the one that this page read or wrote last, else as new
// ones.
import { explain, t } from '../i18n';
import { get, HttpError, send } from '../http';
import type { Saved, SaveGame, StoredGame } from '../protocol';
import type { GameTree } from '../shogi/tree';
import { notify } from '../ui/notices';
import { keptResult } from './recorded';
import { treeText } from './save';
import { changed, game, positionText, saved } from './state';

/** The server's limit, in code points. */
const MAX_TITLE = 200;

/** What is saved; the rest is in the record. */
type Content = Omit<SaveGame, 'comments' | 'headers'>;

async function contentOf(tree: GameTree): Promise<Content> {
  return {
    position: positionText(tree.mainLine().at(-1)!),
    black: tree.headers.black ?? '',
    white: tree.headers.white ?? '',
    title: [...(tree.headers.event || tree.name)].slice(0, MAX_TITLE).join(''),
    ...keptResult(tree),
    record: await treeText(tree, 'kif'),
  };
}

/** Records that a tree and the stored game are the same. */
export async function noteStored(tree: GameTree, { game: number, version }: Saved): Promise<void> {
  tree.number = number;
  tree.stored = { game: number, version, content: JSON.stringify(await contentOf(tree)) };
}

/** Updates the stored game; returns undefined if there is nothing to change. Throws HttpError 404 if it was deleted,
 * 409 if it was changed elsewhere. */
async function update({ game: number, version, content: before }: NonNullable<GameTree['stored']>, content: Content): Promise<Saved | undefined> {
  if (JSON.stringify(content) !== before) return send('PUT', `games/${number}?version=${version}`, content);
  const now = await get<StoredGame>(`games/${number}`);
  if (now.version !== version) throw new HttpError(409, 'changed');
  return undefined;
}

async function keep(tree: GameTree): Promise<void> {
  const content = await contentOf(tree);
  const { stored, analysed } = tree;
  let told = t('library.kept');
  let written: Saved | undefined;
  try {
    written = stored && (await update(stored, content));
    if (stored && !written) told = t('library.keptAlready');
  } catch (e) {
    if (!(e instanceof HttpError) || (e.status !== 404 && e.status !== 409)) throw e;
    told = t(e.status === 404 ? 'library.keptDeleted' : 'library.keptChanged');
    tree.stored = undefined;
  }
  if (!tree.stored) written = await send<Saved>('POST', stored || analysed === undefined ? 'games' : `games?studied=${analysed}`, content);
  const text = JSON.stringify(content);
  if (written) {
    tree.number = written.game;
    tree.stored = { ...written, content: text };
  }
  if (JSON.stringify(await contentOf(tree)) === text) saved(tree); // else it was changed meanwhile
  changed();
  notify(told);
}

let keeping = Promise.resolve();

/** Saves the open game to the library. */
export function keepGame(): Promise<void> {
  const tree = game.value;
  keeping = keeping.then(() => keep(tree)).catch((e: Error) => notify(explain(e), 'bad'));
  return keeping;
}
