// What searches: the alpha-beta search that comes with the package, or a network's tree search.
import { computed } from '@preact/signals';
import type { Welcome } from './protocol';
import { screen } from './router';
import { engine, modelId } from './settings';
import { connection } from './socket';

export type Engine = Welcome['default_engine'];

/** The engine chosen for the analysis, else the server's. */
export const analysisEngine = computed<Engine>(() => engine.value || connection.welcome.value?.default_engine || 'alphabeta');

/** What searches on this screen: the inside of a network is that of a network's search. */
export const searchEngine = computed<Engine>(() => (screen() === 'network' ? 'model' : analysisEngine.value));

/** How a request names an engine. */
export const named = (which: Engine): { engine: Engine; model: string | null } => ({ engine: which, model: which === 'model' ? modelId.value || null : null });

/** What a score was found by: scores of different engines aren't compared by their nodes. */
export const finder = (found: { engine: Engine; model: string }): string => (found.engine === 'model' ? found.model : found.engine);
