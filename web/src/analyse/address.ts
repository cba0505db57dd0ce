// The address names the game and the move: #/analyse/13/60 is game 13 of the library after 60 moves,
// #60 that move of the open game. It follows the board without steps of the browser's history, whose
// back button leads to the screen or the game before.
import { effect, untracked } from '@preact/signals';
import { explain } from '../i18n';
import { loadGame } from '../library/load';
import { rename, route, screen } from '../router';
import { lineThrough, pathTo, type Node } from '../shogi/tree';
import { tell } from '../ui/notices';
import { addGames, game, games, go, node, selectGame, version } from './state';

/** Browsers count changes of the address. */
const DELAY_MS = 250;

let loading = '';

function toPly(text: string | undefined): void {
  const moves = game.value.mainLine();
  if (text && /^\d{1,6}$/.test(text)) go(moves[Math.min(Number(text), moves.length - 1)]);
}

/** Opens what the address names. */
async function show(number: string, ply: string | undefined): Promise<void> {
  if (!number) {
    toPly(ply);
    return;
  }
  const known = games.value.findIndex(tree => tree.number === Number(number));
  if (known < 0) {
    loading = number;
    try {
      const tree = await loadGame(Number(number));
      if (loading !== number) return;
      addGames([tree]);
    } catch (e) {
      if (loading === number) tell(explain(e as Error), 'bad');
      return;
    } finally {
      if (loading === number) loading = '';
    }
  } else if (games.value[known] !== game.value) selectGame(known);
  toPly(ply);
}

/** Moves made up to a node, on the main line: up to where a variation leaves it. */
function plyOnMainLine(at: Node): number {
  const main = lineThrough(pathTo(at)[0]);
  return pathTo(at).findLast(n => main[n.ply] === n)!.ply;
}

/** Returns a function that ends it. */
export function followAddress(): () => void {
  let timer = 0;
  const ends = [
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
        if (number === undefined) rename(name);
        else rename(name, number, plyOnMainLine(at));
      }, DELAY_MS) as unknown as number;
    }),
  ];
  return () => {
    clearTimeout(timer);
    for (const end of ends) end();
  };
}
