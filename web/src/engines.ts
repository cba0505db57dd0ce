// The engines: the built-in alpha-beta search, or a network's tree search.
import { computed } from '@preact/signals';
import type { Welcome } from './protocol';
import { screen } from './router';
import { engine, modelId } from './settings';
import { connection } from './socket';

export type Engine = Welcome['default_engine'];

/** The engine chosen for the analysis, or the server's default. */
export const analysisEngine = computed<Engine>(() => engine.value || connection.welcome.value?.default_engine || 'alphabeta');

/** The engine of the current screen; the network screen always searches with a network. */
export const searchEngine = computed<Engine>(() => (screen() === 'network' ? 'model' : analysisEngine.value));

/** An engine as the fields of a request. */
export const engineFields = (which: Engine): { engine: Engine; model: string | null } => ({ engine: which, model: which === 'model' ? modelId.value || null : null });

/** Identifies the engine behind a score; node counts are comparable only within one engine. */
export const engineId = (found: { engine: Engine; model: string }): string => (found.engine === 'model' ? found.model : found.engine);
