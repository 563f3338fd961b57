import { type CallerEvidence, createCallerEvidence } from '../../core/caller-evidence.ts';
import type { StructuralCapability, StructureFinding } from '../../core/health.ts';
import { type Circuit, createCircuit } from './circuit.ts';
import { createDecayedMean } from './decayed-mean.ts';

/** How well a route keeps to the form that is asked of it, each capability by itself. */
export interface FormHealth {
  /** A `missed` answer counts while another caller's requests mostly miss theirs, too. */
  readonly judged: (now: number, finding: Pick<StructureFinding, 'capability' | 'verdict' | 'caller'>) => void;
  /** Whether it is in for all of these, the worst of them saying. */
  readonly stand: (now: number, capabilities: readonly StructuralCapability[]) => 'in' | 'probe' | 'out';
  /** Share of sound answers, multiplied over these. */
  readonly soundness: (now: number, capabilities: readonly StructuralCapability[]) => number;
  readonly probe: (now: number, capabilities: readonly StructuralCapability[]) => void;
}

/** Sound answers that are believed in before any has been seen. */
const prior = { value: 1, weight: 4 };
/** So many of the last few answers may be defective. */
const lastFew = 5;
const mostOfLastFew = 2;
/** And this share of them all, once there are enough. */
const mostShare = 0.3;
const enough = 10;

interface OneForm {
  readonly circuit: Circuit;
  readonly sound: ReturnType<typeof createDecayedMean>;
  readonly callers: CallerEvidence;
  /** Verdicts, newest first; true: defective. */
  last: readonly boolean[];
}

export function createFormHealth(random: () => number): FormHealth {
  const forms = new Map<StructuralCapability, OneForm>();

  function formOf(capability: StructuralCapability): OneForm {
    let form = forms.get(capability);
    if (form === undefined) {
      form = {
        circuit: createCircuit({
          // What opens it is the count and the share below.
          ...{ random, failuresInRow: Infinity, openMs: 10_000, mostOpenMs: 300_000 },
          // An answer without a call has nothing to judge: the probe is made again.
          probeMs: 10_000,
        }),
        sound: createDecayedMean({ halfLifeMs: 300_000, mostWeight: 20 }),
        callers: createCallerEvidence(),
        last: [],
      };
      forms.set(capability, form);
    }
    return form;
  }

  return {
    judged: (now, { capability, verdict, caller }) => {
      const form = formOf(capability);
      const sound = verdict === 'sound';
      const { circuit, callers } = form;
      const ticket = circuit.unannounced();
      if (sound) callers.served(now, caller);
      else if (!callers.failed(now, caller) && verdict === 'missed') {
        // It says nothing: a probe is free for the next request.
        circuit.released(ticket);
        return;
      }
      form.sound.add(now, sound ? 1 : 0);
      form.last = [!sound, ...form.last].slice(0, lastFew);
      if (!sound) {
        const share = 1 - form.sound.mean(now);
        const many = form.last.filter(Boolean).length > mostOfLastFew;
        circuit.failed(ticket, now, { trip: many || (share > mostShare && form.sound.weight(now) >= enough) });
        return;
      }
      if (circuit.alive(ticket)) {
        form.sound.restart();
        form.last = [];
      }
      circuit.succeeded(ticket);
    },
    stand: (now, capabilities) => {
      let worst: 'in' | 'probe' | 'out' = 'in';
      for (const capability of capabilities) {
        const stand = forms.get(capability)?.circuit.stand(now) ?? 'in';
        if (stand === 'out') return 'out';
        if (stand === 'probe') worst = 'probe';
      }
      return worst;
    },
    soundness: (now, capabilities) => {
      let soundness = 1;
      for (const capability of capabilities) soundness *= forms.get(capability)?.sound.mean(now, prior) ?? 1;
      return soundness;
    },
    probe: (now, capabilities) => {
      for (const capability of capabilities) {
        const circuit = forms.get(capability)?.circuit;
        if (circuit?.stand(now) === 'probe') circuit.begin(now);
      }
    },
  };
}

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
