// Small components used by all screens.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../i18n';
import { openPanels } from '../settings';

const ICONS = {
  first: 'M6 5v14M19 5l-9 7 9 7z',
  back: 'M16 5l-9 7 9 7z',
  forward: 'M8 5l9 7-9 7z',
  last: 'M18 5v14M5 5l9 7-9 7z',
  flip: 'M4 9h13l-4-4M20 15H7l4 4',
  open: 'M3 18V6h6l2 2h10v10zM3 11h18',
  save: 'M12 4v11m-5-4 5 5 5-5M4 20h16',
  gear: 'M12 8.500a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 2v3m0 14v3M2 12h3m14 0h3M5 5l2 2m10 10 2 2M19 5l-2 2M7 17l-2 2',
  help: 'M9 9a3 3 0 1 1 4.5 2.600c-1 .6-1.5 1.2-1.5 2.400M12 17.500v.5M12 2.500a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19z',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 21 21',
  play: 'M8 5l11 7-11 7z',
  stop: 'M6 6h12v12H6z',
  chart: 'M4 19V5M4 19h16M7 15l4-5 3 3 5-7',
  edit: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  threat: 'M12 3 22 20H2zM12 9v5M12 17v.5',
  mate: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 1v4m0 14v4M1 12h4m14 0h4',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  flag: 'M5 21V4h12l-2 4 2 4H5',
  undo: 'M9 7 4 12l5 5M4 12h11a5 5 0 0 1 0 10',
  bulb: 'M9 18h6M10 21h4M8 14a6 6 0 1 1 8 0c-.8.8-1 1.5-1 2H9c0-.5-.2-1.2-1-2z',
  list: 'M4 6h16M4 12h16M4 18h16',
  print: 'M7 8V3h10v5M7 17H4V9h16v8h-3M7 14h10v7H7z',
  up: 'M12 19V5m-6 6 6-6 6 6',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

const ARROWS: Record<string, string> = { Left: '←', Right: '→', Up: '↑', Down: '↓' };

/** A key as displayed: arrow keys as symbols. */
export const keyName = (key: string): string => key.replace(/Arrow(Left|Right|Up|Down)/, (_, way: string) => ARROWS[way]);

interface ButtonProps {
  icon?: IconName;
  label: string;
  onClick?: () => void;
  /** Shows the label as text, not only as a tooltip. */
  isWide?: boolean;
  /** Submits its form, as Enter in a field does. */
  isSubmit?: boolean;
  pressed?: boolean;
  disabled?: boolean;
  class?: string;
  keys?: string;
}

export function Button({ icon, label, onClick, isWide, isSubmit, pressed, disabled, class: name, keys }: ButtonProps) {
  return (
    <button
      type={isSubmit ? 'submit' : 'button'}
      class={`button ${isWide ? 'wide' : ''} ${name ?? ''}`}
      title={keys ? `${label} (${keyName(keys)})` : label}
      aria-label={label}
      aria-pressed={pressed}
      aria-keyshortcuts={keys}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {isWide && <span>{label}</span>}
    </button>
  );
}

/** A modal dialog, closed by Escape or a click on the backdrop. */
export function Dialog({ title, onClose, children, class: name }: { title: string; onClose: () => void; children: ComponentChildren; class?: string }) {
  const ref = useRef<HTMLDialogElement>(null);
  // At once, so that keys pressed after the dialog's own don't reach the page below it.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    // The button that opened the dialog gets the focus back. Nothing else does, though close() gives it:
    // on the board's cursor, for example, the arrow keys wouldn't go through the game that was opened.
    const opener = document.activeElement?.closest('button');
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (opener?.isConnected) opener.focus({ preventScroll: true });
      else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${name ?? ''}`}
      aria-label={title}
      onCancel={e => {
        e.preventDefault();
        onClose();
      }}
      onMouseDown={e => {
        if (e.target === ref.current) onClose();
      }}
    >
      <div class="dialog-inner">
        <header>
          <h2>{title}</h2>
          <Button icon="close" label={t('close')} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface MenuItem {
  label: string;
  icon?: IconName;
  keys?: string;
  onClick: () => void;
  disabled?: boolean;
}

/** A button that opens a dropdown menu. */
export function Menu({ icon, label, items, isWide, class: name }: { icon: IconName; label: string; items: (MenuItem | 'line')[]; isWide?: boolean; class?: string }) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (e: Event) => {
      if (!ref.current?.contains(e.target as globalThis.Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', close);
    ref.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    ref.current?.querySelector('[role=menu]')?.scrollIntoView({ block: 'nearest' });
    return () => document.removeEventListener('pointerdown', close);
  }, [isOpen]);
  const onKeyDown = (e: KeyboardEvent & { currentTarget: HTMLDivElement }) => {
    if (!isOpen) return;
    const all = [...e.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (e.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (e.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus();
    else if (e.key === 'Escape') {
      setOpen(false);
      e.currentTarget.querySelector<HTMLElement>('button')?.focus();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class={`menu ${name ?? ''}`} ref={ref} onKeyDown={onKeyDown}>
      <button type="button" class={`button ${isWide ? 'wide' : ''}`} aria-haspopup="menu" aria-expanded={isOpen} aria-label={label} title={label} onClick={() => setOpen(!isOpen)}>
        <Icon name={icon} />
        {isWide && <span>{label}</span>}
      </button>
      {isOpen && (
        <div class="menu-list" role="menu" aria-label={label}>
          {items.map((item, i) =>
            item === 'line' ? (
              <hr key={i} />
            ) : (
              <button
                key={i}
                type="button"
                role="menuitem"
                disabled={item.disabled}
                onClick={() => {
                  setOpen(false);
                  ref.current?.querySelector<HTMLElement>('button')?.focus(); // a dialog that opens now returns the focus here
                  item.onClick();
                }}
              >
                {item.icon ? <Icon name={item.icon} /> : <span class="icon" />}
                <span>{item.label}</span>
                {item.keys && <kbd>{item.keys}</kbd>}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  );
}

/** A collapsible panel that remembers whether it is open. */
export function Panel({ name, title, children, isOpenAtFirst = true, aside }: { name: string; title: string; children: ComponentChildren; isOpenAtFirst?: boolean; aside?: ComponentChildren }) {
  const isOpen = openPanels.value[name] ?? isOpenAtFirst;
  return (
    <section class={`panel ${isOpen ? '' : 'shut'}`} data-panel={name}>
      <header>
        <h2>
          <button type="button" aria-expanded={isOpen} onClick={() => (openPanels.value = { ...openPanels.value, [name]: !isOpen })}>
            <span class="turner" aria-hidden="true" />
            {title}
          </button>
        </h2>
        {isOpen && aside}
      </header>
      {isOpen && <div class="panel-body">{children}</div>}
    </section>
  );
}

export function Choice<T extends string | number>({ label, value, options, onChange, isHidden }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void; isHidden?: boolean }) {
  return (
    <label class="choice" title={isHidden ? label : undefined}>
      <span class={isHidden ? 'unseen' : ''}>{label}</span>
      <select value={String(value)} onChange={e => onChange(options[e.currentTarget.selectedIndex][0])}>
        {options.map(([v, text]) => (
          <option key={v} value={String(v)}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Segments<T extends string>({ label, value, options, onChange, isLabelled }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void; isLabelled?: boolean }) {
  const onKeyDown = (e: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const next = (options.findIndex(([v]) => v === value) + step + options.length) % options.length;
    (e.currentTarget.children[next] as HTMLElement).focus();
    onChange(options[next][0]);
  };
  const focusable = options.some(([v]) => v === value) ? value : options[0]?.[0];
  const segments = (
    <div class="segments" role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {options.map(([v, text]) => (
        <button key={v} type="button" role="radio" aria-checked={v === value} tabIndex={v === focusable ? 0 : -1} onClick={() => onChange(v)}>
          {text}
        </button>
      ))}
    </div>
  );
  return isLabelled ? (
    <div class="choice">
      <span aria-hidden="true">{label}</span>
      {segments}
    </div>
  ) : (
    segments
  );
}

export function Switch({ label, checked, onChange }: { label: string; checked: boolean; onChange: (on: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" role="switch" checked={checked} onChange={e => onChange(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

/** Says that a list is empty, and which commands fill it. */
export function Empty({ text, commands }: { text: string; commands: readonly string[] }) {
  return (
    <div class="empty">
      <p>{text}</p>
      {commands.map(command => (
        <code key={command}>{command}</code>
      ))}
    </div>
  );
}

/** Says that an address names something that isn't there, once all lists it could be in are loaded. */
export function Missing({ name, found, lists }: { name: string | undefined; found: unknown; lists: readonly { isLoaded: { value: boolean } }[] }) {
  if (!name || found || !lists.every(l => l.isLoaded.value)) return null;
  return <p class="problem">{t('missing', { name })}</p>;
}

export function Progress({ done, total, label }: { done: number; total: number; label: string }) {
  return <progress class="progress" value={done} max={Math.max(1, total)} aria-label={label} />;
}
