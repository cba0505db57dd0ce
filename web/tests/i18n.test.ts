import { expect, test } from 'vitest';
import { count, duration } from '../src/i18n';
import { en } from '../src/i18n/en';
import { ja } from '../src/i18n/ja';
import { language } from '../src/settings';

const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(m => m[1]).sort();

test('every text is there in both languages', () => {
  expect(Object.keys(ja).sort()).toEqual(Object.keys(en).sort());
  for (const [key, text] of Object.entries(ja)) expect(text, key).not.toBe('');
});

test('both use values the other knows', () => {
  // A language may leave a value out, none may name one that isn't given.
  for (const [key, text] of Object.entries(ja)) for (const hole of holes(text)) expect(holes(en[key as keyof typeof en]), key).toContain(hole);
});

test('numbers are short', () => {
  language.value = 'en';
  expect([950, 12_340, 1_500_000].map(count)).toEqual(['950', '12.3k', '1.5M']);
  language.value = 'ja';
  expect(count(1_500_000)).toBe('150万');
  expect([59, 61, 3_661].map(duration)).toEqual(['0:59', '1:01', '1:01:01']);
});
