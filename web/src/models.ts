// The networks available on the server.
import { computed } from '@preact/signals';
import { resource } from './http';
import type { ModelInfo } from './protocol';
import { modelId } from './settings';

export const models = resource<ModelInfo[]>('models', []);

/** The selected network, or the server's default. */
export const chosenModel = computed(() => models.value.find(m => m.id === modelId.value) ?? models.value.find(m => m.is_default) ?? models.value[0]);
