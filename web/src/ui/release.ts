// Works around a memory leak: makes vnodes that Preact has replaced collectable.
//
// Until a parent is rerendered, its `props.children` references the first vnode of each child. That
// vnode references its children, and each of them its latest parent, which references its children
// in turn: one such vnode retains every tree rendered after it. So the links of a component's
// replaced vnodes are cleared as soon as the new ones are committed.
import { options } from 'preact';

/** Preact's internal vnode fields, under the mangled names that its own add-ons rely on. */
export interface Internals {
  /** The vnode's component. */
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
