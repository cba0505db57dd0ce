// Media queries.
import { computed, signal } from '@preact/signals';

function matches(query: string) {
  const list = matchMedia(query);
  const found = signal(list.matches);
  list.addEventListener('change', () => (found.value = list.matches));
  return found;
}

/** Whether the page shows its print layout. */
export const isPrinting = signal(false);

const hasOneSideColumn = matches('(min-width: 761px) and (max-width: 1639px) and (min-height: 541px)');

/** Whether the layout has a single side column, shared by graph, mistakes and moves. */
export const isShared = computed(() => hasOneSideColumn.value);
