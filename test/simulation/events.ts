import type { ChatSurface } from '../../src/core/dialect.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import type { BackendsLike } from './catalog.ts';
import type { ClusterEvent, ClusterPlan } from './cluster/cluster-events.ts';
import type { DiskTrouble } from './disk.ts';

/** How the provider of web search answers a query. `fails-once`: the second try is good. */
export type SearchOutcome = 'found' | 'nothing' | 'slow' | 'fails' | 'fails-once' | 'busy' | 'silent' | 'garbled';

/** What is wrong with the provider of web search. */
export type SearchTrouble = 'none' | 'slow' | 'fails' | 'refuses' | 'silent';

/** The web search of a request. */
export interface SearchWish {
  /** How many searches the model asks for in each of its calls but the last one. */
  readonly rounds: readonly number[];
  readonly outcome: SearchOutcome;
  /** The most searches that the caller allows. */
  readonly maxUses: number | undefined;
  /** The call of the model in which the directive's fault strikes, from 0 on. */
  readonly struckRound: number;
  /** Whether it goes on from the latest answer of its topic that has searched: the caller sends back what it got. */
  readonly follows: boolean;
}

/** The vectors that a request is for, or the ranks of documents. */
export interface VectorWish {
  readonly inputs: number;
  /** `ranks`: the inputs are documents. Only real processes have a model for them. */
  readonly encoding: 'float' | 'base64' | 'ranks';
  /** The input with the directive: its fault strikes in the piece that has it. */
  readonly struckInput: number;
}

/** For what a token lets nobody in. `team`: it names a workspace that nobody has made. */
export const tokenFlaws = ['audience', 'issuer', 'app', 'team', 'tag', 'signature', 'unknown-key', 'unsigned'] as const;
export type TokenFlaw = (typeof tokenFlaws)[number];

/** One request of a caller, and the behaviour of the engines that it meets. */
export interface RequestEvent {
  readonly kind: 'request';
  readonly at: number;
  /** Unique in its world. */
  readonly id: number;
  /** Number of the key, or of the account of an identity. A status of an account is that of its identity. */
  readonly key: number;
  readonly service: number;
  readonly surface: ChatSurface;
  readonly model: 'tiny' | 'thinker';
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly ask: 'text' | 'tools' | 'schema';
  readonly words: number;
  readonly maxTokens: number | undefined;
  /** A conversation that earlier requests had, too: engines have its prompt in their prefix caches. */
  readonly topic: number;
  readonly directive: BehaviourInput | undefined;
  readonly search: SearchWish | undefined;
  /** Present: the request is for vectors, and most of what else it says means nothing. */
  readonly vectors?: VectorWish | undefined;
  /** The form in which a response shows the reasoning. */
  readonly trace: 'plain' | 'summary' | 'sealed' | undefined;
  /** Of a request with a token. Absent: a good one, that lives for some minutes. `endsAt`: the moment of the world that it has as its end. */
  readonly token?: { readonly endsAt?: number; readonly flaw?: TokenFlaw } | undefined;
  /** The caller leaves so long after its request. */
  readonly leavesAfterMs: number | undefined;
  /** The body arrives for so long. `stalls`: it never arrives whole. */
  readonly upload?: { readonly ms: number; readonly stalls: boolean } | undefined;
  /** Further fields of the body. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** How fast the caller reads, bytes for each millisecond. Undefined: at once. */
  readonly readsPerMs: number | undefined;
}

/** When a service dies that has a moment to die at. */
export type Death = 'after-commit' | 'before-journal-removed';

/** A change of accounts. */
export type AccountEvent =
  /** A share of the balance is taken, and given back later. */
  | {
      readonly kind: 'correction';
      readonly at: number;
      readonly workspace: number;
      readonly share: number;
      readonly forMs: number;
    }
  | { readonly kind: 'credit'; readonly at: number; readonly workspace: number; readonly picoUsd: string }
  | {
      readonly kind: 'key-status';
      readonly at: number;
      readonly key: number;
      readonly status: 'active' | 'suspended' | 'revoked';
    }
  | { readonly kind: 'budget'; readonly at: number; readonly key: number; readonly picoUsd: string }
  | { readonly kind: 'expiry'; readonly at: number; readonly key: number; readonly inMs: number }
  /** The key ends so much later. From now on, half of its requests come with the key that replaces it. */
  | { readonly kind: 'rotate'; readonly at: number; readonly key: number; readonly overlapMs: number }
  | {
      readonly kind: 'workspace-status';
      readonly at: number;
      readonly workspace: number;
      readonly status: 'active' | 'suspended';
    }
  /** Another workspace pays for an identity. */
  | { readonly kind: 'payer'; readonly at: number; readonly key: number; readonly workspace: number };

/** Of the issuer of tokens. `rotates`: it publishes a further key, and signs with it at once. */
export type IssuerEvent =
  | { readonly kind: 'issuer'; readonly at: number; readonly change: 'rotates' }
  | { readonly kind: 'issuer'; readonly at: number; readonly change: IssuerTrouble; readonly forMs: number };
export type IssuerTrouble = 'dead' | 'silent';

export type OperatorEvent =
  | AccountEvent
  /** `window`: whether the models have a narrow one from now on. */
  | { readonly kind: 'prices'; readonly at: number; readonly factor: number; readonly window?: 'narrow' }
  | { readonly kind: 'retire'; readonly at: number; readonly backend: 'a' | 'b'; readonly forMs: number };

export type FaultEvent =
  | { readonly kind: 'kill'; readonly at: number; readonly service: number; readonly downMs: number }
  /**
   * Killed at the next such moment in this time, if there is one: rows are durable, and nobody has been told; or the rows
   * of a file of the journal are settled, and the file is there.
   */
  | {
      readonly kind: 'dies';
      readonly at: number;
      readonly service: number;
      readonly moment: Death;
      readonly forMs: number;
      readonly downMs: number;
    }
  | { readonly kind: 'restart'; readonly at: number; readonly service: number; readonly downMs: number }
  /** The machine of all services and of their disk. `operations`: before the operation on a file after so many others. Absent: at once. */
  | { readonly kind: 'power-cut'; readonly at: number; readonly operations?: number; readonly downMs: number }
  | { readonly kind: 'pause'; readonly at: number; readonly service: number; readonly forMs: number }
  | { readonly kind: 'clock-jump'; readonly at: number; readonly service: number; readonly ms: number }
  | {
      readonly kind: 'disk';
      readonly at: number;
      readonly trouble: Exclude<DiskTrouble, 'none'>;
      readonly forMs: number;
    }
  /** Another program holds the lock of the database. */
  | { readonly kind: 'locked'; readonly at: number; readonly forMs: number }
  | {
      readonly kind: 'engine';
      readonly at: number;
      readonly engine: string;
      readonly state: 'refuses' | 'silent';
      readonly forMs: number;
    }
  /** A service does not find the engine's address. */
  | {
      readonly kind: 'dns';
      readonly at: number;
      readonly service: number;
      readonly engine: string;
      readonly forMs: number;
    }
  | {
      readonly kind: 'search';
      readonly at: number;
      readonly trouble: Exclude<SearchTrouble, 'none'>;
      readonly forMs: number;
    }
  | { readonly kind: 'partition'; readonly at: number; readonly service: number; readonly forMs: number }
  | {
      readonly kind: 'valkey';
      readonly at: number;
      readonly trouble: 'slow' | 'away' | 'forgets';
      readonly forMs: number;
    };

export type WorldEvent = RequestEvent | OperatorEvent | FaultEvent | IssuerEvent | ClusterEvent;

/** A world, and everything that happens in it from outside. The same plan gives the same log. */
export interface WorldPlan {
  readonly seed: number;
  readonly hours: number;
  readonly services: number;
  /** Whether the services share their limits. Alone, a service has them in memory. */
  readonly valkey: boolean;
  /** Whether the services serve the responses surface. */
  readonly responses: boolean;
  /** How the provider of web search is, apart from faults. */
  readonly searchProvider: SearchTrouble;
  /** Milliseconds since the Unix epoch. */
  readonly startsAt: number;
  /** How long a message between a service and the thread of its store takes. Absent: as good as no time. */
  readonly storeMs?: number;
  /** Requests that each endpoint takes at a time from a service. Absent: more than there are. */
  readonly endpointPlaces?: number;
  /** Absent: one is of vLLM, the other of SGLang. */
  readonly backends?: BackendsLike;
  /** How long rows are kept. Absent: longer than the world lasts. */
  readonly retentionHours?: number;
  /** Whether there are identities. Absent: there are not. */
  readonly identities?: boolean;
  /** Absent: the services follow no cluster. */
  readonly cluster?: ClusterPlan;
  readonly events: readonly WorldEvent[];
}

export const isRequest = (event: WorldEvent): event is RequestEvent => event.kind === 'request';

const faultKinds: ReadonlySet<string> = new Set<FaultEvent['kind']>([
  ...(['kill', 'dies', 'restart', 'power-cut', 'pause', 'clock-jump'] as const),
  ...(['disk', 'locked', 'engine', 'dns', 'search', 'partition', 'valkey'] as const),
]);

export const isFault = ({ kind }: WorldEvent): boolean => faultKinds.has(kind);
