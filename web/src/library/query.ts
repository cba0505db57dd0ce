// The filters of the library screen.
import { signal } from '@preact/signals';

export const NO_QUERY = { q: '', player: '', winner: '', source: '', here: false };
export const query = signal(NO_QUERY);
