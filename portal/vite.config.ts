import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { docsSections } from './docs-sections.ts';

/** The portal that answers /api during `npm run dev`: the one of an `npm start` beside it. */
const portal = process.env['WEIR_PORTAL'] ?? 'http://127.0.0.1:9091';

const compressible = /\.(?:html|js|css|svg)$/;

/** Writes `.br` and `.gz` beside each text file, so that the server compresses nothing. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir }) {
      if (dir === undefined) return;
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !compressible.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const content = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(content));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), docsSections(), compressed()],
  build: {
    // Browsers that support light-dark(), so that stylesheets keep it.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the page allows no data: address of a script or style.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': { target: portal, changeOrigin: true } } },
});
