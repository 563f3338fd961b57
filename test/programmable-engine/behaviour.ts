import { DirectiveError } from './directive.ts';
import { directives } from './directives.ts';
import type { FaultPosition } from './fault-position.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';

/** What an engine has been told to do; absent means the ordinary thing. `directives` describes every field. */
export type Behaviour = { readonly [K in keyof typeof directives]?: ReturnType<(typeof directives)[K]['read']> };

const shorthandFaults = ['cut', 'reset', 'stall', 'truncate', 'end', 'error', 'malformed'] as const;

/** `cutAfterEvents: 3` is short for `fault: "cut", at: {events: 3}`, and `cutAtByte: 80` for `at: {bytes: 80}`. */
export type FaultShorthand = {
  readonly [K in `${(typeof shorthandFaults)[number]}${'AfterEvents' | 'AtByte'}`]?: number;
};

/** What callers may write. */
export type BehaviourInput = Behaviour & FaultShorthand;

/** Reads directives from JSON of unknown origin. Throws a DirectiveError whose message names every field at fault. */
export function parseBehaviour(value: unknown): Behaviour {
  if (!isJsonObject(value)) throw new DirectiveError('directives must be a JSON object');
  const faults: string[] = [];
  const read: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(expandShorthand(value))) {
    if (!isDirectiveName(name)) {
      faults.push(`${name} is not a directive`);
      continue;
    }
    try {
      read[name] = directives[name].read(given);
    } catch (error) {
      if (!(error instanceof DirectiveError)) throw error;
      faults.push(`${name} must be ${error.message}`);
    }
  }
  if (faults.length > 0) throw new DirectiveError(faults.join('; '));
  return read;
}

export function isDirectiveName(name: string): name is keyof typeof directives {
  return Object.hasOwn(directives, name);
}

function expandShorthand(value: JsonObject): JsonObject {
  const expanded: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(value)) {
    const fault = shorthandFaults.find((one) => name === `${one}AfterEvents` || name === `${one}AtByte`);
    if (fault === undefined) expanded[name] = given;
    else Object.assign(expanded, { fault, at: name.endsWith('AtByte') ? { bytes: given } : { events: given } });
  }
  return expanded;
}

/** A fault with its place and everything it needs to know, or undefined when nothing is to break. */
export function faultOf(behaviour: Behaviour): Fault | undefined {
  const { fault } = behaviour;
  return fault === undefined ? undefined : { kind: fault, at: behaviour.at ?? 'after-headers' };
}

export interface Fault {
  readonly kind: NonNullable<Behaviour['fault']>;
  readonly at: FaultPosition;
}
