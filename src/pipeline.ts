/**
 * One request's life. Read this first: every stage is a line of `serve`, and this file alone joins the stages.
 */
import { authenticate, type AuthenticateOptions } from './admission/authenticate.ts';
import { checkDeclaredSize, maxBodyBytes } from './admission/body-size.ts';
import type { Snapshots } from './catalog/snapshots.ts';
import type { Clock } from './core/clock.ts';
import type { AnswerEvent } from './core/event.ts';
import type { Exchange, Headers } from './core/exchange.ts';
import { asFailure, errorBody, Failure } from './core/failure.ts';
import type { Plan } from './core/plan.ts';
import type { PreparedRequest, PromptCountAsk } from './core/prepared.ts';
import type { Store } from './core/store.ts';
import type { Telemetry } from './core/telemetry.ts';
import type { Tokenizers } from './core/tokenizer.ts';
import type { Upstream } from './core/upstream.ts';
import { chatErrors } from './dialects/chat/read-error.ts';
import { readResponseAs } from './dialects/chat/read-response-as.ts';
import { createJsonWriter, createStreamWriter, writeError } from './dialects/chat/write-response.ts';
import { capabilitiesOf, inlineReasoningOf } from './dialects/engines/engines.ts';
import { templateArguments } from './dialects/engines/template-arguments.ts';
import { eventStreamType } from './dialects/sse.ts';
import { type Dispatch, dispatch, type DispatchEnd } from './dispatch/run.ts';
import { upstreamCall } from './dispatch/upstream-call.ts';
import { checkContext } from './routing/context.ts';
import { makePlan } from './routing/plan.ts';
import type { TokenCounters } from './settlement/exact-meter.ts';
import { createSettlement, type Settlement } from './settlement/settle.ts';

export interface PipelineOptions extends AuthenticateOptions {
  readonly store: Store;
  readonly snapshots: Snapshots;
  /** The body of `GET /v1/models`. */
  readonly modelList: () => string;
  readonly prepare: (body: Uint8Array) => PreparedRequest | Promise<PreparedRequest>;
  readonly tokenizers: Tokenizers;
  readonly upstream: Upstream;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Letters and digits that nobody can guess. */
  readonly newId: () => string;
  readonly idleMs: number;
}

export interface Pipeline {
  /** Answers one exchange. Never throws: every failure is an answer. */
  readonly handle: (exchange: Exchange) => void;
  /** Requests under way, their settlement included. */
  readonly inFlight: () => number;
}

/** A whole answer says nothing until it is complete: its silence proves less than a stream's, by this factor. */
const wholeAnswerPatience = 10;

/** A request that passed every check and is being answered. */
interface Work {
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly startedAt: number;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  readonly settlement: Settlement;
}

const json: Headers = [['content-type', 'application/json']];
const preflight: Headers = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET'],
  ['access-control-allow-headers', '*'],
  ['access-control-max-age', '86400'],
];

export function createPipeline(options: PipelineOptions): Pipeline {
  const { store, snapshots, tokenizers, upstream, telemetry, clock, idleMs, newId } = options;
  let inFlight = 0;

  async function complete(exchange: Exchange, requestId: string): Promise<void> {
    const { head } = exchange;
    const startedAt = clock.now();
    const begun = clock.elapsed();
    const credential = await authenticate(head, options);
    checkDeclaredSize(head);
    const prepared = await options.prepare(await exchange.body(maxBodyBytes));
    const { snapshot, release } = snapshots.lease();
    try {
      const plan = makePlan(prepared, { snapshot, capabilitiesOf, turn: options.random() });
      const [first] = plan.routes;
      await checkContext(prepared, {
        model: plan.model,
        tokenizers,
        templateArguments: templateArguments(first.target),
      });
      const facts = { requestId, head, credential, prepared, plan, startedAt, begun };
      const counters = countersFor(prepared, plan);
      const settlement = createSettlement({ ...facts, ...counters, store, telemetry, clock });
      const work: Work = { exchange, requestId, startedAt, prepared, plan, settlement };
      await (prepared.request.stream ? relayStream(work) : relayJson(work));
    } finally {
      prepared.release();
      release();
    }
  }

  /** The model's own counts, for what no engine reports. */
  function countersFor(
    prepared: PreparedRequest,
    { model, routes: [first] }: Plan,
  ): { readonly counters?: TokenCounters } {
    if (model.tokenizer === undefined) return {};
    const { path: tokenizerPath, tokensPerImage } = model.tokenizer;
    const ask: PromptCountAsk = {
      ...{ tokenizerPath, want: 'count', limit: model.contextLength },
      ...(tokensPerImage === undefined ? {} : { tokensPerImage }),
      templateArguments: templateArguments(first.target),
    };
    return {
      counters: {
        countPrompt: async () => {
          const count = await prepared.countPrompt(ask);
          return count.kind === 'counted' ? count.tokens : undefined;
        },
        countText: (text) => tokenizers.countText(tokenizerPath, text),
      },
    };
  }

  async function relayStream(work: Work): Promise<void> {
    const { exchange, prepared, settlement } = work;
    const writer = createStreamWriter(identityOf(work), prepared.request);
    const running = start(work, (events) => {
      exchange.start(200, headersOf(work, `${eventStreamType}; charset=utf-8`));
      const text = writer.push(events);
      if (text === '' || exchange.write(text)) return;
      running.pause();
      exchange.onDrain(running.resume);
    });
    const end = await running.ended;
    try {
      const bill = await settlement.settle(end.kind, end);
      if (end.kind === 'completed') exchange.end(writer.finish(bill));
    } finally {
      // Whatever happened, a stream that was begun ends in words that its client knows (service specification §7.3).
      if (exchange.started()) exchange.end(writer.fail(interrupted()));
    }
    if (end.kind === 'failed') throw attemptsFailed(end);
  }

  async function relayJson(work: Work): Promise<void> {
    const { exchange, settlement } = work;
    const writer = createJsonWriter(identityOf(work));
    const end = await start(work, writer.push).ended;
    const kind = end.kind === 'interrupted' ? 'failed' : end.kind;
    const bill = await settlement.settle(kind, end);
    if (kind === 'completed') exchange.reply(200, headersOf(work, 'application/json'), writer.finish(bill));
    else if (kind === 'failed') throw attemptsFailed(end);
  }

  function start(work: Work, deliver: (events: readonly AnswerEvent[]) => void): Dispatch {
    const { exchange, requestId, prepared, plan, settlement } = work;
    const { tools, sampling, stream } = prepared.request;
    const readOptions = {
      toolNames: new Set(tools.map((tool) => tool.name)),
      newToolId: () => `call_${newId()}`,
      choices: sampling.n ?? 1,
    };
    return dispatch({
      ...{ plan, upstream, clock, errors: chatErrors, signal: exchange.signal },
      idleMs: stream ? idleMs : idleMs * wholeAnswerPatience,
      callFor: (planned) => upstreamCall(prepared, planned),
      readerFor: (planned, contentType) => {
        const reasoning = inlineReasoningOf(planned);
        return readResponseAs(contentType, reasoning === undefined ? readOptions : { ...readOptions, reasoning });
      },
      deliver: (events) => {
        settlement.take(events);
        deliver(events);
      },
      failed: (route, fault) => telemetry.fault(requestId, route.id, fault),
    });
  }

  function answer(exchange: Exchange, requestId: string): Promise<void> | undefined {
    const { method, path } = exchange.head;
    const [pathname] = path.split('?', 1);
    switch (`${method} ${pathname}`) {
      case 'POST /v1/chat/completions':
        return complete(exchange, requestId);
      case 'GET /v1/models':
        exchange.reply(200, [...json, ['access-control-allow-origin', '*']], options.modelList());
        return undefined;
      case 'OPTIONS /v1/models':
        exchange.reply(204, preflight, '');
        return undefined;
      case 'GET /healthz':
        exchange.reply(200, json, '{"status":"ok"}');
        return undefined;
      default:
        throw new Failure('not_found', 'There is nothing at this path and method.');
    }
  }

  function refuse(exchange: Exchange, requestId: string, error: unknown): void {
    // The caller left before the request was complete: nobody is there to be told, and nobody is to blame.
    if (exchange.signal.aborted && error === exchange.signal.reason) return;
    const failure = asFailure(error);
    telemetry.refusal(requestId, failure);
    const { retryAfterSeconds } = failure;
    const wait: Headers = retryAfterSeconds === undefined ? [] : [['retry-after', String(retryAfterSeconds)]];
    // Service specification §4.1.3: this one status is plain text.
    if (failure.code === 'body_too_large') exchange.reply(413, [['content-type', 'text/plain']], failure.message);
    else exchange.reply(failure.row.status, [...json, ...wait], writeError(errorBody(failure)));
  }

  return {
    inFlight: () => inFlight,
    handle: (exchange) => {
      const requestId = `chatcmpl-${newId()}`;
      inFlight += 1;
      const over = (): void => {
        inFlight -= 1;
      };
      try {
        const answering = answer(exchange, requestId);
        if (answering === undefined) over();
        else answering.catch((error: unknown) => refuse(exchange, requestId, error)).finally(over);
      } catch (error) {
        over();
        refuse(exchange, requestId, error);
      }
    },
  };
}

function identityOf({ requestId, startedAt, plan }: Work) {
  return { id: requestId, created: Math.floor(startedAt / 1000), model: plan.model.id };
}

function headersOf({ prepared }: Work, contentType: string): Headers {
  const { inert } = prepared.request;
  const headers: Headers = [
    ['content-type', contentType],
    ['cache-control', 'no-store'],
  ];
  return inert.length === 0 ? headers : [...headers, ['x-service-inert-params', inert.join(', ')]];
}

function attemptsFailed(end: DispatchEnd): Failure {
  // Where no tokenizer counted the prompt, the engines' word on its length is the verdict.
  return end.kind === 'failed' && end.refusedFor === 'context-length'
    ? new Failure('context_length_exceeded', 'The prompt and the output cap together exceed the context window.')
    : new Failure('attempts_failed', 'No attempt to serve this request succeeded. It is safe to retry.');
}

const interrupted = (): Failure =>
  new Failure('stream_interrupted', 'The answer was interrupted. It is safe to retry.');
