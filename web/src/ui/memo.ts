// `memo` of preact/compat, without the rest of that package: rerenders only when props change.
import { Component, type ComponentChildren, type FunctionComponent, h } from 'preact';

export function memo<P extends object>(render: (props: P) => ComponentChildren): FunctionComponent<P> {
  const Inner = render as FunctionComponent<P>;
  class Memo extends Component<P> {
    shouldComponentUpdate(next: P): boolean {
      const props = this.props as Record<string, unknown>;
      const nextProps = next as Record<string, unknown>;
      return Object.keys({ ...props, ...nextProps }).some(key => props[key] !== nextProps[key]);
    }
    render(props: P) {
      return h(Inner, props);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
