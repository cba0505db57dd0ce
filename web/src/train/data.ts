// The server's runs, matches, ladders, loops and their live logs.
import { useEffect, useState } from 'preact/hooks';
import { resource } from '../http';
import { explain } from '../i18n';
import type { LabPage, LadderInfo, LoopInfo, MatchInfo, RunInfo } from '../protocol';
import { connection } from '../socket';

export const runs = resource<RunInfo[]>('runs', []);
export const matches = resource<MatchInfo[]>('matches', []);
export const ladders = resource<LadderInfo[]>('ladders', []);
export const loops = resource<LoopInfo[]>('loops', []);
export const labPages = resource<LabPage[]>('lab', []);

export type Entry = Record<string, unknown>;

/** Subscribes to the entries of a log. */
export function useLog(what: 'run' | 'match', name: string): { entries: Entry[]; isRunning: boolean; error: string } {
  const [state, setState] = useState({ entries: [] as Entry[], isRunning: false, error: '' });
  const epoch = connection.epoch.value;
  useEffect(() => {
    setState({ entries: [], isRunning: false, error: '' });
    if (!name || !epoch) return;
    const id = connection.request({ type: 'watch', what, name, since: 0 }, answer => {
      if (answer.type === 'watched')
        setState(s => ({ entries: [...s.entries.slice(0, answer.since), ...(answer.entries as Entry[])], isRunning: answer.is_running, error: '' }));
      else if (answer.type === 'error') setState(s => ({ ...s, error: explain(answer) }));
    });
    return () => {
      connection.forget(id);
      connection.request({ type: 'unwatch', watch: id }, () => {});
    };
  }, [what, name, epoch]);
  return state;
}

/** Polls lists while the component is mounted and the page is visible. */
export function usePolling(...lists: { load: () => Promise<void> }[]): void {
  useEffect(() => {
    const load = () => document.visibilityState === 'visible' && lists.forEach(l => void l.load());
    load();
    const timer = setInterval(load, 10_000);
    return () => clearInterval(timer);
  }, []);
}

export const number = (v: unknown): number | null => (typeof v === 'number' ? v : null);
