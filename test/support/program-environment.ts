import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const cacheFolder = join(root, 'node_modules', '.cache', 'weir-compiled');

/** As bin/weir.mjs sets it: it halves the time of each command. */
export const compileCache = { NODE_COMPILE_CACHE: cacheFolder };

/** The variables of this process without Weir's own, which a developer may have set, and without options of Node. */
export function inheritedEnvironment(): Readonly<Record<string, string | undefined>> {
  const inherited = Object.entries(process.env);
  return Object.fromEntries(inherited.filter(([name]) => !name.startsWith('WEIR_') && name !== 'NODE_OPTIONS'));
}

/** V8 refuses code that was cached under other flags, and Node would replace it each time: the cache is a folder of its own. */
const fewerCompilations = {
  NODE_OPTIONS: `--import=${new URL('fewer-compilations.ts', import.meta.url).href}`,
  NODE_COMPILE_CACHE: `${cacheFolder}-fewer-compilations`,
};

/**
 * The environment of a gateway's programs, with `more`. They import fewer-compilations.ts, except in tests that measure (vitest.config.ts)
 * or that have options of Node.
 */
export const gatewayEnvironment = (
  more: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> => ({
  ...inheritedEnvironment(),
  ...(process.env['FULL_COMPILER'] === 'true' || 'NODE_OPTIONS' in more ? compileCache : fewerCompilations),
  ...more,
});
