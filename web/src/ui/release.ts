// Lets go of trees that Preact has replaced.
//
// A parent's `props.children` holds the first virtual node of each child for as long as the parent
// isn't rendered again. That node keeps its children, and each of them points to the parent it had
// last, which keeps its children too: one such node keeps everything that was drawn after it. So a
// component's replaced nodes lose their links as soon as the new ones are in the document.
import { options } from 'preact';

/** Fields of Preact that its own add-ons use, under the names its build gives them. */
export interface Internals {
  /** A virtual node's component. */
  __c?: object | null;
  /** Its children. */
  __k?: (Internals | null)[] | null;
  /** Its parent. */
  __?: Internals | null;
}

export function releaseReplaced(): void {
  const hooks = options as unknown as {
    diffed?: (node: Internals) => void;
    __c?: (node: Internals, queue: unknown[]) => void;
  };
  const { diffed, __c: commit } = hooks;
  const shown = new WeakMap<object, Internals>();
  const replaced = new Set<Internals>();
  hooks.diffed = node => {
    if (node.__c) {
      const before = shown.get(node.__c);
      if (before && before !== node) replaced.add(before);
      shown.set(node.__c, node);
    }
    diffed?.(node);
  };
  hooks.__c = (node, queue) => {
    commit?.(node, queue);
    for (const old of replaced) old.__ = old.__k = null;
    replaced.clear();
  };
}
