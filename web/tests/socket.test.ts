// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest';
import { Connection, RequestError, type Message } from '../src/socket';

/** A server that the test plays: the sockets that the page has opened, newest last. */
class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 1;
  sent: { id: number; type: string; position?: string }[] = [];
  onmessage?: (e: { data: string }) => void;
  onclose?: () => void;
  constructor(readonly url: URL) {
    Socket.all.push(this);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.readyState = 3;
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  welcome(resumed: boolean, received = 0, session = 's'): void {
    this.say({ type: 'welcome', protocol: 2, session, resumed, received, games: [], studies: [] });
  }
  /** The connection ends. */
  drop(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

const last = (): Socket => Socket.all.at(-1)!;
const ids = (): number[] => last().sent.map(m => m.id);
const move = (usi: string): Message => ({ type: 'game_move', game: 1, move: usi });
const outcomes: string[] = [];
let connection: Connection;

const note = (name: string, asked: Promise<unknown>): void => {
  asked.then(
    () => outcomes.push(`${name} done`),
    (e: RequestError) => outcomes.push(`${name} ${e.code}`),
  );
};
const reconnect = async (): Promise<void> => {
  await vi.advanceTimersByTimeAsync(10_000);
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', Socket);
  Socket.all = [];
  outcomes.length = 0;
  connection = new Connection();
  connection.connect();
  last().welcome(false);
});

test('requests made without a connection are sent when it is restored, once and in order', async () => {
  note('first', connection.ask(move('7g7f'), 'ok'));
  last().say({ type: 'ok', id: 1 });
  note('swallowed', connection.ask(move('2g2f'), 'ok')); // sent into a connection that is dead
  last().drop();
  expect(connection.status.value).toBe('lost');
  note('queued', connection.ask(move('2f2e'), 'ok'));
  await reconnect();
  expect(last().url.search).toBe('?session=s&received=1');
  last().welcome(true, 1);
  expect(ids()).toEqual([2, 3]);
  last().say({ type: 'ok', id: 2 });
  last().say({ type: 'ok', id: 3 });
  await reconnect();
  expect(outcomes).toEqual(['first done', 'swallowed done', 'queued done']);
});

test('requests that have reached the server are not repeated', async () => {
  note('move', connection.ask(move('7g7f'), 'ok'));
  last().drop(); // before the answer
  await reconnect();
  last().welcome(true, 1);
  expect(ids()).toEqual([]);
  last().say({ type: 'ok', id: 1 }); // repeated by the server
  await reconnect();
  expect(outcomes).toEqual(['move done']);
});

test('requests that a new session cannot answer are refused', async () => {
  const epoch = connection.epoch.value;
  let answers = 0;
  connection.request({ type: 'analyse', position: 'startpos' }, () => answers++);
  last().say({ type: 'analysis', id: 1 });
  note('sent', connection.ask(move('7g7f'), 'ok'));
  last().drop();
  note('queued', connection.ask(move('2g2f'), 'ok'));
  await reconnect();
  last().welcome(false, 0, 'other');
  expect(ids()).toEqual([]);
  await reconnect();
  expect(outcomes).toEqual(['sent lost', 'queued lost']);
  expect(answers).toBe(1); // the page starts its search again, by the epoch
  expect(connection.epoch.value).toBe(epoch + 1);
  note('new', connection.ask(move('7g7f'), 'ok'));
  last().drop();
  await reconnect();
  expect(last().url.search).toBe('?session=other&received=0');
});

test('more requests than are kept are refused at once', async () => {
  last().drop();
  for (let i = 0; i < 60; i++) note(String(i), connection.ask(move('7g7f'), 'ok'));
  await vi.advanceTimersByTimeAsync(0);
  expect(outcomes).toEqual(Array.from({ length: 10 }, (_, i) => `${50 + i} lost`));
  await reconnect();
  last().welcome(true, 0);
  expect(ids()).toHaveLength(50);
});

test('a search that the page has given up meanwhile is not sent', async () => {
  last().drop();
  const old = connection.request({ type: 'analyse', position: 'startpos' }, () => {});
  connection.forget(old);
  connection.request({ type: 'analyse', position: 'startpos moves 7g7f' }, () => {});
  await reconnect();
  last().welcome(true, 0);
  expect(last().sent.map(m => m.position)).toEqual(['startpos moves 7g7f']);
});

test('a server that no longer answers is noticed', async () => {
  const old = last();
  connection.check();
  expect(old.sent.map(m => m.type)).toEqual(['ping']);
  old.say({ type: 'ok', id: 1 });
  await reconnect();
  expect(connection.status.value).toBe('open');
  connection.check();
  await vi.advanceTimersByTimeAsync(4_100);
  expect(connection.status.value).toBe('lost');
  connection.check(); // tries again without waiting
  expect(last()).not.toBe(old);
  last().welcome(true, 1);
  expect(connection.status.value).toBe('open');
  expect(ids()).toEqual([2]);
});

test('a message longer than the server accepts is refused, not sent again and again', async () => {
  note('long', connection.ask({ type: 'study', games: [{ position: '歩'.repeat(100_000) }] }, 'study'));
  await vi.advanceTimersByTimeAsync(0);
  expect(outcomes).toEqual(['long too_long']);
  expect(ids()).toEqual([]);
});
