// @vitest-environment happy-dom
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { expect, test } from 'vitest';
import { memo } from '../src/ui/memo';
import { releaseReplaced, type Internals } from '../src/ui/release';

const Cell = memo(({ value }: { value: string }) => <b>{value}</b>);

let set: (step: number) => void;

/** Rerendered without its parent, which then keeps its first vnode. */
function Rows() {
  const [step, setStep] = useState(0);
  set = setStep;
  return (
    <ul>
      {[0, 1, 2, 3].map(i => (
        <Cell key={i} value={i === step % 4 ? `here ${step}` : 'elsewhere'} />
      ))}
    </ul>
  );
}

const Screen = () => (
  <main>
    <Rows />
  </main>
);

/** Counts the vnodes reachable from a root. */
function reachable(root: Internals): number {
  const found = new Set<unknown>();
  const stack: unknown[] = [root];
  while (stack.length) {
    const at = stack.pop();
    if (!at || typeof at !== 'object' || found.has(at)) continue;
    found.add(at);
    const { __k: children, __: parent, props } = at as Internals & { props?: { children?: unknown } };
    stack.push(...(children ?? []), parent, ...[props?.children].flat());
  }
  return found.size;
}

test('replaced vnodes are released', async () => {
  releaseReplaced();
  const place = document.createElement('div');
  render(<Screen />, place);
  const counts = [];
  for (let step = 1; step <= 60; step++) {
    set(step);
    await new Promise(resolve => setTimeout(resolve));
    expect(place.textContent).toContain(`here ${step}`);
    counts.push(reachable((place as unknown as Internals).__k as unknown as Internals));
  }
  expect(counts[59]).toBeLessThanOrEqual(counts[9]);
});
