// Media queries.
import { computed, signal } from '@preact/signals';

function matches(query: string) {
  const list = matchMedia(query);
  const found = signal(list.matches);
  list.addEventListener('change', () => (found.value = list.matches));
  return found;
}

/** The game is drawn for paper. */
export const isPrinting = signal(false);

const hasOneColumnBeside = matches('(min-width: 761px) and (max-width: 1639px) and (min-height: 541px)');

/** There is one column beside the board, shared by graph, mistakes and moves. */
export const isShared = computed(() => hasOneColumnBeside.value);
