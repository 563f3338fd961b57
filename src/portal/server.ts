import fastifyCookie from '@fastify/cookie';
import fastifyHelmet from '@fastify/helmet';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import { DatabaseDown } from '../books/core/administration.ts';
import { messageOf } from '../core/failure.ts';
import { createJsonScan } from '../core/json-scan.ts';
import { shareWork } from '../core/share-work.ts';
import { httpOptions, portBounds, type PortBounds } from '../core/port-bounds.ts';
import { expectation } from '../control/core/schema-faults.ts';
import { accessTo } from './access.ts';
import { errors } from './answers.ts';
import { type App, typed } from './app.ts';
import { authenticate, authorizeBody, checkToken } from './authenticate.ts';
import { limitConnections } from './connection-limits.ts';
import { checkFieldRights } from './field-rights.ts';
import { addPortalMetrics } from './metrics.ts';
import { describeRoutes } from './openapi.ts';
import { servePages } from './pages.ts';
import type { Portal } from './portal.ts';
import { refusal } from '../books/core/operator-refusals.ts';
import { answerRefusal, asInvalid, asRefusal } from './answer-refusal.ts';
import { createPersonLimit } from './requests-of-person.ts';
import { auditRoutes } from './routes/audit.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { tagRoutes } from './routes/tags.ts';
import { vectorRoutes } from './routes/vectors.ts';
import { alertRoutes } from './routes/alerts.ts';
import { creditRoutes } from './routes/credits.ts';
import { eventRoutes } from './routes/events.ts';
import { modelHistoryRoutes } from './routes/model-history.ts';
import { identityRoutes } from './routes/identities.ts';
import { keyRoutes } from './routes/keys.ts';
import { overrideKeyRoutes } from './routes/override-key.ts';
import { internalRoutes } from './routes/internal.ts';
import { memberRoutes } from './routes/members.ts';
import { playgroundRoutes } from './routes/playground.ts';
import { problemRoutes } from './routes/problems.ts';
import { oidcRoutes } from './routes/oidc.ts';
import { requestRoutes } from './routes/requests.ts';
import { serviceAccountRoutes } from './routes/service-accounts.ts';
import { sessionRoutes } from './routes/session.ts';
import { statementRoutes } from './routes/statements.ts';
import { usageRoutes } from './routes/usage.ts';
import { userRoutes } from './routes/users.ts';
import { workspaceRoutes } from './routes/workspaces.ts';

interface ServerOptions {
  /** Number of proxies in front of the portal that it trusts for the caller's address and scheme. */
  readonly trustedHops: number;
  /** Folder of the built pages. */
  readonly pages: string;
  readonly version: string;
  /** The metrics of `GET /metrics`. The server adds its own metrics. */
  readonly metrics: Registry;
  readonly bounds?: PortBounds;
}

/** Limits of bodies. The playground has other limits, because the gateway reads its body. */
const bodyLimits = { bytes: 64 * 1024, json: { maxDepth: 20, maxValues: 5_000 } } as const;

/** Builds the portal's server: the admin API under `/api`, the pages elsewhere. Does not listen. */
export async function createServer(portal: Portal, options: ServerOptions): Promise<FastifyInstance> {
  const { bounds = portBounds.portal } = options;
  const arrivalLimits = httpOptions(bounds);
  const server = fastify({
    trustProxy: (_address, hop) => hop < options.trustedHops,
    bodyLimit: bodyLimits.bytes,
    ...{ requestTimeout: arrivalLimits.requestTimeout, keepAliveTimeout: arrivalLimits.keepAliveTimeout },
    connectionTimeout: bounds.maxIdleMs,
    http: arrivalLimits,
    // A path that cannot be decoded does not exist.
    frameworkErrors: (_error, _request, reply) => void answerRefusal(reply, refusal('path_not_found')),
    // Without this, an open event stream would delay the end of the server.
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true },
  });
  server.setValidatorCompiler<z.ZodType>(({ schema }) => (given) => {
    const read = schema.safeParse(given, { error: expectation });
    return read.success ? { value: read.data } : { error: asInvalid(read.error) };
  });
  server.setSerializerCompiler(serializerCompiler);
  // Browsers let forms of other sites send text without a preflight, but not JSON.
  server.removeContentTypeParser('text/plain');
  const parse = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    // Parsing cannot be interrupted, and a megabyte of brackets takes a second.
    if (createJsonScan(bodyLimits.json).push(body)) void parse(request, body, done);
    else done(refusal('body_too_complex', { max: bodyLimits.json.maxValues }));
  });
  server.setErrorHandler((error, request, reply) => {
    const answer = asRefusal(error);
    // An outage of the database is logged once elsewhere, not for each request.
    if (answer.status >= 500 && !(error instanceof DatabaseDown)) {
      portal.log.error({ err: answer.cause ?? error, route: request.routeOptions.url }, 'portal request failed');
    }
    return answerRefusal(reply, answer);
  });
  await server.register(fastifyHelmet, helmetOptions);
  await server.register(fastifyCookie);
  const connections = limitConnections(server, { trustedHops: options.trustedHops, bounds, log: portal.log });
  const describe = await describeRoutes(server, options.version);
  await server.register((api) => addApi(api, { portal, describe }));
  await server.register(async (app) => internalRoutes(typed(app), portal));
  await servePages(server, options.pages);
  // Strangers may ask as often as they like. Any short read shows whether the database answers.
  const readDatabase = shareWork(() => portal.store.sharedSecret(), portal.clock);
  server.get('/livez', { schema: { hide: true } }, () => 'ok\n');
  server.get('/readyz', { schema: { hide: true } }, async (_, reply) => {
    try {
      await readDatabase(undefined);
      return 'ok\n';
    } catch (error) {
      return reply.code(503).send(`not ready: ${messageOf(error)}\n`);
    }
  });
  const { metrics } = options;
  addPortalMetrics(metrics, { connections, readers: portal.events.readers });
  const renderMetrics = shareWork(() => metrics.metrics(), portal.clock);
  server.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    await checkToken(portal, request, 'metrics:read');
    return reply.type(metrics.contentType).send(await renderMetrics(undefined));
  });
  await server.ready();
  return server;
}

const apiRoutes: readonly ((app: App, portal: Portal) => void)[] = [
  sessionRoutes,
  oidcRoutes,
  workspaceRoutes,
  creditRoutes,
  alertRoutes,
  tagRoutes,
  memberRoutes,
  userRoutes,
  serviceAccountRoutes,
  identityRoutes,
  keyRoutes,
  overrideKeyRoutes,
  usageRoutes,
  statementRoutes,
  requestRoutes,
  catalogRoutes,
  modelHistoryRoutes,
  vectorRoutes,
  problemRoutes,
  auditRoutes,
];

/** The admin API: every route is in the table of access, and describes its answers. */
async function addApi(
  api: FastifyInstance,
  { portal, describe }: { readonly portal: Portal; readonly describe: Awaited<ReturnType<typeof describeRoutes>> },
): Promise<void> {
  const takeTurn = createPersonLimit();
  api.addHook('onRoute', (route) => {
    const { method, url, schema } = route;
    for (const name of [method].flat()) {
      if (accessTo(`${name} ${url}`) === undefined) throw new Error(`${name} ${url} is not in the table of access`);
      checkFieldRights(`${name} ${url}`, schema?.body);
    }
    if (schema?.response === undefined && schema?.hide !== true) throw new Error(`${url} has no schema of its answers`);
    if (schema?.response !== undefined)
      route.schema = { ...schema, response: Object.assign({}, schema.response, errors) };
  });
  api.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const caller = await authenticate(portal, request);
    if (caller !== undefined) await takeTurn(caller, request, reply);
  });
  api.addHook('preValidation', refuseNul);
  api.addHook('preHandler', authorizeBody);
  const app = typed(api);
  app.get('/api/openapi.json', { schema: { hide: true } }, describe);
  for (const routes of apiRoutes) routes(app, portal);
  eventRoutes(api, portal);
  await playgroundRoutes(api, portal);
}

/** Refuses a NUL in an address. PostgreSQL accepts no text with NUL, so a look-up would fail instead of finding nothing. */
async function refuseNul({ query, params }: FastifyRequest): Promise<void> {
  for (const [field, value] of [...entriesOf(query), ...entriesOf(params)]) {
    if (String(value).includes('\0'))
      throw refusal('field_malformed', { field, expected: 'expected text without a NUL' }, { field });
  }
}

const entriesOf = (of: unknown): readonly (readonly [string, unknown])[] =>
  typeof of === 'object' && of !== null ? Object.entries(of) : [];

/** Allows only scripts from the portal's own files: no code from text, no frame, nothing from other hosts. */
const helmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'worker-src': ["'self'"],
      'manifest-src': ["'self'"],
      'form-action': ["'self'"],
      'frame-ancestors': ["'none'"],
      'base-uri': ["'none'"],
      'require-trusted-types-for': ["'script'"],
    },
  },
  frameguard: { action: 'deny' as const },
  referrerPolicy: { policy: 'no-referrer' as const },
};
