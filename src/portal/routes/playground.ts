import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { messageOf } from '../../core/failure.ts';
import { parseUsd } from '../../core/money.ts';
import { portalSessionHeader, portalSessionName, portalSessionValue } from '../../gateway/core/portal-session.ts';
import * as api from '../api/playground.ts';
import { callerOf } from '../authenticate.ts';
import { authorship, type Caller, provenIdentity } from '../callers.ts';
import type { GatewayCalls } from '../gateway-calls.ts';
import type { Portal } from '../portal.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { digestOf } from '../secrets.ts';
import { visibleWorkspace } from '../visible.ts';

/** Daily budget of a person's playground, and lifetime of its key's text: enough to try models, with little to lose. */
const budgetUsd = '1';
const keyMs = 3_600_000;
/** A key that expires within this time is not used for a new answer. */
const spareMs = 60_000;
const keyLimits = { rate: 5, burst: 10 } as const;
const bodyBytes = 16 * 1024 * 1024;

/** The playground: sends chats and texts through the gateway, as clients do. Stores nothing. */
export async function playgroundRoutes(api_: FastifyInstance, portal: Portal): Promise<void> {
  const { store } = portal;
  let calls: Promise<GatewayCalls> | undefined;
  /** An HTTP client is loaded with the first chat: it takes 60 ms of processor time. */
  const callsOf = (gatewayUrl: string): Promise<GatewayCalls> =>
    (calls ??= import('../gateway-calls.ts').then(({ openGatewayCalls }) => openGatewayCalls(gatewayUrl)));
  api_.addHook('onClose', async () => (await calls)?.close());

  /** Sends a body to the gateway on behalf of a session. Failures count against the session, not against the portal's address. */
  async function send(gatewayUrl: string, { caller, surface, key, body, id, signal }: Sent) {
    const sessionName = portalSessionName(caller.session?.hash ?? caller.name);
    const keyHash = digestOf(key);
    const headers = {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(id === undefined ? {} : { 'x-request-id': id }),
      [portalSessionHeader]: portalSessionValue({ sessionName, keyHash }, await store.sharedSecret()),
    };
    const { post } = await callsOf(gatewayUrl);
    return post({ surface, headers, body, signal }).catch((error: unknown) => {
      throw refusal('gateway_down', { reason: messageOf(error) }, { cause: error });
    });
  }

  /** Passes the body of a request on to a surface, with a key, and the answer back. */
  async function pass(request: PlaygroundRequest, reply: FastifyReply, surface: Sent['surface']) {
    const caller = callerOf(request);
    if (portal.gatewayUrl === undefined) throw refusal('playground_off');
    const { id: workspace } = await visibleWorkspace(store, caller, request.query.workspace);
    const gone = new AbortController();
    reply.raw.on('close', () => gone.abort());
    const { gatewayUrl } = portal;
    const body = z.instanceof(Buffer).parse(request.body);
    const { 'playground-key': given, 'playground-request-id': id } = request.headers;
    const asked = { caller, surface, body, id, signal: gone.signal };
    const key = given ?? (await keyFor(portal, { caller, workspace }));
    let answer = await send(gatewayUrl, { ...asked, key });
    if (answer.statusCode === 401 && given === undefined) {
      // The key was revoked or has expired, so another key is made. The refused one is never sent again.
      await answer.body.dump();
      answer = await send(gatewayUrl, { ...asked, key: await keyFor(portal, { caller, workspace, refused: key }) });
    }
    const { 'content-type': type, 'retry-after': retryAfter } = answer.headers;
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
    return (
      reply
        .code(answer.statusCode)
        // Without this, nginx buffers the stream.
        .header('x-accel-buffering', 'no')
        .type(typeof type === 'string' ? type : 'application/json')
        .send(answer.body)
    );
  }

  await api_.register(async (scope) => {
    // The gateway parses the body, so the bytes are passed on unchanged.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit: bodyBytes }, (_, body, done) =>
      done(null, body),
    );
    scope.setSerializerCompiler(serializerCompiler);
    scope.setValidatorCompiler((route) =>
      route.httpPart === 'body'
        ? () => true
        : validatorCompiler({ ...route, schema: z.instanceof(z.ZodType).parse(route.schema) }),
    );
    const described = (summary: string, body: z.ZodType, content: Readonly<Record<string, { schema: z.ZodType }>>) => ({
      schema: {
        ...{ tags: ['playground'], summary, body, querystring: api.playgroundQuery, headers: api.playgroundHeaders },
        response: { 200: { description: 'The gateway’s answer, unchanged.', content } },
      },
    });
    const json = { 'application/json': { schema: z.unknown() } };
    scope.post<PlaygroundRoute>(
      '/api/v1/playground/chat',
      described('A chat completion, paid by a workspace', api.playgroundBody, {
        'text/event-stream': { schema: z.string() },
        ...json,
      }),
      (request, reply) => pass(request, reply, 'chat'),
    );
    scope.post<PlaygroundRoute>(
      '/api/v1/playground/embeddings',
      described('Vectors of texts, paid by a workspace', api.playgroundTexts, json),
      (request, reply) => pass(request, reply, 'embeddings'),
    );
  });
}

interface PlaygroundRoute {
  readonly Querystring: z.output<typeof api.playgroundQuery>;
  readonly Headers: z.output<typeof api.playgroundHeaders>;
}
type PlaygroundRequest = FastifyRequest<PlaygroundRoute>;

interface Sent {
  readonly caller: Caller;
  readonly surface: 'chat' | 'embeddings';
  readonly key: string;
  readonly body: Buffer;
  /** What the gateway gets as `x-request-id`. */
  readonly id: string | undefined;
  readonly signal: AbortSignal;
}

/** The text of the key of a person's playground. `refused`: a text that the gateway refused. */
function keyFor(
  { store, clock }: Portal,
  { caller, workspace, refused }: { readonly caller: Caller; readonly workspace: string; readonly refused?: string },
): Promise<string> {
  return store.playgroundKey(
    {
      ...{ workspace, refused, textMs: keyMs, spareMs },
      owner: provenIdentity(caller),
      name: `playground of ${caller.name}`.slice(0, 100),
      budget: { limit: parseUsd(budgetUsd) ?? 0n, period: 'day' },
      ...keyLimits,
    },
    authorship(caller, clock.now()),
  );
}
