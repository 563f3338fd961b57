/** `npm run docs`: builds the site with the packages of docs/. Arguments go to VitePress, such as `--outDir FOLDER`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const docs = join(import.meta.dirname, '..', 'docs');
const vitepress = join(docs, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
// Whatever starts it: with NODE_ENV=test, Vue would be built for development.
const env = { ...process.env, NODE_ENV: 'production' };
const { status } = spawnSync(process.execPath, [vitepress, 'build', docs, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
});
process.exitCode = status ?? 1;
