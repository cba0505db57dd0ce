// Drawing at once.
import { options } from 'preact';

/** Makes a change of signals and draws it before returning. */
export function drawNow(change: () => void): void {
  const debounce = options.debounceRendering;
  options.debounceRendering = render => render();
  try {
    change();
  } finally {
    options.debounceRendering = debounce;
  }
}
