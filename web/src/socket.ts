// The WebSocket connection: numbered requests, dispatch of answers, reconnection with backoff. The
// server keeps a disconnected session for 60 s, so its searches resume under their request numbers.
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

export class Connection {
  readonly status = signal<Status>('connecting');
  readonly welcome = signal<Welcome | undefined>(undefined);
  /** Incremented for each new session: requests of the previous one must be sent again. */
  readonly epoch = signal(0);

  private socket?: WebSocket;
  private session = '';
  private nextId = 1;
  private retryMs = 250;
  private readonly handlers = new Map<number, Handler>();
  private queue: string[] = [];

  connect(): void {
    const query = this.session ? `?session=${encodeURIComponent(this.session)}` : '';
    const url = new URL(`ws${query}`, location.href.replace(/[?#].*$/, ''));
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onmessage = e => this.receive(JSON.parse(e.data as string) as ServerMessage);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.status.value = 'lost';
      setTimeout(() => this.connect(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, MAX_RETRY_MS);
    };
  }

  private receive(message: ServerMessage): void {
    if (message.type === 'welcome') {
      this.retryMs = 250;
      this.session = message.session;
      this.welcome.value = message;
      this.status.value = 'open';
      if (!message.resumed) {
        this.handlers.clear();
        this.epoch.value++;
      }
      const queued = this.queue;
      this.queue = [];
      for (const text of queued) this.socket?.send(text);
      return;
    }
    if (message.id === null) console.warn(message);
    else this.handlers.get(message.id)?.(message);
  }

  get isOutdated(): boolean {
    const welcome = this.welcome.value;
    return !!welcome && welcome.protocol !== VERSION;
  }

  /** Sends a request and passes every answer to the handler, until `forget`. */
  request(message: Message, onAnswer: Handler): number {
    const id = this.nextId++;
    this.handlers.set(id, onAnswer);
    this.post(JSON.stringify({ ...message, id }));
    return id;
  }

  forget(id: number): void {
    this.handlers.delete(id);
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

  private post(text: string): void {
    if (this.socket?.readyState === WebSocket.OPEN && this.status.value === 'open') this.socket.send(text);
    else if (this.queue.length < 100) this.queue.push(text);
  }
}

export const connection = new Connection();
