import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { type DependencyReport, watchDependencies } from '../../core/dependency-cause.ts';
import { isLoopback, listenOrElsewhere, localAddressOf } from '../../core/address.ts';
import { every } from '../../core/clock.ts';
import { internalToken } from '../../core/internal-token.ts';
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { addAccountMetrics } from '../../portal/account-metrics.ts';
import { createEventFeed } from '../../portal/event-feed.ts';
import { createEventHub } from '../../portal/event-hub.ts';
import { pricesIn } from '../../portal/catalog-view.ts';
import { createFailedSignIns } from '../../portal/failed-sign-ins.ts';
import type { OidcSignIn } from '../../portal/oidc.ts';
import { createPasswords } from '../../portal/passwords.ts';
import { readAdminToken } from '../../portal/secrets.ts';
import { createServer } from '../../portal/server.ts';
import { createOwnProblems, createProblemList } from '../../portal/problem-list.ts';
import { createKeyOverrides, waitingOverrides, waitingOverridesFile } from '../../portal/override-keys.ts';
import { createServices, rememberAnswer } from '../../portal/services.ts';
import { shareReports } from '../../portal/shared-reports.ts';
import type { PortalStore } from '../../portal/store-port.ts';
import { maxSecretBytes, readBoundedFileSync } from '../../process/bounded-file.ts';
import { backgroundClock, systemClock } from '../../process/clock.ts';
import { makeDataFolder } from '../../process/data-folder.ts';
import { listenForSupervisor } from '../../process/handed-listener.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { systemLookUp } from '../../control/resolver/system-look-up.ts';
import type { PortalSettings } from '../../process/settings/settings.ts';
import { followPrices } from '../../books/accounts/follow-prices.ts';
import { openAccounts } from '../../books/store/open-accounts.ts';
import { addDependencyGauge } from '../../telemetry/ops/dependency-gauge.ts';
import { addProcessMetrics } from '../../telemetry/ops/process-metrics.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import type { ProgramLog } from '../command-line/program-log.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import { openWithRetry } from './retrying-accounts.ts';
import { openReports } from './reports.ts';

import manifest from '../../../package.json' with { type: 'json' };

/** The other programs of a start need the processors first. */
const warmAfterMs = 1_000;

const retryTokenMs = 2_000;

const builtPages = fileURLToPath(new URL('../../../portal/dist', import.meta.url));

/**
 * Opens the accounts and listens. While the database is down the portal listens without accounts. Rejects with a sentence when it
 * cannot open the accounts or listen.
 */
export async function startPortal(
  settings: PortalSettings,
  {
    log: programLog,
    level: logLevel,
    isPortAsked = false,
  }: Omit<ProgramLog, 'output'> & { readonly isPortAsked?: boolean },
) {
  const log = limitRepeats(programLog, systemClock);
  const { WEIR_DATA: data, WEIR_DATABASE_URL: url, WEIR_ADMIN_HOST: host } = settings;
  const location = databaseLocation(url === undefined ? { data } : { url });
  makeDataFolder(data);
  const given = settings.WEIR_ADMIN_TOKEN_FILE;
  const adminToken =
    given === undefined ? readAdminToken(join(data, 'admin-token'), 'make') : readAdminToken(given, 'refuse');
  await using stack = new AsyncDisposableStack();
  // The same short time limits as a service: a page must not wait long for a slow database.
  const open = () => openAccounts(location, { missing: 'create', user: 'service' });
  const accounts = await openWithRetry(open, { clock: systemClock, log });
  stack.defer(accounts.close);
  const reports = openReports(location);
  stack.defer(reports.close);
  stack.defer(backgroundClock.after(warmAfterMs, reports.warm));
  const shared = shareReports(reports.store.usageReport, systemClock);
  const store: PortalStore = { ...accounts.store, ...reports.store, usageReport: shared.usageReport };
  let known: string | undefined;
  const token = async (): Promise<string> => (known ??= internalToken(await store.sharedSecret()));
  // While the database is down, a status that an operator sets reaches the services only with a token from before.
  const learnToken = async (): Promise<void> => {
    if ((await token().catch(() => undefined)) !== undefined) stopLearning();
  };
  const stopLearning = every(systemClock, retryTokenMs, learnToken);
  stack.defer(stopLearning);
  void learnToken();
  const origins = settings.WEIR_SERVICES.map(({ origin }) => origin);
  const services = createServices({
    ...{ origins: () => origins, token, lookUp: systemLookUp },
    ...{ clock: systemClock, random: Math.random },
  });
  const events = createEventHub(systemClock);
  const dependencies = watchDependencies();
  const ownProblems = createOwnProblems(dependencies, systemClock);
  stack.defer(events.close);
  const waitingFile = waitingOverridesFile(data);
  const overrides = await createKeyOverrides({
    ...{ store, services, clock: systemClock, log },
    kept: {
      read: () => readKeptFile(waitingFile, waitingOverrides),
      replace: (text) => replaceFile(waitingFile, text, 0o600),
    },
  });
  stack.defer(overrides.close);
  const parts = {
    overrides,
    catalog: rememberAnswer(services.catalog, systemClock),
    problems: createProblemList(services, systemClock, ownProblems),
    ...{ ownProblems, store, services, events, adminToken, log, logLevel, clock: systemClock },
    oidc: await oidcOf(settings, dependencies.of('identity-provider')),
    internalToken: token,
    forgetReports: shared.forget,
    failedSignIns: createFailedSignIns(systemClock.elapsed),
    failedPasswords: createFailedSignIns(systemClock.elapsed),
    passwords: createPasswords(),
    hasIdentities: settings.WEIR_IDENTITIES === 'on',
    gatewayUrl: settings.WEIR_PUBLIC_URL?.replace(/\/$/, ''),
  };
  const feed = createEventFeed(parts);
  stack.defer(feed.close);
  stack.defer(followPrices({ ...parts, prices: async () => pricesIn(await parts.catalog()) }));
  // Memory and event-loop delay of this process, with the same names as in the services.
  const metrics = new Registry();
  addProcessMetrics(metrics);
  addDependencyGauge(metrics, dependencies.failing);
  const max = settings.WEIR_ACCOUNT_METRICS;
  if (max > 0) addAccountMetrics(metrics, () => store.moneyFigures({ max }, systemClock.now()), systemClock);
  const server = await createServer(
    { ...parts, feed },
    {
      ...{ trustedHops: settings.WEIR_ADMIN_TRUSTED_HOPS, pages: builtPages, version: manifest.version, metrics },
      bounds: boundsWithin(portBounds.portal, openFilesLimit()),
    },
  );
  stack.defer(() => server.close());
  // Fastify closes only the connections of a listener that it has opened itself.
  stack.defer(() => server.server.closeAllConnections());
  const port = await listen(server, { host, port: settings.WEIR_ADMIN_PORT, isPortAsked });
  if (!isLoopback(host)) {
    log.warn(
      { host },
      'the portal listens on a non-loopback address without TLS: put a TLS proxy in front of it (docs/how-to/portal.md)',
    );
  }
  stack.defer(leaveOpsAddress(data, { program: 'portal', origin: `http://${localAddressOf(host)}:${port}` }));
  log.info({ port }, 'portal ready');
  const running = stack.move();
  return { port, close: (): Promise<void> => running.disposeAsync() };
}

/** Sign-in with OpenID Connect, if it is set up. Rejects with a sentence that names the missing or wrong setting. */
async function oidcOf(settings: PortalSettings, report: DependencyReport): Promise<OidcSignIn | undefined> {
  const { WEIR_OIDC_ISSUER: issuer, WEIR_OIDC_CLIENT_ID: clientId, WEIR_ADMIN_URL: portalUrl } = settings;
  if (issuer === undefined) return undefined;
  if (clientId === undefined) throw new Error('WEIR_OIDC_ISSUER also needs WEIR_OIDC_CLIENT_ID');
  if (portalUrl === undefined) throw new Error('WEIR_OIDC_ISSUER also needs WEIR_ADMIN_URL');
  const secretFile = settings.WEIR_OIDC_CLIENT_SECRET_FILE;
  const { createOidcSignIn } = await import('../../portal/oidc.ts');
  return createOidcSignIn({
    issuer: new URL(issuer),
    name: settings.WEIR_OIDC_NAME ?? new URL(issuer).host,
    clientId,
    clientSecret: secretFile === undefined ? undefined : String(readBoundedFileSync(secretFile, maxSecretBytes)).trim(),
    portalUrl: new URL(portalUrl),
    scopes: settings.WEIR_OIDC_SCOPES,
    admins: settings.WEIR_OIDC_ADMINS,
    groupsClaim: settings.WEIR_OIDC_GROUPS_CLAIM,
    report,
  });
}

/**
 * Listens on the supervisor's listener, else on the wanted port. If another program has it, it listens on a free one, unless the
 * operator asked for this one. Resolves to the port.
 */
async function listen(
  server: Awaited<ReturnType<typeof createServer>>,
  { host, port, isPortAsked }: { readonly host: string; readonly port: number; readonly isPortAsked: boolean },
): Promise<number> {
  const listenOn = (on: number) => server.listen({ host, port: on, exclusive: true });
  if (!(await listenForSupervisor(server.server))) {
    await (isPortAsked ? listenOn(port) : listenOrElsewhere(port, listenOn));
  }
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
