import { arrayOr, type JsonObject, objectOr } from '../programmable-engine/json-value.ts';

export interface ReceivedChoice {
  text: string;
  reasoning: string;
  /** Where the surface has a field for it. */
  refusal: string;
  calls: Map<number, { name: string; arguments: string }>;
  roles: number;
  finishes: number;
  /** Why it ends, as its surface says it. */
  finish: string | undefined;
}

/** What a caller has understood of the bytes that it got. */
export interface ReceivedAnswer {
  readonly choices: ReadonlyMap<number, ReceivedChoice>;
  readonly id: string | undefined;
  readonly searches: readonly ReceivedSearch[];
  /** The blocks of a message, or the items of a response, as the next turn has them. */
  readonly content: readonly JsonObject[];
  /** The addresses that its text cites. */
  readonly citations: readonly string[];
  /** USD, as the caller was told. */
  readonly cost: string | undefined;
  readonly usage: JsonObject | undefined;
  /** `whole`: it says that it is complete. `error`: it says that it is not. `open`: it says nothing of its end. */
  readonly end: 'whole' | 'error' | 'open';
  /** What breaks the format. */
  readonly faults: readonly string[];
}

/** A search of the service in an answer. */
export interface ReceivedSearch {
  readonly query: string;
  /** The addresses that it has found. `open`: it has no result yet. */
  result: 'open' | 'error' | readonly string[];
}

export const newChoice = (): ReceivedChoice => ({
  ...{ text: '', reasoning: '', refusal: '', calls: new Map(), roles: 0, finishes: 0, finish: undefined },
});

export const nothing = (faults: readonly string[]): ReceivedAnswer => ({
  ...{
    choices: new Map(),
    id: undefined,
    searches: [],
    content: [],
    citations: [],
    cost: undefined,
    usage: undefined,
    end: 'open',
    faults,
  },
});

/** USD, as a usage has it. */
export function costIn(usage: JsonObject | undefined): string | undefined {
  const cost = usage?.['cost'];
  return typeof cost === 'number' || typeof cost === 'string' ? String(cost) : undefined;
}

/** The objects of a list in JSON. */
export const listIn = (value: unknown): readonly JsonObject[] => arrayOr(value).map((each) => objectOr(each));

export const urlsIn = (value: unknown): readonly string[] => listIn(value).map(({ url }) => String(url));
