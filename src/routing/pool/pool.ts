import {
  createAnswerKnowledge,
  createEndpointKnowledge,
  type EndpointKnowledge,
  type PoolAttempt,
} from './endpoint-knowledge.ts';
import type { PoolPrompt } from './held-blocks.ts';
import { pick, type Pick } from './pick.ts';

/** The endpoints of a backend as one pool: what is known of each, by its name, and the choice among them. */
export interface EndpointPool {
  /** Picks one of these endpoints. Undefined: there is none. */
  readonly pick: (now: number, options: PoolPickOptions) => Pick | undefined;
  /** An attempt is sent to an endpoint. */
  readonly begin: (now: number, at: { readonly name: string; readonly prompt: PoolPrompt }) => PoolAttempt;
  /** Forgets the other endpoints. */
  readonly retain: (names: ReadonlySet<string>) => void;
}

export interface PoolPickOptions {
  readonly prompt: PoolPrompt;
  readonly names: readonly string[];
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
}

/** How far back the share of busy time looks, ms. */
const busyMs = 30_000;

export function createEndpointPool(): EndpointPool {
  const known = new Map<string, EndpointKnowledge>();
  const answers = createAnswerKnowledge();
  /** Time of work on prompts of all endpoints. Work counts for less, the longer ago it began. */
  let workMs = 0;
  let asOf = 0;

  function of(name: string): EndpointKnowledge {
    let knowledge = known.get(name);
    if (knowledge === undefined) {
      knowledge = createEndpointKnowledge(answers);
      known.set(name, knowledge);
    }
    return knowledge;
  }

  function settle(now: number): void {
    workMs *= Math.exp((asOf - now) / busyMs);
    asOf = now;
  }

  return {
    pick: (now, { prompt, names, turn }) => {
      settle(now);
      const outlooks = names.map((name) => of(name).outlook(now, prompt));
      return pick(outlooks, { busy: workMs / busyMs / Math.max(1, names.length), turn });
    },
    begin: (now, { name, prompt }) => {
      settle(now);
      const attempt = of(name).begin(now, prompt);
      workMs += attempt.workMs;
      return attempt;
    },
    retain: (names) => {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    },
  };
}
