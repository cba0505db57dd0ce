import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { count, duration, shares } from '../src/i18n';
import { en } from '../src/i18n/en';
import { ja } from '../src/i18n/ja';
import { planeName } from '../src/network/words';
import { language } from '../src/settings';
import { reasonText } from '../src/shogi/reasons';

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(m => m[1]).sort();

test('both languages have every key', () => {
  expect(Object.keys(ja).sort()).toEqual(Object.keys(en).sort());
  for (const [key, text] of Object.entries(ja)) expect(text, key).not.toBe('');
});

test('Japanese uses no placeholders that English lacks', () => {
  for (const [key, text] of Object.entries(ja)) for (const name of placeholders(text)) expect(placeholders(en[key as keyof typeof en]), key).toContain(name);
});

test('counts and durations are abbreviated', () => {
  language.value = 'en';
  expect([950, 12_340, 200_000, 999_700, 1_500_000].map(count)).toEqual(['950', '12.3k', '200k', '1M', '1.5M']);
  language.value = 'ja';
  expect([9_999, 20_000, 59_200, 1_500_000, 99_996_000].map(count)).toEqual(['9999', '2万', '5.9万', '150万', '1億']);
  expect([59, 61, 3_661].map(duration)).toEqual(['0:59', '1:01', '1:01:01']);
});

test('parts of a whole add up to 100 per cent', () => {
  expect(shares([1, 1, 1])).toEqual(['34%', '33%', '33%']);
  expect(shares([199, 1, 0])).toEqual(['100%', '0%', '0%']);
  expect(shares([5, 3, 0])).toEqual(['63%', '37%', '0%']);
  expect(shares([0, 0, 0])).toEqual(['0%', '0%', '0%']);
});

test('reasons of the server are told in the language of the page', () => {
  const kept = '; the moves before it are kept';
  const reasons = [
    `byte 40: ply 3: +7775FU is not legal in 9/9 b - 3: no such piece on 7g${kept}`,
    `line 4: ply 3: KIF move 'ほげ', character 1: expected a square${kept}`,
    `byte 7: ply 3: invalid JKF structure: move.to is required${kept}`,
    'byte 7: a variation after 2 moves: ply 2: not a move',
    "byte 0: line 1: not a KIF line: 'junk'",
    "byte 22: not a CSA statement: '$SITE'; the rest of the game is kept",
    'byte 7: something else',
  ];
  language.value = 'ja';
  expect(reasons.map(reasonText)).toEqual([
    '3手目（+7775FU）は反則か読めない手なので、その前までを読み込みました',
    '3手目（ほげ）は反則か読めない手なので、その前までを読み込みました',
    '3手目を読めないので、その前までを読み込みました',
    '2手目の後の変化に誤りがあるので、その一部を読み込めませんでした',
    'KIF形式として正しくありません（junk）',
    'CSA形式として正しくありません（$SITE）',
    'something else',
  ]);
  language.value = 'en';
  expect(reasonText(reasons[0])).toBe('ply 3 (+7775FU) is illegal or unreadable; the moves before it are kept');
});

test('input planes have Japanese names', () => {
  const names = ['own pieces P', 'opponent pieces +R', 'own attacks N', 'own attack count >= 2', 'opponent hand P >= 3', 'own king in zone', 'own pieces lacking in zone = 4', 'opponent points lacking = 2', 'plies played 1-5', 'square 5e', 'Black to move', 'in check'];
  language.value = 'en';
  expect(names.map(planeName)).toEqual(names);
  language.value = 'ja';
  expect(names.map(planeName).slice(0, 5)).toEqual(['自分の歩', '相手の龍', '自分の桂の利き', '自分の利きの数 >= 2', '相手の持ち駒の歩 >= 3']);
  expect(names.map(planeName).filter(name => /[A-Za-z]{2}/.test(name))).toEqual([]);
});

/** Names and abbreviations that are the same in Japanese. */
const SAME = /^(komadori|KIF?2?|KI2|JKF|CSA|USI|SFEN|HTML|PNG|GIF|UTF|Shift|JIS|Enter|Delete|Tab|Elo|NNUE|MB|web|model|docs|results|shogiground|shogiops|tsshogi|uPlot|GPL|MIT|SIL|OFL|Yuji|Syuku|Kaisei|Tokumin)$/;

test('Japanese strings contain no English words', () => {
  for (const [key, text] of Object.entries(ja)) {
    const words = [...text.replace(/\{\w+\}/g, '').matchAll(/[A-Za-z][A-Za-z]+2?/g)].map(m => m[0]);
    expect(words.filter(w => !SAME.test(w)), key).toEqual([]);
  }
});

const sources = (readdirSync(new URL('../src', import.meta.url), { recursive: true }) as string[])
  .filter(name => name.endsWith('.tsx'))
  .map(name => [name, readFileSync(new URL(`../src/${name}`, import.meta.url), 'utf8')] as const);

test('components have no hard-coded text', () => {
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
  const prefixes = [...all.matchAll(/`([a-zA-Z.]+)\.\$\{/g), ...all.matchAll(/sideText\('([a-zA-Z]+)'/g), ...all.matchAll(/word\('([a-zA-Z.]+)'/g)].map(m => `${m[1]}.`);
  const unused = Object.keys(en).filter(key => !all.includes(`'${key.replace(/\.one$/, '')}'`) && !prefixes.some(prefix => key.startsWith(prefix)) && !key.startsWith('error.'));
  expect(unused).toEqual([]);
});

test('Japanese strings have Japanese punctuation', () => {
  for (const [key, text] of Object.entries(ja)) expect(text, key).not.toMatch(/[ぁ-んァ-ヶ一-龠}][,;:] ?|->|\.\.\.|\([^)]*[ぁ-んァ-ヶ一-龠]/);
});

test('a key in a hint is called a key', () => {
  for (const [key, text] of [...Object.entries(en), ...Object.entries(ja)]) expect(text, key).not.toMatch(/[(（][a-z.,][)）]/);
  const folder = `${import.meta.dirname}/../src`;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.tsx'))) {
    expect(readFileSync(`${folder}/${name}`, 'utf8'), name).not.toMatch(/\} \([a-z.,]\)`/);
  }
});
