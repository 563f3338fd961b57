import { createIssuerReader, fetchJson, type FetchJson } from '../../gateway/egress/read-issuer.ts';
import { type DependencyReport, joinReports } from '../../core/dependency-cause.ts';
import { clusterIssuer, type Tokens } from '../../core/identity.ts';
import type { KubeClient } from '../../control/kubernetes/client.ts';
import { reviewToken } from '../../control/kubernetes/review-token.ts';
import { systemClock } from '../../process/clock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';
import { identityOperations } from '../../books/store/operation-names.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';

const silenceMs = 10_000;
const idleMs = 10 * 60_000;

/** What a service asks the API server of its cluster about tokens. */
interface TokenServer {
  readonly fetch: FetchJson;
  readonly review: (token: string, audience: string) => Promise<boolean>;
  readonly close: () => Promise<void>;
}

/** The API server, if the catalog is in a cluster. It is asked when the first token of the cluster comes. */
async function tokenServer(
  { WEIR_KUBERNETES_NAMESPACE: namespace }: Settings,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<TokenServer | undefined> {
  if (namespace === undefined) return undefined;
  // The Kubernetes client is large, and a catalog in a folder does not need it.
  const [{ findAccess }, { createKubeClient }] = await Promise.all([
    import('../../control/kubernetes/access.ts'),
    import('../../control/kubernetes/client.ts'),
  ]);
  let client: KubeClient | undefined;
  const opened = (): KubeClient => (client ??= createKubeClient(findAccess(environment)));
  return {
    fetch: (path, signal) => opened().list(path, signal),
    review: (token, audience) => reviewToken(opened(), token, audience),
    close: async () => client?.close(),
  };
}

/** Tokens in place of keys. Undefined: `WEIR_IDENTITIES` is off. */
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
): Promise<{ readonly tokens: Tokens; readonly close: () => Promise<void> } | undefined> {
  if (settings.WEIR_IDENTITIES === 'off') return undefined;
  // CEL and the verification of signatures take a tenth of a second to load.
  const { createTokens } = await import('../../gateway/identity/tokens.ts');
  const server = await tokenServer(settings, environment);
  const { store, close } = openAccountsThread(location, identityOperations, {
    name: 'weir-identities',
    silenceMs,
    idleMs,
  });
  const by = () => ({ actor: { kind: 'service', name: 'weir' } as const, now: systemClock.now() });
  const reportOf = joinReports(report);
  const tokens = createTokens({
    clock: systemClock,
    identities: store.listIdentities,
    open: (account) => store.openIdentityAccount(account, by()),
    issuer: (issuer) =>
      createIssuerReader({
        ...(issuer === clusterIssuer
          ? { expected: undefined, configurationUrl: '/.well-known/openid-configuration', keysUrl: '/openid/v1/jwks' }
          : { expected: issuer, configurationUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` }),
        fetch: issuer === clusterIssuer ? (server?.fetch ?? noServer) : fetchJson,
        ...{ clock: systemClock, report: reportOf(issuer) },
      }),
    left: (issuer) => reportOf(issuer).succeeded(),
    review: server?.review,
    refused: (fault, reason) => log.info({ fault, reason }, 'token refused'),
  });
  return { tokens, close: async () => void (await Promise.all([close(), server?.close()])) };
}

const noServer: FetchJson = () => Promise.reject(new Error('there is no API server: the catalog is a folder'));
