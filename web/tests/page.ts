// A page without a server: records its requests and answers them from the tests.
import '@preact/signals';
import { h, render, type ComponentType } from 'preact';
import { act } from 'preact/test-utils';
import { vi } from 'vitest';
import type { Welcome } from '../src/protocol';
import { connection, type Message } from '../src/socket';

export const sent: Message[] = [];
const handlers = new Map<Message, (answer: never) => void>();

vi.spyOn(connection, 'request').mockImplementation((message, onAnswer) => {
  handlers.set(message, onAnswer as (answer: never) => void);
  return sent.push(message);
});

/** Answers the last request of a type. */
export async function answer(type: Message['type'], value: object): Promise<void> {
  const asked = sent.findLast(m => m.type === type)!;
  await act(() => handlers.get(asked)!({ id: sent.indexOf(asked) + 1, ...value } as never));
}

/** Mocks the HTTP API: responses by path, without the query. */
export function serve(pages: Record<string, unknown>): void {
  vi.stubGlobal('fetch', async (address: string) => {
    const found = pages[decodeURIComponent(address.replace(/\?.*/, ''))];
    return new Response(JSON.stringify(found ?? { code: 'unknown_name', detail: 'nothing' }), { status: found ? 200 : 404, headers: { 'content-type': 'application/json' } });
  });
}

export const WELCOME: Welcome = {
  type: 'welcome',
  protocol: 2,
  version: '0',
  session: 's',
  resumed: false,
  received: 0,
  default_engine: 'alphabeta',
  default_model: null,
  problem: '',
  is_lan: false,
  games: [],
  studies: [],
};

export async function mount<P extends object>(component: ComponentType<P>, props: P = {} as P): Promise<HTMLElement> {
  const place = document.createElement('div');
  document.body.replaceChildren(place);
  await act(async () => render(h(component, props), place));
  await act(() => new Promise(done => setTimeout(done, 0)));
  return place;
}

export async function click(element: Element | null | undefined): Promise<void> {
  if (!element) throw new Error('no element to click');
  await act(() => void element.dispatchEvent(new MouseEvent('click', { bubbles: true })));
}

export const button = (place: ParentNode, name: string): HTMLElement =>
  [...place.querySelectorAll<HTMLElement>('button, a')].find(b => (b.getAttribute('aria-label') ?? b.textContent ?? '').trim() === name) ?? fail(name);

function fail(name: string): never {
  throw new Error(`no button ${name}`);
}
