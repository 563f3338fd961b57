import { stat, utimes } from 'node:fs/promises';
import * as z from 'zod';
import type { CatalogObject } from '../../core/catalog.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';
import type { EndpointsBySource } from './follow-on-demand.ts';

/** The objects that were served when the API server last answered. */
interface KeptObjects {
  readonly objects: readonly CatalogObject[];
  /** When the objects were last known to be in step with the API server, milliseconds since the epoch. */
  readonly inStepAt: number;
}

const catalogBody = z.object({
  version: z.literal(1),
  namespace: z.string(),
  objects: z.array(z.object({ where: z.string(), value: z.unknown() })),
});

interface KeptIn {
  readonly file: string;
  readonly namespace: string;
  /** Longest time until a change is written. One write covers all changes in that time. */
  readonly withinMs: number;
  readonly clock: Pick<Clock, 'after'>;
  /** The file cannot be written. */
  readonly onError: (error: unknown) => void;
}

/**
 * The last catalog on disk, for a start without an API server. It contains credentials, so only the service's user may
 * read the file.
 */
export function createKeptCatalog(where: KeptIn) {
  const { file, namespace } = where;
  const kept = createKeptFile(where);
  return {
    /** Undefined when there is no file of this namespace, or the file cannot be read. */
    load: async (): Promise<KeptObjects | undefined> => {
      const inStepAt = (await stat(file).catch(() => undefined))?.mtimeMs;
      // A file of another version counts as none: the API server has the catalog.
      const body = await readKeptFile(file, catalogBody);
      if (inStepAt === undefined || body?.namespace !== namespace) return undefined;
      return { objects: body.objects, inStepAt };
    },
    /** Replaces the whole file, within `KeptIn.withinMs`. Of several calls in that time, the last one wins. */
    save: (objects: readonly CatalogObject[]): void =>
      kept.save(() => ({ version: 1, namespace, objects: objects.map(({ where, value }) => ({ where, value })) })),
    /** Records that the objects were still in step with the API server at this time. */
    confirm: async (inStepAt: number): Promise<void> => {
      await kept.idle();
      await utimes(file, inStepAt / 1000, inStepAt / 1000).catch(() => undefined);
    },
    /** Writes what waits. */
    close: kept.close,
  };
}

const endpointsBody = z.object({
  version: z.literal(1),
  namespace: z.string(),
  sources: z.record(
    z.string(),
    z.array(
      z.object({
        ...{ name: z.string(), address: z.string(), port: z.number(), authority: z.string() },
        zone: z.string().optional(),
      }),
    ),
  ),
});

/** The endpoints of Services and InferencePools on disk, beside the catalog: without them a start without an API server could reach no pod. */
export function createKeptEndpoints(where: KeptIn) {
  const { file, namespace } = where;
  const kept = createKeptFile(where);
  return {
    /** Empty when there is no file of this namespace, or the file cannot be read. */
    load: async (): Promise<EndpointsBySource> => {
      const body = await readKeptFile(file, endpointsBody);
      const sources = body?.namespace === namespace ? Object.entries(body.sources) : [];
      return new Map(sources.map(([key, all]) => [key, all.map((one) => ({ ...one, zone: one.zone }))]));
    },
    /** Like `save` of `createKeptCatalog`. */
    save: (endpoints: () => EndpointsBySource): void =>
      kept.save(() => ({ version: 1, namespace, sources: Object.fromEntries(endpoints()) })),
    close: kept.close,
  };
}

/** A file that only the service's user may read, replaced whole so that no reader ever sees a part of it. */
function createKeptFile({ file, withinMs, clock, onError }: KeptIn) {
  let waiting: (() => object) | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  let writing = Promise.resolve();

  function write(): void {
    if (waiting === undefined) return;
    const text = JSON.stringify(waiting());
    waiting = undefined;
    writing = writing.then(() => replaceFile(file, text, 0o600)).catch(onError);
  }

  return {
    save: (body: () => object): void => {
      if (waiting === undefined) cancelTimer = clock.after(withinMs, write);
      waiting = body;
    },
    /** Resolves when nothing is being written. */
    idle: (): Promise<void> => writing,
    close: (): Promise<void> => {
      cancelTimer();
      write();
      return writing;
    },
  };
}
