import { z } from 'zod';
import { type BackendDemand, backendDemandSchema, isActive } from '../core/backend-demand.ts';
import { type Clock, every } from '../../core/clock.ts';
import { parseJson } from '../../core/json.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { demandFreshMs, demandScript } from './valkey-scripts.ts';

interface SharedDemandOptions {
  readonly link: Pick<ValkeyLink, 'isUp' | 'key' | 'run'>;
  readonly clock: Clock;
  /** Makes a name that no other process has. */
  readonly newId: () => string;
  /** The demand of this replica for each Backend. */
  readonly read: () => readonly BackendDemand[];
}

/** What the other replicas report of a Backend. */
interface OthersDemand {
  readonly demands: readonly BackendDemand[];
  /** How many replicas reported, also those without requests to it. */
  readonly reporting: number;
}

export type SharedDemand = ReturnType<typeof shareDemand>;

const everyMs = 1000;
/** Maximum number of Backends in a report, some 250 KB. */
const maxBackends = 1000;

/** `isWhole`: no active Backend is missing. */
const reportSchema = z.object({ isWhole: z.boolean(), backends: z.array(backendDemandSchema).max(maxBackends) });
const replySchema = z.array(z.string());

interface Report {
  readonly isWhole: boolean;
  readonly byName: ReadonlyMap<string, BackendDemand>;
}

/**
 * Carries the demand of each replica to the others, every second, in one call that sends this replica's and reads that of the others.
 * Backends without requests are left out. A report expires with its replica.
 */
export function shareDemand({ link, clock, newId, read }: SharedDemandOptions) {
  const name = newId();
  const keys = [link.key('backend-demand')];
  let last: { readonly at: number; readonly texts: readonly string[]; reports?: readonly Report[] } | undefined;

  async function step(): Promise<void> {
    if (!link.isUp()) return;
    const active = read().filter(isActive);
    const report: z.infer<typeof reportSchema> = {
      isWhole: active.length <= maxBackends,
      backends: active.slice(0, maxBackends),
    };
    const at = clock.elapsed();
    try {
      last = { at, texts: replySchema.parse(await link.run(demandScript, keys, [name, JSON.stringify(report)])) };
    } catch {
      // The link finds out by itself whether the server is down.
    }
  }

  const stop = every(clock, everyMs, step);
  return {
    /** Undefined: it is not known now. */
    of: (backend: string): OthersDemand | undefined => {
      if (last === undefined || !link.isUp() || clock.elapsed() - last.at >= demandFreshMs) return undefined;
      // Read on demand: most gateways have no autoscaler that asks.
      const reports = (last.reports ??= last.texts.flatMap((text) => readReport(text) ?? []));
      const found = reports.map(({ byName }) => byName.get(backend));
      return {
        demands: found.filter((demand) => demand !== undefined),
        reporting: reports.filter(({ isWhole }, index) => isWhole || found[index] !== undefined).length,
      };
    },
    close: stop,
  };
}

/** Undefined: the report is of another version. */
function readReport(text: string): Report | undefined {
  const { data } = reportSchema.safeParse(parseJson(text));
  return data && { isWhole: data.isWhole, byName: new Map(data.backends.map((demand) => [demand.backend, demand])) };
}
