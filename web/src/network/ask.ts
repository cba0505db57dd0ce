// Requests to networks about the current position.
import { useEffect, useState } from 'preact/hooks';
import { positionText, node } from '../analyse/state';
import { explain } from '../i18n';
import type { AttentionAnswer, Checkpoint, NetworkAnswer, Planes, TreeNode } from '../protocol';
import { connection, type Message } from '../socket';

interface Asked<T> {
  answer?: T;
  error?: string;
  isWaiting: boolean;
}

/** One answer to a question, asked anew when it changes, a moment after: who leafs through a game
 * asks nothing on the way. */
function useAnswer<T>(key: string, ask: (() => Promise<T>) | undefined): Asked<T> {
  const [state, setState] = useState<Asked<T> & { key: string }>({ key: '', isWaiting: false });
  const epoch = connection.epoch.value;
  useEffect(() => {
    if (!ask || !epoch) return;
    let isOver = false;
    setState(s => ({ ...s, isWaiting: true }));
    const timer = setTimeout(() => {
      ask().then(
        answer => !isOver && setState({ key, answer, isWaiting: false }),
        (e: Error) => !isOver && setState({ key, error: explain(e), isWaiting: false }),
      );
    }, 120);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, epoch]);
  return state;
}

export const useNetwork = (model: string): Asked<NetworkAnswer> => {
  const position = positionText(node.value);
  return useAnswer(`${model}|${position}`, () => connection.ask({ type: 'network', position, models: model ? [model] : [] }, 'network'));
};

export const usePlanes = (model: string, isWanted: boolean): Asked<Planes> => {
  const position = positionText(node.value);
  return useAnswer(`planes|${isWanted}|${model}|${position}`, isWanted ? () => connection.ask({ type: 'planes', position, model: model || null }, 'planes') : undefined);
};

export const useAttention = (model: string, layer: number, head: number | null): Asked<AttentionAnswer> => {
  const position = positionText(node.value);
  return useAnswer(`${model}|${layer}|${head}|${position}`, model ? () => connection.ask({ type: 'attention', position, model, layer, head }, 'attention') : undefined);
};

export const useTree = (path: string[], stamp: number): Asked<TreeNode> => {
  const position = positionText(node.value);
  return useAnswer(`${position}|${path.join(' ')}|${stamp}`, () => connection.ask({ type: 'tree', path, limit: 40 }, 'tree'));
};

/** The evaluation by each checkpoint of a run, as answers arrive. */
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

