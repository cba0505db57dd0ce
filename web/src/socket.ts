// The WebSocket connection: numbered requests, dispatch of answers, reconnection with backoff.
//
// The server keeps a disconnected session for 60 s, so its searches resume under their request numbers.
// Both sides then repeat what the other hasn't received. Requests that a new session can't answer are
// refused with the code `lost`.
import { signal } from '@preact/signals';
import { type ClientMessage, type Error as Refusal, type ServerMessage, VERSION, type Welcome } from './protocol';

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;
export type Message = WithoutId<ClientMessage>;
type Answer = Exclude<ServerMessage, Welcome>;
type Handler = (answer: Answer) => void;

export type Status = 'connecting' | 'open' | 'lost';

export class RequestError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const MAX_RETRY_MS = 8_000;
/** Time to wait for any message from a server that may be gone. */
const PATIENCE_MS = 4_000;
/** Maximum number of requests kept while there is no connection. */
const MAX_UNSENT = 50;
/** Maximum size of a message; the server closes the connection at a longer one. */
const MAX_BYTES = 256 << 10;

export class Connection {
  readonly status = signal<Status>('connecting');
  readonly welcome = signal<Welcome | undefined>(undefined);
  /** Incremented for each new session: requests of the previous one must be sent again. */
  readonly epoch = signal(0);

  private socket?: WebSocket;
  private session = '';
  private nextId = 1;
  private retryMs = 250;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of messages received in this session. */
  private received = 0;
  private readonly handlers = new Map<number, Handler>();
  /** Requests that the server may not have received, by id. */
  private readonly unsent = new Map<number, string>();
  /** Requests without an answer. */
  private readonly unanswered = new Set<number>();

  connect(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const last = this.socket;
    this.socket = undefined;
    last?.close();
    const query = this.session ? `?session=${encodeURIComponent(this.session)}&received=${this.received}` : '';
    const url = new URL(`ws${query}`, location.href.replace(/[?#].*$/, ''));
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onmessage = e => this.socket === socket && this.receive(JSON.parse(e.data as string) as ServerMessage);
    socket.onclose = () => this.socket === socket && this.lose();
  }

  private lose(): void {
    this.socket = undefined;
    this.status.value = 'lost';
    this.timer = setTimeout(() => this.connect(), this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, MAX_RETRY_MS);
  }

  /** Tries again at once, or finds out whether the server still answers: the device has woken up or is
   * online again. */
  check(): void {
    if (this.status.value === 'lost') {
      this.retryMs = 250;
      this.connect();
    } else if (this.socket && this.status.value === 'open') {
      const { socket, received } = this;
      this.request({ type: 'ping' }, () => {});
      setTimeout(() => {
        if (this.socket !== socket || this.received !== received) return;
        socket.close();
        this.lose();
      }, PATIENCE_MS);
    }
  }

  private receive(message: ServerMessage): void {
    if (message.type === 'welcome') {
      this.greet(message);
      return;
    }
    this.received++;
    if (message.id === null) {
      console.warn(message);
      return;
    }
    this.unanswered.delete(message.id);
    for (const id of this.unsent.keys()) if (id <= message.id) this.unsent.delete(id);
    this.handlers.get(message.id)?.(message);
  }

  private greet(welcome: Welcome): void {
    const isFirst = !this.session;
    this.retryMs = 250;
    this.session = welcome.session;
    this.welcome.value = welcome;
    if (welcome.resumed || isFirst) {
      for (const [id, text] of this.unsent)
        if (id > welcome.received) this.socket?.send(text);
        else this.unsent.delete(id);
      this.status.value = 'open';
      if (isFirst) this.epoch.value++;
      return;
    }
    this.received = 0;
    this.unsent.clear();
    const old = [...this.handlers.keys()];
    this.status.value = 'open';
    this.epoch.value++;
    for (const id of old) this.refuse(id);
  }

  /** Ends a request that the server will not answer; if it has answered already, silently. */
  private refuse(id: number, code: 'lost' | 'too_long' = 'lost'): void {
    const handler = this.handlers.get(id);
    this.handlers.delete(id);
    if (this.unanswered.delete(id)) handler?.({ type: 'error', id, code, message: code } as unknown as Answer);
  }

  get isOutdated(): boolean {
    const welcome = this.welcome.value;
    return !!welcome && welcome.protocol !== VERSION;
  }

  /** Sends a request, or keeps it until the connection is restored, and passes every answer to the
   * handler, until `forget`. */
  request(message: Message, onAnswer: Handler): number {
    const id = this.nextId++;
    this.handlers.set(id, onAnswer);
    this.unanswered.add(id);
    const isOpen = this.socket?.readyState === WebSocket.OPEN && this.status.value === 'open';
    if (!isOpen && this.unsent.size >= MAX_UNSENT) {
      queueMicrotask(() => this.refuse(id));
      return id;
    }
    const text = JSON.stringify({ ...message, id });
    if (new TextEncoder().encode(text).length > MAX_BYTES) {
      queueMicrotask(() => this.refuse(id, 'too_long'));
      return id;
    }
    this.unsent.set(id, text);
    if (isOpen) this.socket!.send(text);
    return id;
  }

  /** Ends a request; one that wasn't sent yet never is. */
  forget(id: number): void {
    this.handlers.delete(id);
    this.unanswered.delete(id);
    if (this.status.value !== 'open') this.unsent.delete(id);
  }

  /** Sends a request that has a single answer. Rejects with RequestError. */
  ask<T extends Answer['type']>(message: Message, type: T): Promise<Extract<Answer, { type: T }>> {
    return new Promise((resolve, reject) => {
      const id = this.request(message, answer => {
        this.forget(id);
        if (answer.type === 'error') reject(new RequestError(answer.code, (answer as Refusal).message));
        else if (answer.type === type) resolve(answer as Extract<Answer, { type: T }>);
      });
    });
  }
}

export const connection = new Connection();
