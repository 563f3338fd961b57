import type { AccountStatus, Credential, KeyStatus, Workspace } from '../core/account.ts';
import type {
  AuditEntry,
  AuditFilter,
  Authorship,
  CreditRecord,
  KeyChange,
  KeyRecord,
  LedgerFilter,
  LinesOfPage,
  NewCredit,
  NewKey,
  NewWorkspace,
  Page,
  PageRequest,
  PlaygroundKey,
  Session,
  UsageDimension,
  UsageLine,
} from '../core/administration.ts';
import type { SettledRequest } from '../core/settled-request.ts';
import type { Money } from '../core/money.ts';

/**
 * What the portal needs of the accounts and the ledger. Each call rejects with a `Refusal` when it cannot be done as asked, with
 * `DatabaseAway` while the database is, and otherwise as the database does. Every change is recorded in the audit trail with its author. `src/store/open-accounts.ts` has these functions.
 */
export interface PortalStore {
  /** Resolves when the database answers. */
  readonly probe: () => Promise<unknown>;
  readonly pageOfWorkspaces: (page: PageRequest, ids?: readonly string[]) => Promise<Page<Workspace>>;
  readonly findWorkspace: (nameOrId: string) => Promise<Workspace>;
  readonly listWorkspaces: () => Promise<readonly Workspace[]>;
  readonly createWorkspace: (wanted: NewWorkspace, by: Authorship) => Promise<Workspace>;
  readonly changeWorkspace: (
    id: string,
    change: { readonly status?: AccountStatus | undefined; readonly maxInFlight?: number | undefined },
    by: Authorship,
  ) => Promise<Workspace>;
  readonly addCredit: (
    workspace: string,
    credit: NewCredit,
    by: Authorship,
  ) => Promise<{ readonly workspace: Workspace; readonly credit: CreditRecord }>;
  readonly pageOfCredits: (workspaceId: string, page: PageRequest) => Promise<Page<CreditRecord>>;
  readonly pageOfKeys: (workspaceId: string, page: PageRequest) => Promise<Page<KeyRecord>>;
  readonly findKey: (id: string) => Promise<KeyRecord>;
  readonly createKey: (wanted: NewKey, by: Authorship) => Promise<{ readonly key: KeyRecord; readonly text: string }>;
  /** What all processes of the database share, to prove to the gateway for which session the portal calls. */
  readonly sharedSecret: () => Promise<string>;
  /** The text of the key with which the portal calls the gateway for a person. Makes, renews and replaces that key as needed. */
  readonly playgroundKey: (wanted: PlaygroundKey, by: Authorship) => Promise<string>;
  readonly changeKey: (id: string, change: KeyChange, by: Authorship) => Promise<KeyRecord>;
  readonly setKeyStatus: (id: string, status: KeyStatus, by: Authorship) => Promise<KeyRecord>;
  /** What was spent with keys in the current period of their budgets; keys that were never used are missing. */
  readonly spentBy: (keyIds: readonly string[], now: number) => Promise<ReadonlyMap<string, Money>>;
  /** Names of keys by their ids; keys without a name are missing. */
  readonly keyNames: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The credential of a key by its text; undefined when there is no such key. */
  readonly findCredential: (keyText: string, now: number) => Promise<Credential | undefined>;
  readonly listAudit: (filter: AuditFilter, limit: number) => Promise<readonly AuditEntry[]>;
  /** The session as it was begun, which ends with its key's expiry at the latest; undefined when its key is not good any more. */
  readonly createSession: (session: Session) => Promise<Session | undefined>;
  /** Those that are not good any more are missing. */
  readonly findSessions: (hashes: readonly string[], now: number) => Promise<readonly Session[]>;
  readonly endSession: (hash: string) => Promise<void>;
  /** May take seconds over a long time; never holds the event loop of the portal. */
  readonly usageReport: (
    filter: LedgerFilter,
    dimensions: readonly UsageDimension[],
    options: {
      readonly measures: 'performance';
      readonly top: number | undefined;
      /** Undefined: all lines. */
      readonly page: LinesOfPage | undefined;
    },
  ) => Promise<readonly UsageLine[]>;
  readonly pageOfRequests: (filter: LedgerFilter, page: PageRequest) => Promise<Page<SettledRequest>>;
  readonly findRequest: (id: string) => Promise<SettledRequest | undefined>;
}
