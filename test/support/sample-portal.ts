import { join } from 'node:path';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import type { LiveCatalog } from '../../src/control/core/live-catalog.ts';
import { internalToken } from '../../src/core/internal-token.ts';
import type { LogLevel } from '../../src/core/log-level.ts';
import type { ProblemReport } from '../../src/control/core/problem.ts';
import type { Story } from '../../src/telemetry/core/story.ts';
import { createEventFeed } from '../../src/portal/event-feed.ts';
import { createEventHub } from '../../src/portal/event-hub.ts';
import { createFailedSignIns } from '../../src/portal/failed-sign-ins.ts';
import type { OidcSignIn } from '../../src/portal/oidc.ts';
import { createPasswords } from '../../src/portal/passwords.ts';
import { digestOf, newToken } from '../../src/portal/secrets.ts';
import type { TrafficRow } from '../../src/telemetry/core/traffic.ts';
import { createKeyOverrides } from '../../src/portal/override-keys.ts';
import type { KeyBlock } from '../../src/core/key-block.ts';
import { createProblemList } from '../../src/portal/problem-list.ts';
import type { WorkspaceRole } from '../../src/books/core/rights.ts';
import { createServer } from '../../src/portal/server.ts';
import type { ServicesListener } from '../../src/portal/service-stream.ts';
import type { Answers, LiveServices } from '../../src/portal/services.ts';
import { openAccounts } from '../../src/books/store/open-accounts.ts';
import { createFakeClock } from './fake-clock.ts';
import { sampleReport } from './sample-problem.ts';
import { sampleDatabase, sampleNow, temporaryFolder } from './sample-database.ts';

export const adminToken = 'the-admin-token-of-the-tests-0123456789';

/** What the services of a test say. */
export interface SaidByServices {
  readonly catalog?: Answers<LiveCatalog>;
  readonly problems?: Answers<ProblemReport>;
  readonly top?: Answers<readonly TrafficRow[]>;
  readonly stories?: readonly Story[];
}

const noProblems: Answers<ProblemReport> = {
  services: [{ service: 'http://127.0.0.1:9090', answers: true, problem: null }],
  data: [{ service: 'http://127.0.0.1:9090', said: sampleReport() }],
};

/** Who is signed in in a browser. */
export interface Browser {
  readonly cookie: string;
  readonly csrf: string;
}

/** A portal on a new database with the workspace "acme", its key and an invited viewer, and the workspace "other" with a key. Closed when the test is over. */
export async function samplePortal(
  said: SaidByServices = {},
  options: {
    readonly pages?: string;
    readonly hops?: number;
    readonly gatewayUrl?: string;
    readonly oidc?: OidcSignIn;
  } = {},
) {
  const sample = await sampleDatabase();
  const accounts = await openAccounts(sample.location, { missing: 'refuse', user: 'operator' });
  onTestFinished(() => accounts.close());
  const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
  const otherWorkspace = await accounts.createWorkspace({ name: 'other', credit: 5n, maxInFlight: 1 }, by);
  const otherKey = (await accounts.createKey({ workspace: 'other', rate: 1, burst: 1 }, by)).key;
  const member = await accounts.inviteMember('acme', { address: 'vic@example.com', role: 'viewer' }, by);
  const clock = createFakeClock(sampleNow);
  const followers = new Set<ServicesListener>();
  const blocks: KeyBlock[] = [];
  const services: Pick<LiveServices, 'find' | 'follow' | 'top' | 'blockKey'> = {
    blockKey: async (block) => {
      blocks.push(block);
      return { services: [{ service: 'http://127.0.0.1:9090', answers: true, problem: null }], data: [] };
    },
    top: async () => said.top ?? { services: [], data: [] },
    find: async (id) => {
      const exact = said.stories?.filter((story) => story.id === id) ?? [];
      const sent = said.stories?.filter((story) => story.correlation_id === id) ?? [];
      return { services: [], stories: exact.length > 0 ? exact : sent };
    },
    follow: (listener) => {
      followers.add(listener);
      return { begun: Promise.resolve(), stop: () => void followers.delete(listener) };
    },
  };
  const catalog = async (): Promise<Answers<LiveCatalog>> => said.catalog ?? { services: [], data: [] };
  const askProblems = async (): Promise<Answers<ProblemReport>> => said.problems ?? noProblems;
  const problems = createProblemList({ problems: askProblems }, clock);
  const logged: object[] = [];
  const log = {
    warn: (facts: object, message: string) => void logged.push({ ...facts, message }),
    error: (facts: object, message: string) => void logged.push({ ...facts, message }),
  };
  let level: LogLevel = 'info';
  const logLevel = { current: () => level, set: (next: LogLevel) => void (level = next) };
  const events = createEventHub(clock);
  onTestFinished(() => events.close());
  const kept = { read: async () => undefined, replace: async () => undefined };
  const overrides = await createKeyOverrides({ kept, store: accounts, services, clock, log });
  onTestFinished(() => overrides.close());
  const parts = {
    ...{ store: accounts, overrides },
    ...{ services, catalog, problems, ownProblems: () => [], events, adminToken, log, oidc: options.oidc },
    hasIdentities: true,
    gatewayUrl: options.gatewayUrl ?? 'http://127.0.0.1:1/v1',
    forgetReports: () => undefined,
    failedSignIns: createFailedSignIns(clock.elapsed),
    failedPasswords: createFailedSignIns(clock.elapsed),
    passwords: createPasswords(),
    ...{ clock, logLevel, internalToken: async () => internalToken(await accounts.sharedSecret()) },
  };
  const feed = createEventFeed(parts);
  onTestFinished(() => feed.close());
  const pages = options.pages ?? join(temporaryFolder(), 'nothing');
  const portal = { ...parts, feed };
  const server = await createServer(portal, {
    trustedHops: options.hops ?? 0,
    pages,
    version: '0.0.0',
    metrics: new Registry(),
  });
  onTestFinished(() => server.close());
  return { ...sample, accounts, portal, server, clock, logged, blocks, followers, otherWorkspace, otherKey, member };
}

export const withToken = { authorization: `Bearer ${adminToken}` } as const;

/** Calls the API with a Bearer token; answers status and body. */
export async function call(server: FastifyInstance, options: InjectOptions) {
  const reply = await server.inject({ ...options, headers: { ...withToken, ...options.headers } });
  const body: unknown = reply.body === '' ? undefined : reply.json();
  return { status: reply.statusCode, body, headers: reply.headers };
}

/** Signs in as a browser does. */
export async function signIn(
  server: FastifyInstance,
  given: { readonly token: string } | { readonly key: string },
): Promise<Browser> {
  const reply = await server.inject({ method: 'POST', url: '/api/v1/session', payload: given });
  const [cookie] = reply.cookies;
  if (cookie === undefined) throw new Error(`not signed in: ${reply.body}`);
  return { cookie: `${cookie.name}=${cookie.value}`, csrf: reply.json<{ csrf_token: string }>().csrf_token };
}

export function asBrowser({ cookie, csrf }: Browser): Record<string, string> {
  return { cookie, 'x-csrf-token': csrf };
}

interface MemberOptions {
  readonly role?: WorkspaceRole;
  /** At the identity provider. */
  readonly subject?: string;
  /** A verified address. */
  readonly address?: string;
  /** Roles in other workspaces. */
  readonly elsewhere?: readonly (readonly [string, WorkspaceRole])[];
}

/** A browser in which a member of a workspace is signed in, as an identity provider would have it. */
export async function memberOf(
  { accounts }: Pick<Awaited<ReturnType<typeof samplePortal>>, 'accounts'>,
  workspaceId: string,
  { role = 'owner', subject = `${role} of ${workspaceId}`, address, elsewhere = [] }: MemberOptions = {},
): Promise<Browser> {
  const [secret, csrfToken] = [newToken(), newToken()];
  await accounts.createSession({
    ...{ hash: digestOf(secret), role: 'member', name: 'mia', keyId: undefined, csrfToken },
    address,
    groupRoles: new Map([[workspaceId, role], ...elsewhere]),
    ...{ credential: subject, logOutHint: undefined, createdAt: sampleNow, expiresAt: sampleNow + 3_600_000 },
  });
  return { cookie: `weir_session=${secret}`, csrf: csrfToken };
}
