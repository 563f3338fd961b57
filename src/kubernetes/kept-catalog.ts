import { open, readFile, rename, stat, utimes } from 'node:fs/promises';
import * as z from 'zod';
import type { CatalogObject } from '../core/catalog.ts';

/** The objects that were served when the API server last answered. */
export interface KeptObjects {
  readonly objects: readonly CatalogObject[];
  /** When the objects were last known to be those of the API server, milliseconds since the epoch. */
  readonly inStepAt: number;
}

/** The last catalog on disk, for a start without an API server. It holds credentials: nobody else may read the file. */
export interface KeptCatalog {
  /** Undefined when there is no file of this namespace, or none that can be read. */
  readonly load: () => Promise<KeptObjects | undefined>;
  /** Replaces the whole file; of several calls under way the last one wins. Rejects when the file cannot be written. */
  readonly save: (objects: readonly CatalogObject[]) => Promise<void>;
  /** Records that the objects were still those of the API server at this time. */
  readonly confirm: (inStepAt: number) => Promise<void>;
}

const fileBody = z.object({
  version: z.literal(1),
  namespace: z.string(),
  objects: z.array(z.object({ where: z.string(), value: z.unknown() })),
});

export function createKeptCatalog(options: { readonly file: string; readonly namespace: string }): KeptCatalog {
  const { file, namespace } = options;
  let waiting: readonly CatalogObject[] | undefined;
  let running: Promise<void> | undefined;

  async function write(): Promise<void> {
    while (waiting !== undefined) {
      const objects = waiting.map(({ where, value }) => ({ where, value }));
      waiting = undefined;
      // Several services of one data folder may write at the same moment.
      const draft = `${file}.draft-${process.pid}`;
      const handle = await open(draft, 'w', 0o600);
      try {
        // A draft that a killed process left may be readable by others.
        await handle.chmod(0o600);
        await handle.writeFile(JSON.stringify({ version: 1, namespace, objects }));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, file);
    }
  }

  return {
    load: async () => {
      try {
        const { mtimeMs } = await stat(file);
        const body = fileBody.parse(JSON.parse(await readFile(file, 'utf8')));
        return body.namespace === namespace ? { objects: body.objects, inStepAt: mtimeMs } : undefined;
      } catch {
        // A file of another version counts as none: the API server has the catalog.
        return undefined;
      }
    },
    save: (objects) => {
      waiting = objects;
      running ??= write().finally(() => {
        running = undefined;
      });
      return running;
    },
    confirm: async (inStepAt) => {
      await running?.catch(() => undefined);
      await utimes(file, inStepAt / 1000, inStepAt / 1000).catch(() => undefined);
    },
  };
}
