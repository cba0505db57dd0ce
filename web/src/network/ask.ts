// Hooks that query networks about the current position.
import { useEffect, useState } from 'preact/hooks';
import { positionText, node } from '../analyse/state';
import { explain } from '../i18n';
import type { AttentionAnswer, Checkpoint, NetworkAnswer, Planes, TreeNode } from '../protocol';
import { connection, RequestError, type Message } from '../socket';

interface Query<T> {
  answer?: T;
  error?: string;
  isWaiting: boolean;
}

/** Sends a request whenever `key` or the connection changes; debounced, so that stepping through a game
 * sends none on the way. */
function useAnswer<T>(key: string, ask: (() => Promise<T>) | undefined): Query<T> {
  const [state, setState] = useState<Query<T> & { key: string }>({ key: '', isWaiting: false });
  const epoch = connection.epoch.value;
  const isOpen = connection.status.value === 'open';
  useEffect(() => {
    if (!ask || !epoch || !isOpen) return;
    let isCancelled = false;
    setState(s => ({ ...s, isWaiting: true }));
    const timer = setTimeout(() => {
      ask().then(
        answer => !isCancelled && setState({ key, answer, isWaiting: false }),
        (e: Error) => !isCancelled && setState({ key, error: explain(e), isWaiting: false }),
      );
    }, 120);
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [key, epoch, isOpen]);
  return state;
}

export const useNetwork = (model: string): Query<NetworkAnswer> => {
  const position = positionText(node.value);
  return useAnswer(`${model}|${position}`, () => connection.ask({ type: 'network', position, models: model ? [model] : [] }, 'network'));
};

export const usePlanes = (model: string, isWanted: boolean): Query<Planes> => {
  const position = positionText(node.value);
  return useAnswer(`planes|${isWanted}|${model}|${position}`, isWanted ? () => connection.ask({ type: 'planes', position, model: model || null }, 'planes') : undefined);
};

export const useAttention = (model: string, layer: number, head: number | null): Query<AttentionAnswer> => {
  const position = positionText(node.value);
  return useAnswer(`${model}|${layer}|${head}|${position}`, model ? () => connection.ask({ type: 'attention', position, model, layer, head }, 'attention') : undefined);
};

/** A node of the last search's tree; none before the first search with a network, which is no error. */
export const useTree = (path: string[], stamp: number): Query<TreeNode | undefined> => {
  const position = positionText(node.value);
  const ask = () =>
    connection.ask({ type: 'tree', path, limit: 40 }, 'tree').catch((e: Error) => {
      if (!(e instanceof RequestError) || e.code !== 'not_possible') throw e;
      return undefined;
    });
  return useAnswer(`${position}|${path.join(' ')}|${stamp}`, ask);
};

/** The evaluations by each checkpoint of a run, streamed. */
export function useCheckpoints(run: string): { found: Checkpoint[]; total: number; error: string; isDone: boolean } {
  const position = positionText(node.value);
  const [state, setState] = useState({ found: [] as Checkpoint[], total: 0, error: '', isDone: false });
  const epoch = connection.epoch.value;
  useEffect(() => {
    setState({ found: [], total: 0, error: '', isDone: false });
    if (!run || !epoch) return;
    let id = 0;
    const timer = setTimeout(() => {
      const message: Message = { type: 'checkpoints', position, run, moves: 5 };
      id = connection.request(message, answer => {
        if (answer.type === 'checkpoint') setState(s => ({ ...s, found: [...s.found, answer], total: answer.total }));
        else if (answer.type === 'ok') setState(s => ({ ...s, isDone: true }));
        else if (answer.type === 'error') setState(s => ({ ...s, error: explain(answer), isDone: true }));
      });
    }, 200);
    return () => {
      clearTimeout(timer);
      if (id) connection.forget(id);
    };
  }, [run, position, epoch]);
  return state;
}
