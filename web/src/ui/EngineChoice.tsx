import { analysisEngine } from '../engines';
import { t } from '../i18n';
import { chosenModel, models } from '../models';
import { engine, modelId } from '../settings';
import { Choice } from './parts';

const NETWORK = 'model:';

/** Selects the alpha-beta search or the search with one of the networks. */
export function EngineChoice() {
  const options = [['alphabeta', t('player.alphabeta')] as const, ...models.value.map(m => [NETWORK + m.id, t('engine.model', { name: m.name })] as const)];
  return (
    <Choice
      label={t('engine')}
      value={analysisEngine.value === 'alphabeta' ? 'alphabeta' : NETWORK + (chosenModel.value?.id ?? '')}
      options={options}
      onChange={value => {
        engine.value = value === 'alphabeta' ? 'alphabeta' : 'model';
        if (value !== 'alphabeta') modelId.value = value.slice(NETWORK.length);
      }}
    />
  );
}
