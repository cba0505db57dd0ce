import { t } from '../i18n';
import { chosenModel, models } from '../models';
import { modelId } from '../settings';
import { Choice } from './parts';

export function ModelChoice({ label }: { label?: string }) {
  const usable = models.value;
  if (!usable.length) return null;
  return (
    <Choice
      label={label ?? t('model')}
      value={chosenModel.value?.id ?? ''}
      options={usable.map(m => [m.id, m.name] as const)}
      onChange={id => (modelId.value = id)}
    />
  );
}
