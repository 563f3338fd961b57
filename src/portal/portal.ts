import type { Authorship } from '../books/core/administration.ts';
import type { KeyStatus } from '../core/account.ts';
import type { Clock } from '../core/clock.ts';
import type { LiveCatalog } from '../control/core/live-catalog.ts';
import type { LogLevelControl } from '../core/log-level.ts';
import type { FailedSignIns } from './failed-sign-ins.ts';
import type { Passwords } from './passwords.ts';
import type { OidcSignIn } from './oidc.ts';
import type { Problem } from '../control/core/problem.ts';
import type { ProblemList } from './problem-list.ts';
import type { PortalStore } from './store-port.ts';
import type { Answers, LiveServices, ServiceAnswer } from './services.ts';
import type { EventHub, PublishedEvent } from './event-hub.ts';

/** The log of the portal. Secrets are never logged. */
export interface PortalLog {
  readonly warn: (facts: object, message: string) => void;
  readonly error: (facts: object, message: string) => void;
}

/** Follows the services while pages read their events. */
export interface EventFeed {
  /** Resolves to the events with which a page's stream begins. */
  readonly first: () => Promise<readonly PublishedEvent[]>;
  readonly close: () => void;
}

/** The status of a key that an operator sets in an emergency. */
export interface Override {
  readonly keyId: string;
  readonly status: KeyStatus;
  readonly by: Authorship;
}

/** The result of an override. `isStored`: the database has it. Otherwise these services hold it until it does. */
export interface Overridden {
  readonly isStored: boolean;
  readonly services: readonly ServiceAnswer[];
}

/** The dependencies of the portal's routes. */
export interface Portal {
  readonly store: PortalStore;
  readonly services: Pick<LiveServices, 'find' | 'follow' | 'top' | 'blockKey'>;
  readonly overrides: { readonly override: (one: Override) => Promise<Overridden> };
  /** How each service sees the catalog, at most a second old. */
  readonly catalog: () => Promise<Answers<LiveCatalog>>;
  /** The current problems, at most a second old. */
  readonly problems: () => Promise<ProblemList>;
  /** Those of the programs that the portal depends on. */
  readonly ownProblems: () => readonly Problem[];
  /** Drops cached reports. Call after each settlement. */
  readonly forgetReports: () => void;
  readonly events: EventHub;
  readonly feed: EventFeed;
  readonly failedSignIns: FailedSignIns;
  /** By the addresses of local users, whoever tries. */
  readonly failedPasswords: FailedSignIns;
  readonly passwords: Passwords;
  readonly adminToken: string;
  /** Where clients call the models, with `/v1`. Undefined: not set. */
  readonly gatewayUrl: string | undefined;
  /** Whether the services accept tokens of identities. */
  readonly hasIdentities: boolean;
  readonly oidc: OidcSignIn | undefined;
  readonly clock: Clock;
  readonly log: PortalLog;
  readonly logLevel: LogLevelControl;
  /** The token of the database (`internalToken`). Rejects with `DatabaseDown`. */
  readonly internalToken: () => Promise<string>;
}
