import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { type Child, startChild } from './child.ts';
import type { StartContext } from './gateway.ts';

/** Not in an image, which has the built pages. */
const program = fileURLToPath(new URL('../../bin/build-pages.mjs', import.meta.url));

/**
 * Builds the pages of the portal where they are missing or older than their sources. The gateway does not wait for that: the portal shows
 * them as soon as they are there. Undefined: there is nothing to build them with.
 */
export function buildPages({ folders, report }: Pick<StartContext, 'folders' | 'report'>): Child | undefined {
  if (!existsSync(program)) return undefined;
  return startChild({
    command: process.execPath,
    args: [program],
    logPath: join(folders.logs, 'pages.log'),
    onMessage: (line) => {
      const text = z.string().safeParse(line).data;
      if (text !== undefined) report(text);
    },
  });
}
