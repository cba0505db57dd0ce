// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { replace, route } from '../src/router';

test('a part of an address that is not well-formed stays as it is', () => {
  for (const [hash, parts] of [['#/library/%E3%8', ['library', '%E3%8']], ['#/%', ['%']], ['#/library/%E5%9B%B3', ['library', '図']]] as const) {
    history.pushState(null, '', hash);
    dispatchEvent(new Event('hashchange'));
    expect(route.value).toEqual(parts);
  }
});

test('replacing the URL does not undo a navigation whose event is pending', () => {
  replace('analyse', 13, 2);
  expect(location.hash).toBe('#/analyse/13/2');
  history.pushState(null, '', '#/library'); // as a link does before the event is dispatched
  replace('analyse', 13, 3);
  expect(location.hash).toBe('#/library');
  dispatchEvent(new Event('hashchange'));
  expect(route.value).toEqual(['library']);
  replace('library', 'x');
  expect(location.hash).toBe('#/library/x');
});
