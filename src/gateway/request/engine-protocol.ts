import type { Piece, RequestTarget, Round } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import type { Dialect } from '../../core/dialect.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { ResponseReader } from '../../core/event.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { RequestWatch } from '../core/telemetry.ts';
import type { UpstreamCall } from '../core/upstream.ts';
import { stateOwner } from '../dialects/engine/opaque-fields.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { readResponseAs } from '../dialects/engine/read-response.ts';
import type { EngineProtocol } from '../dispatch/protocol.ts';
import { capabilitiesOf, inlineReasoningOf } from '../engines/engines.ts';
import { checkUsage, type UsageBounds } from '../metering/check-usage.ts';
import { estimatePrompt, promptWindow } from '../metering/estimate-prompt.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { maxPromptTokens, minPromptTokens } from '../metering/prompt-bound.ts';
import { createStateSealing } from './engine-state.ts';

export interface EngineCallsOptions {
  readonly watch: Pick<RequestWatch, 'progress'>;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  /** Undefined: the model has no tokenizer. */
  readonly counters: Pick<TokenCounters, 'bounds'> | undefined;
  /** Undefined: a call carries the whole prompt. */
  readonly piece?: Piece | undefined;
}

export interface ChatProtocolOptions extends EngineCallsOptions {
  readonly dialect: Pick<Dialect, 'idPrefixes'>;
  /** Undefined in the first call of an answer. */
  readonly round: Round | undefined;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
}

/** What seals the state of engines. */
export interface StateServices {
  /** Letters and digits that cannot be guessed. */
  readonly newId: () => string;
  /** Of all processes with the same accounts. It can change once, soon after the start. */
  readonly sharedSecret: () => string;
}

const encoder = new TextEncoder();

interface WrittenCall {
  /** Where the call goes, behind the path of its Backend or beside the last part of it. */
  readonly path: string;
  readonly besideV1?: true | undefined;
  readonly accept: UpstreamCall['accept'];
  readonly target: RequestTarget;
}

/** How a reader's counts are checked, besides by its prompt. */
type CheckedAnswer = Pick<UsageBounds, 'cap' | 'choices' | 'mayRepeat'>;

/**
 * The calls of one protocol: writes them to the address of a route, and remembers how large they were, for the bounds of the counts
 * that engines report.
 */
export function createEngineCalls({ watch, prepared, plan, counters, piece }: EngineCallsOptions) {
  const { model, affinity } = plan;
  const { shape, request } = prepared;
  const { task } = request;
  const pairs =
    task?.kind === 'rerank' && piece !== undefined
      ? { queryBytes: task.queryBytes, documents: piece.count }
      : undefined;
  /** The share of the prompt that a call carries. */
  const share = piece === undefined ? 1 : piece.count / (task?.kind === 'rerank' ? task.documents : shape.messages);
  const promptEstimate = Math.ceil(estimatePrompt(shape, model) * share);
  /** Size of the largest body that an engine got. Undefined before one was written. */
  let bodyBytes: number | undefined;
  /** The bytes of a body, whose number is then known without another pass over the text. */
  const sent = (body: string | Uint8Array): Uint8Array => {
    const bytes = typeof body === 'string' ? encoder.encode(body) : body;
    bodyBytes = Math.max(bodyBytes ?? 0, bytes.length);
    return bytes;
  };
  const boundsNow = () => counters?.bounds?.();
  const promptBounds = () => {
    const bounds = boundsNow();
    return {
      min: share < 1 ? 1 : minPromptTokens(shape, bounds),
      max: bodyBytes === undefined ? Infinity : maxPromptTokens({ bodyBytes, shape, pairs }, { ...model, bounds }),
    };
  };
  const maxTokenBytes = () => boundsNow()?.maxTokenBytes;
  const window = { contextLength: promptWindow(shape, model), reasoning: model.reasoning };
  return {
    write: (
      route: Route,
      endpoint: Endpoint,
      { path: behind, besideV1, accept, target }: WrittenCall,
    ): UpstreamCall | Promise<UpstreamCall> => {
      const { cluster, headers, path: own, query = '' } = route.backend;
      const path = besideV1 === true ? own.replace(/\/v1$/, '') : own;
      const call = {
        cluster: cluster.name,
        backend: cluster.backend,
        endpoint: endpoint.name,
        authority: endpoint.authority,
        headers,
        affinity,
        path: `${path}${behind}${query}`,
        accept,
      } as const;
      const body = prepared.bodyFor(target);
      return body instanceof Promise
        ? body.then((bytes) => ({ ...call, body: sent(bytes) }))
        : { ...call, body: sent(body) };
    },
    checked: (reader: ResponseReader, route: Route, how: CheckedAnswer): ResponseReader => {
      const implausible = (): void => watch.progress({ kind: 'implausible-usage', routeId: route.id });
      return checkUsage(reader, { ...how, model: window, promptEstimate, promptBounds, maxTokenBytes, implausible });
    },
  };
}

/** Writes requests and reads answers of one call to a model. All engines get the chat format. */
export function chatProtocol(options: ChatProtocolOptions, { newId, sharedSecret }: StateServices): EngineProtocol {
  const { dialect, prepared, round, cap } = options;
  const { tools, sampling, stream } = prepared.request;
  const calls = createEngineCalls(options);
  /** Whether an engine got a partial answer, which it may repeat without counting it. */
  let hasSentPartial = false;
  const readOptions = {
    toolNames: new Set(tools.map((tool) => tool.name)),
    logprobs: sampling.logprobs ?? false,
    isHeld: !stream,
  };
  return {
    errors: chatErrors,
    request: ({ route, target }, endpoint, continuation) => {
      hasSentPartial ||= continuation?.partial !== undefined;
      const isFirst = continuation === undefined && round === undefined;
      return calls.write(route, endpoint, {
        path: '/chat/completions',
        accept: stream ? 'text/event-stream' : 'application/json',
        target: isFirst ? target : { ...target, continuation, round },
      });
    },
    reader: (planned, { contentType, choices, answerBegun, keepDeltas }) => {
      const sealing = createStateSealing({ newId, secret: sharedSecret(), of: stateOwner(planned.target) });
      const reader = readResponseAs(contentType, {
        ...readOptions,
        choices,
        answerBegun,
        keepDeltas,
        reasoning: inlineReasoningOf(planned),
        newToolId: (_choice, _tool, call) => dialect.idPrefixes.toolCall + sealing.callId(call),
        sealState: sealing.answerState,
      });
      return reader && calls.checked(reader, planned.route, { cap, choices, mayRepeat: hasSentPartial });
    },
    continuation: ({ route }) => {
      const { continuation: mark, continuesReasoning = false } = capabilitiesOf(route);
      return { mark, reasoning: continuesReasoning };
    },
  };
}
