// Rerenders a component only when its properties change (as in preact/compat, which is not needed otherwise).
import { Component, type ComponentChildren, type FunctionComponent, h } from 'preact';

export function memo<P extends object>(render: (props: P) => ComponentChildren): FunctionComponent<P> {
  const Inner = render as FunctionComponent<P>;
  class Memo extends Component<P> {
    shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      return Object.keys({ ...now, ...then }).some(key => now[key] !== then[key]);
    }
    render(props: P) {
      return h(Inner, props);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
