import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// `chorus studio` sends the built files with a Content-Security-Policy that allows its own origin alone:
// nothing may be inlined as a data: address, and no inline script may be written.
export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  // `npm run dev` serves the pages from their sources and asks a running `chorus studio` for the rest.
  server: {
    host: '127.0.0.1',
    proxy: { '/api': process.env.CHORUS_STUDIO ?? 'http://127.0.0.1:8765' },
  },
});
