import { type CallerEvidence, createCallerEvidence } from '../../core/caller-evidence.ts';
import type { StructuralCapability, StructureFinding } from '../../core/health.ts';
import { type Circuit, type CircuitState, createCircuit } from './circuit.ts';
import { createDecayedMean } from '../../core/decayed-mean.ts';

/** Counts how often a route's answers have the requested structure, for each capability by itself. */
export type StructureHealth = ReturnType<typeof createStructureHealth>;

/** Valid answers that are assumed before any has been seen. */
const prior = { value: 1, weight: 4 };
/** The circuit opens if more than `maxOfLastFew` of the last `lastFew` answers were invalid. */
const lastFew = 5;
const maxOfLastFew = 2;
/** The circuit also opens if a greater share of all answers was invalid, once there are enough answers. */
const maxShare = 0.3;
const enough = 10;

interface TrackedCapability {
  readonly circuit: Circuit;
  readonly validity: ReturnType<typeof createDecayedMean>;
  readonly callers: CallerEvidence;
  /** Whether the last answers were invalid, newest first. */
  last: readonly boolean[];
}

export function createStructureHealth(random: () => number) {
  const known = new Map<StructuralCapability, TrackedCapability>();

  function trackedOf(capability: StructuralCapability): TrackedCapability {
    return known.getOrInsertComputed(capability, () => ({
      circuit: createCircuit({
        // The count and the share below open the circuit.
        random,
        failuresInRow: () => Infinity,
        openMs: 10_000,
        maxOpenMs: () => 300_000,
        // An answer without a tool call has nothing to validate. Another request probes again.
        probeMs: 10_000,
      }),
      validity: createDecayedMean({ halfLifeMs: 300_000, maxWeight: 20 }),
      callers: createCallerEvidence(),
      last: [],
    }));
  }

  return {
    /** Records one result. `missed` counts only while another caller's requests mostly miss their schemas, too. */
    record: (
      now: number,
      { capability, result, caller }: Pick<StructureFinding, 'capability' | 'result' | 'caller'>,
    ): void => {
      const tracked = trackedOf(capability);
      const isValid = result === 'valid';
      const { circuit, callers } = tracked;
      const ticket = circuit.unannounced();
      if (isValid) callers.served(now, caller);
      else if (!callers.failed(now, caller) && result === 'missed') {
        // The result proves nothing. The next request may probe.
        circuit.released(ticket);
        return;
      }
      tracked.validity.add(now, isValid ? 1 : 0);
      tracked.last = [!isValid, ...tracked.last].slice(0, lastFew);
      if (!isValid) {
        const share = 1 - tracked.validity.mean(now);
        const many = tracked.last.filter(Boolean).length > maxOfLastFew;
        circuit.failed(ticket, now, { trip: many || (share > maxShare && tracked.validity.weight(now) >= enough) });
        return;
      }
      if (circuit.alive(ticket)) {
        tracked.validity.restart();
        tracked.last = [];
      }
      circuit.succeeded(ticket);
    },
    /** The worst state of these capabilities' circuits. */
    state: (now: number, capabilities: readonly StructuralCapability[]): CircuitState => {
      let worst: CircuitState = 'closed';
      for (const capability of capabilities) {
        const state = known.get(capability)?.circuit.state(now) ?? 'closed';
        if (state === 'open') return 'open';
        if (state === 'probe') worst = 'probe';
      }
      return worst;
    },
    /** Share of valid answers, multiplied over these capabilities. */
    validity: (now: number, capabilities: readonly StructuralCapability[]): number => {
      let validity = 1;
      for (const capability of capabilities) validity *= known.get(capability)?.validity.mean(now, prior) ?? 1;
      return validity;
    },
    probe: (now: number, capabilities: readonly StructuralCapability[]): void => {
      for (const capability of capabilities) {
        const circuit = known.get(capability)?.circuit;
        if (circuit?.state(now) === 'probe') circuit.begin(now);
      }
    },
  };
}

interface Answered extends Pick<StructureFinding, 'asked'> {
  readonly route: string;
}

interface Known {
  missedAt: number;
  /** Time at which each route met it last. */
  readonly metAt: Map<string, number>;
}

const windowMs = 600_000;
/** The schema whose last miss is oldest is forgotten first. */
const maxSchemas = 1000;

/**
 * Remembers schemas that a route missed, and the routes that met them afterwards. If another route meets a schema, the first route
 * is at fault. The memory has only digests and times.
 */
export function createMetSchemas() {
  /** Schemas that were missed, in the order of their last miss. */
  const known = new Map<number, Known>();

  function forget(now: number): void {
    for (const [schema, { missedAt }] of known) {
      if (known.size <= maxSchemas && now - missedAt < windowMs) return;
      known.delete(schema);
    }
  }

  return {
    met: (now: number, { route, asked }: Answered): void => {
      forget(now);
      // Usually no schema was missed, so the digest need not be computed.
      if (known.size > 0) known.get(asked())?.metAt.set(route, now);
    },
    /** True: another route met the same schema lately, and this one did not. */
    missed: (now: number, { route, asked }: Answered): boolean => {
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
