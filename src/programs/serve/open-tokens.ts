import { createIssuerReader, fetchJson, type FetchJson, reportIssuers } from '../../gateway/egress/read-issuer.ts';
import { dependencyFailure, type DependencyReport } from '../../core/dependency-cause.ts';
import { messageOf } from '../../core/failure.ts';
import { type CheckIdentity, clusterIssuer, type Tokens } from '../../core/identity.ts';
import type { KubeClient } from '../../control/kubernetes/client.ts';
import { reviewToken } from '../../control/kubernetes/review-token.ts';
import { systemClock } from '../../process/clock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';
import { identityOperations } from '../../books/store/operation-names.ts';
import { limitInfo, type PartLog } from '../../telemetry/ops/repeat-limit.ts';

const silenceMs = 10_000;
const idleMs = 10 * 60_000;

/** What a service asks the API server of its cluster about tokens. */
interface TokenServer {
  readonly fetch: FetchJson;
  readonly review: (token: string, audience: string) => Promise<boolean>;
  /** Whether an error of `review` is the lack of the right to create TokenReviews. */
  readonly isForbidden: (error: unknown) => boolean;
  readonly close: () => Promise<void>;
}

/** The API server, if the catalog is in a cluster. It is asked when the first token of the cluster comes. */
async function tokenServer(
  { WEIR_KUBERNETES_NAMESPACE: namespace }: Settings,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<TokenServer | undefined> {
  if (namespace === undefined) return undefined;
  // The Kubernetes client is large, and a catalog in a folder does not need it.
  const [{ findAccess }, { createKubeClient, isRefusal }] = await Promise.all([
    import('../../control/kubernetes/access.ts'),
    import('../../control/kubernetes/client.ts'),
  ]);
  let client: KubeClient | undefined;
  const opened = (): KubeClient => (client ??= createKubeClient(findAccess(environment)));
  return {
    fetch: (path, signal) => opened().list(path, signal),
    review: (token, audience) => reviewToken(opened(), token, audience),
    isForbidden: (error) => isRefusal(error, 403),
    close: async () => client?.close(),
  };
}

interface OpenTokens {
  /** Undefined: `WEIR_IDENTITIES` is off. */
  readonly tokens: Tokens | undefined;
  /** For the conditions of Identities that are objects. */
  readonly check: CheckIdentity;
  readonly close: () => Promise<void>;
}

const checkOff: CheckIdentity = async () => ({
  reason: 'IdentitiesOff',
  message:
    'WEIR_IDENTITIES is off, so requests with its tokens get 401: set it to `on` (identities.enabled: true in the chart)',
});

/** The name of TokenReviews among the issuers that fail. */
const reviews = 'TokenReview';

/** Tokens in place of keys. */
export async function openTokens(
  settings: Settings,
  {
    location,
    log,
    report,
    environment = process.env,
  }: {
    readonly location: DatabaseLocation;
    readonly log: PartLog;
    readonly report: DependencyReport;
    readonly environment?: Readonly<Record<string, string | undefined>>;
  },
): Promise<OpenTokens> {
  if (settings.WEIR_IDENTITIES === 'off')
    return { tokens: undefined, check: logged(checkOff, log), close: async () => undefined };
  // CEL and the verification of signatures take a tenth of a second to load.
  const { createTokens } = await import('../../gateway/identity/tokens.ts');
  const server = await tokenServer(settings, environment);
  const { store, close } = openAccountsThread(location, identityOperations, {
    name: 'weir-identities',
    silenceMs,
    idleMs,
  });
  const reports = reportIssuers(report);
  const review = server && reviewing(server, reports.of(reviews));
  const readerOf = (issuer: string, told: DependencyReport) =>
    createIssuerReader({
      ...(issuer === clusterIssuer
        ? { expected: undefined, configurationUrl: '/.well-known/openid-configuration', keysUrl: '/openid/v1/jwks' }
        : { expected: issuer, configurationUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` }),
      fetch: issuer === clusterIssuer ? (server?.fetch ?? noServer) : fetchJson,
      ...{ clock: systemClock, report: told },
    });
  const by = () => ({ actor: { kind: 'service', name: 'weir' } as const, now: systemClock.now() });
  const logRefused = limitInfo(log, systemClock, 'token refused');
  const tokens = createTokens({
    clock: systemClock,
    identities: async () => {
      const identities = await store.listIdentities();
      reports.keep(new Set(identities.flatMap(({ issuer, isBound }) => (isBound ? [issuer, reviews] : [issuer]))));
      return identities;
    },
    open: (account) => store.openIdentityAccount(account, by()),
    issuer: (issuer) => readerOf(issuer, reports.of(issuer)),
    review,
    refused: (refusal) => logRefused(refusal.fault, refusal),
  });
  // The condition of the object is the problem.
  const check = createCheck((issuer) => readerOf(issuer, silent), server?.review);
  return { tokens, check: logged(check, log), close: async () => void (await Promise.all([close(), server?.close()])) };
}

const silent: DependencyReport = { succeeded: () => undefined, failed: () => undefined };

/** Reports the failures of TokenReviews: a right that is missing is one. */
function reviewing({ review, isForbidden }: TokenServer, report: DependencyReport): TokenServer['review'] {
  return async (token, audience) => {
    try {
      const isKnown = await review(token, audience);
      report.succeeded();
      return isKnown;
    } catch (error) {
      report.failed(dependencyFailure(error, isForbidden(error) ? 'no-permission' : undefined));
      throw error;
    }
  };
}

/** Finds the mistakes that an author can make before a pod does: an issuer is read once, a review is tried with no token. */
function createCheck(
  readerOf: (issuer: string) => () => Promise<unknown>,
  review: TokenServer['review'] | undefined,
): CheckIdentity {
  const wasRead = new Set<string>();
  const faultOf = async (run: () => Promise<unknown>): Promise<string | undefined> =>
    run().then(() => undefined, messageOf);
  return async ({ issuer, audience, isBound }) => {
    const unread = wasRead.has(issuer) ? undefined : await faultOf(readerOf(issuer));
    if (unread !== undefined) {
      const message = `spec.issuer: ${issuer} cannot be read, so its tokens let nobody in yet: ${unread}`;
      return { reason: 'IssuerNotRead', message };
    }
    wasRead.add(issuer);
    const refused = isBound ? await faultOf(async () => review?.('-', audience)) : undefined;
    if (refused === undefined) return undefined;
    const message = `spec.bound: the API server refuses TokenReviews; set rbac.tokenReviews: true in the chart values: ${refused}`;
    return { reason: 'TokenReviewRefused', message };
  };
}

/** A folder has no status, and people look into the log first. */
function logged(check: CheckIdentity, log: PartLog): CheckIdentity {
  const last = new Map<string, string | undefined>();
  return async (identity) => {
    const { name } = identity;
    const fault = await check(identity);
    if (fault !== undefined && fault.message !== last.get(name))
      log.warn({ identity: name, ...fault }, 'identity unusable');
    last.set(name, fault?.message);
    return fault;
  };
}

const noServer: FetchJson = () => Promise.reject(new Error('there is no API server: the catalog is a folder'));
