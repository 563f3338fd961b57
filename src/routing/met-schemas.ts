import type { StructureFinding } from '../core/health.ts';

/**
 * Remembers schemas that some route missed, and which routes met them afterwards. What another route meets can be met, so
 * missing it is the route's fault and not the schema's. Nothing is kept but digests and times.
 */
export interface MetSchemas {
  readonly met: (now: number, answer: Answered) => void;
  /** True: another route met the same schema lately, and this one did not. */
  readonly missed: (now: number, answer: Answered) => boolean;
}

interface Answered extends Pick<StructureFinding, 'asked'> {
  readonly route: string;
}

interface Known {
  /** When the schema was missed last. */
  missedAt: number;
  /** When each route met it last. */
  readonly metAt: Map<string, number>;
}

const windowMs = 600_000;
/** The schema whose last miss is oldest is forgotten first. */
const mostSchemas = 1000;

export function createMetSchemas(): MetSchemas {
  /** In the order of their last miss. */
  const known = new Map<number, Known>();

  function forget(now: number): void {
    for (const [schema, { missedAt }] of known) {
      if (known.size <= mostSchemas && now - missedAt < windowMs) return;
      known.delete(schema);
    }
  }

  return {
    met: (now, { route, asked }) => {
      forget(now);
      // As a rule nothing was missed, and no digest is needed.
      if (known.size > 0) known.get(asked())?.metAt.set(route, now);
    },
    missed: (now, { route, asked }) => {
      const schema = asked();
      const { metAt } = known.get(schema) ?? { metAt: new Map<string, number>() };
      known.delete(schema);
      known.set(schema, { missedAt: now, metAt });
      forget(now);
      const isMetBy = (at: number): boolean => now - at < windowMs;
      if (isMetBy(metAt.get(route) ?? -Infinity)) return false;
      return [...metAt.values()].some(isMetBy);
    },
  };
}
