// The HTTP API: lists, the library, files.
import { signal } from '@preact/signals';
import { explain } from './i18n';

export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code = '',
  ) {
    super(message);
  }
}

export function apiUrl(path: string, query: Record<string, string | number | undefined> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') params.set(name, String(value));
  const text = params.toString();
  return `api/${path}${text ? `?${text}` : ''}`;
}

async function read<T>(response: Response): Promise<T> {
  if (response.ok) return (response.headers.get('content-type') ?? '').includes('json') ? response.json() : ((await response.text()) as T);
  let message = response.statusText;
  let code = '';
  try {
    const body = await response.json();
    if (typeof body.code === 'string') code = body.code;
    message = typeof body.message === 'string' ? body.message : typeof body.detail === 'string' ? body.detail : message;
  } catch {
    // The body isn't JSON.
  }
  throw new HttpError(response.status, message, code);
}

export async function get<T>(path: string, query?: Record<string, string | number | undefined>): Promise<T> {
  return read<T>(await fetch(apiUrl(path, query)));
}

export async function send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method };
  if (body instanceof Blob) init.body = body;
  else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'content-type': 'application/json' };
  }
  return read<T>(await fetch(apiUrl(path), init));
}

/** A value fetched on first use; `load` refetches it. */
export function resource<T>(path: string, initial: T) {
  const value = signal(initial);
  const error = signal('');
  const isLoaded = signal(false);
  let isRequested = false;
  const load = async () => {
    isRequested = true;
    try {
      value.value = await get<T>(path);
      error.value = '';
      isLoaded.value = true;
    } catch (e) {
      error.value = explain(e as Error);
    }
  };
  return {
    error,
    /** Whether the value was fetched at least once. */
    isLoaded,
    load,
    get value(): T {
      if (!isRequested) void load();
      return value.value;
    },
  };
}
