import { togetherWith } from './accounts.ts';
import { countsSince } from './spells.ts';
import { healedMs, stopDelayMs } from './check-stopped.ts';
import type { Spell } from './world-view.ts';

/** What may be wrong with a key: itself, its end, or its workspace. */
export type KeyState = 'active' | 'suspended' | 'revoked' | 'expired';

/** A change of a key or of a workspace. It counts from some moment between the two. */
export interface StateChange<State = KeyState> {
  /** `key 3`, `end of key 3`, or `workspace 0`: what is changed. */
  readonly of: string;
  readonly state: State;
  readonly fromMs: number;
  /** Infinity: it is not known whether it was made. */
  readonly doneMs: number;
}

/** The states that one of these may have had between two moments. Changes are in the order in which they were made. */
function statesOf<State>(
  name: string,
  { first, changes }: { readonly first: State; readonly changes: readonly StateChange<State>[] },
  { from, until }: { readonly from: number; readonly until: number },
): ReadonlySet<State> {
  let states = new Set([first]);
  for (const { of, state, fromMs, doneMs } of changes) {
    if (of !== name || fromMs > until) continue;
    states = doneMs <= from ? new Set([state]) : states.add(state);
  }
  return states;
}

/** What a service may believe between two moments of something that has changed. */
export function believed<State>(
  name: string,
  known: { readonly first: State; readonly changes: readonly StateChange<State>[]; readonly spells: readonly Spell[] },
  { startedAt, endedAt }: { readonly startedAt: number; readonly endedAt: number },
): ReadonlySet<State> {
  const from = countsSince(startedAt, known.spells, { delayMs: stopDelayMs, healMs: healedMs });
  return statesOf(name, known, { from, until: endedAt });
}

/** The states that a service may believe of a key and its workspace while it answers a request. */
export function believedStates(
  key: { readonly number: number; readonly workspace: number },
  during: { readonly startedAt: number; readonly endedAt: number },
  { changes, spells }: { readonly changes: readonly StateChange[]; readonly spells: readonly Spell[] },
): ReadonlySet<KeyState> {
  const [first] = togetherWith(key.number);
  const names = [`key ${first}`, `end of key ${key.number}`, `workspace ${key.workspace}`];
  return new Set(names.flatMap((name) => [...believed<KeyState>(name, { first: 'active', changes, spells }, during)]));
}
