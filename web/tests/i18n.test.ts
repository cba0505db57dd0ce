import { readdirSync, readFileSync } from 'node:fs';
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
  expect([9_999, 59_200, 1_500_000].map(count)).toEqual(['9999', '5.9万', '150万']);
  expect([59, 61, 3_661].map(duration)).toEqual(['0:59', '1:01', '1:01:01']);
});

/** Names and abbreviations that Japanese writes as they are. */
const SAME = /^(komadori|KIF?2?|KI2|JKF|CSA|USI|SFEN|HTML|PNG|GIF|UTF|Shift|JIS|Enter|Tab|Elo|NNUE|MB|web|model|shogiground|shogiops|tsshogi|uPlot|GPL|MIT|SIL|OFL|Yuji|Syuku|Kaisei|Tokumin)$/;

test('the Japanese texts hold no English', () => {
  for (const [key, text] of Object.entries(ja)) {
    const words = [...text.replace(/\{\w+\}/g, '').matchAll(/[A-Za-z][A-Za-z]+2?/g)].map(m => m[0]);
    expect(words.filter(w => !SAME.test(w)), key).toEqual([]);
  }
});

const sources = (readdirSync(new URL('../src', import.meta.url), { recursive: true }) as string[])
  .filter(name => name.endsWith('.tsx'))
  .map(name => [name, readFileSync(new URL(`../src/${name}`, import.meta.url), 'utf8')] as const);

test('no component says words of its own', () => {
  for (const [name, code] of sources) {
    const markup = code.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    const texts = [...markup.matchAll(/<\/?[a-zA-Z][^<>{}]*>\s*([^<>{}()=;]*[A-Za-z]{2,}[^<>{}()=;]*)\s*</g)].map(m => m[1].trim());
    const labels = [...markup.matchAll(/(?:aria-label|title|placeholder|label)="([^"]*[A-Za-z]{2,}[^"]*)"/g)].map(m => m[1]);
    expect([...texts, ...labels].filter(text => !/^(Elo|LOS|KIF|GIF|SFEN|USI|komadori|日本語|Language \/ 言語|Promise)$/.test(text)), name).toEqual([]);
  }
});

test('every key is used', () => {
  const all = (readdirSync(new URL('../src', import.meta.url), { recursive: true }) as string[])
    .filter(name => /\.tsx?$/.test(name) && !name.startsWith('i18n/'))
    .map(name => readFileSync(new URL(`../src/${name}`, import.meta.url), 'utf8'))
    .join('\n');
  const built = [...all.matchAll(/`([a-zA-Z.]+)\.\$\{/g), ...all.matchAll(/word\('([a-zA-Z.]+)'/g)].map(m => `${m[1]}.`);
  const unused = Object.keys(en).filter(key => !all.includes(`'${key.replace(/\.one$/, '')}'`) && !built.some(prefix => key.startsWith(prefix)) && !key.startsWith('error.'));
  expect(unused).toEqual([]);
});
