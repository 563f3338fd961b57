import type { Outcome } from '../../src/core/account.ts';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import type { KeyPlan } from './accounts.ts';
import type { Call } from './caller.ts';
import type { MadeCatalog } from './check-catalog.ts';
import type { SimulatedCluster } from './cluster/cluster.ts';
import type { SeenAttempt } from './check-attempts.ts';
import type { Disk } from './disk.ts';
import type { SimulatedEngine } from './engines.ts';
import type { WorldPlan } from './events.ts';
import type { RoundLog } from './heard-rounds.ts';
import type { StateChange } from './key-states.ts';
import type { Program } from './program.ts';
import type { SearchProviderModel } from './search-provider.ts';
import type { Scheduler } from './scheduler.ts';
import type { SimulatedService } from './service.ts';
import type { SimulatedValkey } from './valkey.ts';

/** When something may have kept a promise from being kept: from, until. */
export type Spell = readonly [fromMs: number, untilMs: number];

/** A key of the world, or an account of an identity, whose requests come with tokens. */
export interface WorldKey {
  /** Of an account: empty until it is opened. */
  readonly id: string;
  readonly text: string;
  /** By which an account is found in place of the hash of a text. */
  readonly hash?: string;
  readonly workspace: number;
  /** The key that replaces it, once it is rotated. */
  later?: { readonly id: string; readonly text: string };
}

/** A change of a balance, by an operator. */
export interface BalanceChange {
  readonly workspace: number;
  readonly amount: bigint;
  readonly fromMs: number;
  /** Infinity: it is not known whether it was made. */
  doneMs: number;
}

/** A correction of a balance, made while nothing else happened in the database. */
export interface Correction {
  readonly isMade: boolean;
  readonly left: bigint;
  readonly reserved: bigint;
}

export interface WorldFault {
  readonly invariant: string;
  readonly text: string;
  /** Counts only where this promise is held tighter. Undefined: always. */
  readonly tightened?: string | undefined;
}

/** What is promised of keys and workspaces, and how long a key that is known works without the database. */
export interface Promised {
  readonly graceMs: number;
  readonly keyPlans: readonly KeyPlan[];
  readonly workspaces: readonly {
    readonly credit: bigint;
    readonly maxInFlight: number;
    readonly tokensPerMinute?: number;
  }[];
}

/** A service, as far as invariants look at it. */
type WatchedService = Pick<SimulatedService, 'number' | 'isReady' | 'leftovers' | 'store' | 'databaseDownSince'> & {
  readonly program: Pick<Program, 'waiting'>;
};

/** Everything in a world that invariants look at. */
export interface World {
  readonly plan: WorldPlan;
  readonly scheduler: Scheduler;
  readonly services: readonly (WatchedService | undefined)[];
  readonly engines: ReadonlyMap<string, Pick<SimulatedEngine, 'name' | 'open'>>;
  readonly valkey: SimulatedValkey | undefined;
  readonly cluster: SimulatedCluster | undefined;
  readonly disk: Pick<Disk, 'contents'>;
  /** The database is a file on the disk, and not a server. */
  readonly isOnDisk: boolean;
  readonly database: () => OpenDatabase | undefined;
  readonly keys: readonly WorldKey[];
  readonly workspaceIds: readonly string[];
  readonly calls: readonly Call[];
  /** Outcomes that services have handed to their stores. Undefined: only services know. */
  readonly outcomes: ReadonlyMap<string, Outcome> | undefined;
  /** Where each request was tried, in order. */
  readonly attempts: ReadonlyMap<string, readonly SeenAttempt[]>;
  /** Whether an engine has continued what another one began. */
  readonly isContinued: (request: { readonly id: string; readonly number: number }) => boolean;
  /** Of keys and workspaces that were stopped, by number of the key: when the change was durable. */
  readonly stoppedAt: ReadonlyMap<number, number>;
  /** Everything that operators have changed or tried to change of keys, workspaces and balances. */
  readonly changes: readonly StateChange[];
  readonly balanceChanges: readonly BalanceChange[];
  /** Of limits of budgets, by `key 3`, and of who pays for an identity, by the number of its first account. */
  readonly budgetChanges: readonly StateChange<bigint>[];
  readonly payerChanges: readonly StateChange<number>[];
  /** Reads which accounts of identities there are. */
  readonly learnAccounts: (queries: OpenDatabase['queries']) => Promise<void>;
  /** When the issuer of tokens was away. */
  readonly issuerSpells: readonly Spell[];
  /** The ids of rows that were there before the operator wanted events. */
  readonly earlierRows: ReadonlySet<string>;
  /** Changes of operators that were made. */
  readonly mutations: () => number;
  readonly corrections: readonly Correction[];
  /** What was noticed while it happened: answers of limits that no order explains, attempts beyond an endpoint's places, and the like. */
  readonly faults: readonly WorldFault[];
  readonly promised: Promised;
  /** The promise that is held one unit tighter than it was made. Undefined: none is. */
  readonly tightened?: string;
  readonly search: Pick<SearchProviderModel, 'found'>;
  /** The calls of the model in requests that search. */
  readonly rounds: RoundLog;
  /** When the provider of web search had a fault. */
  readonly searchSpells: readonly Spell[];
  /** Faults of services, of the disk and of Valkey. */
  readonly spells: readonly Spell[];
  /** When a service did not run, and every catalog so far. */
  readonly pauses: readonly Spell[];
  readonly catalogs: readonly MadeCatalog[];
  /** Of engines. */
  readonly engineSpells: readonly (Spell & { readonly engine?: string })[];
}
