import { defineConfig } from 'vitest/config';

// The built assets are committed and shipped in the wheel, so the output must depend on the sources
// alone: no time, no path of the machine.
export default defineConfig({
  base: './',
  build: {
    outDir: '../src/komadori/web/static',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.md' },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8877', '/ws': { target: 'ws://127.0.0.1:8877', ws: true } } },
  test: { include: ['tests/**/*.test.{ts,tsx}'] },
});
