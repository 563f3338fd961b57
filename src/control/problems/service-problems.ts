/** The problems of a service and of its surroundings: database, disk, Envoy, Valkey and certificates. */
import { X509Certificate } from 'node:crypto';
import type { DatabaseState } from '../../core/account.ts';
import type { Cluster } from '../../core/catalog.ts';
import {
  dependencyAction,
  type DependencyCause,
  dependencySays,
  type FailingDependency,
} from '../../core/dependency-cause.ts';
import type { SubscriptionFigures } from '../../core/event-delivery.ts';
import { dependencyProblem } from '../core/dependency-problem.ts';
import type { Finding } from './kinds.ts';

export interface ObservedStore {
  readonly database: DatabaseState;
  /** Why the database is down, by the last failure. */
  readonly reason?: string | undefined;
  readonly cause?: DependencyCause | undefined;
  readonly journalBytes: number;
  readonly journalLimitBytes: number;
  /** Why the journal cannot be written. */
  readonly journalFault?: string | undefined;
  /** Whether there is room for the bills of new requests. */
  readonly hasRoom: boolean;
  /** Undefined: a server keeps the data. */
  readonly isDamaged: boolean | undefined;
}

export interface ObservedCertificate {
  /** `certificate/gateway.example.com`, or the Backend that trusts it. */
  readonly object: string;
  /** Names the certificate, as the subject of a sentence. */
  readonly what: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** The observed state of a service at one moment. */
export interface ObservedService {
  readonly now: number;
  readonly store: ObservedStore;
  /** The programs beside the database that fail the service. */
  readonly failing: readonly FailingDependency[];
  /** Room on the disk of the data folder, bytes; undefined where it cannot be read. */
  readonly disk: { readonly free: number; readonly size: number } | undefined;
  /** Open files of the service, as a share of its limit. */
  readonly filesShare: number;
  readonly isEnvoyAnswering: boolean;
  /** Age of the oldest message about endpoints that Envoy has not answered. */
  readonly unansweredMs: number;
  /** Share of new requests that the service refuses because it is too busy. */
  readonly refusedShare: number;
  /** Time since the API server last confirmed the catalog; undefined: there is no API server, or no catalog yet. */
  readonly catalogAgeMs: number | undefined;
  readonly certificates: readonly ObservedCertificate[];
  /** What waits for the receivers of events. */
  readonly events: readonly Pick<SubscriptionFigures, 'name' | 'waiting' | 'lagMs' | 'droppedSince'>[];
}

type IsListed = (problem: Pick<Finding, 'object' | 'kind'>) => boolean;

/** Where a problem begins and where it ends, as shares of the whole. The two differ, so that a problem does not come and go. */
export const thresholds = {
  journal: { begin: 0.4, end: 0.3 },
  diskLeft: { begin: 0.1, end: 0.12 },
  /** Below the share from which requests are refused. */
  openFiles: { begin: 0.7, end: 0.6 },
  certificateDays: 14,
  catalogAgeMs: 60_000,
  unansweredMs: 1_000,
  /** Of events. */
  lagMs: 600_000,
} as const;

const dayMs = 86_400_000;

/** The problems in the observed state of a service. */
export function serviceProblems(observed: ObservedService, isListed: IsListed): readonly Finding[] {
  return [
    ...storeProblems(observed.store, isListed),
    ...diskProblems(observed, isListed),
    ...fileProblems(observed, isListed),
    ...envoyProblems(observed),
    ...observed.certificates.flatMap((certificate) => certificateProblems(certificate, observed.now)),
    ...when(observed.refusedShare > 0, {
      ...{ object: 'service', kind: 'overloaded' },
      problem: `Refuses ${percent(observed.refusedShare)} of new requests with 503: it is too busy.`,
      action: 'Add replicas, or lower the rate limit of the flooding key: docs/operate/runbooks.md#weiroverloaded',
    }),
    ...observed.failing.flatMap((one) => dependencyProblem(one) ?? []),
    ...observed.events.flatMap(eventProblems),
    ...when((observed.catalogAgeMs ?? 0) > thresholds.catalogAgeMs, {
      ...{ object: 'catalog', kind: 'catalog-old' },
      problem: `The API server was last heard of ${duration(observed.catalogAgeMs ?? 0)} ago: changes of Models and Backends wait.`,
      action: 'Restore access to the API server: docs/operate/runbooks.md#weircatalogold',
    }),
  ];
}

function databaseDown({ reason = '', cause, journalBytes, isDamaged }: ObservedStore): Finding {
  const waiting = `${sizeText(journalBytes)} of bills wait in the journal.`;
  const setting = isDamaged === undefined ? undefined : 'WEIR_DATA';
  const action = cause === undefined ? 'Bring the database back' : dependencyAction({ cause }, 'database', setting);
  return {
    ...{ object: 'database', kind: 'database-down', cause },
    problem:
      cause === undefined
        ? `Takes no bills${reason === '' ? '' : ` (${reason})`}: ${waiting}`
        : `${dependencySays({ cause, reason })}, and takes no bills: ${waiting}`,
    action: `${action}; the journal is then settled by itself: docs/operate/runbooks.md#weirledgeraway`,
  };
}

const makeRoom = 'Make room on the data folder’s disk; Weir then continues by itself';
const mountAgain = 'Stop Weir, repair or mount the data folder’s disk, then start Weir';
/**
 * What to do about a journal that cannot be written, by the code at the beginning of the reason. Weir tries again four times a
 * second, and opens the journal's files by name, so only a disk that must be mounted again needs a restart: open files keep it
 * mounted, and the folders are made at the start.
 */
const journalActions: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOSPC', makeRoom],
  ['EDQUOT', makeRoom],
  ['EROFS', mountAgain],
  ['EIO', mountAgain],
  ['ENOENT', mountAgain],
]);

function journalAction(fault = ''): string {
  const [code] = /^[A-Z]+\b/.exec(fault) ?? [];
  return journalActions.get(code) ?? 'Correct what the reason names; Weir then continues by itself';
}

function storeProblems(store: ObservedStore, isListed: IsListed): readonly Finding[] {
  const { database, journalBytes, journalFault, journalLimitBytes, hasRoom } = store;
  const full = journalBytes / journalLimitBytes;
  const journal = { object: 'journal', kind: 'journal-filling' } as const;
  return [
    ...when(database === 'down', databaseDown(store)),
    ...when(journalFault !== undefined, {
      ...journal,
      problem: `Cannot be written (${journalFault}): new requests are refused with 503.`,
      action: `${journalAction(journalFault)}: docs/operate/runbooks.md#weirjournalfilling`,
    }),
    ...when(database === 'replaying', {
      ...{ object: 'database', kind: 'database-replaying' },
      problem: `Is back, and ${sizeText(journalBytes)} of the journal are not settled yet.`,
      action: 'Wait; if it does not shrink: docs/operate/runbooks.md#weirjournalfilling',
    }),
    ...when(store.isDamaged === true, {
      ...{ object: 'database', kind: 'database-damaged' },
      problem: 'The check at the start found damage in the database file.',
      action: 'Restore a backup: docs/operate/runbooks.md#weirledgerdamaged',
    }),
    ...when(
      journalFault === undefined &&
        (!hasRoom || full > (isListed(journal) ? thresholds.journal.end : thresholds.journal.begin)),
      {
        ...journal,
        problem: `Is ${percent(full)} full (${sizeText(journalBytes)} of ${sizeText(journalLimitBytes)})${hasRoom ? '' : ': new requests are refused with 503'}.`,
        action: 'Bring the database back before it is full: docs/operate/runbooks.md#weirjournalfilling',
      },
    ),
  ];
}

function diskProblems({ disk }: ObservedService, isListed: IsListed): readonly Finding[] {
  if (disk === undefined || disk.size === 0) return [];
  const left = disk.free / disk.size;
  const identity = { object: 'disk', kind: 'disk-filling' } as const;
  const { begin, end } = thresholds.diskLeft;
  return when(left < (isListed(identity) ? end : begin), {
    ...identity,
    problem: `The data folder’s disk has ${percent(left)} left (${sizeText(disk.free)} of ${sizeText(disk.size)}).`,
    action: 'Make room or enlarge the volume: docs/operate/runbooks.md#weirdiskfilling',
  });
}

function fileProblems({ filesShare }: ObservedService, isListed: IsListed): readonly Finding[] {
  const identity = { object: 'service', kind: 'files-filling' } as const;
  const { begin, end } = thresholds.openFiles;
  return when(filesShare > (isListed(identity) ? end : begin), {
    ...identity,
    problem: `Has ${percent(filesShare)} of the files open that it may have: new requests will be refused with 503.`,
    action:
      'Raise the limit of open files, or find who holds the connections: docs/operate/runbooks.md#weirfilesfilling',
  });
}

function envoyProblems({ isEnvoyAnswering, unansweredMs }: ObservedService): readonly Finding[] {
  if (!isEnvoyAnswering) {
    return when(true, {
      ...{ object: 'envoy', kind: 'envoy-silent' },
      problem: 'Does not answer on its admin socket: it is down, starting or stuck.',
      action: 'Read its log, and restart it if it does not come back by itself.',
    });
  }
  return when(unansweredMs > thresholds.unansweredMs, {
    ...{ object: 'envoy', kind: 'replica-behind' },
    problem: `Has not acknowledged the newest endpoints for ${duration(unansweredMs)}: it keeps using the previous ones.`,
    action: 'Read its log, and check its memory: docs/operate/runbooks.md#weirenvoydoesnotfollow',
  });
}

function eventProblems({ name, waiting, lagMs, droppedSince }: ObservedService['events'][number]): readonly Finding[] {
  const since = new Date(droppedSince ?? 0).toISOString();
  return [
    ...when(lagMs > thresholds.lagMs, {
      ...{ object: name, kind: 'events-late' },
      problem: `The oldest of ${waiting} events waits for ${duration(lagMs)}.`,
      action: 'Check the receiver, and read the services’ log: docs/operate/runbooks.md#weireventslate',
    }),
    ...when(droppedSince !== undefined, {
      ...{ object: name, kind: 'events-dropped' },
      problem: `Events from ${since} on were dropped, because too many waited for the receiver.`,
      action: `Send them again, \`weir events replay --since ${since}\`: docs/how-to/events.md#replay`,
    }),
  ];
}

function certificateProblems({ object, what, expiresAt }: ObservedCertificate, now: number): readonly Finding[] {
  const leftMs = expiresAt - now;
  const date = new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ');
  const until = leftMs > 0 ? `expires in ${duration(leftMs)}` : `expired ${duration(-leftMs)} ago`;
  return when(leftMs < thresholds.certificateDays * dayMs, {
    ...{ object, kind: 'certificate-expires' },
    problem: `${what} ${until} (${date} UTC).`,
    action: 'Renew it: docs/operate/runbooks.md#weircertificateexpires',
  });
}

/** A certificate of the edge, from Envoy's description. */
export function edgeCertificate({
  names,
  expiresAt,
}: {
  readonly names: readonly string[];
  readonly expiresAt: number;
}): ObservedCertificate {
  return { object: `certificate/${names[0] ?? 'edge'}`, what: 'The certificate that callers see', expiresAt };
}

const pemOfOne = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates of a Backend: those of the authorities that it trusts, which are valid until the last one expires, and the one that
 * Weir shows, with its chain, which is valid until the first one expires.
 */
export function certificatesOf({ backend, tls }: Cluster): readonly ObservedCertificate[] {
  if (tls.mode === 'Disabled') return [];
  const object = `Backend/${backend}`;
  const trusted = tls.mode === 'Custom' ? endsOf(tls.ca) : [];
  const shown = tls.client === undefined ? [] : endsOf(tls.client.certificate);
  const ca = trusted.length === 1 ? 'The CA certificate of spec.tls' : 'The last CA certificate of spec.tls';
  const client = 'The client certificate of spec.tls';
  return [
    ...(trusted.length === 0 ? [] : [{ object, what: ca, expiresAt: Math.max(...trusted) }]),
    ...(shown.length === 0 ? [] : [{ object, what: client, expiresAt: Math.min(...shown) }]),
  ];
}

const endsOf = (bundle: string): readonly number[] => [...bundle.matchAll(pemOfOne)].flatMap(([pem]) => endOf(pem));

function endOf(pem: string): readonly number[] {
  try {
    return [new X509Certificate(pem).validToDate.getTime()];
  } catch {
    // Envoy refuses a cluster with such a text, and reports the reason.
    return [];
  }
}

const when = (isSo: boolean, finding: Finding): readonly Finding[] => (isSo ? [finding] : []);

const percent = (share: number): string => `${Math.round(share * 100)} %`;

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

function sizeText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** power;
  return `${amount < 10 && power > 0 ? amount.toFixed(1) : Math.round(amount)} ${units[power]}`;
}

/** A length of time in its largest unit. */
function duration(ms: number): string {
  const [amount, unit] =
    ms < 60_000
      ? [ms / 1_000, 'second']
      : ms < 3_600_000
        ? [ms / 60_000, 'minute']
        : ms < 2 * dayMs
          ? [ms / 3_600_000, 'hour']
          : [ms / dayMs, 'day'];
  const whole = Math.floor(amount);
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`;
}
