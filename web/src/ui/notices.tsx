// Toast notifications.
import { signal } from '@preact/signals';

interface Notice {
  id: number;
  text: string;
  kind: 'good' | 'bad';
}

const notices = signal<Notice[]>([]);
let nextId = 1;

export function notify(text: string, kind: Notice['kind'] = 'good'): void {
  const id = nextId++;
  notices.value = [...notices.value.filter(n => n.text !== text), { id, text, kind }].slice(-4);
  setTimeout(() => dismiss(id), kind === 'bad' ? 9_000 : 3_500);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter(n => n.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(n => (
        <button key={n.id} type="button" class={`notice ${n.kind}`} onClick={() => dismiss(n.id)}>
          {n.text}
        </button>
      ))}
    </div>
  );
}
