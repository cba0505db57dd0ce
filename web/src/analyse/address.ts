// Keeps game and move in the URL: #/analyse/13/60 is game 13 of the library after 60 moves, #60 the
// same move of the open game. Stepping through a game replaces the history entry, so that the browser's
// back button leads to the previous screen or game.
import { effect, untracked } from '@preact/signals';
import { explain, t } from '../i18n';
import { loadGame } from '../library/load';
import { replace, route, screen } from '../router';
import { lineThrough, pathTo, type Node } from '../shogi/tree';
import { notify } from '../ui/notices';
import { addGames, game, games, go, node, selectGame, version } from './state';

/** Browsers rate-limit `history.replaceState`. */
const DELAY_MS = 250;

let loading = '';

function toPly(text: string | undefined): void {
  const moves = game.value.mainLine();
  if (text && /^\d{1,6}$/.test(text)) go(moves[Math.min(Number(text), moves.length - 1)]);
}

/** Opens the game and move of a URL. */
async function show(number: string, ply: string | undefined): Promise<void> {
  if (!number) {
    toPly(ply);
    return;
  }
  if (!/^\d{1,15}$/.test(number)) {
    notify(t('error.unknown_name', { detail: `#/analyse/${number.slice(0, 40)}` }), 'bad');
    return;
  }
  const all = games.value;
  const isShown = game.value.number === Number(number); // a game may be open twice
  const known = isShown ? all.indexOf(game.value) : all.findIndex(tree => tree.number === Number(number));
  if (known < 0) {
    loading = number;
    try {
      const tree = await loadGame(Number(number));
      if (loading !== number) return;
      addGames([tree]);
    } catch (e) {
      if (loading === number) notify(explain(e as Error), 'bad');
      return;
    } finally {
      if (loading === number) loading = '';
    }
  } else if (games.value[known] !== game.value) selectGame(known);
  toPly(ply);
}

/** The ply of a node or, inside a variation, of the main-line move where the variation starts. */
function plyOnMainLine(at: Node): number {
  const main = lineThrough(pathTo(at)[0]);
  return pathTo(at).findLast(n => main[n.ply] === n)!.ply;
}

/** Starts synchronising URL and board. Returns a cleanup function. */
export function followAddress(): () => void {
  let timer = 0;
  const disposers = [
    effect(() => {
      const [, number = '', ply] = route.value;
      if ((screen() === 'analyse' || screen() === 'network') && (number || ply)) untracked(() => void show(number, ply));
    }),
    effect(() => {
      const name = screen();
      void version.value;
      const at = node.value;
      const { number } = game.value;
      clearTimeout(timer);
      if (name !== 'analyse' && name !== 'network') return;
      timer = setTimeout(() => {
        if (loading || screen() !== name) return;
        if (number === undefined) replace(name);
        else replace(name, number, plyOnMainLine(at));
      }, DELAY_MS) as unknown as number;
    }),
  ];
  return () => {
    clearTimeout(timer);
    for (const dispose of disposers) dispose();
  };
}
